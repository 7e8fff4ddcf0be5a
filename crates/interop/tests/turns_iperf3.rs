//! One test at a time without a key: who holds the server and moves nothing makes room for a client
//! that waits, and no test by bytes goes on for longer than its owner allows.

use narrows_control::limits::Limits;
use narrows_interop::iperf3::server::Server;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// States of the protocol, as its bytes.
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const ACCESS_DENIED: u8 = 0xff;
const SERVER_ERROR: u8 = 0xfe;

struct Served {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Served {
    fn within(limits: Limits) -> Self {
        let server = Server::listen(Some(Ipv4Addr::LOCALHOST.into()), 0, limits).expect("listens");
        let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), server.port());
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let serving = Some(thread::spawn(move || server.serve(&until, |_| {})));
        Self { at, stop, serving }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let _ = self.serving.take().map(JoinHandle::join);
    }
}

/// A connection from an address of this host: each of 127.0.0.0/8 is a network of its own.
fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let kinds = (socket2::Domain::IPV4, socket2::Type::STREAM);
    let socket = socket2::Socket::new(kinds.0, kinds.1, None).expect("a socket");
    socket.bind(&SocketAddr::from((from, 0)).into()).expect("an address of this host");
    socket.connect(&to.into()).expect("connects");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    stream
}

/// Asks for a test of one TCP stream: what the server says, and the connections of one that it has.
fn ask(from: [u8; 4], to: SocketAddr, parameters: &str) -> Result<[TcpStream; 2], u8> {
    ask_as(from[3], from, to, parameters)
}

/// The same, as one of several clients of one address.
fn ask_as(
    client: u8,
    from: [u8; 4],
    to: SocketAddr,
    parameters: &str,
) -> Result<[TcpStream; 2], u8> {
    let mut control = connect(from, to);
    let cookie = [b'a' + client; 36];
    control.write_all(&[&cookie[..], &[0]].concat()).expect("a cookie");
    let mut said = [0];
    control.read_exact(&mut said).expect("an answer");
    if said[0] != PARAM_EXCHANGE {
        return Err(said[0]);
    }
    let mut text = (parameters.len() as u32).to_be_bytes().to_vec();
    text.extend(parameters.as_bytes());
    control.write_all(&text).expect("parameters");
    control.read_exact(&mut said).expect("an answer");
    if said[0] != CREATE_STREAMS {
        return Err(said[0]);
    }
    let mut data = connect(from, to);
    data.write_all(&[&cookie[..], &[0]].concat()).expect("a cookie");
    let mut begun = [0; 2];
    control.read_exact(&mut begun).expect("it begins");
    Ok([control, data])
}

const LONG: &str = r#"{"tcp":true,"omit":0,"time":300,"parallel":1,"len":1000}"#;

#[test]
fn who_moves_nothing_makes_room_for_who_waits() {
    let served = Served::within(Limits::default());
    let (one, other) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let mut held = ask(one, served.at, LONG).expect("it is free");
    let began = Instant::now();
    let granted = loop {
        match ask(other, served.at, LONG) {
            Ok(granted) => break granted,
            Err(said) => assert_eq!(said, ACCESS_DENIED),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "kept out by one that moves nothing");
        thread::sleep(Duration::from_millis(200));
    };
    assert!(began.elapsed() > Duration::from_secs(3), "a short pause is no reason");
    let mut said = [0];
    held[0].read_exact(&mut said).expect("its end");
    assert_eq!(said[0], SERVER_ERROR);
    // Who had it leaves it to others for as long, also when these are done.
    drop(granted);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(ask(one, served.at, LONG).err(), Some(ACCESS_DENIED));
    assert!(ask(other, served.at, LONG).is_ok());
}

#[test]
fn who_moves_nothing_makes_room_for_a_client_of_its_own_address() {
    let served = Served::within(Limits::default());
    let address = [127, 0, 0, 3];
    let mut held = ask_as(1, address, served.at, LONG).expect("it is free");
    let began = Instant::now();
    while let Err(said) = ask_as(2, address, served.at, LONG) {
        assert_eq!(said, ACCESS_DENIED);
        assert!(began.elapsed() < Duration::from_secs(60), "kept out by one that moves nothing");
        thread::sleep(Duration::from_millis(200));
    }
    let mut said = [0];
    held[0].read_exact(&mut said).expect("its end");
    assert_eq!(said[0], SERVER_ERROR);
}

#[test]
fn a_test_by_bytes_ends_when_its_owner_says() {
    let served = Served::within(Limits { seconds: Some(2), ..Limits::default() });
    let asked = r#"{"tcp":true,"omit":0,"time":0,"num":1000000000000,"parallel":1,"len":1000}"#;
    let [mut control, _data] = ask([127, 0, 0, 1], served.at, asked).expect("it is free");
    let began = Instant::now();
    let mut said = [0; 9];
    control.read_exact(&mut said).expect("its end");
    assert_eq!(said[0], SERVER_ERROR);
    let took = began.elapsed().as_secs_f64();
    assert!((1.5..6.0).contains(&took), "{took} s where 2 are allowed");
}
