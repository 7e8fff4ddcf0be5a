//! `cpu`: what the CPUs that copy, or look for packets, can do.

use super::{Group, Stated, ends, of, parameter, resource};
use crate::server::Server;
use crate::stream_cost::Allowed;
use crate::traffic::{Traffic, UDP_MOST};

impl Server {
    /// Streams or cores of a group: of those that were said its share.
    fn streams(&self, group: &Group) -> f64 {
        self.streams.unwrap_or(1.0) * group.nics as f64 / self.nics.len().max(1) as f64
    }

    pub(super) fn cpu(&self, traffic: Traffic, group: &Group) -> Stated {
        let measured = match traffic {
            Traffic::Tcp => self.parameters.tcp_stream.at(self.message.value),
            Traffic::Udp => self.parameters.udp_stream.at(self.message.value.min(UDP_MOST)),
            Traffic::Packets => return self.core(group),
            Traffic::ZeroCopy => None,
            // The device does the work.
            Traffic::Rdma(..) | Traffic::Mpi(_) => {
                return Err("cpu: a completion's cost is not known; large messages hide it".into());
            }
        };
        let Some(Allowed { gbps: one, parts_ns }) = measured else {
            return Err("cpu: what a stream costs was not measured: --from a study of check".into());
        };
        let streams = self.streams(group);
        let says = format!("{streams} x {:.1} Gb/s until a stream's CPU is full", one.value);
        let range = (one.low / one.value, one.high / one.value);
        let mut with = vec![of("a stream's CPU", one.value, "Gb/s", &one.from)];
        with.push(parameter("message", "B", &self.message));
        if let Some((message, byte)) = parts_ns {
            let from = "fitted on the streams measured here";
            with.push(of("CPU a message", message, "ns", from));
            with.push(of("CPU a byte", byte, "ns", from));
        }
        let mut cpu = resource("cpu", streams * one.value, range, says).with(with);
        if self.streams.is_none() {
            cpu.only_if = Some("all goes over one stream".to_owned());
        }
        Ok(cpu)
    }

    /// A core that looks for packets.
    fn core(&self, group: &Group) -> Stated {
        let (clock, memory) = self.clock_ghz.as_ref().zip(self.core_gb_s.as_ref()).ok_or(
            "cpu: clock of a core and what it copies: cpu.ghz=3.4, memory.core_gb_s=11".to_owned(),
        )?;
        let (cycles, wait) = (self.parameters.cycles, self.parameters.wait_bytes);
        let mpps = 1e3 / (cycles / clock.value + wait / memory.value);
        let streams = self.streams(group);
        let says = format!(
            "{streams} core at {} GHz: {cycles} cycles and {wait} B of waiting for memory a packet",
            clock.value
        );
        let fitted = "fitted on ntop's servers";
        let with = vec![
            parameter("clock", "GHz", clock),
            parameter("a core's copy", "GB/s", memory),
            of("c", cycles, "cycles", fitted),
            of("B", wait, "B", fitted),
        ];
        Ok(resource("cpu", streams * mpps, ends(0.13), says).with(with))
    }
}
