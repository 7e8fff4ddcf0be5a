//! What it is worth to remove a limit: by measurement where the traffic without it ran too, else by
//! the model, which is asked about the host without it. What neither knows is not guessed.

use crate::Case;
use crate::controls;
use crate::measured::Cell;
use crate::names;
use narrows_model::Fact;
use narrows_model::host::Nic;
use narrows_model::result::{Estimate, Prediction, ResourceName};
use narrows_model::study::StoredStudy;
use narrows_predict::of_cell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a worth is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both were measured in turn in this study.
    Measured,
    /// The model says so of this host.
    Modelled,
}

/// By which factor the rate would grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// Lower end of the range; 1 is nothing.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// Where it is from.
    pub by: Basis,
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            Basis::Measured => "measured here",
            Basis::Modelled => "modelled",
        };
        write!(f, "{:.1} to {:.1} x ({by})", self.low, self.high)
    }
}

/// Rules whose limit, once it is gone, leaves the stream to the next: what the path or a buffer
/// holds back costs no CPU.
const FREES: [&str; 17] = [
    names::ACKNOWLEDGEMENTS_LOST,
    names::ACKNOWLEDGEMENTS_SLOW,
    names::CONGESTION_MARKS,
    names::NIC_SHAPED,
    names::OWN_HOST_DROPS,
    names::PATH_CAPACITY,
    names::PATH_CORRUPTION,
    names::PATH_DUPLICATES,
    names::PATH_MTU_BLACK_HOLE,
    names::PATH_OUTAGES,
    names::PATH_POLICED,
    names::PATH_RATE_LIMIT,
    names::PATH_REORDERING,
    names::RECEIVE_WINDOW,
    names::SEND_BUFFER,
    names::TCP_RETRANSMITS,
    names::TCP_SEND_BUFFERS,
];

/// What removing the limit that a rule names is worth; `next` is what the next limit allows.
pub fn worth(
    case: &Case<'_>,
    cell: &Cell<'_>,
    rule: Option<&str>,
    next: Option<Estimate>,
) -> Option<Worth> {
    match rule? {
        names::CONGESTION_CONTROL => other_control(case),
        names::NIC_OFFLOADS => offloads(case, cell),
        rule if FREES.contains(&rule) => up_to(cell, next?),
        _ => None,
    }
}

fn other_control(case: &Case<'_>) -> Option<Worth> {
    let (default, other) = controls::compared(case.study, case.summaries)?;
    let name = default.congestion()?;
    let (_, gain) = controls::faster(name, default, other)?;
    Some(Worth { low: gain.low, high: gain.high, by: Basis::Measured })
}

/// Beyond this factor the model's next limit, which is of the ends, says nothing: a path that is
/// so far below them has links of its own, of which nothing is known.
pub const FACTOR_MAX: f64 = 10.0;

fn up_to(cell: &Cell<'_>, next: Estimate) -> Option<Worth> {
    let measured_bps = cell.rates()?.middle;
    let factor = |bps: f64| (bps / measured_bps).max(1.0);
    let (low, high) = (factor(next.low), factor(next.high));
    (high <= FACTOR_MAX).then_some(Worth { low, high, by: Basis::Modelled })
}

/// Features that leave cutting, joining and checksums to the NIC.
const OFFLOADS: [&str; 4] =
    ["rx-checksum", "rx-gro", "tx-generic-segmentation", "tx-tcp-segmentation"];

/// The CPUs' part of the model with the offloads on, by that with them as they are.
fn offloads(case: &Case<'_>, cell: &Cell<'_>) -> Option<Worth> {
    let now = cpu(&of_cell(case.study, case.summaries, cell.trial)?)?;
    let mut without = without_records(case.study);
    let hosts = std::iter::once(&mut without.host).chain(&mut without.peer_hosts);
    hosts.flat_map(|host| &mut host.nics).for_each(switch_on);
    let then = cpu(&of_cell(&without, case.summaries, cell.trial)?)?;
    // The interval is that of what a core does, the same in both: the ratio has a part of it.
    let factor = then / now;
    let half = (factor - 1.0) / 2.0;
    (factor > 1.0).then_some(Worth { low: 1.0 + half, high: factor + half, by: Basis::Modelled })
}

fn switch_on(nic: &mut Nic) {
    let mut features = nic.offloads.value().cloned().unwrap_or_default();
    features.extend(OFFLOADS.map(|name| (name.to_owned(), true)));
    nic.offloads = Fact::known(features, nic.offloads.source().0.clone());
}

/// What streams cost the CPUs of the sender or of the receiver, whichever can less.
fn cpu(prediction: &Prediction) -> Option<f64> {
    let ceilings = prediction.ceilings.iter();
    let ceilings = ceilings.filter(|one| one.resource.name() == Some(ResourceName::Cpu));
    ceilings.map(|ceiling| ceiling.range.value).reduce(f64::min)
}

fn without_records(study: &StoredStudy) -> StoredStudy {
    let mut bare = StoredStudy::unmeasured(study.host.clone());
    bare.study = study.study.clone();
    bare.peer_hosts.clone_from(&study.peer_hosts);
    bare.trials.clone_from(&study.trials);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{cells, testing::stream};
    use narrows_model::result::Method;
    use narrows_model::units::Unit;
    use narrows_model::{BitsPerSecond, Bytes};

    #[test]
    fn a_limit_of_the_path_is_worth_the_way_to_the_next() {
        let study = stream("tcp-stream");
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let cell = cells(&case).next().expect("a cell");
        // Ten gigabits were measured.
        let allows = Estimate {
            value: 20e9,
            low: 9e9,
            high: 30e9,
            unit: Unit::BitsPerSecond,
            n: 0,
            by: Method::Model,
        };
        let of = |rule| worth(&case, &cell, Some(rule), Some(allows));
        let told = of("path-capacity").map(|worth| worth.to_string());
        assert_eq!(told.as_deref(), Some("1.0 to 3.0 x (modelled)"));
        assert_eq!(of("message-size"), None, "nobody knows");
        let far = Estimate { value: 900e9, low: 800e9, high: 1e12, ..allows };
        assert_eq!(worth(&case, &cell, Some("path-capacity"), Some(far)), None, "100 x");
        assert_eq!(worth(&case, &cell, Some("path-capacity"), None), None);
    }

    #[test]
    fn offloads_are_worth_what_the_model_says_of_the_host_with_them() {
        let of = |is_on: bool| {
            let mut study = stream("tcp-stream");
            let features = OFFLOADS.map(|name| (name.to_owned(), is_on)).into();
            study.host.nics.push(Nic {
                name: "e0".into(),
                physical: true,
                speed_bps: Fact::known(BitsPerSecond(100e9), "test"),
                mtu_bytes: Fact::known(Bytes(1500), "test"),
                offloads: Fact::known(features, "test"),
                ..Nic::default()
            });
            study.host.cpu.model = Fact::known("Intel(R) Xeon(R) Gold 6248".into(), "test");
            study.host.cpu.online = Fact::known((0..8).collect(), "test");
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let cell = cells(&case).next().expect("a cell");
            worth(&case, &cell, Some("nic-offloads"), None)
        };
        let gain = of(false).expect("a worth");
        assert!(gain.low > 1.2 && gain.high < 6.0 && gain.low < gain.high, "{gain:?}");
        assert_eq!(gain.by, Basis::Modelled);
        assert_eq!(of(true), None, "they are on");
    }
}
