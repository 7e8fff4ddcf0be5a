//! `nic`: packets a second of its engine.

use super::{Gap, Group, Stated, parameter, resource};
use crate::server::Server;
use crate::traffic::Traffic;

impl Server {
    /// The NIC's own limit in packets.
    pub(super) fn engine(&self, traffic: Traffic, group: &Group) -> Stated {
        let Some(most) = &self.engine_mpps else {
            return Err(Gap::new("nic", "its packet rate is in no data sheet here: nic.mpps=100"));
        };
        let n = self.ports(group);
        let with = vec![parameter("packets", "M/s", most)];
        if traffic == Traffic::Packets {
            let says = format!("{} M packets/s", most.value);
            return Ok(resource("nic", n * most.value, (1.0, 1.0), says).with(with));
        }
        let (full, _) = traffic.frame(self.mtu.value);
        let payload = if traffic.is_kernel() { full } else { full.min(self.message.value) };
        let says = format!("{} M packets/s of {payload} B", most.value);
        Ok(resource("nic", n * most.value * payload * 8e-3, (1.0, 1.0), says).with(with))
    }
}
