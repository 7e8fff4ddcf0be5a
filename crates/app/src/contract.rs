//! Where a figure stands in what an application wrote, and in which unit.

use crate::AppError;
use narrows_model::units::Unit;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// Name of the figure that counts in a record.
pub const FIGURE: &str = "figure";
/// Name of the share of time that ranks communicate.
pub const COMMUNICATION: &str = "communication";
/// Name of the share of its CPUs that a run had.
pub const CPU_USE: &str = "CPU use";

/// Name of the share of the time for which the ranks on this host asked for a CPU that they had
/// one, by the kernel's scheduler: of runs whose application tells no CPU use of its own.
pub const CPU_HAD: &str = "CPU had";

/// Name of the kernel's share of the CPU time of the ranks on this host.
pub const SYSTEM: &str = "system time";

/// Unit of times that are written as `1h 2m`, `1m12.47s` or `0.48s`.
const CLOCK: &str = "clock";

/// The most that a compiled expression may take, in bytes.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// Units that a contract can name, each with the one that it is stored in and how many of that it
/// is.
const UNITS: [(&str, Unit, f64); 15] = [
    ("ns", Unit::Nanos, 1.0),
    ("us", Unit::Nanos, 1e3),
    ("ms", Unit::Nanos, 1e6),
    ("s", Unit::Nanos, 1e9),
    ("min", Unit::Nanos, 60e9),
    ("h", Unit::Nanos, 3600e9),
    (CLOCK, Unit::Nanos, 1e9),
    ("1/s", Unit::PerSecond, 1.0),
    ("1/day", Unit::PerSecond, 1.0 / 86_400.0),
    ("Mflop/s", Unit::FlopsPerSecond, 1e6),
    ("Gflop/s", Unit::FlopsPerSecond, 1e9),
    ("Tflop/s", Unit::FlopsPerSecond, 1e12),
    ("GB/s", Unit::BytesPerSecond, 1e9),
    ("share", Unit::Share, 1.0),
    ("%", Unit::Share, 0.01),
];

/// A contract as a file has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Written {
    /// An expression with one group.
    pub regex: Option<String>,
    /// Where in a JSON document (RFC 6901).
    pub pointer: Option<String>,
    /// File in the folder of the run, in place of standard output.
    pub file: Option<String>,
    /// Unit that the application writes it in.
    pub unit: Option<String>,
    /// All fits of the expression are added, where the application tells parts.
    pub sum: bool,
}

#[derive(Clone, Debug)]
pub struct Contract {
    /// File in the folder of the run; `None` is what was written to standard output.
    pub file: Option<String>,
    place: Place,
    /// Unit that the figure is stored in.
    pub unit: Unit,
    times: f64,
    read: fn(&str) -> Option<f64>,
}

#[derive(Clone, Debug)]
enum Place {
    /// The one group of an expression that fits once.
    Regex(Regex),
    /// The one group of an expression, added over all its fits.
    Sum(Regex),
    /// A JSON pointer (RFC 6901).
    Pointer(String),
}

/// Why a text does not have the figure.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoFigure {
    /// The expression fits nowhere.
    #[error("nothing fits the expression")]
    Nothing,
    /// It fits more than once, so that the figure could be any of them.
    #[error("the expression fits {0} times, and may fit once only")]
    Ambiguous(usize),
    /// The text is no JSON document.
    #[error("it is no JSON document")]
    NoJson,
    /// The document has nothing there.
    #[error("the document has no number at {0}")]
    NoPointer(String),
    /// What stands there is no finite number.
    #[error("'{0}' is no number")]
    NoNumber(String),
}

impl Contract {
    /// Takes one from the file; `at` names it in what is said.
    pub fn of(written: &Written, at: &str, wanted: &[Unit]) -> Result<Self, AppError> {
        let word = written.unit.as_deref().unwrap_or_default();
        let known = UNITS.iter().find(|(name, unit, _)| *name == word && wanted.contains(unit));
        let (_, unit, times) = known.ok_or_else(|| no_unit(word, at, wanted))?;
        Ok(Self {
            file: file(written, at)?,
            place: place(written, at)?,
            unit: *unit,
            times: *times,
            read: if word == CLOCK { clock } else { plain },
        })
    }

