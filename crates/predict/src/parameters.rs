//! The model's parameters: those that Lenovo's tables gave, or what was measured here in their
//! place.

use crate::calibration::{Calibration, Measured};
use crate::reach::Reach;
use crate::resources::apart;
use crate::said::Known;
use crate::server::Server;
use crate::sockets::{ETA, Theta};
use crate::stream_cost::StreamCost;
use crate::traffic::Traffic;
use narrows_model::result::Provenance;

/// As fitted on the 36 medians of LP1241 (docs/predict.md): memory bytes for each payload byte, the
/// factor on them for TCP with two processors, UDP's shares in a wider set and on the other socket.
const M: f64 = 2.16;
const G: f64 = 0.738;
const R: f64 = 0.129;
const Q: f64 = 0.116;
/// The same by the names that the fit has.
pub const FITTED: [(&str, f64); 4] = [("m", M), ("g", G), ("r", R), ("q", Q)];
/// Cycles of one core a smallest packet, and bytes of its copies that a packet waits as long as,
/// as fitted on ntop's servers.
const CYCLES: f64 = 188.5;
const WAIT_BYTES: f64 = 174.5;
/// The same by the names that the fit has.
pub const PACKETS: [(&str, f64); 2] = [("c", CYCLES), ("B", WAIT_BYTES)];
/// Share of the cost of kernel sockets that grows with memory's latency, set by one published
/// figure; and remote over local latency of a Skylake-SP node.
pub(crate) const PHI: f64 = 0.325;
const REMOTE_OVER_LOCAL: f64 = 140.4 / 80.8;
/// 80 % of left-out rows were within this of what memory carries; of other platforms, whose caches
/// may keep more or less of the traffic, m is taken as 1.5 to 3.1, which is assumed.
const MEMORY_HALF: f64 = 0.032;
const MEMORY_HALF_ELSEWHERE: f64 = 0.35;

/// What the kernel reached of the wire where it was measured.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Share of the framing's rate.
    pub share: f64,
    /// Half the 80 % range, as a logarithm.
    pub half: f64,
    /// Rate of the link then: of another the share says nothing.
    pub link_gbps: f64,
    /// Where it is from.
    pub from: Provenance,
}

/// What the CPUs were measured to do more, or less, than the model has it.
#[derive(Clone, Debug)]
pub struct Scaled {
    /// Factor on what they carry.
    pub by: f64,
    /// Half the 80 % range, as a logarithm.
    pub half: f64,
    /// Where it is from.
    pub from: Provenance,
}

/// Those of one protocol of the kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Shares and bytes of memory; the share of the wire in it is 1.
    pub theta: Theta,
    /// Where the bytes of memory are from.
    pub m_from: Provenance,
    /// Half the 80 % range of what memory allows, as a logarithm; `None` for the fit's.
    pub memory_half: Option<f64>,
    /// What of the wire was reached, where that was measured.
    pub reached: Option<Reached>,
    /// What the CPUs did, where that was measured.
    pub cpu: Option<Scaled>,
}

/// All.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Share of the channels' peak that copies reach.
    pub eta: Known,
    /// Half its 80 % range, as a logarithm, where it was measured.
    pub eta_half: Option<f64>,
    /// GB/s that cross the bus in a copy, where that is known.
    pub copy_gb_s: Option<Known>,
    /// What work on the other socket costs, as a factor.
    pub remote_loss: Known,
    /// TCP's.
    pub tcp: Kernel,
    /// UDP's.
    pub udp: Kernel,
    /// What one stream's busiest CPU allows.
    pub tcp_stream: StreamCost,
    /// UDP's.
    pub udp_stream: StreamCost,
    /// A round trip of TCP inside this host, in microseconds.
    pub round_trip_us: Option<Measured>,
    /// Cycles a smallest packet.
    pub cycles: f64,
    /// Bytes of waiting a smallest packet.
    pub wait_bytes: f64,
    /// What was measured and could not be used, and why.
    pub unused: Vec<String>,
}

impl Parameters {
    /// Fitted ones, and what of a measurement needs no server to be used.
    pub fn of(copy: Option<Known>, measured: &Calibration) -> Self {
        let kernel = Kernel {
            theta: Theta { kappa: 1.0, m: M, g: G, r: R, q: Q, x: 0.0 },
            m_from: Provenance::Fitted("LP1241, tables 1 and 2".to_owned()),
            memory_half: None,
            reached: None,
            cpu: None,
        };
        let loss = |ratio: f64| 1.0 - PHI + PHI * ratio;
        let known = |figure: &Measured| Known::new(figure.value, figure.origin());
        let ratio = measured.remote_over_local.as_ref();
        Self {
            eta: Known::new(
                ETA,
                Provenance::Fitted("one Cascade Lake node (field notes)".to_owned()),
            ),
            eta_half: None,
            copy_gb_s: copy.or(measured.copy_gb_s.as_ref().map(known)),
            remote_loss: match ratio {
                // Noise can have the other processor's memory nearer.
                Some(ratio) => Known::new(loss(ratio.value.max(1.0)), ratio.origin()),
                None => {
                    let on = "one figure of Dell's paper".to_owned();
                    Known::new(loss(REMOTE_OVER_LOCAL), Provenance::Fitted(on))
                }
            },
            tcp: kernel.clone(),
            udp: kernel,
            tcp_stream: measured.tcp_stream.clone(),
            udp_stream: measured.udp_stream.clone(),
            round_trip_us: measured.round_trip_us.clone(),
            cycles: CYCLES,
            wait_bytes: WAIT_BYTES,
            unused: measured.unused.clone(),
        }
    }

