//! An agent of before ends met those of other agents: it is told no order that it would read wrong.

use narrows_control::key::Key;
use narrows_control::session::Order;
use narrows_control::wire::{Patience, Reply, Request, Wire};
use narrows_control::{ControlError, End, Peer};
use narrows_model::host::Host;
use narrows_model::load::{Grant, Job, Params, Role, Timeline};
use narrows_model::{Bytes, Nanos};
use serde_json::json;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);

fn prepare(grant: Option<Grant>) -> Order {
    let span = Nanos::from_millis(1);
    Order::Prepare {
        job: Box::new(Job {
            address: Some([127, 0, 0, 1].into()),
            token: "00".repeat(16),
            grant,
            ..Job::new(
                "tcp-stream".into(),
                Role::Receiver,
                Params::of_network(Bytes(64), 1),
                Timeline::new(span, span, span),
            )
        }),
    }
}

/// Offers what `offers` says; which workers were given orders until the controller hangs up.
fn agent(listening: &TcpListener, key: &Key, offers: &serde_json::Value) -> Vec<u32> {
    let (stream, _) = listening.accept().expect("a controller");
    let mut wire = Wire::answer(stream, key).expect("the key");
    wire.hear_proof(LONG).expect("proof");
    wire.voice().beat().expect("said");
    let mut orders = Vec::new();
    loop {
        match wire.receive::<Request>(LONG) {
            Ok(Some(Request::Describe)) => {
                let host = json!({ "from": "host", "host": Host::default(), "offers": offers });
                wire.send(&host).expect("said");
            }
            Ok(Some(Request::Start { worker: 7 })) => {
                let refused = Reply::Refused { why: "not lent".to_owned() };
                wire.send(&refused).expect("said");
            }
            Ok(Some(Request::Start { .. })) => wire.send(&Reply::Started).expect("said"),
            Ok(Some(Request::Order { worker, .. })) => orders.push(worker),
            Ok(_) => {}
            Err(_) => return orders,
        }
    }
}

/// What comes of a plain order, of one for another worker, and of one to meet another agent's end.
fn ordered(meets: bool) -> (Vec<bool>, Vec<u32>) {
    let key = Key::random().expect("key");
    let listening = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = listening.local_addr().expect("address").port();
    let own = key.clone();
    let offers = json!({ "kinds": ["tcp-stream"], "meets": meets });
    let serving = thread::spawn(move || agent(&listening, &own, &offers));
    let patience = Patience::default();
    let mut peer = Peer::connect_with("127.0.0.1", port, None, &key, patience).expect("an agent");
    assert!(peer.is_own_host() && peer.address().is_loopback());
    peer.describe().expect("a host");
    peer.start().expect("a worker");
    let declined = peer.start_worker(7).expect_err("it is refused");
    assert!(matches!(declined, ControlError::Declined(_)), "{declined}");
    let grant = Grant { trial: "t".into(), peer: [192, 0, 2, 1].into(), valid_ns: Nanos(1) };
    let said = vec![
        peer.worker(0).order(&prepare(None)).is_ok(),
        peer.worker(2).order(&prepare(None)).is_ok(),
        peer.worker(0).order(&prepare(Some(grant))).is_ok(),
        peer.can_meet().is_ok(),
    ];
    drop(peer);
    (said, serving.join().expect("an agent"))
}

#[test]
fn only_an_agent_whose_ends_meet_others_is_told_to() {
    assert_eq!(ordered(true), (vec![true, true, true, true], vec![0, 2, 0]));
    assert_eq!(ordered(false), (vec![true, false, false, false], vec![0]));
}
