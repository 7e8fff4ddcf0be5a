//! `dram`: what the populated channels of a socket carry at most.

use crate::peaks::of_node;
pub use crate::peaks::{NoPeak, SocketPeak, peak_of_node, socket_peaks};
use crate::resources::Gap;
use narrows_model::host::Host;
use narrows_model::result::{Ceiling, Estimate, Method, Provenance, ResourceName};
use narrows_model::units::Unit;
use narrows_stats::Summary;

fn unknown(why: impl Into<String>) -> Gap {
    Gap::new(ResourceName::Dram, why)
}

/// The peak of one node's socket for a kernel, bytes counted a second.
pub(crate) fn peak(host: &Host, node: Option<u32>, kernel: &Summary) -> Result<Ceiling, Gap> {
    let slots = host.memory.slots.value();
    let slots = slots.ok_or_else(|| {
        unknown(format!("memory slots: {}", host.memory.slots.gap().unwrap_or_default()))
    })?;
    let sockets = socket_peaks(slots).map_err(|why| unknown(why.to_string()))?;
    let (socket, peak) = of_node(host, node, &sockets).map_err(|why| unknown(why.to_string()))?;
    let percent = kernel.settings.sender().and_then(|end| end.bus_percent_of_counted);
    let percent = percent
        .ok_or_else(|| unknown("how many bytes cross the bus is unknown for this kernel"))?;
    let crossing = f64::from(percent) / 100.0;
    let rate = peak.rate_bytes_per_second.0 / crossing;
    Ok(Ceiling {
        resource: ResourceName::Dram.into(),
        range: Estimate {
            value: rate,
            low: rate,
            high: rate,
            unit: Unit::BytesPerSecond,
            n: 0,
            by: Method::Model,
        },
        says: format!(
            "peak of {} populated channels of socket {socket}, {crossing} bytes a byte counted",
            peak.channels
        ),
        only_if: None,
        provenance: vec![
            Provenance::Read(host.memory.slots.source().0.clone()),
            Provenance::DataSheet("JEDEC: 8 bytes a transfer and channel".into()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::{Module, Node, Slot, SlotPlace};
    use narrows_model::{Bytes, Fact};

    /// A module on a channel of a socket, at this speed; `None` where that is not known.
    fn slot(socket: u32, channel: &str, mts: Option<u32>) -> Slot {
        let module = Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: mts,
            ..Module::default()
        };
        let at = SlotPlace { socket, channel: channel.into(), controller: None };
        Slot { at: Some(at), module: Some(module), ..Slot::default() }
    }

    fn host(slots: Vec<Slot>, nodes: &[u32]) -> Host {
        let node = |id: &u32| Node {
            id: *id,
            memory_bytes: Fact::known(Bytes::gib(32), "planted"),
            ..Node::default()
        };
        let mut host = Host { nodes: nodes.iter().map(node).collect(), ..Host::default() };
        host.memory.slots = Fact::known(slots, "planted");
        host
    }

    #[test]
    fn a_channel_carries_eight_bytes_a_transfer_at_its_slowest_modules_speed() {
        let slots = [
            slot(0, "A", Some(3200)),
            slot(0, "A", Some(2933)),
            slot(0, "B", Some(3200)),
            slot(1, "A", Some(3200)),
        ];
        let peaks = socket_peaks(&slots).expect("peaks");
        let of = |socket| (peaks[&socket].channels, peaks[&socket].rate_bytes_per_second.0);
        assert_eq!(of(0), (2, (2933.0 + 3200.0) * 8e6));
        assert_eq!(of(1), (1, 3200.0 * 8e6));
        let mut empty = slot(0, "C", None);
        empty.module = None;
        assert_eq!(socket_peaks(&[empty]).map(|peaks| peaks.len()), Ok(0));
        assert_eq!(socket_peaks(&[slot(0, "A", None)]), Err(NoPeak::Speed));
        let mut nowhere = slot(0, "A", Some(3200));
        nowhere.at = None;
        assert_eq!(socket_peaks(&[nowhere]), Err(NoPeak::Channel));
        let mut off = slot(0, "A", Some(3200));
        off.module.as_mut().expect("a module").size_bytes = None;
        assert_eq!(socket_peaks(&[off]), Err(NoPeak::Size));
    }

    #[test]
    fn a_node_has_the_peak_of_its_socket_and_none_where_sockets_differ_and_it_is_unknown() {
        let channels = |host: &Host, node| peak_of_node(host, node).map(|peak| peak.channels);
        let (one, two) = (slot(0, "A", Some(3200)), slot(1, "A", Some(3200)));
        let alike = host(vec![one.clone(), two.clone()], &[0, 1]);
        assert_eq!([None, Some(1)].map(|node| channels(&alike, node)), [Some(1); 2]);
        let differ = host(vec![one.clone(), two.clone(), slot(1, "B", Some(3200))], &[0, 1]);
        let nodes = [None, Some(0), Some(1)];
        assert_eq!(nodes.map(|node| channels(&differ, node)), [None, Some(1), Some(2)]);
        let split = host(vec![one, two, slot(1, "B", Some(3200))], &[0, 1, 2, 3]);
        assert_eq!(channels(&split, Some(1)), None, "nodes and sockets are not one to one");
        assert_eq!(channels(&Host::default(), Some(0)), None);
    }
}
