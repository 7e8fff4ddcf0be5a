//! Two ends that meet by a grant, and what keeps them apart.

use narrows_model::load::{Grant, Job, Params, Role, ThreadUsage, Timeline};
use narrows_model::{Bytes, Nanos};
use narrows_workloads::harness::grant::NotGranted;
use narrows_workloads::{LoadError, Prepared};

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));

fn job(kind: &str, end: Role) -> Job {
    let span = Nanos::from_millis(20);
    Job {
        address: Some(HERE),
        token: "07".repeat(16),
        grant: Some(Grant { trial: "t".into(), peer: HERE, valid_ns: Nanos::from_millis(1500) }),
        ..Job::new(
            kind.into(),
            end,
            Params::of_network(Bytes(64), 1),
            Timeline::new(span, span, span),
        )
    }
}

fn grant(job: &mut Job) -> &mut Grant {
    job.grant.as_mut().expect("a grant")
}

fn prepared(job: &Job) -> Box<dyn Prepared> {
    narrows_workloads::prepare(job).expect("prepared")
}

fn armed(end: Box<dyn Prepared>, peer: &[SocketAddr]) -> Result<(), LoadError> {
    end.arm(peer, ThreadUsage::default).map(drop)
}

/// What becomes of the end that listens and of the end that connects.
fn meet(listens: &Job, connects: &Job) -> [Result<(), LoadError>; 2] {
    let (listens, connects) = (prepared(listens), prepared(connects));
    let at: Vec<SocketAddr> =
        listens.ports().into_iter().map(|port| SocketAddr::new(HERE, port)).collect();
    let listening = thread::spawn(move || armed(listens, &[]));
    let connected = armed(connects, &at);
    [listening.join().expect("a thread"), connected]
}

/// The ends do not meet, and why not: the one that listens, and the one that connects.
fn apart(change: impl Fn(&mut Job)) -> [NotGranted; 2] {
    let mut connects = job("tcp-stream", Role::Sender);
    change(&mut connects);
    meet(&job("tcp-stream", Role::Receiver), &connects).map(|end| match end {
        Err(LoadError::Grant(why)) => why,
        other => panic!("{other:?}"),
    })
}

#[test]
fn ends_of_one_trial_meet() {
    for kind in ["tcp-stream", "udp-stream", "tcp-rr"] {
        let [listened, connected] = meet(&job(kind, Role::Receiver), &job(kind, Role::Sender));
        assert!(listened.is_ok() && connected.is_ok(), "{kind}: {listened:?} {connected:?}");
    }
}

#[test]
fn a_token_is_for_one_trial_and_one_workload() {
    let not = [NotGranted::NotSeen { peer: HERE }, NotGranted::Unproved { peer: HERE }];
    assert_eq!(apart(|job| job.token = "08".repeat(16)), not, "wrong token");
    assert_eq!(apart(|job| grant(job).trial = "u".into()), not, "another trial");
    assert_eq!(apart(|job| job.kind = "tcp-rr".into()), not, "another workload");
}

#[test]
fn a_grant_names_one_peer_and_expires() {
    let listens = prepared(&job("tcp-stream", Role::Receiver));
    let target = SocketAddr::new(HERE, listens.ports()[0]);
    let mut aimed = job("tcp-stream", Role::Sender);
    grant(&mut aimed).peer = ELSEWHERE;
    let refused = armed(prepared(&aimed), &[target]);
    let other = NotGranted::OtherPeer { peer: ELSEWHERE, asked: HERE };
    assert!(matches!(refused, Err(LoadError::Grant(why)) if why == other), "{refused:?}");
    // The right token from another address is not heard.
    let mut guarded = job("tcp-stream", Role::Receiver);
    grant(&mut guarded).peer = ELSEWHERE;
    let [listened, _] = meet(&guarded, &job("tcp-stream", Role::Sender));
    let unseen = NotGranted::NotSeen { peer: ELSEWHERE };
    assert!(matches!(listened, Err(LoadError::Grant(why)) if why == unseen), "{listened:?}");
    for role in [Role::Receiver, Role::Sender] {
        let mut short = job("tcp-stream", role);
        grant(&mut short).valid_ns = Nanos::from_millis(1);
        let late = prepared(&short);
        thread::sleep(Duration::from_millis(20));
        let refused = armed(late, &[target]);
        let expired = NotGranted::Expired { peer: HERE };
        assert!(matches!(refused, Err(LoadError::Grant(why)) if why == expired), "{refused:?}");
    }
}

/// A controller may name any address of an allowed network: whoever is there gets a number, and no
/// byte and no datagram more.
#[test]
fn who_has_not_proved_itself_gets_no_load() {
    let victim = TcpListener::bind((HERE, 0)).expect("listen");
    let datagrams = UdpSocket::bind((HERE, 0)).expect("bind");
    datagrams.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let at = [victim.local_addr(), datagrams.local_addr()].map(|at| at.expect("address"));
    for kind in ["udp-stream", "tcp-stream"] {
        let answering = victim.try_clone().expect("a handle");
        let heard = thread::spawn(move || {
            let (mut stream, _) = answering.accept().expect("a caller");
            let mut heard = [0; 16];
            stream.read_exact(&mut heard).expect("a number");
            // It echoes, and makes up the rest.
            stream.write_all(&[heard, heard, heard].concat()).expect("answered");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            rest.len()
        });
        let refused = armed(prepared(&job(kind, Role::Sender)), &at);
        let why = NotGranted::Unproved { peer: HERE };
        assert!(matches!(refused, Err(LoadError::Grant(have)) if have == why), "{refused:?}");
        assert_eq!(heard.join().expect("a thread"), 0, "no byte after the number");
        let mut datagram = [0; 64];
        assert!(datagrams.recv_from(&mut datagram).is_err(), "no datagram");
    }
}

#[test]
fn strangers_at_the_door_do_not_keep_the_other_end_out() {
    let listens = prepared(&job("tcp-stream", Role::Receiver));
    let at: Vec<SocketAddr> =
        listens.ports().into_iter().map(|port| SocketAddr::new(HERE, port)).collect();
    let mut noisy = TcpStream::connect(at[0]).expect("connected");
    noisy.write_all(&[7; 48]).expect("written");
    let gone = TcpStream::connect(at[0]).expect("connected");
    drop(gone);
    let listening = thread::spawn(move || armed(listens, &[]));
    armed(prepared(&job("tcp-stream", Role::Sender)), &at).expect("let in");
    listening.join().expect("a thread").expect("met");
}
