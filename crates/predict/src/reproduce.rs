//! Parameters that reproduce what was measured: the one of the bottleneck takes the difference.

use crate::calibration::Calibration;
use crate::engine::Predictor;
use crate::measured::Measured;
use crate::parameters::{Parameters, Reached, Scaled};
use crate::reach::Reach;
use crate::resources::apart;
use crate::said::Known;
use crate::server::Server;
use crate::traffic::Traffic;
use narrows_model::result::ResourceName;
use std::fmt;

/// Why a measured figure moves no parameter.
enum Unused {
    BeyondTheWire { from: String, gbps: f64 },
    NothingToFit { from: String, bottleneck: ResourceName },
    NothingKnown { from: String },
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondTheWire { from, gbps } => {
                write!(f, "{from} is more than the wire can carry: {gbps:.1} Gb/s")
            }
            Self::NothingToFit { from, bottleneck } => {
                write!(f, "{from}: {bottleneck} was the bottleneck, which has no parameter to fit")
            }
            Self::NothingKnown { from } => write!(f, "{from}: no resource of the path is known"),
        }
    }
}

impl Parameters {
    /// Those that reproduce what was measured on the server as it was then. What held TCP or UDP
    /// then is the bottleneck that the model sees, and its parameter takes the difference.
    pub fn calibrated(mut self, then: &Server, measured: &Calibration) -> Self {
        self.measured_eta(then, measured);
        match measured.beside_reads.as_ref().map(|reads| then.loaded(reads)) {
            Some(Ok(curve)) => self.under_load = Some(curve),
            Some(Err(why)) => self.unused.push(why.unused()),
            None => {}
        }
        for traffic in [Traffic::Tcp, Traffic::Udp] {
            let figure = match traffic {
                Traffic::Tcp => &measured.tcp_gbps,
                _ => &measured.udp_gbps,
            };
            let Some(figure) = figure else { continue };
            if let Err(unused) = self.reproduce(then, traffic, figure) {
                self.unused.push(unused.to_string());
            }
        }
        self
    }

    /// Moves the parameter of the bottleneck until the figure comes out: where another resource
    /// is the bottleneck then, that one's too. An error says why a figure is not used.
    fn reproduce(
        &mut self,
        then: &Server,
        traffic: Traffic,
        figure: &Measured,
    ) -> Result<(), Unused> {
        const RESOURCES: usize = 3;
        for _ in 0..RESOURCES {
            let engine = Predictor { server: then.clone(), parameters: self.clone() };
            let Some(reach) = engine.reach(traffic) else { return Ok(()) };
            if (reach.value / figure.value - 1.0).abs() < 1e-9 {
                return Ok(());
            }
            self.move_bottleneck(&engine, &reach, traffic, figure)?;
        }
        Ok(())
    }

    fn move_bottleneck(
        &mut self,
        then: &Predictor,
        reach: &Reach,
        traffic: Traffic,
        figure: &Measured,
    ) -> Result<(), Unused> {
        let Some(bottleneck) = reach.bottleneck else {
            return Err(Unused::NothingKnown { from: figure.from.clone() });
        };
        let kernel = if traffic == Traffic::Udp { &mut self.udp } else { &mut self.tcp };
        let (half, from) = (figure.half(), figure.origin());
        match (bottleneck, then.framed_gbps(traffic), reach.value_of(ResourceName::Memory)) {
            // Wire and CPUs hold each other back: what both reached is the wire's share.
            (ResourceName::Wire | ResourceName::Cpu, Some(framed), _)
                if figure.value > 1.005 * framed =>
            {
                Err(Unused::BeyondTheWire { from: figure.from.clone(), gbps: figure.value })
            }
            (ResourceName::Cpu, Some(framed), _) if figure.value < 0.9 * framed => {
                let needed = apart(figure.value, framed);
                let more = then.cpu_alone(traffic).map_or(1.0, |alone| needed / alone);
                let by = kernel.cpu.as_ref().map_or(1.0, |known| known.by) * more;
                kernel.cpu = Some(Scaled { by, half, from });
                Ok(())
            }
            (ResourceName::Wire | ResourceName::Cpu, Some(framed), _) => {
                let share = figure.value / framed;
                let link_gbps = then.server.link.as_ref().map_or(0.0, |link| link.value);
                kernel.reached = Some(Reached { share, half, link_gbps, from: from.clone() });
                // Its CPUs carry that much at least.
                let cpu = reach.value_of(ResourceName::Cpu).unwrap_or(f64::INFINITY);
                if cpu < figure.value {
                    let known = kernel.cpu.as_ref().map_or(1.0, |known| known.by);
                    kernel.cpu = Some(Scaled { by: known * figure.value / cpu, half, from });
                }
                Ok(())
            }
            (ResourceName::Memory, _, Some(memory)) => {
                kernel.theta.m *= memory / figure.value;
                kernel.m_from = from;
                kernel.memory_half = Some(half);
                Ok(())
            }
            (other, ..) => {
                Err(Unused::NothingToFit { from: figure.from.clone(), bottleneck: other })
            }
        }
    }

    /// The share of the peak that this server's copies reach: only where all of the node's memory
    /// is one set, and a copy's rate is that set's.
    fn measured_eta(&mut self, then: &Server, measured: &Calibration) {
        let Some(copy) = &measured.copy_gb_s else { return };
        let node = measured.node.unwrap_or(0) as usize;
        let sets = then.sets();
        let peak = match sets.get(node).map(Vec::as_slice) {
            Some([one]) => *one as f64 * then.channel_gb_s(),
            Some([]) | None => return,
            Some(_) => {
                return self.unused.push(format!(
                    "{}: memory has several interleave sets, and a copy gives only their mean",
                    copy.from
                ));
            }
        };
        let eta = copy.value / peak;
        if !(0.1..=1.0).contains(&eta) {
            return self.unused.push(format!(
                "{}: {:.1} GB/s is {:.0} % of the channels' peak, which is impossible",
                copy.from,
                copy.value,
                eta * 100.0
            ));
        }
        self.eta = Known::new(eta, copy.origin());
        self.eta_half = Some(copy.half());
    }
}
