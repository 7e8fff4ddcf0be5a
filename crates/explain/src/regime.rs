//! Which part inside the hosts holds a cell, where no counters of the memory controllers tell it:
//! by what the receiver's NIC witnesses, how full its wire was and how full the ends' threads were.
//! What these do not tell is named, with what would.

use crate::Case;
use crate::inside::{FULL_SHARE, Inside, testimony, wire_share};
use crate::measured::{Blind, Cell, cells};
use crate::rules::host_congestion::is_asked_of;
use narrows_model::BitsPerSecond;
use serde::Serialize;
use std::fmt;

/// A cell's regime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellRegime {
    /// The cell's label.
    pub cell: String,
    pub part: Part,
    /// What tells it, or what would have to be counted.
    pub says: String,
}

/// Which part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Wire,
    Slot,
    Cpu,
    /// Device writes, the red regime: likely.
    DeviceWrites,
    /// The same: possible.
    PerhapsDeviceWrites,
    /// A provider's limit.
    Limit,
    Unknown,
}

impl fmt::Display for Part {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Wire => "wire",
            Self::Slot => "slot",
            Self::Cpu => "CPU",
            Self::DeviceWrites => "device writes (red), likely",
            Self::PerhapsDeviceWrites => "device writes (red), possibly",
            Self::Limit => "a provider's limit",
            Self::Unknown => "unknown",
        })
    }
}

impl fmt::Display for CellRegime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.part, self.says)
    }
}

/// What would tell the rest.
const NEEDS: &str = "needs counters of the receiver's memory controllers and root complexes";

/// The regimes of all cells between hosts.
pub fn regimes(case: &Case<'_>) -> Vec<CellRegime> {
    let asked = cells(case).filter(is_asked_of);
    asked
        .map(|cell| {
            let (part, says) = told(&cell);
            CellRegime { cell: cell.trial.label.clone(), part, says }
        })
        .collect()
}

fn told(cell: &Cell<'_>) -> (Part, String) {
    let witness = testimony(cell);
    let part = witness.as_ref().ok().map(|told| (told, part(told.of)));
    if let Some((told, Some(part))) = part {
        return (part, format!("by the receiver's {}, {}", told.nic, told.by));
    }
    let wire = wire_share(cell);
    if let Some((share, rate)) = wire.filter(|(share, _)| *share >= FULL_SHARE) {
        let says = format!("{:.0} % of the receiver's {}", 100.0 * share, BitsPerSecond(rate));
        return (Part::Wire, says);
    }
    // Who polls for RDMA is always busy.
    if cell.is_full() && !cell.trial.kind.is_rdma() {
        return (Part::Cpu, "a thread of an end ran nearly all of the time".to_owned());
    }
    let room = match (cell.is_disturbed(), wire) {
        (true, _) => "others used the CPUs of an end",
        (false, Some(_)) => "wire and threads had room",
        (false, None) => "the ends' threads had room",
    };
    let more = match witness {
        Ok(told) => format!(
            "; the receiver's {} dropped nothing and asked nobody to wait: device writes came \
             through",
            told.nic
        ),
        Err(Blind::Lacks(missing)) => format!(", or {missing}"),
        Err(Blind::OtherKind) => String::new(),
    };
    let says = format!("{NEEDS}{more}; {room}");
    (Part::Unknown, says)
}

/// The part that a NIC speaks of; `None` where it kept up.
fn part(of: Inside) -> Option<Part> {
    Some(match of {
        Inside::Kept => return None,
        Inside::Waits { is_likely: true } => Part::DeviceWrites,
        Inside::Waits { is_likely: false } => Part::PerhapsDeviceWrites,
        Inside::Cpu => Part::Cpu,
        Inside::Wire => Part::Wire,
        Inside::Slot => Part::Slot,
        Inside::Limit => Part::Limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{read_receiver, stream};
    use narrows_model::host::{Host, Nic};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;
    use narrows_model::{BitsPerSecond, Fact, Nanos};

    /// 9 Gb/s and more by an interface that calls itself one of ten.
    fn study(is_physical: bool) -> StoredStudy {
        let mut study = stream("tcp-stream");
        let speed_bps = Fact::known(BitsPerSecond(10e9), "made");
        let nic = Nic { name: "e0".into(), physical: is_physical, speed_bps, ..Nic::default() };
        study.peer_hosts = vec![Host { nics: vec![nic], ..Host::default() }];
        for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
            end.effective.interface = Some("e0".into());
        }
        read_receiver(&mut study, "interface", "e0.rx_bytes", 1_150_000_000);
        study
    }

    fn said(study: &StoredStudy) -> String {
        let summaries = narrows_stats::summarise(study);
        let all = regimes(&Case { study, summaries: &summaries, predictions: &[] });
        all.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn a_wire_is_full_and_a_device_of_software_has_none() {
        assert_eq!(said(&study(true)), "wire: 92 % of the receiver's 10.0 Gb/s");
        let software = said(&study(false));
        assert!(
            software.starts_with("unknown: needs counters of the receiver's memory"),
            "{software}"
        );
        assert!(software.contains("what the receiver's NIC drops"), "{software}");
        assert!(software.ends_with("the ends' threads had room"), "{software}");
    }

    #[test]
    fn full_threads_are_the_cpus_and_those_that_waited_for_one_may_be() {
        let mut full = study(false);
        let mut waited = study(false);
        for end in full.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
            end.threads[0].system_ns = end.threads[0].wall_ns;
        }
        for end in waited.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
            end.threads[0].waited_ns = Some(Nanos(300_000_000));
        }
        assert!(said(&full).starts_with("CPU: a thread of an end ran"), "{}", said(&full));
        // What held it then is not known.
        let waited = said(&waited);
        assert!(waited.starts_with("unknown") && waited.ends_with("CPUs of an end"), "{waited}");
    }

    #[test]
    fn cells_inside_a_host_have_none() {
        let mut inside = study(true);
        inside.trials[0].path = narrows_model::trial::NetworkPath::Loopback;
        assert_eq!(said(&inside), "");
    }
}
