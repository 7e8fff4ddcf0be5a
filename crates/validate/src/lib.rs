//! Published tables beside what the model says of them: `narrows predict --published FILE`.
//!
//! A file is TOML: `[source]`, `[units]`, `[system]` and `[[row]]`. What a row asks is told by its
//! fields alone (docs/validate.md lists them); a field that a row lacks is taken from `[system]`.
//! No row is known by its name or its figure, and the engine in `predict` knows nothing of this.

#![forbid(unsafe_code)]

mod asked;
mod contention;
mod contradictions;
mod fields;
mod figures;
mod fit;
mod links;
mod packets;
mod quantities;
mod rdma;
mod refused;
mod score;
mod servers;
mod sockets;
mod tcp;
mod template;
mod traffic;
mod trips;
mod unused;

pub use score::{Family, overall, score};
pub use servers::ServerRow;
pub use template::TEMPLATE;

pub use refused::Refused;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::{Table as Fields, Value};

/// What kind of statement a figure beside a published one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Computed without this row.
    Prediction,
    /// Parameters were fitted with this row among others.
    Fitted,
    /// A parameter was set by this row: agreement says nothing.
    Calibration,
    /// An identity, or the same counting as the source's: a check of the arithmetic.
    Consistency,
    /// The model does not speak of it.
    NotPredicted,
}

impl Kind {
    /// The kind as reports print it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Prediction => "prediction",
            Self::Fitted => "fitted",
            Self::Calibration => "calibration",
            Self::Consistency => "consistency",
            Self::NotPredicted => "not predicted",
        }
    }
}

/// One published figure and what the model says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// The row, in words.
    pub row: String,
    /// What the figure is: `tcp_gbps`.
    pub quantity: String,
    /// Its unit, by the source.
    pub unit: String,
    /// The published figure; `None` for a verdict in words.
    pub published: Option<f64>,
    /// The model's, with parameters fitted where there are enough rows.
    pub predicted: Option<f64>,
    /// Lower end of its 80 % range.
    pub low: Option<f64>,
    /// Upper end of the 80 % range.
    pub high: Option<f64>,
    /// The model's, fitted without this row.
    pub left_out: Option<f64>,
    /// The model's with nothing fitted on the table, and its 80 % range.
    pub uncalibrated: Option<(f64, f64, f64)>,
    /// The resource that limits it.
    #[serde(rename = "narrowest")]
    pub bottleneck: String,
    /// What kind of statement it is.
    pub kind: Kind,
    /// How it was computed, in words.
    pub says: String,
}

impl Comparison {
    fn new(row: &Row<'_>, quantity: &str, published: Option<f64>) -> Self {
        Self {
            row: row.label(),
            quantity: quantity.to_owned(),
            unit: row.table.unit(quantity),
            published,
            predicted: None,
            low: None,
            high: None,
            left_out: None,
            uncalibrated: None,
            bottleneck: String::new(),
            kind: Kind::NotPredicted,
            says: String::new(),
        }
    }

    /// How far the prediction is from the published figure, as a share.
    pub fn error(&self) -> Option<f64> {
        self.off(self.predicted)
    }

    /// The same of any other figure for it.
    pub fn off(&self, figure: Option<f64>) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        Some(figure? / published - 1.0)
    }
}

/// One parameter of the model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Parameter {
    /// As the fit calls it: `m`, `g`, `r`, `q`.
    pub name: &'static str,
    /// In the unit below.
    pub value: f64,
    /// Empty for shares and factors.
    pub unit: &'static str,
    pub says: &'static str,
    /// Where its value is from.
    pub from: String,
}

/// What the model says of a group of tables.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Answer {
    /// The question: `kernel sockets by population`.
    pub question: &'static str,
    /// The files it is about.
    pub files: Vec<String>,
    /// Each figure of the tables beside what the model says of it.
    pub cells: Vec<Comparison>,
    /// The parameters that went into them.
    pub parameters: Vec<Parameter>,
    /// What simple guesses make of the same figures: name and mean error as a share.
    pub baselines: Vec<(&'static str, f64)>,
    /// Servers by what they do of the wire's rate in packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerRow>,
    /// What is not explained, and what else is worth knowing.
    pub remarks: Vec<String>,
}

