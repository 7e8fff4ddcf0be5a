//! Words of the command line that are read here: numbers within bounds, names, sizes and rates.

use super::untaken::Untaken;
use clap::builder::{PossibleValue, PossibleValuesParser};
use narrows_interop::engines;
use narrows_model::options::runs::SECONDS;
use narrows_model::options::{Told, WrongValue};
use narrows_model::study::REPEATS_MAX;
use narrows_model::workload::Kernel;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_predict::{Kit, NoKit};

/// One of the names that the parser before has let through.
pub(super) fn kernel(name: String) -> Result<Kernel, Untaken> {
    Kernel::named(&name).ok_or_else(|| Untaken::unknown(&name, "kernel"))
}

/// Tools whose servers can be lent. Those without one are no value that is listed, but known: who
/// names one is told that it needs none.
pub(super) fn engine_names() -> PossibleValuesParser {
    let names = engines::ENGINES.iter().map(|engine| engine.name);
    let values = names.map(|name| PossibleValue::new(name).hide(!engines::has_server(name)));
    PossibleValuesParser::new(values)
}

/// The first and the last of some ports, or one port; none is 0.
pub(super) fn ports(text: &str) -> Result<(u16, u16), Untaken> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = port_number(first).zip(port_number(last)).filter(|(first, last)| first <= last);
    range.ok_or_else(|| Untaken::unknown(text, "port, and no FIRST-LAST"))
}

fn port_number(text: &str) -> Option<u16> {
    text.trim().parse::<u16>().ok().filter(|port| *port > 0)
}

/// The least memory with which an agent can do anything: buffers of one flow of datagrams.
const MEMORY_LEAST: Bytes = Bytes(64 << 10);

/// Memory for the buffers of a run, in bytes.
pub(super) fn memory(text: &str) -> Result<Bytes, Untaken> {
    let bytes: Bytes = text.parse().map_err(|_| Untaken::form(text, "a size such as 64M"))?;
    Some(bytes).filter(|bytes| *bytes >= MEMORY_LEAST).ok_or(Untaken::Beyond("64K or more"))
}

/// A rate from 1 bit/s on.
pub(super) fn rate(text: &str) -> Result<BitsPerSecond, Untaken> {
    let rate: BitsPerSecond =
        text.parse().map_err(|_| Untaken::form(text, "a rate such as 10G"))?;
    Some(rate).filter(|rate| rate.0 >= 1.0).ok_or(Untaken::Beyond("1 bit/s or more"))
}

/// Modules of memory to place, after `dimms=`.
pub(super) fn dimms(text: &str) -> Result<Kit, Untaken> {
    let kit = text.strip_prefix("dimms=").ok_or(NoKit::Form).and_then(Kit::parse);
    kit.map_err(|why| Untaken::Kit { text: text.to_owned(), why })
}

/// Repeats within the bounds that a study's file has too.
pub(super) fn repeats() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(REPEATS_MAX))
}

/// Seconds that count in a run, within the bounds that a study's file has too.
pub(super) fn seconds(text: &str) -> Result<f64, WrongValue> {
    let seconds = f64::of(&SECONDS.declared.takes.parse(text)?);
    seconds.ok_or_else(|| WrongValue::Unreadable { text: text.to_owned(), wanted: "seconds" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_the_bounds_that_a_studys_file_has() {
        assert_eq!(seconds("0.05"), Ok(0.05));
        assert_eq!(seconds("2400"), Ok(2400.0));
        for wrong in ["0.04", "2401", "nan", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        let told = seconds("2401").map_err(|why| why.to_string());
        assert_eq!(told, Err("2401 is out of bounds, must be 0.05 to 2400".to_owned()));
    }
}
