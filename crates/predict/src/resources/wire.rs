//! `wire`: the link's rate times the payload share of its frames.

use super::{Gap, Group, Stated, ends, of, parameter, resource};
use crate::engine::Predictor;
use crate::framing;
use crate::parameters::Reached;
use crate::traffic::Traffic;
use narrows_model::result::ResourceName;

/// Least share of the framing's rate that the kernel was seen to reach where nothing else held it
/// back: 88.05 of 96.2 Gb/s, UDP in LP1241.
const KERNEL_LEAST: f64 = 0.915;
/// Published writes of RDMA were 2.6 % below their framing, by no known mechanism: about twice that
/// is allowed for, which is assumed.
const RDMA_LEAST: f64 = 0.95;

impl Predictor {
    pub(super) fn wire(&self, traffic: Traffic, group: &Group) -> Stated {
        let ports = self.ports(group);
        let rate = self.server.link.as_ref();
        let rate = rate.ok_or_else(|| {
            Gap::new(ResourceName::Wire, "the rate of the link is not known: nic.gbps=100")
        })?;
        let link = parameter("rate of the link", "Gb/s", rate);
        if traffic == Traffic::Packets {
            let frame = self.server.frame.value + self.server.asked.around.frame_bytes();
            let one = framing::packets_per_second(rate.value * 1e9, frame) / 1e6;
            let says = format!("frames of {frame} B and 20 B around each");
            let frame = parameter("frame", "B", &self.server.frame);
            return Ok(
                resource(ResourceName::Wire, ports * one, (1.0, 1.0), says).with(vec![link, frame])
            );
        }
        let share = self.framed_share(traffic);
        let mut says = format!(
            "{:.2} % of {} Gb/s is payload at MTU {}",
            share * 100.0,
            rate.value,
            self.server.mtu.value
        );
        if ports > 1.0 {
            says = format!("{says}, {ports} times");
        }
        let full = ports * share * rate.value;
        let mut with = vec![link, parameter("MTU", "B", &self.server.mtu)];
        if !traffic.is_kernel() {
            with.push(parameter("message", "B", &self.server.message));
            return Ok(resource(ResourceName::Wire, full, (RDMA_LEAST, 1.0), says).with(with));
        }
        let Some(Reached { share, half, from, .. }) = self.reached(traffic) else {
            return Ok(resource(ResourceName::Wire, full, (KERNEL_LEAST, 1.0), says).with(with));
        };
        says += &format!("; the kernel reached {share:.3} of it ({from})");
        with.push(of("share reached", *share, "share", from));
        let mut one = resource(ResourceName::Wire, share * full, ends(*half), says).with(with);
        one.high = one.high.min(full.max(one.value));
        Ok(one)
    }

    /// What the kernel reached of the wire on this host, where it was measured over a link of this
    /// rate: of another rate it says nothing.
    pub(super) fn reached(&self, traffic: Traffic) -> Option<&Reached> {
        let reached = self.parameters.kernel(traffic).reached.as_ref()?;
        (Some(reached.link_gbps) == self.server.link.as_ref().map(|link| link.value))
            .then_some(reached)
    }

    /// Gb/s that framing leaves of one port.
    pub fn framed_gbps(&self, traffic: Traffic) -> Option<f64> {
        let share = self.framed_share(traffic);
        self.server.link.as_ref().map(|link| share * link.value)
    }

    /// Share of the wire's bits that is payload, with tags and IPv6 where these were said.
    fn framed_share(&self, traffic: Traffic) -> f64 {
        let (payload, _) = traffic.frame(self.server.mtu.value);
        let plain = traffic.framing(
            self.server.message.value,
            self.server.mtu.value,
            self.server.timestamps,
        );
        plain * self.server.asked.around.leaves(self.server.mtu.value, payload)
    }
}