impl Answer {
    /// The cells of a table's rows, and how far off who guesses the median of the others is; none
    /// where no row is of this kind.
    fn with_median(table: &Table, question: &'static str, cells: Vec<Comparison>) -> Option<Self> {
        let files = vec![table.name.clone()];
        let mut answer = Self { question, files, cells, ..Self::default() };
        let published: Vec<f64> = answer.cells.iter().filter_map(|cell| cell.published).collect();
        answer.guess_the_median(&published);
        (!answer.cells.is_empty()).then_some(answer)
    }

    /// What a model has to beat: each figure guessed as the median of the others.
    fn guess_the_median(&mut self, published: &[f64]) {
        if let Some(error) = median_of_others(published) {
            self.baselines.push(("median of the other rows", error));
        }
    }

    fn mean(errors: impl Iterator<Item = Option<f64>>) -> Option<(f64, usize)> {
        let errors: Vec<f64> = errors.flatten().map(f64::abs).collect();
        let n = errors.len();
        (n > 0).then(|| (errors.iter().sum::<f64>() / n as f64, n))
    }

    /// Figures that errors are averaged over: those of single figures are shares near nothing,
    /// times and rates in one table, of which a mean says little.
    fn counted(&self) -> impl Iterator<Item = &Comparison> {
        self.cells
            .iter()
            .filter(|cell| matches!(cell.kind, Kind::Prediction | Kind::Fitted))
            .filter(|_| self.question != figures::QUESTION)
    }

    /// Mean absolute error of predictions as a share, and of how many.
    pub fn mean_error(&self) -> Option<(f64, usize)> {
        Self::mean(self.counted().map(Comparison::error))
    }

    /// The same with each row left out of the fit.
    pub fn mean_error_left_out(&self) -> Option<(f64, usize)> {
        Self::mean(self.counted().map(|cell| cell.off(cell.left_out)))
    }

    /// The same with nothing fitted.
    pub fn mean_error_uncalibrated(&self) -> Option<(f64, usize)> {
        Self::mean(self.counted().map(|cell| cell.off(cell.uncalibrated.map(|(value, ..)| value))))
    }
}

/// Units of rates that columns end with: bits and bytes a second.
const RATES: &[(&str, f64)] = &[
    ("gbps", 1e9),
    ("mbps", 1e6),
    ("gb_s", 8e9),
    ("mb_s", 8e6),
    ("gib_s", 8.0 * 1_073_741_824.0),
    ("mib_s", 8.0 * 1_048_576.0),
];

/// Packets a second.
const PACKETS: &[(&str, f64)] = &[("mpps", 1e6), ("kpps", 1e3), ("pps", 1.0)];
/// Units of a latency, in nanoseconds.
const LATENCIES: &[(&str, f64)] = &[("ns", 1.0)];

/// Whether constants of the model were chosen with a table in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// Nothing was chosen with it in view: what the model says of it is a test.
    HeldOut,
    /// Some constants were chosen with it in view.
    Fitted,
    /// The table does not say.
    Undeclared,
}

impl Calibration {
    /// For people, and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::HeldOut => "held-out",
            Self::Fitted => "fitted",
            Self::Undeclared => "undeclared",
        }
    }
}

/// A file of published figures: one source.
#[derive(Clone)]
pub struct Table {
    name: String,
    source: Fields,
    system: Fields,
    units: Fields,
    extra: Fields,
    rows: Vec<Fields>,
    /// What was read of them.
    reads: unused::Reads,
}

/// Why a file is no table, or one that cannot be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum NoTable {
    /// It is no TOML.
    Toml {
        /// How the file is called.
        name: String,
        /// Line, from 1.
        line: usize,
        says: String,
    },
    /// A field is refused.
    Field {
        /// How the file is called.
        name: String,
        /// Which field, and why.
        why: Refused,
    },
    /// The file of this name has no row.
    Empty(String),
}

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml { name, line, says } => write!(f, "{name}, line {line}: {says}"),
            Self::Field { name, why } => write!(f, "{name}: {why}"),
            Self::Empty(name) => write!(f, "{name} has no [[row]]"),
        }
    }
}

