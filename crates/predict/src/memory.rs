//! `memory`: measured memory bandwidth divided by the bytes that cross the memory bus for each
//! payload byte.

use crate::{Stated, modelled};
use narrows_model::host::Nic;
use narrows_model::result::{Ceiling, Estimate, Provenance};
use narrows_model::study::Study;
use narrows_model::workload::{Kernel, Workload};
use narrows_stats::{Label, Summary};

/// Bytes on the memory bus per payload byte of kernel sockets. The middle is fitted on the two
/// tables of the Lenovo study of memory population (one socket); the ends are 1, every copy hitting
/// the cache, and 4, none (Ohio State's accounting of sockets).
const SOCKET_DEMAND: [f64; 3] = [1.0, 2.18, 4.0];
/// The same when both ends are on this host and no byte stays in a cache: two copies, each reads,
/// fetches the line it is about to write, and writes.
const LOCAL_DEMAND_COLD: f64 = 6.0;

/// Bytes a second that the memory bus carried during the copy kernel.
fn bus(all: &[Summary]) -> Result<(Estimate, f64), String> {
    let copy = all.iter().rfind(|summary| summary.kind == Workload::Memory(Kernel::Copy));
    let Some(copy) = copy else { return Err("memory: not measured in this study".into()) };
    if copy.labels.contains(&Label::CacheResident) {
        return Err(
            "memory: the working set may fit in the caches, so memory was not measured".into()
        );
    }
    let estimate = copy.estimate.ok_or("memory: every copy run failed")?;
    let percent = copy.effective.bus_percent_of_counted.unwrap_or(100);
    Ok((estimate, f64::from(percent) / 100.0))
}

fn ceiling(all: &[Summary], demand: [f64; 3]) -> Result<(Estimate, String), String> {
    let (copy, per_counted) = bus(all)?;
    let bits = 8.0 * per_counted;
    let [least, middle, most] = demand;
    let says = format!(
        "{:.1} GB/s crossing the bus (copy: {:.1} GB/s counted x {per_counted}) / {middle} bytes a \
         payload byte ({least} to {most})",
        copy.value * per_counted / 1e9,
        copy.value / 1e9,
    );
    Ok((
        modelled(copy.value * bits / middle, copy.low * bits / most, copy.high * bits / least),
        says,
    ))
}

/// The memory behind a NIC. Measured on the node the kernels ran on: a NIC of another node gets no
/// figure of this one.
pub fn of_nic(study: &Study, nic: &Nic, all: &[Summary]) -> Stated {
    if let (Some(node), Some(ran_on)) = (nic.node.value(), study.memory_node)
        && *node != ran_on
    {
        return Err(format!("memory: {} is on node {node}, measured was node {ran_on}", nic.name));
    }
    let (range, says) = ceiling(all, SOCKET_DEMAND)?;
    Ok(Ceiling {
        resource: "memory".into(),
        range,
        says,
        only_if: None,
        provenance: vec![
            Provenance::Measured("memory-copy on this host".into()),
            Provenance::Fitted("2.18 on Lenovo LP1241, tables 1 and 2".into()),
            Provenance::Assumed("1 to 4 by the share of copies that hit the cache".into()),
        ],
    })
}

/// The memory behind the local path, if nothing stayed in the caches.
pub fn local(all: &[Summary]) -> Stated {
    let (range, says) = ceiling(all, [LOCAL_DEMAND_COLD; 3])?;
    Ok(Ceiling {
        resource: "memory".into(),
        range,
        says: format!(
            "{says}: two copies, each read, fetch and write; the measured trial reuses one hot buffer"
        ),
        only_if: Some("the data is in no cache".into()),
        provenance: vec![
            Provenance::Measured("memory-copy on this host".into()),
            Provenance::Assumed("6 bytes a payload byte: two copies that miss every cache".into()),
        ],
    })
}
