//! The model's parameters: those that Lenovo's tables gave, or what was measured here in their
//! place.

use crate::calibration::{Calibration, Measured};
use crate::server::{Known, Server};
use crate::sockets::{ETA, Theta};
use crate::stream_cost::StreamCost;
use crate::traffic::Traffic;

/// As fitted on the 36 medians of LP1241 (docs/predict.md): the kernel's ceiling, memory bytes for
/// each payload byte, the factor on them for TCP with two processors, UDP's shares in a wider set
/// and on the other socket.
const KAPPA: f64 = 0.938;
const M: f64 = 2.16;
const G: f64 = 0.738;
const R: f64 = 0.129;
const Q: f64 = 0.116;
/// The same by the names that the fit has.
pub const FITTED: [(&str, f64); 5] = [("kappa", KAPPA), ("m", M), ("g", G), ("r", R), ("q", Q)];
/// Cycles of one core a smallest packet, and bytes of its copies that a packet waits as long as,
/// as fitted on ntop's servers.
const CYCLES: f64 = 188.5;
const WAIT_BYTES: f64 = 174.5;
/// The same by the names that the fit has.
pub const PACKETS: [(&str, f64); 2] = [("c", CYCLES), ("B", WAIT_BYTES)];
/// Share of the cost of kernel sockets that grows with memory's latency, set by one published
/// figure; and remote over local latency of a Skylake-SP node.
const PHI: f64 = 0.325;
const REMOTE_OVER_LOCAL: f64 = 140.4 / 80.8;
/// 80 % of left-out rows were within this; other platforms are given four times as much.
const HALF: f64 = 0.032;
const HALF_ELSEWHERE: f64 = 0.13;

/// Those of one protocol of the kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Shares and bytes.
    pub theta: Theta,
    /// Where the share of the wire is from.
    pub kappa_from: String,
    /// Where the bytes of memory are from.
    pub m_from: String,
    /// Half the 80 % range of what the wire allows, as a logarithm; `None` for the fit's.
    pub wire_half: Option<f64>,
    /// The same of memory.
    pub memory_half: Option<f64>,
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
        let fitted = "fitted on LP1241, tables 1 and 2";
        let kernel = Kernel {
            theta: Theta { kappa: KAPPA, m: M, g: G, r: R, q: Q, x: 0.0 },
            kappa_from: fitted.to_owned(),
            m_from: fitted.to_owned(),
            wire_half: None,
            memory_half: None,
        };
        let loss = |ratio: f64| 1.0 - PHI + PHI * ratio;
        let known = |figure: &Measured| Known::new(figure.value, figure.from.clone());
        let ratio = measured.remote_over_local.as_ref();
        Self {
            eta: Known::new(ETA, "measured on one Cascade Lake node (field notes)"),
            eta_half: None,
            copy_gb_s: copy.or(measured.copy_gb_s.as_ref().map(known)),
            remote_loss: match ratio {
                // Noise can have the other processor's memory nearer.
                Some(ratio) => Known::new(loss(ratio.value.max(1.0)), ratio.from.clone()),
                None => Known::new(loss(REMOTE_OVER_LOCAL), "set by one figure of Dell's paper"),
            },
            tcp: kernel.clone(),
            udp: kernel,
            tcp_stream: measured.tcp_stream.clone(),
            udp_stream: measured.udp_stream.clone(),
            cycles: CYCLES,
            wait_bytes: WAIT_BYTES,
            unused: measured.unused.clone(),
        }
    }

    /// Those that reproduce what was measured on the server as it was then. What held TCP or UDP
    /// then is the narrowest resource that the model sees, and its parameter takes the difference.
    pub fn calibrated(mut self, then: &Server, measured: &Calibration) -> Self {
        self.measured_eta(then, measured);
        for path in [Traffic::Tcp, Traffic::Udp] {
            let figure = if path == Traffic::Tcp { &measured.tcp_gbps } else { &measured.udp_gbps };
            let Some(figure) = figure else { continue };
            let mut server = then.clone();
            server.parameters = self.clone();
            let Some(reach) = server.reach(path) else { continue };
            let of = |name: &str| {
                let found = reach.resources.iter().find(|resource| resource.name == name);
                found.map(|resource| resource.value)
            };
            let kernel = if path == Traffic::Tcp { &mut self.tcp } else { &mut self.udp };
            let narrowest = reach.narrowest.as_deref().unwrap_or_default();
            match (narrowest, of("wire"), of("memory")) {
                ("wire", Some(wire), _) => {
                    let kappa = kernel.theta.kappa * figure.value / wire;
                    if kappa > 1.005 {
                        self.unused.push(format!(
                            "{} is more than the wire can carry: {:.1} Gb/s",
                            figure.from, figure.value
                        ));
                        continue;
                    }
                    kernel.theta.kappa = kappa;
                    kernel.kappa_from.clone_from(&figure.from);
                    kernel.wire_half = Some(figure.half());
                }
                ("memory", _, Some(memory)) => {
                    kernel.theta.m *= memory / figure.value;
                    kernel.m_from.clone_from(&figure.from);
                    kernel.memory_half = Some(figure.half());
                }
                (other, ..) => self.unused.push(format!(
                    "{}: {other} was narrowest, which has nothing to be fitted",
                    figure.from
                )),
            }
        }
        self
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
        self.eta = Known::new(eta, copy.from.clone());
        self.eta_half = Some(copy.half());
    }

    /// Of a kernel's path.
    pub fn kernel(&self, traffic: Traffic) -> &Kernel {
        if traffic == Traffic::Udp { &self.udp } else { &self.tcp }
    }

    /// Half the 80 % range that the fit has on a processor's family.
    pub fn half_of_fit(server: &Server) -> f64 {
        let same = server.platform.is_some_and(|of| of.name.starts_with("Cascade Lake"));
        if same { HALF } else { HALF_ELSEWHERE }
    }
}
