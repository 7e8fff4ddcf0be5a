//! An agent among enemies: floods, recorded sessions, and a peer that holds the key and means harm.

mod common;

use common::{Served, children, err, folder, narrows, out, run, serve, skip};
use narrows_control::key::Key;
use narrows_control::wire::Wire;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A measurement over loopback that must work.
fn measures(agent: &Served) {
    let mut command = narrows();
    let port = agent.port.to_string();
    command.args(["tcp", "127.0.0.1", "-p", &port, "-t", "0.1", "--repeats", "1", "-J"]);
    command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(&format!("hostile-{port}")));
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(json["results"][0]["done"], 1);
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Connects from another address of this host's loopback network.
fn connect_from(host: u8, port: u16) -> Option<TcpStream> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into()).ok()?;
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into()).ok()?;
    Some(socket.into())
}

#[test]
fn ten_thousand_connections_keep_nobody_out() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    // Some stay and say nothing, or half a word; the rest come and go.
    let mut staying: Vec<TcpStream> =
        (0..400).filter_map(|n| connect_from(2 + (n % 8) as u8, agent.port)).collect();
    for (n, stream) in staying.iter_mut().enumerate() {
        let _ = stream.write_all(&b"NRRW\0\0"[..n % 6]);
    }
    let agent_port = agent.port;
    let most = std::thread::scope(|scope| {
        let flood = |host: u8| move || (0..1250).for_each(|_| drop(connect_from(host, agent_port)));
        let floods: Vec<_> = (2..10).map(|host| scope.spawn(flood(host))).collect();
        let (mut most, listener) = (0, agent.listener());
        while floods.iter().any(|flood| !flood.is_finished()) {
            most = most.max(threads(listener));
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    });
    assert!((2..=300).contains(&most), "{most} threads");
    measures(&agent);
    drop(staying);
}

/// Passes bytes between a controller and an agent and keeps what the controller said.
fn recorded(agent: &Served) -> Vec<u8> {
    let door = TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = door.local_addr().expect("address").port();
    let to = agent.port;
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut near, _) = door.accept().expect("controller");
        let mut far = TcpStream::connect(("127.0.0.1", to)).expect("agent");
        let (mut back_from, mut back_to) =
            (far.try_clone().expect("copy"), near.try_clone().expect("copy"));
        let back = std::thread::spawn(move || drop(std::io::copy(&mut back_from, &mut back_to)));
        let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
        while let Ok(n) = near.read(&mut bytes) {
            if n == 0 || far.write_all(&bytes[..n]).is_err() {
                break;
            }
            all.extend(&bytes[..n]);
        }
        let _ = far.shutdown(std::net::Shutdown::Both);
        let _ = back.join();
        let _ = say.send(all);
    });
    let mut command = narrows();
    command.args(["tcp", "127.0.0.1", "-p", &port.to_string(), "-t", "0.1", "--repeats", "1"]);
    command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder("recorded"));
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    said.recv_timeout(Duration::from_secs(10)).expect("a recording")
}

#[test]
fn a_recorded_session_opens_nothing_and_holds_up_nobody() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let recording = recorded(&agent);
    assert!(recording.len() > 500, "{} bytes", recording.len());
    // The first half of the handshake alone, and everything.
    for length in [8 + 2 + 48, recording.len()] {
        let mut stream = TcpStream::connect(("127.0.0.1", agent.port)).expect("agent");
        stream.write_all(&recording[..length]).expect("replay");
        measures(&agent);
        stream.set_read_timeout(Some(Duration::from_secs(8))).expect("timeout");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        // Greeting and handshake, sealed with a key of the moment; nothing of the host.
        assert!(answer.len() <= 8 + 2 + 48, "{} bytes", answer.len());
    }
}

fn receiver_order() -> Value {
    let line = json!({"warmup_ns": 1_000_000, "window_ns": 5_000_000, "cooldown_ns": 0});
    json!({"to": "order", "order": {"say": "prepare", "job": {
        "kind": "tcp-stream", "end": "sink", "cpus": [], "timeline": line,
        "address": null, "token": "00".repeat(16),
        "params": {"message_bytes": 64, "streams": 1, "socket_buffer_bytes": null,
            "congestion": null, "rate_bps": null, "working_set_bytes": 0}}}})
}

/// Changes one leaf of a document to something that it should not be.
fn mutate(value: &mut Value, random: &mut Pcg64) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.random_range(0..map.len())).cloned();
            let key = key.expect("a key");
            match random.random_range(0..8) {
                0 => drop(map.remove(&key)),
                _ => mutate(map.get_mut(&key).expect("a value"), random),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let at = random.random_range(0..list.len());
            mutate(&mut list[at], random);
        }
        leaf => {
            *leaf = match random.random_range(0..9) {
                0 => json!(null),
                1 => json!(-1),
                2 => json!(u64::MAX),
                3 => json!(0),
                4 => json!("\u{0}\u{1b}[31m/../../etc/passwd"),
                5 => json!("x".repeat(100_000)),
                6 => json!([[[[[[[[]]]]]]]]),
                7 => json!({"say": "go"}),
                _ => json!(random.next_u64()),
            }
        }
    }
}

