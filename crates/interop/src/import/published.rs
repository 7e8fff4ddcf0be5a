//! Published tables as TOML: `[source]`, `[units]`, `[system]` and one `[[row]]` a line of the
//! table.
//!
//! Columns whose name ends in a unit are figures, each a level of the factor `protocol` by what
//! stands before the unit. `factors`, above all tables, names the columns that are factors; each
//! other column is then one of a few or an error, since a misspelt factor would say nothing of a
//! cell. Without it those that are numbers are factors, and those that are words notes; but `any`,
//! which says that the figure is of all levels, is one. Tables of single figures and of servers
//! have no such columns, or have them of something else: they are refused.
//!
//! Where a table names its factors, a row may have the source's own words in `says`, of what no
//! figure of a cell is surely the same: they stand beside the cell, and nothing is compared.
//!
//! A row that says how many `times` the figure of another cell its own is names in `against` the
//! levels in which that one differs.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::trial::Level;
use narrows_model::units::Unit;
use toml::de::DeTable;

/// How output of published is recognised and read.
pub static TOOL: Tool = Tool { name: "published", recognises, parse };

/// Ends of columns, their unit, and what one of them is.
const UNITS: [(&str, Unit, f64); 9] = [
    ("gbps", Unit::BitsPerSecond, 1e9),
    ("mbps", Unit::BitsPerSecond, 1e6),
    ("gb_s", Unit::BytesPerSecond, 1e9),
    ("mb_s", Unit::BytesPerSecond, 1e6),
    ("us", Unit::Nanos, 1e3),
    ("ns", Unit::Nanos, 1.0),
    ("times", Unit::Share, 1.0),
    // Run times of applications; whole words, since `s` and `min` end other columns.
    ("minutes", Unit::Nanos, 60e9),
    ("seconds", Unit::Nanos, 1e9),
];

/// Columns of tables of servers: what `report --servers --published` reads.
const PACKETS: [&str; 3] = ["mpps", "mpps_below", "wire_rate"];

/// Where a table names its factors.
const FACTORS: &str = "factors";

/// The column of the levels in which a cell differs that the row's is set against.
const AGAINST: &str = "against";

/// What a table with named factors has beside them and its figures: `note` is words for its
/// reader, and `bound` says that a figure is `at least` or `at most` so much.
const OTHERS: [&str; 4] = ["note", "bound", AGAINST, SAYS];

/// The column of the source's own words, and the workload of the run that stands for them.
const SAYS: &str = "says";

/// The workload of a run that stands for a program's run time.
const RUN_TIME: &str = "run-time";

/// The level of a factor that holds for all of its levels.
const ANY: &str = "any";

fn recognises(text: &str) -> bool {
    text.contains("[source]") && text.contains("[[row]]")
}

fn parse(text: &str) -> Result<Output, Unusable> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| Unusable::Toml(error.message().to_owned()))?;
    let named = named(text)?;
    let rows =
        table.get("row").and_then(toml::Value::as_array).ok_or(Unusable::Lacks("[[row]]"))?;
    let rows_are =
        |has: fn(&toml::Table) -> bool| rows.iter().filter_map(toml::Value::as_table).any(has);
    // Of servers the columns with a unit are what each is made of.
    if rows_are(|row| row.contains_key("server") && PACKETS.iter().any(|of| row.contains_key(*of)))
    {
        return Err(Unusable::Servers);
    }
    let has_words = named.is_some() && rows_are(|row| row.contains_key(SAYS));
    let has_figures = rows_are(|row| row.keys().any(|name| figure(name).is_some()));
    if !rows.is_empty() && !has_figures && !has_words {
        return Err(Unusable::SingleFigures);
    }
    let mut runs = Vec::new();
    for row in rows.iter().filter_map(toml::Value::as_table) {
        let (mut factors, mut notes) = (Vec::new(), Vec::new());
        for (name, value) in row.iter().filter(|(name, _)| figure(name).is_none()) {
            if let Some(levels) = value.as_table().filter(|_| name == AGAINST) {
                factors.extend(levels.iter().map(|(factor, level)| Level {
                    factor: format!("{AGAINST} {factor}"),
                    level: words(level),
                }));
                continue;
            }
            let level = Level { factor: name.clone(), level: words(value) };
            let is_factor = match &named {
                Some(named) => named.contains(name),
                None => !value.is_str() || is_protocol(name) || level.level == ANY,
            };
            (if is_factor { &mut factors } else { &mut notes }).push(level);
        }
        if named.is_some() && row.contains_key(SAYS) {
            let mut run = Run::new(SAYS);
            (run.levels, run.notes) = (factors.clone(), notes.clone());
            runs.push(run);
        }
        for (name, value) in row {
            let Some((protocol, unit, scale)) = figure(name) else { continue };
            let value = value.as_float().or(value.as_integer().map(|n| n as f64));
            // In seconds and minutes nobody tells the latency of a network.
            let is_run_time = unit == Unit::Nanos && scale >= 1e9;
            let kind = if is_run_time { RUN_TIME.to_owned() } else { kind(protocol, unit) };
            let mut run = Run::new(kind);
            (run.levels, run.notes) = (factors.clone(), notes.clone());
            if !protocol.is_empty() {
                run = run.level("protocol", protocol.to_uppercase());
            }
            runs.push(run.figure("published", value.map(|value| value * scale), unit));
        }
    }
    // A table has no version; what it stands in tells tables apart.
    let title = table.get("source").and_then(|source| source.get("title"));
    nothing(runs, title.and_then(toml::Value::as_str).map(str::to_owned))
}