    /// Those that reproduce what was measured on the server as it was then. What held TCP or UDP
    /// then is the bottleneck that the model sees, and its parameter takes the difference.
    pub fn calibrated(mut self, then: &Server, measured: &Calibration) -> Self {
        self.measured_eta(then, measured);
        for traffic in [Traffic::Tcp, Traffic::Udp] {
            let figure = match traffic {
                Traffic::Tcp => &measured.tcp_gbps,
                _ => &measured.udp_gbps,
            };
            let Some(figure) = figure else { continue };
            if let Err(unused) = self.reproduce(then, traffic, figure) {
                self.unused.push(unused);
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
    ) -> Result<(), String> {
        const RESOURCES: usize = 3;
        for _ in 0..RESOURCES {
            let mut server = then.clone();
            server.parameters = self.clone();
            let Some(reach) = server.reach(traffic) else { return Ok(()) };
            if (reach.value / figure.value - 1.0).abs() < 1e-9 {
                return Ok(());
            }
            self.move_bottleneck(&server, &reach, traffic, figure)?;
        }
        Ok(())
    }

    fn move_bottleneck(
        &mut self,
        then: &Server,
        reach: &Reach,
        traffic: Traffic,
        figure: &Measured,
    ) -> Result<(), String> {
        let of = |name: &str| {
            let found = reach.resources.iter().find(|resource| resource.name == name);
            found.map(|resource| resource.value)
        };
        let bottleneck = reach.bottleneck.as_deref().unwrap_or_default();
        let kernel = if traffic == Traffic::Udp { &mut self.udp } else { &mut self.tcp };
        let (half, from) = (figure.half(), figure.origin());
        match (bottleneck, then.framed_gbps(traffic), of("memory")) {
            // Wire and CPUs hold each other back: what both reached is the wire's share.
            ("wire" | "cpu", Some(framed), _) if figure.value > 1.005 * framed => Err(format!(
                "{} is more than the wire can carry: {:.1} Gb/s",
                figure.from, figure.value
            )),
            ("cpu", Some(framed), _) if figure.value < 0.9 * framed => {
                let needed = apart(figure.value, framed);
                let more = then.cpu_alone(traffic).map_or(1.0, |alone| needed / alone);
                let by = kernel.cpu.as_ref().map_or(1.0, |known| known.by) * more;
                kernel.cpu = Some(Scaled { by, half, from });
                Ok(())
            }
            ("wire" | "cpu", Some(framed), _) => {
                let share = figure.value / framed;
                let link_gbps = then.link.as_ref().map_or(0.0, |link| link.value);
                kernel.reached = Some(Reached { share, half, link_gbps, from: from.clone() });
                // Its CPUs carry that much at least.
                let cpu = of("cpu").unwrap_or(f64::INFINITY);
                if cpu < figure.value {
                    let known = kernel.cpu.as_ref().map_or(1.0, |known| known.by);
                    kernel.cpu = Some(Scaled { by: known * figure.value / cpu, half, from });
                }
                Ok(())
            }
            ("memory", _, Some(memory)) => {
                kernel.theta.m *= memory / figure.value;
                kernel.m_from = from;
                kernel.memory_half = Some(half);
                Ok(())
            }
            (other, ..) => Err(format!(
                "{}: {other} was the bottleneck, which has nothing to be fitted",
                figure.from
            )),
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
                    "{}: memory is several interleave sets, of which a copy has a mean",
                    copy.from
                ));
            }
        };
        let eta = copy.value / peak;
        if !(0.1..=1.0).contains(&eta) {
            return self.unused.push(format!(
                "{}: {:.1} GB/s is {:.0} % of the channels' peak, which cannot be",
                copy.from,
                copy.value,
                eta * 100.0
            ));
        }
        self.eta = Known::new(eta, copy.origin());
        self.eta_half = Some(copy.half());
    }

    /// Of a kernel's path.
    pub fn kernel(&self, traffic: Traffic) -> &Kernel {
        if traffic == Traffic::Udp { &self.udp } else { &self.tcp }
    }

    /// Half the 80 % range of what memory carries on a processor's family.
    pub fn half_of_memory(server: &Server) -> f64 {
        let same = server.platform.is_some_and(|of| of.name.starts_with("Cascade Lake"));
        if same { MEMORY_HALF } else { MEMORY_HALF_ELSEWHERE }
    }
}
