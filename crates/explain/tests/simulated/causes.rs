//! What is planted into simulated machines, and the rules that must name it.

use super::{Noise, known, nics};
use narrows_model::host::*;
use narrows_model::load::{EndReport, NextHop, Params, Role, SocketParams, StreamParams, Tracing};
use narrows_model::probe::{Handshakes, Marked, PathProbe, Train, WayProbe};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Placement, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};

/// What is planted, and the rules that must name it.
pub struct Cause {
    /// What it is called in `confusion.txt`.
    pub name: &'static str,
    /// The rules that must name it.
    pub rules: &'static [&'static str],
    /// Puts it into a healthy machine and its runs.
    pub plant: fn(&mut StoredStudy, &mut Noise),
}

fn setting(study: &mut StoredStudy, name: &str, value: &str) {
    study.host.tuning.insert(name.into(), known(value.into()));
}

fn slots(study: &mut StoredStudy, change: impl Fn(&mut Vec<Slot>)) {
    let mut slots = study.host.memory.slots.value().cloned().unwrap_or_default();
    change(&mut slots);
    study.host.memory.slots = known(slots);
}

pub fn senders(study: &mut StoredStudy, mut change: impl FnMut(&mut EndReport)) {
    study
        .records
        .iter_mut()
        .filter_map(|run| run.of_mut(Role::Sender).next())
        .for_each(&mut change);
}

pub fn receivers(study: &mut StoredStudy, mut change: impl FnMut(&mut EndReport)) {
    study
        .records
        .iter_mut()
        .filter_map(|run| run.of_mut(Role::Receiver).next())
        .for_each(&mut change);
}

pub fn read(end: &mut EndReport, source: &str, key: &str, value: u64) {
    end.readings.put_words(source, key, value);
}

/// Packets wait for 5 ms in a queue that never empties, and TCP always has something under way.
fn queued(end: &mut EndReport) {
    for (key, ns) in [
        ("rtt_ns", 6_000_000),
        ("lowest:rtt_ns", 5_000_000),
        ("highest:rtt_ns", 8_000_000),
        ("busy_ns", 1_000_000_000),
    ] {
        read(end, "tcp-info", &format!("flow0.{key}"), ns);
    }
}

/// Causes of which two at once hide each other: a stream that loses is no longer steady, one that
/// waits for a window fills no queue.
pub const OF_THE_PATH: &[&str] = &[
    "a filter on the way out",
    "a policer",
    "a policer of each flow",
    "a volume that passes first",
    "a capacity that changes",
    "bbr over a short path",
    "a shaper between",
    "a slow way back",
    "a small send buffer",
    "a small window",
    "one segment in fifty lost",
    "outages of a fifth",
    "packets that cost much",
    "one segment in twenty marked",
];

/// Adds a trial that differs from the one of this kind, and moves about so many times as much.
pub fn beside(
    study: &mut StoredStudy,
    noise: &mut Noise,
    kind: &str,
    change: impl FnOnce(&mut Params),
    times: f64,
) {
    let mut trial = study.trials.iter().find(|trial| trial.label == kind).expect("one").clone();
    let of = std::mem::replace(&mut trial.id, TrialId(format!("{kind} beside")));
    trial.label = trial.id.0.clone();
    change(&mut trial.params);
    let runs = study.records.iter().filter(|run| run.trial == of).cloned();
    for mut run in runs.collect::<Vec<Record>>() {
        run.trial = trial.id.clone();
        for flow in run.of_mut(Role::Receiver).flat_map(|end| &mut end.flows) {
            flow.bytes.0 = noise.about(times * flow.bytes.0 as f64);
        }
        study.records.push(run);
    }
    study.trials.push(trial);
}

