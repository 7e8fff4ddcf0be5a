//! Packets over sockets between two ends on this host: what is counted fits together.

use narrows_model::load::{CpuList, EndReport, Job, Params, Role, StreamParams, Timeline};
use narrows_model::{Bytes, Nanos};
use narrows_workloads::harness::Unwatched;
use std::net::{IpAddr, SocketAddr};
use std::thread;

fn job(frame: u64, sender: &str, receiver: &str) -> Job {
    let ms = Nanos::from_millis;
    let stream = StreamParams {
        sender: Some(sender.to_owned()),
        receiver: Some(receiver.to_owned()),
        ..StreamParams::default()
    };
    Job {
        kind: "packets".into(),
        end: Role::Receiver,
        params: Params { stream: Some(stream), ..Params::of_network(Bytes(frame), 1) },
        cpus: CpuList::default(),
        binding: Default::default(),
        timeline: Timeline {
            warmup_ns: ms(20),
            window_ns: ms(100),
            cooldown_ns: ms(200),
            interval_ns: None,
        },
        address: Some([127, 0, 0, 1].into()),
        token: "5a".repeat(16),
        namespace: None,
        node: None,
        bind: None,
        iperf3: None,
        ports: None,
        grant: None,
        responses_bps: None,
    }
}

/// Reports of the receiver and the sender.
fn pair(order: &Job) -> (EndReport, EndReport) {
    let prepare = |end: Role| {
        let job = Job { end, ..order.clone() };
        let kind = narrows_workloads::check(&job).expect("an order within limits");
        (kind.prepare)(&job).expect("prepared")
    };
    let (listens, connects) = (prepare(Role::Receiver), prepare(Role::Sender));
    let address: IpAddr = order.address.expect("an address");
    let at: Vec<SocketAddr> =
        listens.ports().into_iter().map(|port| SocketAddr::new(address, port)).collect();
    let line = order.timeline;
    let other =
        thread::spawn(move || listens.arm(&[], Default::default)?.run(&line, &mut Unwatched));
    let crew = connects.arm(&at, Default::default).expect("met");
    let here = crew.run(&line, &mut Unwatched).expect("a run");
    (other.join().expect("a thread").expect("a run"), here)
}

#[test]
fn packets_of_the_window_are_counted_at_both_ends() {
    for (sender, receiver) in [("sendmmsg", "recvmmsg"), ("send", "recv"), ("gso", "gro")] {
        let mut order = job(128, sender, receiver);
        // Slow enough for any machine: a packet in a millisecond, or 64 in 64.
        order.params.rate_bps = Some(1000 * 128 * 8);
        let (receiver, sender) = pair(&order);
        let stretch = |report: &EndReport| report.flows[0].stretch.expect("counted").datagrams;
        let (sent, came) = (stretch(&sender), stretch(&receiver));
        assert!(sent > 0 && came <= sent, "{came} of {sent}");
        let delays = receiver.delays.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(delays, came, "each packet of the window has its delay");
        // A frame of 128 B is one of 82 B of payload: headers of 42 B, four bytes of FCS.
        let flow = &receiver.flows[0];
        assert_eq!(flow.bytes.0, flow.messages * 82);
    }
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
