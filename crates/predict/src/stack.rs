//! `stack`: what the CPUs that carry one flow allow.

use crate::{Protocol, Stated};
use narrows_model::result::{Ceiling, Estimate, Method, Provenance};
use narrows_model::trial::Path;
use narrows_stats::Summary;

/// The measured rate, stretched until the busiest thread's CPU is full. Time that a thread sleeps
/// is taken as free, which a latency-bound flow cannot use: the range goes down to what was
/// measured.
pub fn one_flow(measured: &Summary) -> Stated {
    let estimate = measured.estimate.ok_or_else(|| "stack: every run failed".to_owned())?;
    let cpu = measured.cpu.as_ref().ok_or_else(|| "stack: no CPU time was read".to_owned())?;
    let shares = cpu.source_share.zip(cpu.sink_share);
    let (source, sink) = shares.ok_or_else(|| "stack: no CPU time was read".to_owned())?;
    let (end, busiest) = if source >= sink { ("source", source) } else { ("sink", sink) };
    let full = busiest.clamp(0.01, 1.0);
    Ok(Ceiling {
        resource: "stack".into(),
        range: Estimate {
            value: estimate.value / full,
            low: estimate.low,
            high: estimate.high / full,
            by: Method::Model,
            ..estimate
        },
        says: format!(
            "one flow: the {end}'s thread used {:.0} % of a CPU at {:.1} Gb/s",
            busiest * 100.0,
            estimate.value / 1e9
        ),
        only_if: None,
        provenance: vec![Provenance::Measured(format!("{} on this host", measured.label))],
    })
}

/// One flow through a NIC, taken from the local path: the same copies and the same protocol work,
/// without driver and interrupts, both ends on one host.
pub fn through_nic(all: &[Summary], protocol: Protocol) -> Stated {
    let local = all.iter().find(|summary| {
        let local = matches!(summary.path, Path::Loopback | Path::Namespaces);
        local && summary.label == protocol.kind().as_str()
    });
    let local = local.ok_or("stack: the local path was not measured in this study")?;
    let ceiling = one_flow(local)?;
    Ok(Ceiling {
        says: format!(
            "{}; measured on the local path, without a driver; more flows use more CPUs",
            ceiling.says
        ),
        only_if: Some("all goes over one flow".into()),
        ..ceiling
    })
}
