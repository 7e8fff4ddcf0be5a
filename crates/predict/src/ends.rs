//! Two hosts of one path: what the one that can less reaches. What is not known of either is named,
//! and what is known counts.

use narrows_model::host::{Host, Nic};
use narrows_model::result::{Ceiling, Estimate, Prediction, ResourceAt, Unstated};

/// The far host's port that a path ends at: of the same rate as this end's where there is one, else
/// the fastest.
pub(crate) fn far_nic<'a>(far: &'a Host, near: Option<&Nic>) -> Option<&'a Nic> {
    let wanted = near.and_then(rate);
    let same = far.physical_nics().find(|nic| wanted.is_some() && rate(nic) == wanted);
    same.or_else(|| crate::fastest(far)).or_else(|| far.physical_nics().next())
}

fn rate(nic: &Nic) -> Option<f64> {
    nic.speed_bps.value().map(|rate| rate.0)
}

/// This end's prediction with the other's: ceilings of the other that are lower than this end's of
/// the same name, or have none, and the lower of the two ranges.
pub(crate) fn met(mut near: Prediction, far: Option<Prediction>) -> Prediction {
    let Some(far) = far else { return near };
    (near.range, near.bottleneck) = match (near.range.take(), far.range) {
        (Some(own), Some(other)) if other.value < own.value => {
            (Some(lower(own, other)), far.bottleneck.map(ResourceAt::at_peer))
        }
        (Some(own), Some(other)) => (Some(lower(own, other)), near.bottleneck.take()),
        (Some(own), None) => (Some(own), near.bottleneck.take()),
        (None, other) => (other, far.bottleneck.map(ResourceAt::at_peer)),
    };
    let more: Vec<Ceiling> = far
        .ceilings
        .into_iter()
        .filter(|one| {
            let mut same = near.ceilings.iter().filter(|own| own.resource == one.resource);
            same.all(|own| one.range.value < own.range.value)
        })
        .collect();
    let renamed =
        more.into_iter().map(|one| Ceiling { resource: one.resource.clone().at_peer(), ..one });
    near.ceilings.extend(renamed);
    let missing = far.missing.into_iter();
    near.missing
        .extend(missing.map(|gap| Unstated { resource: gap.resource.at_peer(), why: gap.why }));
    near
}

fn lower(one: Estimate, other: Estimate) -> Estimate {
    let value = one.value.min(other.value);
    Estimate { value, low: one.low.min(other.low), high: one.high.min(other.high), ..one }
}
