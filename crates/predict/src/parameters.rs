//! The model's parameters: those that Lenovo's tables gave, or what was measured here in their
//! place.

use crate::calibration::Calibration;
use crate::measured::Measured;
use crate::root_lines::RootLines;
use crate::said::Known;
use crate::sockets::{ETA, Theta};
use crate::stream_cost::StreamCost;
use crate::streams::Adding;
use crate::traffic::Traffic;
use crate::under_load::UnderLoad;
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
const PHI: f64 = 0.325;
const REMOTE_OVER_LOCAL: f64 = 140.4 / 80.8;

/// What the kernel reached of the wire where it was measured.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Share of the framing's rate.
    pub share: f64,
    /// Half the 80 % range, as a logarithm.
    pub half: f64,
    /// Rate of the link then: of another the share says nothing.
    pub link_gbps: f64,
    pub from: Provenance,
}

/// What the CPUs were measured to do more, or less, than the model has it.
#[derive(Clone, Debug)]
pub struct Scaled {
    /// Factor on what they carry.
    pub by: f64,
    /// Half the 80 % range, as a logarithm.
    pub half: f64,
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

/// The parameters of all resources, fitted on tables or measured here.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Share of the channels' peak that copies reach.
    pub eta: Known,
    /// Half its 80 % range, as a logarithm, where it was measured.
    pub eta_half: Option<f64>,
    /// GB/s that cross the bus in a copy, where that is known.
    pub copy_gb_s: Option<Known>,
    /// How long lines wait under load, where that was measured.
    pub under_load: Option<UnderLoad>,
    /// Lines that devices had in flight, where that was counted.
    pub root_lines: Option<RootLines>,
    /// What work on the other socket costs, as a factor.
    pub remote_loss: Known,
    /// Latency of the other socket's memory over that of the own.
    pub remote_over_local: Known,
    /// What the kernel does for TCP.
    pub tcp: Kernel,
    /// What the kernel does for UDP.
    pub udp: Kernel,
    /// What one stream's busiest CPU allows.
    pub tcp_stream: StreamCost,
    /// What one UDP stream's busiest CPU allows.
    pub udp_stream: StreamCost,
    /// TCP streams with other congestion controls than the default, by name.
    pub tcp_others: Vec<(String, StreamCost)>,
    /// How streams add, where that was measured.
    pub streams_add: Option<Adding>,
    /// How they add inside the host, with the CPUs that there are.
    pub inside_add: Option<Adding>,
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
        let ratio = measured.remote_over_local.as_ref();
        Self {
            eta: Known::new(
                ETA,
                Provenance::Fitted("one Cascade Lake node (field notes)".to_owned()),
            ),
            eta_half: None,
            copy_gb_s: copy.or(measured
                .copy_gb_s
                .as_ref()
                .map(|figure| Known::new(figure.value, figure.origin()))),
            under_load: measured.under_load.clone(),
            root_lines: measured.root_lines.clone(),
            remote_loss: match ratio {
                // Noise can have the other processor's memory nearer.
                Some(ratio) => Known::new(loss(ratio.value.max(1.0)), ratio.origin()),
                None => {
                    let on = "one figure of Dell's paper".to_owned();
                    Known::new(loss(REMOTE_OVER_LOCAL), Provenance::Fitted(on))
                }
            },
            remote_over_local: match ratio {
                Some(ratio) => Known::new(ratio.value.max(1.0), ratio.origin()),
                None => {
                    let on = "140.4 ns for 80.8, one node of two Xeon Gold 6240".to_owned();
                    Known::new(REMOTE_OVER_LOCAL, Provenance::Assumed(on))
                }
            },
            tcp: kernel.clone(),
            udp: kernel,
            tcp_stream: measured.tcp_stream.clone(),
            udp_stream: measured.udp_stream.clone(),
            tcp_others: measured.tcp_others.clone(),
            streams_add: measured.streams_add.clone(),
            inside_add: measured.inside_add.clone(),
            round_trip_us: measured.round_trip_us.clone(),
            cycles: CYCLES,
            wait_bytes: WAIT_BYTES,
            unused: measured.unused.clone(),
        }
    }

    /// Of a kernel's path.
    pub fn kernel(&self, traffic: Traffic) -> &Kernel {
        if traffic == Traffic::Udp { &self.udp } else { &self.tcp }
    }
}

fn loss(ratio: f64) -> f64 {
    1.0 - PHI + PHI * ratio
}