#[test]
fn a_peer_with_the_key_that_means_harm_gets_errors_and_nothing_else() {
    let agent = serve(&[], &["-B", "127.0.0.1", "--max-streams", "64", "--max-memory", "64M"]);
    let key = Key::parse(&agent.key).expect("key");
    let call = || {
        let stream = TcpStream::connect(("127.0.0.1", agent.port)).expect("agent");
        Wire::call(stream, &key).expect("channel")
    };
    let seed = 20_261_121;
    let mut random = Pcg64::seed_from_u64(seed);
    let started = json!({"to": "start"});
    let orders = [
        receiver_order(),
        json!({"to": "order", "order": {"say": "arm", "peer": ["203.0.113.9:53"]}}),
        json!({"to": "order", "order": {"say": "go"}}),
        json!({"to": "describe"}),
    ];
    let began = Instant::now();
    let mut rounds = 0;
    while rounds < 60 || rounds < 400 && began.elapsed() < Duration::from_secs(10) {
        rounds += 1;
        let mut wire = call();
        wire.send(&started).expect("send");
        let _: Option<Value> = wire.receive(Duration::from_secs(5)).expect("started");
        for _ in 0..random.random_range(1..4) {
            let mut order = orders[random.random_range(0..3)].clone();
            mutate(&mut order, &mut random);
            if wire.send(&order).is_err() {
                break;
            }
        }
        // Whatever comes, it is an answer or the end of the session.
        if let Ok(Some(answer)) = wire.receive::<Value>(Duration::from_millis(30)) {
            let from = answer["from"].as_str().expect("an answer");
            assert!(["answer", "refused", "host", "started"].contains(&from), "{answer}");
        }
    }
    // Out of turn, twice started, and gone in the middle of a run.
    let wire = call();
    for order in [&orders[2], &started, &started, &orders[1], &orders[0], &orders[0]] {
        wire.send(order).expect("send");
    }
    drop(wire);
    measures(&agent);
    // No worker outlives its session.
    let deadline = Instant::now() + Duration::from_secs(5);
    while !children(agent.pid(), "worker").is_empty() {
        assert!(Instant::now() < deadline, "workers of the agent are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn garbage_instead_of_a_handshake_or_a_frame_is_survived() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let key = Key::parse(&agent.key).expect("key");
    let mut random = Pcg64::seed_from_u64(7);
    for _ in 0..200 {
        let mut bytes = vec![0; random.random_range(1..200)];
        random.fill_bytes(&mut bytes);
        let mut hello = b"NRRW\0\0\0\x04".to_vec();
        let keep = random.random_range(0..=8);
        hello.truncate(keep);
        hello.extend(bytes);
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", agent.port)) {
            let _ = stream.write_all(&hello);
        }
    }
    // Inside the channel: no JSON, and JSON of no meaning.
    for words in [json!(null), json!([]), json!({"to": "fly"}), json!("describe")] {
        std::thread::sleep(Duration::from_millis(50));
        let Ok(stream) = TcpStream::connect(("127.0.0.1", agent.port)) else { continue };
        let Ok(mut wire) = Wire::call(stream, &key) else { continue };
        let _ = wire.send(&words);
        let answer = wire.receive::<Value>(Duration::from_secs(2));
        assert!(!matches!(answer, Ok(Some(_))), "{words} was answered: {answer:?}");
    }
    measures(&agent);
}

#[test]
fn an_iperf3_server_survives_garbage_and_strangers() {
    let mut agent = common::serve_at(&[], &["--iperf3", "-B", "127.0.0.1", "-p", "15213"]);
    let mut random = Pcg64::seed_from_u64(11);
    for round in 0..60 {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", 15213)) else { continue };
        let _ = stream.write_all(&[b'x'; 37]);
        // Lengths beyond reason, JSON cut short, and noise.
        let mut bytes = vec![0; random.random_range(0..64)];
        random.fill_bytes(&mut bytes);
        if round % 3 == 0 {
            bytes = [
                &50u32.to_be_bytes()[..],
                br#"{"tcp":true,"parallel":99999,"len":1,"time":1}     "#,
            ]
            .concat();
        }
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = [0; 64];
        let _ = stream.set_read_timeout(Some(Duration::from_secs(8)));
        let _ = stream.read(&mut answer);
    }
    if std::process::Command::new("iperf3").arg("-v").output().is_err() {
        return skip("an_iperf3_server_survives", "iperf3 is not there");
    }
    let mut client = std::process::Command::new("iperf3");
    let output = run(client.args(["-c", "127.0.0.1", "-p", "15213", "-t", "1", "-J"]));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert!(json["end"]["sum_received"]["bytes"].as_u64().is_some_and(|n| n > 0), "{json}");
    agent.kill();
}