    /// The same of a plain number without a unit.
    pub fn bare(written: &Written, at: &str) -> Result<Self, AppError> {
        if written.unit.is_some() {
            return Err(AppError::new(at, "is a number without a unit: leave `unit` out"));
        }
        let place = place(written, at)?;
        Ok(Self { file: file(written, at)?, place, unit: Unit::Share, times: 1.0, read: plain })
    }

    /// The figure in its stored unit.
    pub fn read(&self, text: &str) -> Result<f64, NoFigure> {
        let value = match &self.place {
            Place::Regex(regex) => only_group(regex, text, self.read)?,
            Place::Sum(regex) => sum(regex, text, self.read)?,
            Place::Pointer(pointer) => at_pointer(text, pointer)?,
        };
        Ok(value * self.times)
    }
}

fn no_unit(word: &str, at: &str, wanted: &[Unit]) -> AppError {
    let names = UNITS.iter().filter(|(_, unit, _)| wanted.contains(unit)).map(|(name, ..)| *name);
    let names = names.collect::<Vec<_>>().join(", ");
    AppError::new(at, format!("'{word}' is no unit of it; unit is one of {names}"))
}

/// A plain name: neither another folder nor a hidden file.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && !name.starts_with(['.', '-'])
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn file(written: &Written, at: &str) -> Result<Option<String>, AppError> {
    match &written.file {
        Some(name) if !is_plain(name) => {
            Err(AppError::new(at, format!("file '{name}' is no plain name of a file")))
        }
        named => Ok(named.clone()),
    }
}

fn place(written: &Written, at: &str) -> Result<Place, AppError> {
    match (&written.regex, &written.pointer) {
        (Some(regex), None) => {
            let built = RegexBuilder::new(regex)
                .multi_line(true)
                .size_limit(REGEX_BYTES_MAX)
                .build()
                .map_err(|error| AppError::new(at, format!("regex: {error}")))?;
            match built.captures_len() {
                2 if written.sum => Ok(Place::Sum(built)),
                2 => Ok(Place::Regex(built)),
                _ => Err(AppError::new(at, "regex has one group, which is the number")),
            }
        }
        (None, Some(_)) if written.sum => {
            Err(AppError::new(at, "sum adds the fits of a regex, and a pointer has one place"))
        }
        (None, Some(pointer)) if pointer.starts_with('/') => Ok(Place::Pointer(pointer.clone())),
        (None, Some(_)) => Err(AppError::new(at, "pointer begins with a slash (RFC 6901)")),
        _ => Err(AppError::new(at, "has either a regex or a pointer")),
    }
}

fn only_group(regex: &Regex, text: &str, read: fn(&str) -> Option<f64>) -> Result<f64, NoFigure> {
    let mut all = regex.captures_iter(text);
    let first = all.next().and_then(|fit| fit.get(1)).ok_or(NoFigure::Nothing)?;
    match all.count() {
        0 => number(first.as_str(), read),
        more => Err(NoFigure::Ambiguous(more + 1)),
    }
}

fn sum(regex: &Regex, text: &str, read: fn(&str) -> Option<f64>) -> Result<f64, NoFigure> {
    let parts = regex.captures_iter(text).filter_map(|fit| fit.get(1));
    let parts: Vec<f64> =
        parts.map(|part| number(part.as_str(), read)).collect::<Result<_, _>>()?;
    // Nothing is not a sum of zero: the application may write it in other words.
    if parts.is_empty() { Err(NoFigure::Nothing) } else { Ok(parts.iter().sum()) }
}

fn at_pointer(text: &str, pointer: &str) -> Result<f64, NoFigure> {
    let document: Value = serde_json::from_str(text).map_err(|_| NoFigure::NoJson)?;
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.ok_or_else(|| NoFigure::NoPointer(pointer.to_owned()))
}

fn number(text: &str, read: fn(&str) -> Option<f64>) -> Result<f64, NoFigure> {
    let value = read(text.trim()).filter(|value| value.is_finite());
    value.ok_or_else(|| NoFigure::NoNumber(text.chars().take(40).collect()))
}