/// Adds a probe of the path beside the streams, which found this of both ways.
fn probed(study: &mut StoredStudy, way: &WayProbe) {
    let mut trial = study.trials[0].clone();
    trial.id = TrialId("path-probe".into());
    trial.label = trial.id.0.clone();
    trial.kind = Workload::PathProbe;
    let mut run = study.records[0].clone();
    run.trial = trial.id.clone();
    let probe = PathProbe { there: way.clone(), back: way.clone(), ..PathProbe::default() };
    for end in run.of_mut(Role::Sender) {
        end.probe = Some(Box::new(probe.clone()));
    }
    study.records.extend([run.clone(), Record { repeat: 1, ..run }]);
    study.trials.push(trial);
}

/// A train of a hundred full packets sent at 2 Gb/s, of which so many came at this rate.
fn train(noise: &mut Noise, came: u32, mbps: f64) -> Train {
    let each_ns = 12e6 / mbps;
    Train {
        packet_bytes: Bytes(1500),
        sent: 100,
        sent_ns: Nanos(600_000),
        came,
        came_ns: Nanos(noise.about(f64::from(came.max(1) - 1) * each_ns)),
        tail: came / 2,
        tail_ns: Nanos(noise.about(f64::from(came / 2) * each_ns)),
        ..Train::default()
    }
}

/// A train of 256 full packets sent within this time, of which a policer let so many pass.
fn dropped(noise: &mut Noise, came: u32, sent_ns: u64) -> Train {
    Train {
        packet_bytes: Bytes(1500),
        sent: 256,
        sent_ns: Nanos(noise.about(sent_ns as f64)),
        came,
        head: 7,
        head_ns: Nanos(sent_ns / 36),
        ..Train::default()
    }
}

/// Rows of losses, and nothing that queues.
fn policed(study: &mut StoredStudy, noise: &mut Noise) {
    senders(study, |end| {
        read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(17_000.0));
        read(end, "netstat", "TcpExt.TCPSackRecovery_events", noise.about(100.0));
    });
}

/// Makes eight flows of the one of an end, two of which lose a fiftieth and are slow.
fn two_of_eight(end: &mut EndReport, noise: &mut Noise) {
    let whole = end.flows[0].clone();
    end.flows.clear();
    for number in 0..8 {
        let (part, again) = if number % 4 == 1 { (0.04, 600.0) } else { (0.153, 0.0) };
        let mut flow = whole.clone();
        flow.bytes = Bytes(noise.about(part * whole.bytes.0 as f64));
        end.flows.push(flow);
        if !whole.sends {
            continue;
        }
        let sent = noise.about(part * 560_000.0);
        for (key, value) in [("sent", sent), ("retransmitted", noise.about(again))] {
            read(end, "tcp-info", &format!("flow{number}.{key}_segments"), value);
        }
    }
}

/// A NIC and an accelerator below one switch whose ports redirect.
fn peers_behind_a_switch() -> [Device; 2] {
    let acs = Acs { request_redirect: true, completion_redirect: true, ..Acs::default() };
    let hop =
        |address: &str| PciHop { address: address.into(), acs: known(acs), ..PciHop::default() };
    let of = |kind, port: &str, address: &str| Device {
        kind,
        address: address.into(),
        names: Vec::new(),
        driver: known("driver".into()),
        node: known(1),
        is_virtual: false,
        path: ["0000:c0:00.0", "0000:c1:00.0", port, address].map(hop).into(),
    };
    [
        of(DeviceKind::Network, "0000:c2:00.0", "0000:c3:00.0"),
        of(DeviceKind::Accelerator, "0000:c2:01.0", "0000:c4:00.0"),
    ]
}

