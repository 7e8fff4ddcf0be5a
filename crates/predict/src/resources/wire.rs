//! `wire`: the link's rate times the payload share of its frames.

use super::{Group, ends, of, parameter, resource};
use crate::framing;
use crate::parameters::Parameters;
use crate::reach::Resource;
use crate::server::Server;
use crate::traffic::Traffic;

impl Server {
    /// What the ports carry; the kernel reaches a share of it.
    pub fn wire(&self, traffic: Traffic, group: &Group) -> Resource {
        let ports = self.ports(group);
        let link = parameter("rate of the link", "Gb/s", &self.link);
        if traffic == Traffic::Packets {
            let one = framing::packets_per_second(self.link.value * 1e9, self.frame.value) / 1e6;
            let says = format!("frames of {} B and 20 B around each", self.frame.value);
            let frame = parameter("frame", "B", &self.frame);
            return resource("wire", ports * one, (1.0, 1.0), says).with(vec![link, frame]);
        }
        let share = traffic.framing(self.message.value, self.mtu.value);
        let mut says = format!(
            "{:.2} % of {} Gb/s is payload at MTU {}",
            share * 100.0,
            self.link.value,
            self.mtu.value
        );
        if ports > 1.0 {
            says = format!("{says}, {ports} times");
        }
        let mut with = vec![link, parameter("MTU", "B", &self.mtu)];
        if !traffic.is_kernel() {
            with.push(parameter("message", "B", &self.message));
            // Published writes were 2.6 % below their framing, by no known mechanism: about twice
            // that is allowed for, which is assumed.
            let gbps = ports * share * self.link.value;
            return resource("wire", gbps, (0.95, 1.0), says).with(with);
        }
        let kernel = self.parameters.kernel(traffic);
        let kappa = kernel.theta.kappa;
        says += &format!("; the kernel reaches {kappa:.3} of it ({})", kernel.kappa_from);
        with.push(of("kappa", kappa, "share", &kernel.kappa_from));
        let full = ports * share * self.link.value;
        let half = kernel.wire_half.unwrap_or_else(|| Parameters::half_of_fit(self));
        let mut one = resource("wire", kappa * full, ends(half), says).with(with);
        one.high = one.high.min(full.max(one.value));
        one
    }
}
