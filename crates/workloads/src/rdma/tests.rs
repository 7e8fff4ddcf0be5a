//! Both ends of every verb over a device that tests pretend: what is asked, counted and compared.

use super::pretended::{CALLED, IWARP, ROCE};
use crate::LoadError;
use crate::harness::Unwatched;
use narrows_model::load::{EndReport, Job, Params, Role, SocketParams, StreamParams};
use narrows_model::load::{ThreadUsage, Timeline};
use narrows_model::options::Value;
use narrows_model::options::rdma::ALTERNATE;
use narrows_model::rdma::{RdmaParams, RdmaPlace};
use narrows_model::{Bytes, Nanos};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A token that no other trial has.
fn token() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{:032x}", 0x7000 + NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// A job of one flow over a device.
fn job(kind: &str, message: u64, device: &str) -> Job {
    let place = RdmaPlace { device: Some(device.into()), ..RdmaPlace::default() };
    let rdma = RdmaParams { receiver: place.clone(), sender: place, ..RdmaParams::default() };
    // A write wakes no thread.
    let wait = if kind == "rdma-write-rr" { "spin" } else { "block" };
    let params = Params {
        rdma: Some(rdma),
        socket: Some(SocketParams { wait: Some(wait.into()), ..SocketParams::default() }),
        ..Params::of_network(Bytes(message), 1)
    };
    let ms = Nanos::from_millis;
    Job {
        address: Some([127, 0, 0, 1].into()),
        token: token(),
        ..Job::new(kind.into(), Role::Receiver, params, Timeline::new(ms(10), ms(40), ms(100)))
    }
}

fn ends(order: &Job) -> [Result<EndReport, LoadError>; 2] {
    let prepare = |end: Role| {
        let job = Job { end, ..order.clone() };
        let kind = crate::check(&job).unwrap_or_else(|why| panic!("{why}"));
        (kind.prepare)(&job).expect("prepared")
    };
    let (listens, connects) = (prepare(Role::Receiver), prepare(Role::Sender));
    let at: Vec<SocketAddr> =
        listens.ports().into_iter().map(|port| ([127, 0, 0, 1], port).into()).collect();
    let line = order.timeline;
    let other =
        thread::spawn(move || listens.arm(&[], ThreadUsage::default)?.run(&line, &mut Unwatched));
    let here = connects.arm(&at, ThreadUsage::default);
    let here = here.and_then(|threads| threads.run(&line, &mut Unwatched));
    let there = other.join().expect("a thread");
    [there, here]
}

/// Reports of the end that is asked and of the one that asks, of a window in which both moved what
/// is enough: one of a busy machine is tried again, and twice as long.
fn pair(order: &Job, enough: impl Fn(&[EndReport; 2]) -> bool) -> [EndReport; 2] {
    let mut order = order.clone();
    let mut said = String::new();
    for _ in 0..7 {
        match ends(&order) {
            [Ok(there), Ok(here)] => {
                let both = [there, here];
                if enough(&both) {
                    return both;
                }
                said = format!("{:?}", both.map(|end| end.flows));
            }
            // One end was over before the other.
            [Err(why), _] | [_, Err(why)] => said = why.to_string(),
        }
        order.timeline.window_ns.0 *= 2;
        order.timeline.cooldown_ns.0 *= 2;
        order.token = token();
    }
    panic!("{}: {said}", order.kind)
}

/// Tries all at once: they wait most of their time.
fn each<T: Copy + Send + Sync>(all: &[T], one: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for what in all.iter().copied() {
            let one = &one;
            scope.spawn(move || one(what));
        }
    });
}

/// Enough for what goes round: more requests than are ever under way.
fn asked_often(ends: &[EndReport; 2]) -> bool {
    moved(&ends[1]).0 > 200
}

/// Messages and bytes of an end.
fn moved(report: &EndReport) -> (u64, u64) {
    let flow = &report.flows[0];
    (flow.messages, flow.bytes.0)
}

fn compared(order: &mut Job) {
    let span_bytes = Some(Bytes(16_000));
    order.params.stream = Some(StreamParams { verify: true, span_bytes, ..Default::default() });
}

fn rdma(order: &mut Job) -> &mut RdmaParams {
    order.params.rdma.get_or_insert_default()
}

#[test]
fn streams_of_each_verb_count_what_completes_or_comes() {
    let all = [
        ("rdma-write-stream", 1000, true, ROCE),
        ("rdma-read-stream", 1000, true, CALLED),
        ("rdma-atomic-stream", 8, true, ROCE),
        ("rdma-send-stream", 1000, false, ROCE),
        ("rdma-write-imm-stream", 1000, false, CALLED),
    ];
    each(&all, |(kind, message, is_one_sided, device)| {
        let came = |ends: &[EndReport; 2]| moved(&ends[0]).0 > 200;
        let enough = |ends: &[EndReport; 2]| asked_often(ends) && (is_one_sided || came(ends));
        let [asked, asks] = pair(&job(kind, message, device), enough);
        let (messages, bytes) = moved(&asks);
        assert_eq!(bytes, message * messages, "{kind}: {messages}");
        let (came, came_bytes) = moved(&asked);
        assert_eq!((came == 0, came_bytes), (is_one_sided, message * came), "{kind}");
        let told = asks.effective.rdma.expect("told");
        assert_eq!((told.depth, told.signal_every, told.inline), (128, 32, false), "{kind}");
        assert!(asked.effective.rdma.is_some() && asked.unacknowledged.is_none(), "{kind}");
    });
}