fn plain(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Seconds of a time whose parts have letters: days, hours, minutes, seconds, in that order.
fn clock(text: &str) -> Option<f64> {
    let mut seconds = None;
    let mut rest = text;
    for (letter, each) in [('d', 86_400.0), ('h', 3600.0), ('m', 60.0), ('s', 1.0)] {
        let Some((part, more)) = rest.split_once(letter) else { continue };
        let part: f64 = part.trim().parse().ok()?;
        seconds = Some(seconds.unwrap_or(0.0) + part * each);
        rest = more;
    }
    seconds.filter(|_| rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAMMPS: &str = "Loop time of 0.693 on 2 procs for 100 steps with 32000 atoms\n\n\
        Performance: 62337.1 tau/day, 144.299 timesteps/s\n\
        87.3% CPU use with 2 MPI tasks x 1 OpenMP threads\n\
        Pair    | 0.50  | 0.51  | 0.52  |   1.0 | 73.10\n\
        Comm    | 0.07  | 0.077 | 0.08  |   1.3 | 11.11\n";

    fn written(text: &str) -> Written {
        toml::from_str(text).expect("a contract")
    }

    #[test]
    fn figures_are_found_by_their_contracts() {
        let times = [Unit::Nanos, Unit::PerSecond];
        let time = written("regex = '^Loop time of ([0-9.]+) on'\nunit = 's'");
        let time = Contract::of(&time, "figure", &times).expect("a contract");
        assert_eq!(time.read(LAMMPS), Ok(0.693e9));
        let share = written(
            r#"regex = '^Comm .*\|\s*([0-9.]+)\s*$'
                               unit = "%""#,
        );
        let share = Contract::of(&share, "communication", &[Unit::Share]).expect("a contract");
        assert!((share.read(LAMMPS).expect("a share") - 0.1111).abs() < 1e-12);
        let json = written("pointer = '/run/0/seconds'\nunit = 'ms'\nfile = 'out.json'");
        let json = Contract::of(&json, "figure", &times).expect("a contract");
        assert_eq!(json.read(r#"{"run": [{"seconds": 2.5}]}"#), Ok(2.5e6));
        assert_eq!(json.read("[]"), Err(NoFigure::NoPointer("/run/0/seconds".into())));
        assert_eq!(json.read("Loop"), Err(NoFigure::NoJson));
    }

    #[test]
    fn parts_are_added_only_where_the_study_says_so() {
        let log = " Comm. coord.  2  1  0.1  0.2  2.5\n Comm. energies 2 1 0.1 0.2  0.75\n";
        let text = "regex = '^ Comm. .* ([0-9.]+)$'\nunit = '%'\n";
        let of = |text: &str| Contract::of(&written(text), "communication", &[Unit::Share]);
        let one = of(text).expect("a contract");
        assert_eq!(one.read(log), Err(NoFigure::Ambiguous(2)));
        let all = of(&format!("{text}sum = true")).expect("a contract");
        assert!((all.read(log).expect("a share") - 0.0325).abs() < 1e-12);
        assert_eq!(all.read("Force 1 2 3"), Err(NoFigure::Nothing));
    }

    #[test]
    fn times_with_letters_are_seconds() {
        let text = "regex = ' PWSCF .* CPU +(.+) WALL'\nunit = 'clock'";
        let time = Contract::of(&written(text), "figure", &[Unit::Nanos]).expect("a contract");
        for (says, seconds) in
            [("10.56s", 10.56), ("1m12.47s", 72.47), ("1h 2m", 3720.0), ("2d 3h", 183_600.0)]
        {
            let line = format!("     PWSCF        :      1.61s CPU     {says} WALL");
            let read = time.read(&line).expect("a time");
            assert!((read / 1e9 - seconds).abs() < 1e-9, "{says}: {read}");
        }
        for odd in ["10.56", "2s 1m", "s", "1m x"] {
            let line = format!("     PWSCF        :      1.61s CPU     {odd} WALL");
            assert_eq!(time.read(&line), Err(NoFigure::NoNumber(odd.to_owned())));
        }
    }

    #[test]
    fn a_figure_that_could_be_another_is_none() {
        let rate = written("regex = '([0-9.]+) \\|'\nunit = 's'");
        let rate = Contract::of(&rate, "figure", &[Unit::Nanos]).expect("a contract");
        assert!(matches!(rate.read(LAMMPS), Err(NoFigure::Nothing | NoFigure::Ambiguous(_))));
        assert_eq!(rate.read("1 | 2 |"), Err(NoFigure::Ambiguous(2)));
        assert_eq!(rate.read(""), Err(NoFigure::Nothing));
        let any = written("regex = '= (.*)$'\nunit = 's'");
        let any = Contract::of(&any, "figure", &[Unit::Nanos]).expect("a contract");
        assert_eq!(any.read("t = nan"), Err(NoFigure::NoNumber("nan".into())));
    }

    #[test]
    fn what_is_no_contract_is_refused_with_its_place() {
        for (text, says) in [
            ("unit = 's'", "either a regex or a pointer"),
            ("regex = '(a)'\npointer = '/a'\nunit = 's'", "either a regex or a pointer"),
            ("regex = 'a'\nunit = 's'", "one group"),
            ("regex = '(a)(b)'\nunit = 's'", "one group"),
            ("regex = '(a'\nunit = 's'", "regex:"),
            ("regex = '((a{1000}){1000})'\nunit = 's'", "regex:"),
            ("pointer = 'a'\nunit = 's'", "begins with a slash"),
            ("pointer = '/a'\nsum = true\nunit = 's'", "adds the fits of a regex"),
            ("regex = '(a)'\nunit = '%'", "'%' is no unit of it"),
            ("regex = '(a)'", "'' is no unit of it"),
            ("regex = '(a)'\nunit = 's'\nfile = '../x'", "no plain name"),
            ("regex = '(a)'\nunit = 's'\nfile = '/etc/passwd'", "no plain name"),
        ] {
            let error = Contract::of(&written(text), "figure", &[Unit::Nanos]).expect_err(text);
            assert!(error.at == "figure" && error.why.contains(says), "{text}: {error}");
        }
        assert!(toml::from_str::<Written>("regexp = 'a'").is_err());
    }

    #[test]
    fn every_unit_is_so_many_of_what_is_stored() {
        let all =
            [Unit::Nanos, Unit::PerSecond, Unit::FlopsPerSecond, Unit::BytesPerSecond, Unit::Share];
        for (unit, stored, value) in [
            ("ns", Unit::Nanos, 3.0),
            ("us", Unit::Nanos, 3e3),
            ("ms", Unit::Nanos, 3e6),
            ("s", Unit::Nanos, 3e9),
            ("min", Unit::Nanos, 180e9),
            ("h", Unit::Nanos, 10_800e9),
            ("1/s", Unit::PerSecond, 3.0),
            ("1/day", Unit::PerSecond, 3.0 / 86_400.0),
            ("Mflop/s", Unit::FlopsPerSecond, 3e6),
            ("Gflop/s", Unit::FlopsPerSecond, 3e9),
            ("Tflop/s", Unit::FlopsPerSecond, 3e12),
            ("GB/s", Unit::BytesPerSecond, 3e9),
            ("share", Unit::Share, 3.0),
            ("%", Unit::Share, 0.03),
        ] {
            let text = format!("regex = '= (.*)$'\nunit = '{unit}'");
            let read = Contract::of(&written(&text), "figure", &all).expect(unit);
            let told = read.read("it = 3").expect("a figure");
            assert!((told / value - 1.0).abs() < 1e-12, "{unit}: {told}");
            assert_eq!(read.unit, stored, "{unit}");
        }
        let bare = Contract::bare(&written("pointer = '/a/1'"), "check").expect("a contract");
        assert_eq!(bare.read("{\"a\": [7, 8]}"), Ok(8.0));
        assert_eq!(bare.read("{\"a\": [7]}"), Err(NoFigure::NoPointer("/a/1".into())));
        assert_eq!(bare.read("a"), Err(NoFigure::NoJson));
        let united = Contract::bare(&written("regex = '(a)'\nunit = 's'"), "check");
        assert!(united.is_err_and(|error| error.why.contains("leave `unit` out")));
        for (name, plain) in
            [("a.txt", true), ("-a", false), (".a", false), ("a/b", false), ("", false)]
        {
            assert_eq!(is_plain(name), plain, "{name}");
        }
        assert!(is_plain(&"a".repeat(100)) && !is_plain(&"a".repeat(101)));
    }
}
