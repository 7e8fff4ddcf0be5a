//! Orders of a newer version: an end that is told something that it does not know refuses, and says
//! what it was. To leave it out would be to measure something else.

#[path = "../../control/tests/common/mod.rs"]
mod common;

use narrows_control::End as _;
use narrows_control::Peer;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::session::{Answer, Order};
use narrows_control::wire::{Patience, Reply, Request, Wire};
use narrows_model::host::Host;
use narrows_model::load::{Job, Params, Role, Timeline};
use narrows_model::{Bytes, Nanos};
use narrows_runner::worker;
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);
/// Where an order may have something new, and what it is called there.
const PLACES: [(&str, &str); 5] = [
    ("/job", "fast_open"),
    ("/job/params", "checksum"),
    ("/job/params/socket", "priority"),
    ("/job/params/told", "teleport"),
    ("/job/timeline", "pause_ns"),
];

fn order() -> Value {
    let span = Nanos::from_millis(1);
    let job = Job {
        address: Some([127, 0, 0, 1].into()),
        token: "00".repeat(16),
        ..Job::new(
            "tcp-stream".into(),
            Role::Receiver,
            Params::of_network(Bytes(64), 1),
            Timeline::new(span, span, span),
        )
    };
    let mut order = serde_json::to_value(Order::Prepare { job: Box::new(job) }).expect("JSON");
    order["job"]["params"]["socket"] = json!({});
    order["job"]["params"]["told"] = json!({});
    order
}

fn newer(place: &str, field: &str) -> Value {
    let mut order = order();
    order.pointer_mut(place).expect(place)[field] = json!(true);
    order
}

/// What a worker says to an order.
fn said(order: &Value) -> Answer {
    let mut answers = Vec::new();
    worker::serve(format!("{order}\n").as_bytes(), &mut answers).expect("a worker");
    serde_json::from_slice(&answers).expect("an answer")
}

#[test]
fn a_worker_refuses_what_it_does_not_know() {
    let known = said(&order());
    assert!(matches!(known, Answer::Prepared { .. }), "{known:?}");
    for (place, field) in PLACES {
        match said(&newer(place, field)) {
            Answer::Failed { why, .. } => assert!(why.contains(field), "{place}: {why}"),
            other => panic!("{place}: {other:?}"),
        }
    }
}

#[test]
fn an_agent_refuses_what_it_does_not_know() {
    let key = Key::random().expect("key");
    let (local, limits) = (Some([127, 0, 0, 1].into()), Limits::default());
    let agent = common::agent(local, &key, "/nonexistent".into(), limits, Patience::default());
    let (port, stop) = (agent.port(), Arc::new(AtomicBool::new(false)));
    let ended = stop.clone();
    let serving = thread::spawn(move || agent.serve(&ended, |_| {}));
    for (place, field) in PLACES {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let mut wire = Wire::call(stream, &key).expect("the key");
        wire.send(&Request::Describe).expect("said");
        let described = wire.receive::<Reply>(LONG).expect("heard");
        assert!(matches!(described, Some(Reply::Host { .. })), "{described:?}");
        wire.send(&json!({ "to": "order", "order": newer(place, field) })).expect("said");
        match wire.receive::<Reply>(LONG).expect("heard") {
            Some(Reply::Refused { why }) => {
                assert!(why.contains(field) && why.contains("does not understand"), "{why}");
            }
            other => panic!("{place}: {other:?}"),
        }
    }
    stop.store(true, SeqCst);
    serving.join().expect("the agent ends");
}

/// An agent of the same protocol from before options had words: it offers none, and would read an
/// order without those that it does not know. Ends when the controller hangs up; how many orders
/// came.
fn older_agent(listening: &TcpListener, key: &Key) -> usize {
    let (stream, _) = listening.accept().expect("a controller");
    let mut wire = Wire::answer(stream, key).expect("the key");
    wire.hear_proof(LONG).expect("proof");
    wire.voice().beat().expect("said");
    let mut orders = 0;
    loop {
        match wire.receive::<Request>(LONG) {
            Ok(Some(Request::Describe)) => {
                let offers = json!({ "kinds": ["tcp-stream"] });
                let host = json!({ "from": "host", "host": Host::default(), "offers": offers });
                wire.send(&host).expect("said");
            }
            Ok(Some(Request::Order { .. })) => orders += 1,
            Ok(_) => {}
            Err(_) => return orders,
        }
    }
}

#[test]
fn an_older_agent_is_not_told_what_it_does_not_offer() {
    let key = Key::random().expect("key");
    let listening = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = listening.local_addr().expect("address").port();
    let own = key.clone();
    let serving = thread::spawn(move || older_agent(&listening, &own));
    let patience = Patience::default();
    let mut peer = Peer::connect_with("127.0.0.1", port, None, &key, patience).expect("an agent");
    peer.describe().expect("a host");
    let plain: Order = serde_json::from_value(order()).expect("an order");
    peer.order(&plain).expect("nothing new in it");
    let mut newer = order();
    newer["job"]["params"]["told"] = json!({ "quickack": true });
    let newer: Order = serde_json::from_value(newer).expect("an order");
    let refused = peer.order(&newer).expect_err("not offered").to_string();
    assert!(refused.contains("does not offer the option quickack"), "{refused}");
    drop(peer);
    assert_eq!(serving.join().expect("an agent"), 1, "the plain one");
}
