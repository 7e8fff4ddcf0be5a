//! `pcie` and `chipset`: what a slot, or the uplink above it, carries.

use super::{Gap, Group, Resource, Stated, of, resource};
use crate::engine::Predictor;
use crate::pcie;
use crate::server::Slot;
use crate::traffic::Traffic;
use narrows_model::result::{Provenance, ResourceName};

/// Payloads that a port may be set to, where nobody told: the specification's least, and what
/// servers with large pages set.
const LEAST_PAYLOAD: f64 = 128.0;
const MOST_PAYLOAD: f64 = 512.0;

/// Header and framing of a PCI Express packet.
const HEADER: f64 = 24.0;
/// What a NIC writes or reads besides a frame at most: a completion of 64 bytes and a descriptor of
/// 16, each in a packet of its own.
const BESIDE_FRAME: f64 = 64.0 + 16.0 + 2.0 * HEADER;

impl Predictor {
    pub(super) fn slots(&self, traffic: Traffic, group: &Group) -> Option<Stated> {
        let slot = self.server.slot.as_ref();
        Some(match slot {
            Some(slot) => Ok(self.bus(ResourceName::Pcie, traffic, slot, group.nics)),
            None => Err(Gap::new(ResourceName::Pcie, "the slot is not known: nic.pcie=4x16")),
        })
    }

    /// What a slot, or the chipset's uplink, carries in the direction that is the fuller.
    pub(super) fn bus(
        &self,
        name: ResourceName,
        traffic: Traffic,
        slot: &Slot,
        count: usize,
    ) -> Resource {
        let packets = slot.packets_bps(slot.payload);
        let says = format!("{}, payload {} B", slot.says(), slot.payload);
        let says = if count > 1 { format!("{count} times {says}") } else { says };
        let with = vec![
            of("lanes", f64::from(slot.lanes), "", &slot.from),
            of("rate", slot.gts, "GT/s", &slot.from),
            of("payload", slot.payload, "B", &slot.payload_from),
        ];
        if traffic == Traffic::Packets {
            let can = pcie::smallest_packets(packets, self.server.frame.value);
            // The range is from the direction that gets fewer to the other: nobody says which one.
            let (value, most) = (can.received.min(can.sent), can.received.max(can.sent));
            let n = count as f64;
            return resource(name, n * value, (1.0, most / value), says).with(with);
        }
        let (payload, frame) = traffic.frame(self.server.mtu.value);
        let message = self.server.message.value;
        let is_short = !traffic.is_kernel() && message < payload;
        let (payload, frame) = if is_short { (message, message) } else { (payload, frame) };
        let data = |size: f64| pcie::packet_share(frame, size, HEADER) * payload / frame;
        let count = count as f64;
        let rate = |size: f64| count * slot.packets_bps(size) * data(size) / 1e9;
        let value = rate(slot.payload);
        // Where nobody told the payload, it may be another. Acknowledges and credits take the share
        // of the intervals where as much goes the other way, and nearly nothing where all goes one.
        let (least, largest) = match slot.payload_from {
            Provenance::Assumed(_) => (rate(LEAST_PAYLOAD), MOST_PAYLOAD),
            _ => (value, slot.payload),
        };
        let most = count * slot.one_way_bps(largest) * data(largest) / 1e9;
        let around = frame / pcie::packet_share(frame, slot.payload, HEADER);
        let least = least * around / (around + BESIDE_FRAME);
        resource(name, value, (least / value, most / value), says).with(with)
    }
}

impl Slot {
    /// Bits a second left for packets with so much payload each.
    fn packets_bps(&self, payload: f64) -> f64 {
        self.of_told(pcie::packet_bps(self.gts, self.lanes, payload))
    }

    /// The same with next to nothing the other way.
    fn one_way_bps(&self, payload: f64) -> f64 {
        self.of_told(pcie::one_way_bps(self.gts, self.lanes, payload))
    }

    /// What these lanes leave, at the rate that is told of them.
    fn of_told(&self, bps: f64) -> f64 {
        bps * self.raw_bps / pcie::raw_bps(self.gts, self.lanes)
    }

    /// `8 GT/s x16`, or the rate where only that is told.
    fn says(&self) -> String {
        let told = pcie::raw_bps(self.gts, self.lanes);
        if (self.raw_bps / told - 1.0).abs() < 1e-6 {
            format!("{} GT/s x{}", self.gts, self.lanes)
        } else {
            format!("{:.2} GB/s", self.raw_bps / 8e9)
        }
    }
}
