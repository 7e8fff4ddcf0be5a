//! A row of a table as a description of a host, of which the engine of predictions is asked.

use super::{Comparison, Row};
use narrows_dimm::platform;
use narrows_model::host::Host;
use narrows_model::result::PopulationGap;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Predictor, Reach, Refused, Said, of_nic};
use std::fmt;

/// Why the engine has no answer for a row.
#[derive(Debug)]
pub enum Unasked {
    /// Its `transport` is no word that is known.
    Transport,
    /// Its `offloads` is no word that is known.
    Offloads,
    /// Nothing tells the rate of its link.
    Link,
    /// The engine does not take what the row says.
    Refused(Refused),
    /// The engine knows no path for it.
    Path,
    /// The engine knows no NIC for it.
    Nic,
    /// Its figure is zero or below.
    NotPositive,
    /// Nothing names its processor.
    Processor,
    /// Its processor is of no platform that is known.
    Platform(String),
    /// Nothing tells how fast its memory runs.
    MemorySpeed,
    /// Nothing tells which modules it has.
    Modules,
    /// It tells of more modules than a server has slots for.
    TooManyModules(usize),
    /// Its channels are not lists of lists of modules.
    Channels,
    /// What is not known of the platform's interleaving.
    Interleave(PopulationGap),
    /// Its protocol is none that is known.
    Protocol(String),
    /// Nobody published the credits of that processor.
    Credits(String),
    /// A number that the question needs is not there.
    Field(&'static str),
    /// A field has another word than these.
    Word(&'static str, [&'static str; 2]),
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport => f.write_str("`transport` is none of tcp, udp, rdma"),
            Self::Offloads => f.write_str("`offloads` is none of none, kernel, hardware"),
            Self::Link => f.write_str("no `link_gbps` and no `nic` such as 100GbE"),
            Self::Refused(why) => why.fmt(f),
            Self::Path => f.write_str("no path"),
            Self::Nic => f.write_str("there is no NIC"),
            Self::NotPositive => f.write_str("a rate is above zero"),
            Self::Processor => f.write_str("no `cpu` says which platform this is"),
            Self::Platform(cpu) => write!(f, "the platform of '{cpu}'"),
            Self::MemorySpeed => {
                f.write_str("no `mts` and no `dimm` such as DDR4-2933 says how fast memory runs")
            }
            Self::Modules => f.write_str("neither `dimms` nor `channels`"),
            Self::TooManyModules(dimms) => {
                write!(f, "{dimms} modules are more than any server has slots for")
            }
            Self::Channels => f.write_str(
                "`channels` is sockets of controllers of modules: [[[1,1,0],[1,0,0]], ...]",
            ),
            Self::Interleave(missing) => missing.fmt(f),
            Self::Protocol(name) => write!(f, "the protocol '{name}' is not known"),
            Self::Credits(cpu) => write!(f, "credits of '{cpu}' were not published"),
            Self::Field(key) => write!(f, "no `{key}`"),
            Self::Word(key, [one, other]) => write!(f, "`{key}` is neither {one} nor {other}"),
        }
    }
}

/// Adds the row's processor. Of one that nobody names, or no platform has, the model takes one in
/// the middle.
pub fn processor(row: &Row<'_>, said: &mut Said) {
    let name = row.text("cpu").and_then(|cpu| cpu.split('(').next()).map(str::trim);
    if let Some(name) = name.filter(|name| platform::named(name).is_some()) {
        said.insert("cpu".to_owned(), name.to_owned());
    }
}

/// Adds the numbers that the row has.
pub fn numbers<const N: usize>(numbers: [(&str, Option<f64>); N], said: &mut Said) {
    for (key, number) in numbers {
        if let Some(number) = number {
            said.insert(key.to_owned(), number.to_string());
        }
    }
}

/// The engine for a host of which only this is known.
pub fn engine(said: &Said) -> Result<Predictor, Unasked> {
    of_nic(&Host::default(), None, said, &Calibration::default()).map_err(Unasked::Refused)
}

/// Puts an answer beside the published figure.
pub fn answered(cell: &mut Comparison, reach: &Reach) {
    cell.predicted = Some(reach.value);
    (cell.low, cell.high) = (Some(reach.low), Some(reach.high));
    cell.left_out = cell.predicted;
    cell.uncalibrated = Some((reach.value, reach.low, reach.high));
    cell.bottleneck = reach.bottleneck.map(|name| name.to_string()).unwrap_or_default();
}
