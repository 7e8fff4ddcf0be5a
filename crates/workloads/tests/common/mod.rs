//! Both ends of an order on this host.

use narrows_model::load::{EndReport, Job, Role, ThreadUsage};
use narrows_workloads::harness::Unwatched;
use std::net::SocketAddr;
use std::thread;

/// Reports of the receiver and the sender. The receiver listens, or in reverse the sender.
pub fn pair(order: &Job) -> (EndReport, EndReport) {
    let of = |end: Role| Job { end, ..order.clone() };
    let (receiving, sending) = (of(Role::Receiver), of(Role::Sender));
    let reverse = order.params.is_reverse();
    let (first, second) = if reverse { (sending, receiving) } else { (receiving, sending) };
    let prepare = |job: &Job| {
        let kind = narrows_workloads::check(job).expect("an order within limits");
        (kind.prepare)(job).expect("prepared")
    };
    let (listens, connects) = (prepare(&first), prepare(&second));
    let address = order.address.expect("an address");
    let at: Vec<SocketAddr> =
        listens.ports().into_iter().map(|port| SocketAddr::new(address, port)).collect();
    let line = order.timeline;
    let other =
        thread::spawn(move || listens.arm(&[], ThreadUsage::default)?.run(&line, &mut Unwatched));
    let threads = connects.arm(&at, ThreadUsage::default).expect("met");
    let here = threads.run(&line, &mut Unwatched).expect("a run");
    let there = other.join().expect("a thread").expect("a run");
    if reverse { (here, there) } else { (there, here) }
}
