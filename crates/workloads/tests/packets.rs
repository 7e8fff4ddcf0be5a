//! Packets over sockets between two ends on this host: what is counted fits together.

mod common;

use common::pair;
use narrows_model::load::{EndReport, Job, Params, Role, StreamParams, Timeline};
use narrows_model::{Bytes, Nanos};

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
