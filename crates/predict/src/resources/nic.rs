//! `nic`: packets and messages a second of its engine.

use super::{Gap, Group, Resource, Stated, ends, of, parameter, resource};
use crate::engine::Predictor;
use crate::nics::Model;
use crate::said::Known;
use crate::traffic::{Traffic, Verb};
use narrows_model::result::{Provenance, ResourceName};

/// What was published of a model's rates is one laboratory's: half the 80 % range as a logarithm,
/// of packets and of one queue pair's messages (assumed).
const PACKETS_HALF: f64 = 0.15;
const MESSAGES_HALF: f64 = 0.30;

impl Predictor {
    /// The NIC's own limit in packets, or in messages of queue pairs.
    pub(super) fn engine(&self, traffic: Traffic, group: &Group) -> Stated {
        let messages = self.messages(traffic, group);
        let packets = self.packets(traffic, group);
        match (messages, packets) {
            (Some(messages), Some(packets)) if packets.value < messages.value => Ok(packets),
            (Some(one), _) | (None, Some(one)) => Ok(one),
            (None, None) => {
                let why = "its packet rate is not known: nic.mpps=100, or nic.model=ConnectX-5";
                Err(Gap::new(ResourceName::Nic, why))
            }
        }
    }

    /// Packets a second that were said, or are known of the model.
    fn packets(&self, traffic: Traffic, group: &Group) -> Option<Resource> {
        let (most, range) = match (&self.server.engine_mpps, self.server.asked.model) {
            (Some(said), _) => (said.clone(), (1.0, 1.0)),
            (None, Some(model)) => {
                let (low, high) = ends(PACKETS_HALF);
                (port_mpps(model)?, (if model.at_line_rate { 1.0 } else { low }, high))
            }
            (None, None) => return None,
        };
        let n = self.ports(group);
        let with = vec![parameter("packets", "M/s", &most)];
        if traffic == Traffic::Packets {
            let says = format!("{} M packets/s", most.value);
            return Some(resource(ResourceName::Nic, n * most.value, range, says).with(with));
        }
        let (full, _) = traffic.frame(self.server.mtu.value);
        let payload = if traffic.is_kernel() { full } else { full.min(self.server.message.value) };
        let says = format!("{} M packets/s of {payload} B", most.value);
        Some(resource(ResourceName::Nic, n * most.value * payload * 8e-3, range, says).with(with))
    }

    /// Messages a second: what each queue pair posts, and at most what the device does.
    fn messages(&self, traffic: Traffic, group: &Group) -> Option<Resource> {
        let Traffic::Rdma(_, verb) = traffic else { return None };
        let model = self.server.asked.model?;
        let each = match verb {
            Verb::Read => model.read_mpps?,
            Verb::Write | Verb::Send => model.post_mpps?,
        };
        let from = Provenance::DataSheet(model.source.clone());
        let pairs = self.queue_pairs(group);
        let all = model.message_mpps.map_or(f64::INFINITY, |all| all * self.ports(group));
        let mpps = (pairs * each).min(all);
        let says =
            format!("{} messages of {} B: {mpps:.4} M/s", model.name, self.server.message.value);
        let with = vec![
            of("a queue pair's messages", each, "M/s", &from),
            of("queue pairs", pairs, "", &self.server.streams.from),
            parameter("message", "B", &self.server.message),
        ];
        let gbps = mpps * self.server.message.value * 8e-3;
        Some(resource(ResourceName::Nic, gbps, ends(MESSAGES_HALF), says).with(with))
    }

    /// Queue pairs of a group: one a port where nobody says how many.
    fn queue_pairs(&self, group: &Group) -> f64 {
        match &self.server.streams.from {
            Provenance::Assumed(_) => self.ports(group),
            _ => (self.server.streams.value * self.share(group)).max(1.0),
        }
    }
}

fn port_mpps(model: &Model) -> Option<Known> {
    let from = Provenance::DataSheet(format!("{}: {}", model.name, model.source));
    model.port_mpps.map(|mpps| Known::new(mpps, from))
}