/// The factors that a table names, where it names them: each is a column of a row, and each column
/// is one of them, a figure, or a note.
fn named(text: &str) -> Result<Option<Vec<String>>, Unusable> {
    let root = DeTable::parse(text).map_err(|error| Unusable::Toml(error.message().to_owned()))?;
    let root = root.get_ref();
    let Some(list) = root.get(FACTORS) else { return Ok(None) };
    let names = list.get_ref().as_array().and_then(|list| {
        let names = list.iter().map(|one| Some((one.get_ref().as_str()?, one.span().start)));
        names.collect::<Option<Vec<(&str, usize)>>>()
    });
    let named = names.ok_or_else(|| Unusable::NoFactors { line: line(text, list.span().start) })?;
    let rows = root.get("row").and_then(|rows| rows.get_ref().as_array());
    let rows: Vec<&DeTable<'_>> =
        rows.into_iter().flatten().filter_map(|row| row.get_ref().as_table()).collect();
    check(text, &named, &rows)?;
    Ok(Some(named.into_iter().map(|(factor, _)| factor.to_owned()).collect()))
}

/// What rows and the factors that are named, each with its place in the text, have of each other.
fn check(text: &str, named: &[(&str, usize)], rows: &[&DeTable<'_>]) -> Result<(), Unusable> {
    let against = rows.iter().filter_map(|row| row.get(AGAINST)?.get_ref().as_table());
    let columns = rows.iter().copied().flatten().map(|column| (column, true));
    let all = columns.chain(against.flatten().map(|column| (column, false)));
    for ((name, value), is_column) in all {
        let column: &str = name.get_ref();
        let is_named = named.iter().any(|(factor, _)| *factor == column);
        let is_other = is_column && (figure(column).is_some() || OTHERS.contains(&column));
        if !is_named && !is_other {
            let line = line(text, name.span().start.min(value.span().start));
            return Err(Unusable::UnnamedColumn { line, column: column.to_owned() });
        }
    }
    for (factor, at) in named {
        if !rows.iter().any(|row| row.contains_key(*factor)) {
            let (line, factor) = (line(text, *at), (*factor).to_owned());
            return Err(Unusable::FactorOfNoRow { line, factor });
        }
    }
    Ok(())
}

/// The line of a byte of a text; the first is 1.
fn line(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|one| *one == b'\n').count() + 1
}

fn is_protocol(name: &str) -> bool {
    ["protocol", "transport", "fabric"].contains(&name)
}