pub const CAUSES: &[Cause] = &[
    Cause {
        name: "a module pulled",
        rules: &["dimm-balance"],
        plant: |study, _| {
            slots(study, |slots| slots[2].module = None);
            study.host.memory.total_bytes = known(Bytes::gib(176));
            study.host.nodes[0].memory_bytes = known(Bytes::gib(80));
        },
    },
    Cause {
        name: "modules at 2400 MT/s",
        rules: &["memory-speed"],
        plant: |study, _| {
            slots(study, |slots| {
                let modules = slots.iter_mut().filter_map(|slot| slot.module.as_mut());
                modules.for_each(|module| module.configured_mts = Some(2400));
            });
        },
    },
    Cause {
        name: "a x16 link at x4",
        rules: &["pcie-link"],
        plant: |study, _| {
            for hop in &mut study.host.nics[0].path {
                let link = PciLink { width: 4, ..*hop.link.value().expect("a link") };
                hop.link = known(link);
            }
        },
    },
    Cause {
        name: "a switch that redirects",
        rules: &["pcie-acs"],
        plant: |study, _| study.host.devices.extend(peers_behind_a_switch()),
    },
    Cause {
        name: "payloads of 128 B",
        rules: &["pcie-payload"],
        plant: |study, _| {
            for hop in &mut study.host.nics[0].path {
                let set = *hop.express.value().expect("express");
                hop.express = known(Express { max_payload_bytes: Bytes(128), ..set });
            }
        },
    },
    Cause {
        name: "reads of 128 B",
        rules: &["pcie-read-request"],
        plant: |study, _| {
            for hop in &mut study.host.nics[0].path {
                let set = *hop.express.value().expect("express");
                hop.express = known(Express { max_read_request_bytes: Bytes(128), ..set });
            }
        },
    },
    Cause {
        name: "interrupts on the other socket",
        rules: &["nic-remote-node"],
        plant: |study, _| study.host.nics[0].irq_cpus = known((0..4).collect()),
    },
    Cause {
        name: "work on the other socket",
        rules: &["work-on-remote-node"],
        plant: |study, _| {
            for end in study.trials.iter_mut().filter_map(|trial| trial.end_mut(Role::Sender)) {
                end.place = Placement::on([2]);
            }
        },
    },
    Cause {
        name: "segmentation off",
        rules: &["nic-offloads"],
        plant: |study, _| {
            let mut features = study.host.nics[0].offloads.value().cloned().unwrap_or_default();
            features.insert("tx-tcp-segmentation".into(), false);
            study.host.nics[0].offloads = known(features);
        },
    },
    Cause {
        name: "a ring of 256",
        rules: &["nic-rings"],
        plant: |study, _| {
            study.host.nics[0].rings =
                known(Rings { rx: 256, rx_max: 8192, tx: 256, tx_max: 8192 });
        },
    },
    Cause {
        name: "a token bucket",
        rules: &["nic-shaped"],
        plant: |study, _| study.host.nics[0].qdisc = known("tbf".into()),
    },
    Cause {
        name: "half duplex",
        rules: &["nic-duplex"],
        plant: |study, _| study.host.nics[0].duplex = known("half".into()),
    },
    Cause {
        name: "a strict IOMMU",
        rules: &["iommu-strict"],
        plant: |study, _| setting(study, "iommu", "DMA for 41 groups"),
    },
    Cause {
        name: "a slow governor",
        rules: &["cpu-governor"],
        plant: |study, _| setting(study, "cpu.governor", "conservative"),
    },
    Cause {
        name: "no window scaling",
        rules: &["window-scaling"],
        plant: |study, _| setting(study, "net.ipv4.tcp_window_scaling", "0"),
    },
    Cause {
        name: "a small window",
        rules: &["receive-window"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.limited_by_receive_window_ns", noise.about(9e8));
            });
        },
    },
    Cause {
        name: "a small send buffer",
        rules: &["send-buffer"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.limited_by_send_buffer_ns", noise.about(9e8));
            });
        },
    },
    Cause {
        name: "an MTU of 1500 at the peer",
        rules: &["segment-size"],
        plant: |study, _| senders(study, |end| end.effective.mss_bytes = Some(1448)),
    },
    Cause {
        name: "one segment in fifty lost",
        rules: &["tcp-retransmits"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(11_000.0));
                read(end, "netstat", "TcpExt.TCPSackRecovery_events", noise.about(9_000.0));
            });
        },
    },
    Cause {
        name: "a twentieth of the datagrams lost",
        rules: &["datagrams-dropped"],
        plant: |study, noise| {
            let runs = study.records.iter_mut().filter(|run| run.trial.0 == "udp-stream");
            for end in runs.filter_map(|run| run.of_mut(Role::Receiver).next()) {
                end.flows[0].lost = noise.about(3_500.0);
            }
        },
    },
    Cause {
        name: "a full backlog",
        rules: &["backlog-drops"],
        plant: |study, noise| {
            receivers(study, |end| read(end, "softnet", "dropped_packets", noise.about(30_000.0)));
        },
    },
    Cause {
        name: "a receiver that asks for pauses",
        rules: &["host-congestion", "pause-frames"],
        plant: |study, noise| {
            nics::half_full(study, noise);
            receivers(study, |end| {
                read(end, "pause", "e0.sent:tx_prio3_pause_frames", noise.about(9_000.0));
            });
            senders(study, |end| {
                read(end, "pause", "e0.received:rx_prio3_pause_frames", noise.about(9_000.0));
            });
        },
    },
    nics::WAITS,
    nics::FULL,
    // Nothing of these is the inside of the host.
    nics::LATE,
    nics::SENDER,
    Cause {
        name: "a quota of half a CPU",
        rules: &["cpu-quota"],
        plant: |study, _| study.host.cpu.quota_cpus = known(0.5),
    },
    Cause {
        name: "a quota that the end cannot see",
        rules: &["cpu-withheld"],
        plant: |study, noise| {
            receivers(study, |end| {
                end.threads[0].system_ns = Nanos(noise.about(0.2e9));
                end.threads[0].waited_ns = Some(Nanos(noise.about(0.6e9)));
                for cpu in 0..16 {
                    read(end, "cpu", &format!("cpu{cpu}.idle_ns"), noise.about(0.8e9));
                }
            });
        },
    },
    Cause {
        name: "cold buffers",
        rules: &["cold-buffers"],
        plant: |study, _| {
            let stream =
                StreamParams { span_bytes: Some(Bytes(90 << 20)), ..StreamParams::default() };
            study.trials.iter_mut().for_each(|trial| trial.params.stream = Some(stream.clone()));
        },
    },
    Cause {
        name: "a shaper between",
        rules: &["path-capacity"],
        plant: |study, _| senders(study, queued),
    },
    Cause {
        name: "a slow way back",
        rules: &["acknowledgements-slow"],
        plant: |study, _| {
            senders(study, |end| {
                queued(end);
                read(end, "tcp-info", "flow0.received_segments", 2_840);
            });
            let mut run = 10;
            receivers(study, |end| {
                run += 1;
                end.flows[0].bytes.0 = end.flows[0].bytes.0 / 14 * run;
                read(end, "tcp-info", "flow0.sent_segments", 2_850);
            });
        },
    },
    Cause {
        name: "a filter on the way out",
        rules: &["own-host-drops"],
        plant: |study, noise| {
            senders(study, |end| read(end, "interface", "e0.tx_bytes", noise.about(5e8)));
        },
    },
    Cause {
        name: "another transfer",
        rules: &["other-traffic"],
        plant: |study, noise| {
            senders(study, |end| read(end, "interface", "e0.tx_bytes", noise.about(1.2e10)));
        },
    },
    Cause {
        name: "packets that cost much",
        rules: &["packet-cost"],
        plant: |study, noise| {
            senders(study, |end| {
                for cpu in 0..16 {
                    read(end, "cpu", &format!("cpu{cpu}.softirq_ns"), noise.about(5e8));
                }
                read(end, "tcp-info", "flow0.busy_ns", noise.about(4e8));
            });
        },
    },
    Cause {
        name: "a few bytes in the sender's queues",
        rules: &["stack-settings"],
        plant: |study, _| setting(study, "net.ipv4.tcp_limit_output_bytes", "4096"),
    },
    Cause {
        name: "a proxy between",
        rules: &["path-proxy"],
        plant: |study, noise| {
            let of = study.records.len();
            probed(study, &WayProbe::default());
            for run in study.records.iter_mut().skip(of) {
                let (tcp_ns, udp_ns) = (Nanos(noise.about(3e5)), Nanos(noise.about(2e7)));
                for end in run.of_mut(Role::Sender) {
                    end.round_trips = vec![(udp_ns, 20)];
                    let handshakes = Handshakes {
                        tried: 64,
                        at_once: 64,
                        median_ns: tcp_ns,
                        ..Default::default()
                    };
                    let probe = end.probe.as_deref().cloned().unwrap_or_default();
                    let handshakes = Some(handshakes);
                    end.probe = Some(Box::new(PathProbe { handshakes, ..probe }));
                }
            }
        },
    },
    Cause {
        name: "datagrams twice",
        rules: &["path-duplicates"],
        plant: |study, noise| {
            let runs = study.records.iter_mut().filter(|run| run.trial.0 == "udp-stream");
            for end in runs.filter_map(|run| run.of_mut(Role::Receiver).next()) {
                end.flows[0].duplicates = noise.about(3_500.0);
            }
        },
    },
    Cause {
        name: "outages of a fifth",
        rules: &["path-outages"],
        plant: |study, _| {
            // The timer of 200 ms runs out, and lost is what it sent again.
            senders(study, |end| {
                read(end, "tcp-info", "flow0.timeouts_events", 1);
                read(end, "netstat", "TcpExt.TCPSackRecovery_events", 1);
            });
            receivers(study, |end| {
                end.intervals[3..6].iter_mut().for_each(|slice| slice.bytes = Bytes(0));
            });
        },
    },
    Cause { name: "a policer", rules: &["path-policed", "tcp-retransmits"], plant: policed },
    Cause {
        name: "large frames that are dropped",
        rules: &["large-frames-lost", "tcp-retransmits"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(120_000.0));
                read(end, "tcp-info", "flow0.congestion_window_segments", 2);
            });
            let trains = (0..10).map(|_| train(noise, 100, 4_000.0)).collect();
            probed(study, &WayProbe { trains, ..WayProbe::default() });
        },
    },
    Cause {
        name: "a policer of each flow",
        rules: &["path-flow-limit", "path-policed", "tcp-retransmits"],
        plant: |study, noise| {
            policed(study, noise);
            beside(study, noise, "tcp-stream", |params| params.streams = 4, 4.0);
            let of = study.trials.last().map(|trial| trial.id.clone());
            let runs = study.records.iter_mut().filter(|run| Some(&run.trial) == of.as_ref());
            for end in runs.flat_map(|run| run.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 /= 4;
                end.flows = vec![end.flows[0].clone(); 4];
            }
            // The rate of one flow and its headers: 40.4 Gb/s.
            let trains = vec![dropped(noise, 13, 1_000); 10];
            let paced = vec![dropped(noise, 177, 52_500); 6];
            probed(study, &WayProbe { trains, paced, ..WayProbe::default() });
        },
    },
    Cause {
        name: "so many packets a second",
        rules: &["datagrams-dropped", "path-packet-rate"],
        plant: |study, noise| {
            let runs = study.records.iter_mut().filter(|run| run.trial.0 == "udp-stream");
            for end in runs.filter_map(|run| run.of_mut(Role::Receiver).next()) {
                end.flows[0].lost = noise.about(200_000.0);
            }
            for trial in study.trials.iter_mut().filter(|trial| trial.label == "udp-stream") {
                trial.params.rate_bps = Some(400_000_000_000);
                trial.params.message_bytes = Bytes(8000);
            }
            let half = |params: &mut Params| params.message_bytes.0 /= 2;
            beside(study, noise, "udp-stream", half, 0.5);
        },
    },
    Cause {
        name: "a class that is policed",
        rules: &["path-class"],
        plant: |study, noise| {
            let of = |dscp| Some(SocketParams { dscp: Some(dscp), ..SocketParams::default() });
            for trial in study.trials.iter_mut().filter(|trial| trial.label == "tcp-stream") {
                trial.params.socket = of(10);
            }
            beside(study, noise, "tcp-stream", |params| params.socket = of(0), 1.8);
        },
    },
    Cause {
        name: "both directions in one capacity",
        rules: &["path-half-duplex"],
        plant: |study, noise| {
            let trains = (0..10).map(|_| train(noise, 100, 100.0)).collect();
            // Of both trains 120 packets come in what 100 take alone.
            let together = (0..6).map(|_| train(noise, 60, 60.0)).collect();
            probed(study, &WayProbe { trains, together, ..WayProbe::default() });
        },
    },
    Cause {
        name: "packets held for 20 ms",
        rules: &["path-holds-packets"],
        plant: |study, noise| {
            let even = |noise: &mut Noise| Train {
                packet_bytes: Bytes(128),
                sent: 160,
                sent_ns: Nanos(320_000_000),
                came: 160,
                came_ns: Nanos(320_000_000),
                rests: Some(6),
                rests_ns: Nanos(noise.about(110e6)),
                longest_ns: Nanos(20_000_000),
                ..Train::default()
            };
            let even = vec![even(noise), even(noise)];
            probed(study, &WayProbe { even, ..WayProbe::default() });
        },
    },
    Cause {
        name: "packets with ECN dropped",
        rules: &["path-drops-ecn"],
        plant: |study, noise| {
            senders(study, |end| read(end, "tcp-info", "flow0.agreed_options", 15));
            let mut of = |class, is_own, came| {
                let trains = (0..4).map(|_| train(noise, came, 900.0)).collect();
                Marked { class, is_own, trains }
            };
            let marked = vec![of(0, true, 100), of(2, false, 75)];
            probed(study, &WayProbe { marked, ..WayProbe::default() });
        },
    },
    Cause {
        name: "a class whose trains are slower",
        rules: &["path-class"],
        plant: |study, noise| {
            let mut of = |class, is_own, mbps| {
                let trains = (0..4).map(|_| train(noise, 100, mbps)).collect();
                Marked { class, is_own, trains }
            };
            let marked = vec![of(0x20, true, 560.0), of(0, false, 900.0)];
            probed(study, &WayProbe { marked, ..WayProbe::default() });
        },
    },
    Cause {
        name: "a capacity that changes",
        rules: &["path-capacity-varies"],
        plant: |study, noise| {
            senders(study, queued);
            let mut rises = false;
            receivers(study, |end| {
                rises = !rises;
                let bytes = end.flows[0].bytes.0 as f64 / 10.0;
                for (number, slice) in (0..).zip(&mut end.intervals) {
                    let share = if (number < 5) == rises { 0.6 } else { 1.4 };
                    slice.bytes.0 = noise.about(share * bytes);
                }
            });
        },
    },
    Cause {
        name: "bbr over a short path",
        rules: &["sender-pacing"],
        plant: |study, noise| {
            senders(study, |end| end.effective.congestion = Some("bbr".into()));
            receivers(study, |end| {
                for (number, slice) in (0..).zip(&mut end.intervals) {
                    let share = if number % 2 == 0 { 1.1 } else { 0.9 };
                    slice.bytes.0 = noise.about(share * slice.bytes.0 as f64);
                }
            });
        },
    },
    Cause {
        name: "a volume that passes first",
        rules: &["path-volume"],
        plant: |study, noise| {
            for trial in &mut study.trials {
                trial.timeline.warmup_ns = Nanos(500_000_000);
            }
            let key = "flow0.opening:acknowledged_so_far_bytes";
            senders(study, |end| read(end, "tcp-info", key, noise.about(8e9)));
        },
    },
    Cause {
        name: "one segment in twenty marked",
        rules: &["congestion-marks"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.delivered_marked_segments", noise.about(28_000.0));
            });
        },
    },
    Cause {
        name: "strace at the receiver",
        rules: &["end-traced"],
        plant: |study, _| {
            senders(study, |end| end.tracing = Some(Tracing::default()));
            let by = Some("strace".to_owned());
            let tracing = Tracing { threads: 4, traced: 4, by };
            receivers(study, |end| end.tracing = Some(tracing.clone()));
        },
    },
    Cause {
        name: "a program that the receiver's packets pass",
        rules: &["user-queue"],
        plant: |study, noise| {
            senders(study, |end| read(end, "user-queue", "queued_packets", 0));
            receivers(study, |end| {
                read(end, "user-queue", "queued_packets", noise.about(400_000.0));
            });
        },
    },
    Cause {
        name: "an address twice",
        rules: &["neighbour-changed"],
        plant: |study, noise| {
            senders(study, |end| {
                let changes = u32::from(noise.share() < 0.8);
                let addresses = 1 + changes;
                end.next_hop = Some(NextHop { is_router: false, addresses, changes, lost: 0 });
            });
        },
    },
    Cause {
        name: "timestamps that something rewrites",
        rules: &["timestamps-rejected", "tcp-retransmits"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(11_000.0));
                read(end, "netstat", "TcpExt.TCPSackRecovery_events", noise.about(9_000.0));
            });
            receivers(study, |end| {
                read(end, "netstat", "TcpExt.PAWSEstab_events", noise.about(9_000.0));
            });
        },
    },
    Cause {
        name: "sequence numbers that something rewrites",
        rules: &["sack-ignored", "tcp-retransmits"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(11_000.0));
                read(end, "tcp-info", "flow0.timeouts_events", noise.about(40.0));
                read(end, "netstat", "TcpExt.TCPSackRecovery_events", 0);
                read(end, "netstat", "TcpExt.TCPSACKDiscard_events", noise.about(9_000.0));
            });
        },
    },
    Cause {
        // The kernel counts for all connections of the host.
        name: "another connection's timestamps and acknowledgements",
        rules: &[],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "tcp-info", "flow0.retransmitted_segments", 0);
                read(end, "netstat", "TcpExt.TCPSACKDiscard_events", noise.about(9.0));
            });
            receivers(study, |end| {
                read(end, "netstat", "TcpExt.PAWSEstab_events", noise.about(9.0));
            });
        },
    },
    Cause {
        name: "a firewall that thinks about each connection",
        rules: &["handshake-slow"],
        plant: |study, noise| {
            beside(study, noise, "tcp-stream", |_| {}, 1.0);
            let connect = study.trials.last_mut().expect("one");
            connect.kind = Workload::Connect;
            let id = connect.id.clone();
            for run in study.records.iter_mut().filter(|run| run.trial == id) {
                for end in run.of_mut(Role::Sender) {
                    read(end, "netstat", "TcpExt.TCPSynRetrans_events", 0);
                    end.round_trips = vec![(Nanos(noise.about(31e6)), 30)];
                    end.handshakes_ns = Some(Nanos(30 * noise.about(30e6)));
                }
            }
        },
    },
    Cause {
        name: "a bad member of four",
        rules: &["path-bad-member", "tcp-retransmits"],
        plant: |study, noise| {
            beside(study, noise, "tcp-stream", |params| params.streams = 8, 1.0);
            for run in study.records.iter_mut().filter(|run| run.trial.0.ends_with("beside")) {
                for role in [Role::Receiver, Role::Sender] {
                    run.of_mut(role).for_each(|end| two_of_eight(end, noise));
                }
            }
        },
    },
    Cause {
        name: "runs in two states",
        rules: &["stream-state"],
        plant: |study, noise| {
            for end in study.trials.iter_mut().filter_map(|trial| trial.end_mut(Role::Receiver)) {
                end.place = Placement::default();
            }
            // Every second run in turns on one CPU, at half of the cost.
            for run in &mut study.records {
                let is_apart = run.repeat % 2 == 1;
                let (aside, slept) = if is_apart { (200.0, 7_000.0) } else { (59_000.0, 60_000.0) };
                for (role, voluntary, involuntary) in
                    [(Role::Sender, 1_000.0, aside), (Role::Receiver, slept, 50.0)]
                {
                    let Some(end) = run.of_mut(role).next() else { continue };
                    end.effective.machine = Some("one".into());
                    let thread = &mut end.threads[0];
                    thread.system_ns.0 /= if is_apart { 1 } else { 2 };
                    thread.voluntary_switches = noise.about(voluntary);
                    thread.involuntary_switches = noise.about(involuntary);
                }
            }
        },
    },
];
