//! Packets over sockets between two ends on this host: what is counted fits together.

mod common;

use common::pair;
use narrows_model::load::{Bind, EndReport, Job, Params, Role, StreamParams, Timeline};
use narrows_model::options::packets::{BURST, IMIX};
use narrows_model::{Bytes, Nanos, calls, packets};
use narrows_workloads::packets::receivers::RECEIVERS;
use narrows_workloads::packets::senders::SENDERS;

use std::net::SocketAddr;
use std::thread;

fn job(frame: u64, sender: &str, receiver: &str) -> Job {
    let ms = Nanos::from_millis;
    let stream = StreamParams {
        sender: Some(sender.to_owned()),
        receiver: Some(receiver.to_owned()),
        ..StreamParams::default()
    };
    Job {
        address: Some([127, 0, 0, 1].into()),
        token: "5a".repeat(16),
        ..Job::new(
            "packets".into(),
            Role::Receiver,
            Params { stream: Some(stream), ..Params::of_network(Bytes(frame), 1) },
            Timeline::new(ms(20), ms(100), ms(200)),
        )
    }
}

#[test]
fn packets_of_the_window_are_counted_at_both_ends() {
    for (sender, receiver) in [("sendmmsg", "recvmmsg"), ("send", "recv"), ("gso", "gro")] {
        let mut order = job(128, sender, receiver);
        // Slow enough for any machine: two packets in a millisecond, or 128 in 64, which is as many
        // as a kernel takes in a send.
        order.params.rate_bps = Some(2000 * 128 * 8);
        let (receiver, sender) = pair(&order);
        let stretch = |report: &EndReport| report.flows[0].stretch.expect("counted").datagrams;
        let (sent, came) = (stretch(&sender), stretch(&receiver));
        assert!(sent > 0 && came <= sent, "{came} of {sent}");
        let delays = receiver.delays.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(delays, came, "each packet of the window has its delay");
        // A frame of 128 B is one of 82 B of payload: headers of 42 B, four bytes of FCS.
        let flow = &receiver.flows[0];
        assert_eq!(flow.bytes.0, flow.messages * 82);
        let ends = [&receiver, &sender].map(|end| (end.flows[0].sends, end.flows[0].one_sided));
        assert_eq!(ends, [(false, false), (true, false)], "both ends count");
    }
}

/// A mix is whole at both ends, whatever makes the datagrams.
#[test]
fn a_mix_of_sizes_is_sent_in_turn() {
    for (sender, receiver) in [("sendmmsg", "recvmmsg"), ("send", "recv"), ("gso", "gro")] {
        let mut order = job(packets::IMIX_BYTES.0, sender, receiver);
        order.params.told.tell(&IMIX, true);
        order.params.rate_bps = Some(4000 * packets::IMIX_BYTES.0 * 8);
        let (receiver, sender) = pair(&order);
        let stretch = |report: &EndReport| report.flows[0].stretch.expect("counted").datagrams;
        let (sent, came) = (stretch(&sender), stretch(&receiver));
        assert!(sent > 0 && came <= sent, "{came} of {sent}");
        let flow = &receiver.flows[0];
        // Twelve in turn carry 3790 B; the window may cut one turn at each end.
        let mean = flow.messages as f64 * 3790.0 / 12.0;
        let off = (flow.bytes.0 as f64 - mean).abs();
        assert!(flow.messages > 100 && off < 2.0 * 1472.0, "{off} of {mean}");
    }
}

#[test]
fn a_mix_has_its_own_mean_and_a_sender_of_several_frames() {
    let checked = |frame: Bytes, sender: &str| {
        let mut order = job(frame.0, sender, "recvmmsg");
        order.params.told.tell(&IMIX, true);
        narrows_workloads::check(&order).map(drop).map_err(|why| why.to_string())
    };
    for sender in ["af-xdp", "ring", "sendmmsg"] {
        assert_eq!(checked(packets::IMIX_BYTES, sender), Ok(()));
    }
    let repeated = checked(packets::IMIX_BYTES, "xdp").expect_err("one frame");
    assert!(repeated.contains("repeats one frame"), "{repeated}");
    let sized = checked(Bytes(64), "ring").expect_err("one size");
    assert!(sized.contains("362 B on average"), "{sized}");
}

#[test]
fn a_cable_carries_raw_frames_alone_and_a_burst_is_of_one_thread() {
    let checked = |sender: &str, receiver: &str, change: fn(&mut Job)| {
        let mut order = job(64, sender, receiver);
        change(&mut order);
        narrows_workloads::check(&order).map(drop).map_err(|why| why.to_string())
    };
    let cabled: fn(&mut Job) = |job| job.bind = Bind::of_ports("eth0,eth1");
    for way in ["af-xdp", "ring", "xdp"] {
        assert_eq!(checked(way, way, cabled), Ok(()));
        for ways in [(way, "recvmmsg"), ("sendmmsg", way)] {
            let why = checked(ways.0, ways.1, cabled).expect_err("sockets");
            assert!(why.contains("not over a cable"), "{why}");
        }
    }
    let bursts: fn(&mut Job) = |job| job.params.told.tell(&BURST, 9);
    assert_eq!(checked("ring", "recvmmsg", bursts), Ok(()));
    let several = checked("ring", "recvmmsg", |job| {
        job.params.told.tell(&BURST, 9);
        job.params.streams = 2;
    });
    assert!(several.expect_err("two threads").contains("begin apart"));
}

#[test]
fn raw_packets_need_an_interface_that_is_named() {
    let order = job(64, "xdp", "recvmmsg");
    let prepare = |end: Role| {
        let job = Job { end, ..order.clone() };
        (narrows_workloads::check(&job).expect("an order").prepare)(&job).expect("prepared")
    };
    let (listens, connects) = (prepare(Role::Receiver), prepare(Role::Sender));
    let at = SocketAddr::new([127, 0, 0, 1].into(), listens.ports()[0]);
    let other = thread::spawn(move || listens.arm(&[], Default::default).map(drop));
    let failed = connects.arm(&[at], Default::default).map(drop).expect_err("no interface");
    assert!(failed.to_string().contains("--nic"), "{failed}");
    other.join().expect("a thread").expect("a receiver over sockets");
}

/// What studies and commands ask of raw frames goes by these names.
#[test]
fn every_raw_way_is_known_as_one() {
    let senders: Vec<&str> = SENDERS.iter().map(|sender| sender.name).collect();
    let receivers: Vec<&str> = RECEIVERS.iter().map(|receiver| receiver.name).collect();
    assert_eq!(senders, calls::RAW);
    assert_eq!(receivers, calls::RAW);
}