fn words(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What stands before a column's unit, and the unit.
fn figure(name: &str) -> Option<(&str, Unit, f64)> {
    UNITS.iter().find_map(|(end, unit, scale)| {
        let before = name.strip_suffix(end)?;
        let whole = before.is_empty() || before.ends_with('_');
        whole.then(|| (before.trim_end_matches('_'), *unit, *scale))
    })
}

fn kind(protocol: &str, unit: Unit) -> String {
    match unit {
        Unit::Nanos => format!("{protocol}-latency"),
        Unit::BytesPerSecond => format!("memory-{protocol}"),
        Unit::Share => "change".to_owned(),
        _ if protocol.is_empty() => "stream".to_owned(),
        _ => format!("{protocol}-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_cell_for_every_figure() {
        let text = "[source]\ntitle = 'x'\n[[row]]\ndimms = 1\ncpu1 = 'Unbalanced'\ntcp_gbps = 61.5\n\
                    udp_gbps = 63\n[[row]]\ndimms = 2\ntcp_gbps = 88.25\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!(runs.len(), 3);
        assert_eq!((runs[0].kind.as_str(), runs[0].figures[0].value), ("tcp-stream", 61.5e9));
        let names: Vec<&str> = runs[1].levels.iter().map(|level| level.level.as_str()).collect();
        assert_eq!(names, ["1", "UDP"]);
        assert_eq!(runs[0].notes[0].level, "Unbalanced");
        // Others have no runs, and are no cells made of what looks like figures.
        let single = "[source]\n[[row]]\nname = 'peak'\nvalue = 2500\nunit = 'Mb/s'\n";
        assert!(matches!(parse(single), Err(Unusable::SingleFigures)));
        let servers = "[source]\n[[row]]\nserver = 'R810'\nmem_mb_s = 6102.9\nmpps_below = 2.0\n";
        assert!(matches!(parse(servers), Err(Unusable::Servers)));
        assert!(matches!(parse("row = []\n[source]\n"), Err(Unusable::NoRun)));
        let any = "[source]\n[[row]]\ndimms = 'any'\nprotocol = 'RoCEv1'\ngbps = 92.79\n";
        let run = parse(any).expect("a run").runs.remove(0);
        let levels: Vec<&str> = run.levels.iter().map(|level| level.level.as_str()).collect();
        assert_eq!((levels, run.notes.len()), (vec!["any", "RoCEv1"], 0));
    }

    #[test]
    fn run_times_are_no_latency_of_a_network() {
        let text = "factors = ['application', 'MTU']\n[source]\n[[row]]\napplication = 'vasp'\n\
                    MTU = 1500\nminutes = 52.30\n[[row]]\napplication = 'wrf'\nseconds = 90\n";
        let runs = parse(text).expect("runs").runs;
        let told: Vec<(&str, f64)> =
            runs.iter().map(|run| (run.kind.as_str(), run.figures[0].value)).collect();
        assert_eq!(told, [("run-time", 52.30 * 60e9), ("run-time", 90e9)]);
    }

    const NAMED: &str = "factors = ['test', 'size']\n[source]\n[[row]]\ntest = 'TCP fan-in'\n\
                         size = 'best'\nmbps = 3500\nnote = 'MTU 9K'\n";

    #[test]
    fn a_table_names_its_factors_of_words() {
        let run = parse(NAMED).expect("a run").runs.remove(0);
        let levels: Vec<(&str, &str)> =
            run.levels.iter().map(|of| (of.factor.as_str(), of.level.as_str())).collect();
        assert_eq!(levels, [("size", "best"), ("test", "TCP fan-in")]);
        assert_eq!((run.figures[0].value, run.notes[0].level.as_str()), (3.5e9, "MTU 9K"));
    }

    #[test]
    fn a_change_names_what_it_is_set_against() {
        let text = "factors = ['node', 'test']\n[source]\n[[row]]\nnode = 'own'\ntest = 'rr'\n\
                    against = { node = 'other' }\ntimes = 0.6\nbound = 'at most'\n";
        let run = parse(text).expect("a run").runs.remove(0);
        let levels: Vec<(&str, &str)> =
            run.levels.iter().map(|of| (of.factor.as_str(), of.level.as_str())).collect();
        assert_eq!(levels, [("against node", "other"), ("node", "own"), ("test", "rr")]);
        assert_eq!((run.figures[0].value, run.figures[0].unit), (0.6, Unit::Share));
        assert_eq!((run.kind.as_str(), run.notes[0].level.as_str()), ("change", "at most"));
        let wrong = parse(&text.replace("{ node", "{ nod")).expect_err("an error").to_string();
        assert!(wrong.starts_with("line 6: the column nod is none of its factors"), "{wrong}");
    }

    #[test]
    fn words_of_a_source_are_of_a_cell_and_no_figure() {
        let text = "factors = ['test']\n[source]\n[[row]]\ntest = 'TCP round trip'\n\
                    says = 'about 50 % CPU'\n";
        let runs = parse(text).expect("runs").runs;
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.kind.as_str(), run.figures.len(), &run.failed), ("says", 0, &None));
        assert_eq!(run.levels[0].level, "TCP round trip");
        assert_eq!(
            (run.notes[0].factor.as_str(), &*run.notes[0].level),
            ("says", "about 50 % CPU")
        );
        // Beside a figure of the same cell it is a run of its own.
        assert_eq!(parse(&format!("{text}us = 20\n")).expect("runs").runs.len(), 2);
        let unnamed = text.replace("factors = ['test']\n", "");
        assert!(matches!(parse(&unnamed), Err(Unusable::SingleFigures)));
    }

    #[test]
    fn what_a_table_does_not_name_is_an_error_with_its_line() {
        let said = |from: &str, to: &str| {
            parse(&NAMED.replacen(from, to, 1)).expect_err("an error").to_string()
        };
        let misspelt = said("\ntest = ", "\ntset = ");
        assert!(
            misspelt.starts_with("line 4: the column tset is none of its factors"),
            "{misspelt}"
        );
        // Without a list every number is a factor; a list says all of them.
        assert!(said("note = 'MTU 9K'", "streams = 4").starts_with("line 7: the column streams"));
        assert!(said("note = 'MTU 9K'", "protocol = 'TCP'").starts_with("line 7: the column prot"));
        assert_eq!(said("'size']", "'size',\n'MTU']"), "line 2: no row has its factor MTU");
        assert_eq!(
            said("['test', 'size']", "'test'"),
            "line 1: factors is a list of the names of columns"
        );
    }
}