impl Table {
    /// Reads a file's text; `name` is how it is called in answers.
    pub fn parse(name: &str, text: &str) -> Result<Self, NoTable> {
        let table: Fields = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or(0, |span| text[..span.start].matches('\n').count());
            let (name, says) = (name.to_owned(), error.message().to_owned());
            NoTable::Toml { name, line: before + 1, says }
        })?;
        let refused = |why| NoTable::Field { name: name.to_owned(), why };
        fields::check(&table).map_err(refused)?;
        let fields = |key: &str| table.get(key).and_then(Value::as_table).cloned();
        let rows = table.get("row").and_then(Value::as_array);
        let mut rows: Vec<Fields> =
            rows.into_iter().flatten().filter_map(|row| row.as_table().cloned()).collect();
        quantities::declare(name, &mut rows);
        if rows.is_empty() {
            return Err(NoTable::Empty(name.to_owned()));
        }
        let table = Self {
            name: name.to_owned(),
            source: fields("source").unwrap_or_default(),
            system: fields("system").unwrap_or_default(),
            units: fields("units").unwrap_or_default(),
            extra: fields("extra").unwrap_or_default(),
            rows,
            reads: unused::Reads::default(),
        };
        unused::check(&table).map_err(refused)?;
        Ok(table)
    }

    /// Whether constants were chosen with it in view.
    pub fn part(&self) -> Calibration {
        let word = self.source.get("part").and_then(Value::as_str);
        let known = [Calibration::HeldOut, Calibration::Fitted];
        let found = known.into_iter().find(|part| word == Some(part.word()));
        found.unwrap_or(Calibration::Undeclared)
    }

    /// The first row that names no source, neither of its own nor as its table's, counted from 1.
    pub fn unsourced(&self) -> Option<usize> {
        if ["title", "url"].iter().any(|key| has_text(&self.source, key)) {
            return None;
        }
        let own = |row: &Fields| has_text(row, "source") || has_text(row, "note");
        self.rows.iter().position(|row| !own(row)).map(|at| at + 1)
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().enumerate().map(|(at, fields)| Row { table: self, at, fields })
    }

    /// Names of the fields that its rows have.
    fn fields(&self) -> String {
        let mut names: Vec<&str> = self.rows.iter().flat_map(Fields::keys).map(|s| &**s).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    fn unit(&self, quantity: &str) -> String {
        self.units.get(quantity).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn has_text(fields: &Fields, key: &str) -> bool {
    let text = fields.get(key).and_then(Value::as_str);
    text.is_some_and(|text| !text.trim().is_empty())
}

/// One row, which has what its table's system has.
#[derive(Clone, Copy)]
struct Row<'a> {
    table: &'a Table,
    at: usize,
    fields: &'a Fields,
}

impl<'a> Row<'a> {
    fn value(&self, key: &str) -> Option<&'a Value> {
        let value = self.fields.get(key).or_else(|| self.table.system.get(key))?;
        self.table.reads.note(key);
        Some(value)
    }

    /// A number of the row or its system; its unit may be in the name (`mtu_bytes`).
    fn bytes(&self, key: &str) -> Option<f64> {
        self.number(key).or_else(|| self.number(&format!("{key}_bytes")))
    }

    /// A number whose name ends with this word: `links`, `upi_links`.
    fn ending(&self, word: &str) -> Option<f64> {
        let mut keys = self.fields.keys().chain(self.table.system.keys());
        self.number(keys.find(|key| {
            key.strip_suffix(word).is_some_and(|before| before.is_empty() || before.ends_with('_'))
        })?)
    }

    /// The row's own figures in these units: the column, what stands before its unit, and what one
    /// of them is.
    fn figures(&self, units: &[(&str, f64)]) -> Vec<(String, String, f64)> {
        let of = |key: &String| {
            let (unit, one) = units.iter().find(|(unit, _)| {
                let before = key.strip_suffix(unit);
                before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
            })?;
            as_number(self.fields.get(key)?)?;
            let what = key.trim_end_matches(unit).trim_end_matches('_').to_owned();
            Some((key.clone(), what, *one))
        };
        const GIVEN: [&str; 4] = ["bus_gb_s", "idle_ns", "link_gbps", "peak_gb_s"];
        self.fields.keys().filter(|key| !GIVEN.contains(&key.as_str())).filter_map(of).collect()
    }

    fn number(&self, key: &str) -> Option<f64> {
        as_number(self.value(key)?)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.value(key)?.as_str()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    /// True when the row itself has this, and not only its table.
    fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    /// A figure that the row itself has.
    fn own(&self, key: &str) -> Option<f64> {
        self.has(key).then(|| self.number(key)).flatten()
    }

    /// Rate of the link in bits a second: `link_gbps`, or what the NIC's name says (`100GbE`).
    fn link_bps(&self) -> Option<f64> {
        if let Some(gbps) = self.number("link_gbps") {
            return Some(gbps * 1e9);
        }
        let nic = self.text("nic")?.to_uppercase();
        let at = nic.find("GBE").or_else(|| nic.find("GB/S")).or_else(|| nic.find(" GB"))?;
        let digits: String =
            nic[..at].trim_end().chars().rev().take_while(char::is_ascii_digit).collect();
        let rate: f64 = digits.chars().rev().collect::<String>().parse().ok()?;
        Some(rate * 1e9)
    }

    /// What tells the row from others: its name, then numbers, then words, without its figures.
    fn label(&self) -> String {
        const ASIDE: [&str; 6] = ["note", "source", "bound", "tool", "value", "unit"];
        // A rate beside a latency is what was asked of memory then.
        let latencies = self.figures(LATENCIES);
        let rates = [RATES, PACKETS].into_iter().flat_map(|units| self.figures(units));
        let measured = if latencies.is_empty() { rates.collect() } else { latencies };
        let measured: Vec<String> = measured.into_iter().map(|(name, ..)| name).collect();
        let figure = |key: &String| {
            let known = self.table.units.contains_key(key) || measured.contains(key);
            known || ASIDE.contains(&key.as_str())
        };
        let mut fields: Vec<(usize, String)> = self
            .fields
            .iter()
            .filter(|(key, value)| !figure(key) && !value.is_table())
            .map(|(key, value)| {
                let named = NAMES.contains(&key.as_str());
                let words = match value.as_str() {
                    Some(text) if named => text.to_owned(),
                    Some(text) => format!("{key} {text}"),
                    None => format!("{key} {value}"),
                };
                (rank(key, value), words)
            })
            .collect();
        fields.sort_by_key(|(rank, _)| *rank);
        let words: Vec<String> = fields.into_iter().map(|(_, words)| words).take(3).collect();
        if words.is_empty() { format!("row {}", self.at + 1) } else { words.join(", ") }
    }
}

/// Fields that name a row, in the order that its label has them.
const NAMES: [&str; 5] = ["name", "server", "path", "protocol", "case"];

fn rank(key: &str, value: &Value) -> usize {
    let name = NAMES.iter().position(|name| *name == key);
    name.unwrap_or(if value.is_str() { 20 } else { 10 })
}

fn as_number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

/// What the model says of tables; those of one kind on one system are fitted together. Rows that no
/// question fits are named.
pub fn predict(tables: &[Table]) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    answers.extend(sockets::answers(tables));
    for table in tables {
        answers.extend(of_one(table));
        answers.extend(unasked(table));
    }
    answers
}