#[test]
fn every_other_message_has_the_other_size_on_the_way() {
    let all = [
        ("rdma-write-stream", true, ROCE),
        ("rdma-read-stream", true, IWARP),
        ("rdma-send-stream", false, CALLED),
    ];
    each(&all, |(kind, is_one_sided, device)| {
        let mut order = job(kind, 1000, device);
        order.params.told.set(&ALTERNATE.declared, Value::Size(Bytes(64)));
        let came = |ends: &[EndReport; 2]| moved(&ends[0]).0 > 200;
        let enough = |ends: &[EndReport; 2]| asked_often(ends) && (is_one_sided || came(ends));
        let [asked, asks] = pair(&order, enough);
        // Completions come for an even number of requests, and arrivals one by one.
        let (messages, bytes) = moved(&asks);
        assert_eq!(bytes, 532 * messages, "{kind}");
        let (came, came_bytes) = moved(&asked);
        assert!(came_bytes.abs_diff(532 * came) <= 468, "{kind}: {came_bytes} in {came}");
    });
}

#[test]
fn what_is_written_read_or_sent_is_compared_byte_by_byte() {
    let all = [
        ("rdma-write-stream", ROCE),
        ("rdma-write-stream", CALLED),
        ("rdma-read-stream", IWARP),
        ("rdma-send-stream", IWARP),
        ("rdma-send-stream", CALLED),
        ("rdma-write-imm-stream", ROCE),
    ];
    each(&all, |(kind, device)| {
        let mut order = job(kind, 1000, device);
        compared(&mut order);
        (rdma(&mut order).depth, rdma(&mut order).post_list) = (Some(8), Some(3));
        let ends = pair(&order, asked_often);
        let (reads, writes) = (kind == "rdma-read-stream", kind == "rdma-write-stream");
        let [first, second] = ends;
        let (other, compares) = if reads { (first, second) } else { (second, first) };
        assert_eq!(compares.corrupted, None, "{kind} over {device}");
        let seen = compares.verified_bytes.expect("compared").0;
        // What was written is compared once, at its end: all of the other end's memory.
        let all = if writes { 16_000 } else { moved(&compares).1 };
        assert!(seen >= all && seen % 1000 == 0, "{kind} over {device}: {seen} of {all}");
        assert_eq!(other.verified_bytes, None, "{kind}");
    });
}

#[test]
fn a_sender_over_iwarp_waits_for_buffers_that_are_posted_again() {
    each(&[(1, 1), (4, 2), (16, 16)], |(depth, post_list)| {
        let mut order = job("rdma-send-stream", 100, IWARP);
        (rdma(&mut order).depth, rdma(&mut order).post_list) = (Some(depth), Some(post_list));
        // More than those that were posted at first, many times over.
        let least = 20 * u64::from(depth);
        pair(&order, |ends| ends.iter().all(|end| moved(end).0 > least));
    });
}

#[test]
fn unreliable_sends_are_counted_at_both_ends() {
    let all =
        [("rdma-send-stream", "ud"), ("rdma-send-stream", "uc"), ("rdma-write-imm-stream", "uc")];
    each(&all, |(kind, service)| {
        let mut order = job(kind, 500, ROCE);
        rdma(&mut order).service = Some(service.into());
        let [asked, asks] = pair(&order, |ends| asked_often(ends) && moved(&ends[0]).0 > 0);
        let told = asked.unacknowledged.unwrap_or_else(|| panic!("{kind}, {service}"));
        assert!(told.received >= moved(&asked).0 && told.received <= told.sent, "{told:?}");
        assert!(told.sent >= moved(&asks).0, "{service}: {told:?}");
        assert!(asks.unacknowledged.is_none());
        let (messages, bytes) = moved(&asked);
        assert_eq!(bytes, 500 * messages, "without the header");
    });
}

#[test]
fn round_trips_of_each_verb_are_timed_one_by_one() {
    let all = [
        ("rdma-write-rr", 100, "rc"),
        ("rdma-write-imm-rr", 100, "rc"),
        ("rdma-send-rr", 100, "ud"),
        ("rdma-read-rr", 100, "rc"),
        ("rdma-atomic-rr", 8, "rc"),
        ("rdma-send-rr", 64, "rc"),
    ];
    each(&all, |(kind, message, service)| {
        let mut order = job(kind, message, ROCE);
        rdma(&mut order).service = Some(service.into());
        let [asked, asks] = pair(&order, asked_often);
        let (messages, bytes) = moved(&asks);
        assert_eq!(bytes, message * messages, "{kind}");
        let trips: u64 = asks.round_trips.iter().map(|(_, count)| count).sum();
        // What a look counts is a moment behind on a busy machine.
        assert!(trips.abs_diff(messages) <= 2 + messages / 8, "{kind}: {trips} of {messages}");
        let (least, most) = asks.round_trip_extremes_ns.expect("extremes");
        assert!(least.0 > 50 && least <= most && most.0 < 10_000_000_000, "{kind}");
        let answers = !["rdma-read-rr", "rdma-atomic-rr"].contains(&kind);
        let answered = if answers { messages } else { 0 };
        // The two windows do not open at the same time.
        assert!(moved(&asked).0 > answered / 8 || !answers && moved(&asked).0 == 0, "{kind}");
        assert!(asked.round_trips.is_empty(), "{kind}");
        let inline = message <= 64 && answers;
        assert_eq!(asks.effective.rdma.expect("told").inline, inline || message == 8, "{kind}");
    });
}
