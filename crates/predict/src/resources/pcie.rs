//! `pcie` and `chipset`: what a slot, or the uplink above it, carries.

use super::{Group, Stated, of, resource};
use crate::pcie;
use crate::reach::Resource;
use crate::server::{Server, Slot};
use crate::traffic::Traffic;

/// Header and framing of a PCI Express packet.
const HEADER: f64 = 24.0;
/// What a NIC writes or reads besides a frame at most: a completion of 64 bytes and a descriptor of
/// 16, each in a packet of its own.
const BESIDE_FRAME: f64 = 64.0 + 16.0 + 2.0 * HEADER;

impl Server {
    pub(super) fn slots(&self, traffic: Traffic, group: &Group) -> Option<Stated> {
        let slot = self.slot.as_ref();
        Some(match slot {
            Some(slot) => Ok(self.bus("pcie", traffic, slot, group.nics)),
            None => Err("pcie: the slot is not known: nic.pcie=4x16".to_owned()),
        })
    }

    /// What a slot, or the chipset's uplink, carries in the direction that is the fuller.
    pub(super) fn bus(
        &self,
        name: &'static str,
        traffic: Traffic,
        slot: &Slot,
        count: usize,
    ) -> Resource {
        let packets = pcie::packet_bps(slot.gts, slot.lanes, slot.payload);
        let says = format!("{} GT/s x{}, payload {} B", slot.gts, slot.lanes, slot.payload);
        let says = if count > 1 { format!("{count} times {says}") } else { says };
        let with = vec![
            of("lanes", f64::from(slot.lanes), "", &slot.from),
            of("rate", slot.gts, "GT/s", &slot.from),
            of("payload", slot.payload, "B", &slot.payload_from),
        ];
        if traffic == Traffic::Packets {
            let can = pcie::smallest_packets(packets, self.frame.value);
            let (value, most) = (can.received.min(can.sent), can.received.min(can.sent_batched));
            let n = count as f64;
            return resource(name, n * value, (1.0, most / value), says).with(with);
        }
        let (payload, frame) = traffic.frame(self.mtu.value);
        let message = self.message.value;
        let is_short = !traffic.is_kernel() && message < payload;
        let (payload, frame) = if is_short { (message, message) } else { (payload, frame) };
        let share = pcie::packet_share(frame, slot.payload, HEADER) * payload / frame;
        let beside = frame / pcie::packet_share(frame, slot.payload, HEADER);
        let least = beside / (beside + BESIDE_FRAME);
        resource(name, count as f64 * packets * share / 1e9, (least, 1.0), says).with(with)
    }
}