/// Of the questions whose tables are answered one by one.
fn of_one(table: &Table) -> Vec<Answer> {
    let single = [
        rdma::answer,
        packets::answer,
        tcp::answer,
        tcp::answer_unnamed,
        tcp::answer_datagrams,
        trips::answer,
        traffic::answer,
        contention::answer,
        figures::answer,
    ];
    let single = single.into_iter().filter_map(|answer| answer(table));
    single.chain(links::answers(table)).collect()
}

/// The rows of a table that no question goes with, by their fields.
fn unasked(table: &Table) -> Option<Answer> {
    let of = |rows: Vec<Fields>| Table { rows, ..table.clone() };
    let is_asked = |row: &&Fields| {
        let alone = of(vec![(*row).clone()]);
        sockets::is_one(&alone) || !of_one(&alone).is_empty()
    };
    let rest: Vec<Fields> = table.rows.iter().filter(|row| !is_asked(row)).cloned().collect();
    let count = rest.len();
    (count > 0).then(|| {
        let rest = of(rest);
        let mut remarks = vec![format!(
            "no question of docs/validate.md goes with the fields of {count} of its {} rows: {}",
            table.rows.len(),
            rest.fields()
        )];
        remarks.extend(fields::remarks(&rest));
        let files = vec![table.name.clone()];
        Answer { question: "none that narrows knows", files, remarks, ..Answer::default() }
    })
}

/// Mean error of guessing the median of the others.
fn median_of_others(published: &[f64]) -> Option<f64> {
    let errors: Option<Vec<f64>> = (0..published.len())
        .map(|at| {
            let others: Vec<f64> = [&published[..at], &published[at + 1..]].concat();
            Some((narrows_stats::median(&others)? / published[at] - 1.0).abs())
        })
        .collect();
    let errors = errors.filter(|errors| errors.len() > 1)?;
    Some(errors.iter().sum::<f64>() / errors.len() as f64)
}

/// A row's fields that a question may need, in words, for its remarks.
fn defaults(used: &BTreeMap<&'static str, String>) -> Vec<String> {
    used.iter().map(|(name, value)| format!("{name} is not given: {value} assumed")).collect()
}
