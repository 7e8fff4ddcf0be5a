//! How the two ends of a trial find and know each other.
//!
//! A TCP connection opens with the trial's token and the number of the flow. Over UDP the end that
//! connects says hello, the end that listens sends a challenge no longer than that hello, and only
//! an address that repeats it has proved itself: nothing else is ever sent to an address that has
//! not, and the receiver's socket is then tied to it, so that the kernel drops strangers'
//! datagrams.

use super::files;
use super::socket::{LOOK_UP, is_pause, make, settle};
use super::unheard;
use crate::LoadError;
use narrows_model::load::Job;
use socket2::{SockAddr, Socket, Type};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long the ends may take to find each other.
pub const MEET_WITHIN: Duration = Duration::from_secs(10);
/// How long the end that listens waits for words over UDP.
const HEARD_WITHIN: Duration = Duration::from_secs(8);
/// Connections that may be there without having said the token; the oldest makes room for one more.
const UNPROVEN_MAX: usize = 256;
/// After so long without an answer a word over UDP is said again.
const SAY_AGAIN: Duration = Duration::from_millis(100);
/// The first word to an iperf3 server over UDP.
const IPERF3_HELLO: u32 = 123_456_789;
/// Bytes of each word over UDP.
const WORD: usize = 32;

/// A trial's secret: it opens each connection and, in part, each datagram.
pub type Token = [u8; 16];

/// Reads a token from 32 hexadecimal digits.
pub fn token(text: &str) -> Result<Token, LoadError> {
    let mut token = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return Err(wrong());
    }
    for (byte, pair) in token.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(token)
}

fn wrong() -> LoadError {
    LoadError::Order("the token is not 32 hexadecimal digits".into())
}

/// A TCP socket that listens on a port of `address`.
pub fn listen(address: IpAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(address, Type::STREAM, job)?;
    bind(&socket, address, job)?;
    socket.listen(1024).map_err(LoadError::system(format!("listening on {address}")))?;
    Ok(socket)
}

/// A UDP socket bound to a port of `address`.
pub fn open(address: IpAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(address, Type::DGRAM, job)?;
    bind(&socket, address, job)?;
    Ok(socket)
}

/// Binds to the first free port of those that may be used.
fn bind(socket: &Socket, address: IpAddr, job: &Job) -> Result<(), LoadError> {
    let (first, last) = job.ports.unwrap_or((0, 0));
    for port in first..=last {
        match socket.bind(&SockAddr::from(SocketAddr::new(address, port))) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AddrInUse && port < last => {}
            Err(error) => {
                let doing = format!("binding to {address} port {port}");
                return Err(LoadError::system(doing)(error));
            }
        }
    }
    Err(LoadError::Order(format!("no ports from {first} to {last}")))
}

/// The local port of a bound socket.
pub fn port(socket: &Socket) -> u16 {
    socket.local_addr().ok().and_then(|at| at.as_socket()).map_or(0, |at| at.port())
}

/// A socket of the end that connects, leaving from where it was told to.
pub fn leaving(to: SocketAddr, kind: Type, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(to.ip(), kind, job)?;
    // Ends at two ports of one host meet inside it, and those of an interface that is lent by the
    // kernel's routes: what is named is for their frames.
    let from = job.bind.clone().filter(|bind| !bind.names_both()).unwrap_or_default();
    if let Some(device) = &from.device {
        let doing = format!("binding to the interface {device}");
        socket.bind_device(Some(device.as_bytes())).map_err(LoadError::system(doing))?;
    }
    if let Some(address) = from.address {
        let any_port = SockAddr::from(SocketAddr::new(address, 0));
        socket.bind(&any_port).map_err(LoadError::system(format!("binding to {address}")))?;
    }
    Ok(socket)
}

/// A bare connection, without a greeting.
pub fn dial(to: SocketAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = leaving(to, Type::STREAM, job)?;
    let connected = socket.connect_timeout(&SockAddr::from(to), MEET_WITHIN);
    connected.map_err(|error| LoadError::Apart(format!("connecting to {to}: {error}")))?;
    Ok(socket)
}

/// Says the token and the number of the flow over a connection that stands.
pub fn greet(
    socket: &Socket,
    to: SocketAddr,
    job: &Job,
    token: &Token,
    flow: u32,
) -> Result<(), LoadError> {
    socket.set_nonblocking(false).map_err(LoadError::system("setting how the socket waits"))?;
    let words = match &job.iperf3 {
        Some(cookie) => [cookie.as_bytes(), &[0]].concat(),
        None => [&token[..], &flow.to_be_bytes()].concat(),
    };
    let mut said = socket;
    said.write_all(&words).map_err(|source| {
        let doing = format!("greeting {to}");
        match source.kind() {
            // The other end gave up, or something between did: it may know why.
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                LoadError::Apart(format!("{doing}: {source}"))
            }
            _ => LoadError::System { doing, source },
        }
    })?;
    settle(socket, job)
}

/// Accepts all flows of a job, in order of their numbers. Every connection may take its time to say
/// the token while the others are heard; who does not say it does not count.
pub fn accept(listener: &Socket, job: &Job, token: &Token) -> Result<Vec<Socket>, LoadError> {
    let count = job.params.flows() as usize;
    let deadline = Instant::now() + MEET_WITHIN;
    files::allow(count);
    listener.set_nonblocking(true).map_err(LoadError::system("setting how the socket waits"))?;
    let mut flows: Vec<Option<Socket>> = (0..count).map(|_| None).collect();
    let mut unproven: VecDeque<Unproven> = VecDeque::new();
    while flows.iter().any(Option::is_none) {
        if Instant::now() > deadline {
            let have = flows.iter().flatten().count();
            return Err(LoadError::Apart(missing(have, count)));
        }
        wait_for_any(listener, &unproven);
        while let Some((socket, from)) = next(listener, flows.iter().flatten().count(), count)? {
            if !may_come(job, &from) || socket.set_nonblocking(true).is_err() {
                continue;
            }
            unproven.push_back(Unproven { socket, said: [0; 20], length: 0 });
            // Each is read before one is dropped: who says the token at once is never dropped.
            take_proven(&mut unproven, token, &mut flows, job)?;
            if unproven.len() > UNPROVEN_MAX {
                unproven.pop_front();
            }
        }
        take_proven(&mut unproven, token, &mut flows, job)?;
    }
    Ok(flows.into_iter().flatten().collect())
}

/// What an end that listens says of connections that did not come. The end that connects gives up
/// first where it gets no answer: these were answered.
fn missing(have: usize, count: usize) -> String {
    let says = format!("{have} of {count} connections arrived within {MEET_WITHIN:?}");
    if have == 0 {
        return says;
    }
    format!(
        "{says}, though none was refused: something between the ends accepts more than it passes on \
         (a proxy, a load balancer with a limit of connections)"
    )
}

/// The next connection that waits, of so many that there are to be. Where no more files may be open
/// there is no use in waiting: those that are open are flows.
fn next(
    listener: &Socket,
    have: usize,
    count: usize,
) -> Result<Option<(Socket, SockAddr)>, LoadError> {
    match listener.accept() {
        Ok(one) => Ok(Some(one)),
        Err(source) => {
            let doing = format!("accepting connections, {have} of {count} so far");
            let error = LoadError::System { doing, source };
            if error.is_out_of_files() { Err(error) } else { Ok(None) }
        }
    }
}

/// Whether an address may be the other end's: with a grant only the one that it names.
fn may_come(job: &Job, from: &SockAddr) -> bool {
    let from = from.as_socket().map(|from| from.ip().to_canonical());
    job.grant.as_ref().is_none_or(|grant| from == Some(grant.peer.to_canonical()))
}

/// A connection that has not said the whole token yet.
struct Unproven {
    socket: Socket,
    said: [u8; 20],
    length: usize,
}

/// What one connection has come to.
enum Greeting {
    /// It may still say more.
    Pending,
    /// It said the token, and which flow it is.
    Flow(u32),
    /// It is over, or said something else.
    Foreign,
}

impl Unproven {
    /// Takes what has come, without waiting.
    fn hear(&mut self, token: &Token) -> Greeting {
        while self.length < self.said.len() {
            match (&self.socket).read(&mut self.said[self.length..]) {
                Ok(0) => return Greeting::Foreign,
                Ok(n) => self.length += n,
                Err(error) if is_pause(&error) => return Greeting::Pending,
                Err(_) => return Greeting::Foreign,
            }
        }
        let number = self.said.strip_prefix(token).and_then(|number| number.try_into().ok());
        number.map_or(Greeting::Foreign, |number| Greeting::Flow(u32::from_be_bytes(number)))
    }
}

/// Hears every connection, and puts those that proved themselves where they belong.
fn take_proven(
    unproven: &mut VecDeque<Unproven>,
    token: &Token,
    flows: &mut [Option<Socket>],
    job: &Job,
) -> Result<(), LoadError> {
    for mut one in std::mem::take(unproven) {
        match one.hear(token) {
            Greeting::Pending => unproven.push_back(one),
            Greeting::Foreign => {}
            Greeting::Flow(flow) => {
                if let Some(place) = flows.get_mut(flow as usize) {
                    let socket = one.socket;
                    let blocking = socket.set_nonblocking(false);
                    blocking.map_err(LoadError::system("setting how the socket waits"))?;
                    settle(&socket, job)?;
                    *place = Some(socket);
                }
            }
        }
    }
    Ok(())
}

/// Waits, a moment at most, until somebody connects or says something.
fn wait_for_any(listener: &Socket, unproven: &VecDeque<Unproven>) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let said = unproven.iter().map(|one| one.socket.as_fd());
    let all = std::iter::once(listener.as_fd()).chain(said);
    let mut waited: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    let moment = PollTimeout::try_from(LOOK_UP).unwrap_or(PollTimeout::ZERO);
    if poll(&mut waited, moment).is_err() {
        std::thread::sleep(LOOK_UP);
    }
}

/// What is said over UDP before the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// From the end that connects: a first word.
    Hello = 1,
    /// From the end that listens: repeat this.
    Challenge = 2,
    /// From the end that connects: the repetition.
    Proof = 3,
    /// From the end that listens: proved.
    Welcome = 4,
}

/// A word with its nonce. The token's halves change places, so that a word that comes late is not
/// taken for a datagram of the run.
fn word(token: &Token, word: Word, nonce: u64) -> [u8; WORD] {
    let mut bytes = [0; WORD];
    bytes[..8].copy_from_slice(&token[8..]);
    bytes[8..16].copy_from_slice(&token[..8]);
    bytes[16] = word as u8;
    bytes[24..].copy_from_slice(&nonce.to_be_bytes());
    bytes
}

/// The nonce of a word of this kind.
fn nonce_of(bytes: &[u8], token: &Token, wanted: Word) -> Option<u64> {
    let nonce = u64::from_be_bytes(bytes.get(24..WORD)?.try_into().ok()?);
    (bytes == word(token, wanted, nonce)).then_some(nonce)
}

/// A UDP socket of the end that connects; the listening end has answered.
pub fn call(to: SocketAddr, job: &Job, token: &Token) -> Result<Socket, LoadError> {
    let socket = leaving(to, Type::DGRAM, job)?;
    socket.connect(&SockAddr::from(to)).map_err(LoadError::system(format!("opening {to}")))?;
    let wait = socket.set_read_timeout(Some(SAY_AGAIN));
    wait.map_err(LoadError::system("setting a timeout"))?;
    if job.iperf3.is_some() {
        return call_iperf3(socket, to, job);
    }
    let deadline = Instant::now() + MEET_WITHIN;
    let mut say = word(token, Word::Hello, 0);
    let mut proved = false;
    let mut refused = None;
    let mut heard = [0; WORD];
    while Instant::now() < deadline {
        // A refusal is an answer to an earlier word: the other end may not be there yet.
        let said = (&socket).write(&say);
        refused = said.err().as_ref().and_then(unheard::refusal).or(refused);
        let length = match (&socket).read(&mut heard) {
            Ok(length) => length,
            Err(error) => {
                refused = unheard::refusal(&error).or(refused);
                continue;
            }
        };
        if let Some(nonce) = nonce_of(&heard[..length], token, Word::Challenge) {
            say = word(token, Word::Proof, nonce);
            proved = true;
        } else if proved && nonce_of(&heard[..length], token, Word::Welcome).is_some() {
            settle(&socket, job)?;
            return Ok(socket);
        }
    }
    let refused = refused.map_or(String::new(), |says| format!(", and {says}"));
    Err(LoadError::Apart(format!(
        "connecting to {to} over UDP: no answer within {MEET_WITHIN:?}{refused}"
    )))
}

/// Opens a stream of an iperf3 server: four bytes each way.
fn call_iperf3(socket: Socket, to: SocketAddr, job: &Job) -> Result<Socket, LoadError> {
    let deadline = Instant::now() + MEET_WITHIN;
    let mut heard = [0; 4];
    // Said once: its server takes each word for a new stream.
    let said = (&socket).write(&IPERF3_HELLO.to_ne_bytes());
    said.map_err(LoadError::system(format!("greeting {to}")))?;
    while Instant::now() < deadline {
        if let Ok(4) = (&socket).read(&mut heard) {
            settle(&socket, job)?;
            return Ok(socket);
        }
    }
    Err(LoadError::Apart(format!("connecting to {to} over UDP: no answer within {MEET_WITHIN:?}")))
}

/// Waits until an address has proved itself, and ties the socket to it.
pub fn answer(socket: &Socket, job: &Job, token: &Token) -> Result<(), LoadError> {
    // Sooner than the end that connects: this one knows which way the words are lost.
    answer_within(HEARD_WITHIN, socket, job, token)
}

fn answer_within(
    within: Duration,
    socket: &Socket,
    job: &Job,
    token: &Token,
) -> Result<(), LoadError> {
    let wait = socket.set_read_timeout(Some(LOOK_UP));
    wait.map_err(LoadError::system("setting a timeout"))?;
    let deadline = Instant::now() + within;
    let dropped = unheard::reverse_path_drops();
    let mut is_called = false;
    let mut heard = [std::mem::MaybeUninit::<u8>::uninit(); WORD + 1];
    while Instant::now() < deadline {
        let (length, from) = match socket.recv_from(&mut heard) {
            Ok(heard) => heard,
            Err(error) if is_pause(&error) => continue,
            Err(error) => return Err(LoadError::system("waiting for a word")(error)),
        };
        // SAFETY: the kernel has written the first `length` bytes.
        let bytes = unsafe { &*(&raw const heard[..length] as *const [u8]) };
        if !may_come(job, &from) {
            continue;
        }
        // Another address gets another challenge.
        let nonce = hash(&from);
        if nonce_of(bytes, token, Word::Hello).is_some() {
            is_called = true;
            let _ = socket.send_to(&word(token, Word::Challenge, nonce), &from);
        } else if nonce_of(bytes, token, Word::Proof) == Some(nonce) {
            let tied = socket.connect(&from);
            tied.map_err(LoadError::system("tying a socket to the other end"))?;
            // Said three times: each may be lost, and nobody listens for the proof any more.
            for _ in 0..3 {
                let _ = socket.send(&word(token, Word::Welcome, nonce));
            }
            return settle(socket, job);
        }
    }
    let port = port(socket);
    Err(LoadError::Apart(match is_called {
        false => format!(
            "no UDP arrived at port {port} of the listening end within {within:?}, and \
             the control connection (TCP) passes: {}",
            unheard::on_the_way_there(
                unheard::reverse_path_drops().unwrap_or(0).saturating_sub(dropped.unwrap_or(0))
            )
        ),
        true => format!(
            "UDP arrives at port {port} of the listening end, and its answers do not arrive within \
             {within:?}; the control connection (TCP) passes: most likely a firewall drops UDP on \
             the way back, or a route for UDP differs"
        ),
    }))
}

/// A hash with a random key of this process.
fn hash(address: &SockAddr) -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    use std::sync::LazyLock;
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut hasher = KEY.build_hasher();
    hasher.write(format!("{:?}", address.as_socket()).as_bytes());
    hasher.finish()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn connections_that_were_answered_and_did_not_come_are_something_betweens() {
        let some = missing(4, 8);
        assert!(some.starts_with("4 of 8 connections arrived within 10s, though"), "{some}");
        assert!(some.contains("a proxy"), "{some}");
        assert_eq!(missing(0, 8), "0 of 8 connections arrived within 10s", "a firewall as well");
    }

    pub fn job() -> Job {
        use narrows_model::load::{Params, Role, Timeline};
        use narrows_model::{Bytes, Nanos};
        let span = Nanos(1_000_000);
        let timeline =
            Timeline { warmup_ns: span, window_ns: span, cooldown_ns: span, interval_ns: None };
        Job {
            token: "07".repeat(16),
            ..Job::new(
                "tcp-stream".into(),
                Role::Receiver,
                Params::of_network(Bytes(64), 2),
                timeline,
            )
        }
    }

    #[test]
    fn silent_and_slow_strangers_do_not_keep_the_flows_out() {
        use std::net::TcpStream;
        let (job, token) = (job(), [7; 16]);
        let own = IpAddr::from([127, 0, 0, 1]);
        let door = listen(own, &job).expect("listen");
        let to = SocketAddr::new(own, port(&door));
        // More than one after the other could be waited for, before the flows and between them.
        let silent = || TcpStream::connect(to).expect("connected");
        let mut strangers: Vec<TcpStream> = (0..100).map(|_| silent()).collect();
        strangers.iter_mut().skip(50).for_each(|one| one.write_all(&[7; 5]).expect("said"));
        let mut flows = Vec::new();
        for flow in [1, 0] {
            let near = dial(to, &job).expect("connected");
            greet(&near, to, &job, &token, flow).expect("greeted");
            flows.push((flow, near));
            strangers.extend((0..200).map(|_| silent()));
        }
        let accepted = accept(&door, &job, &token).expect("both flows");
        let from = |at: std::io::Result<SockAddr>| at.ok().and_then(|at| at.as_socket());
        for (flow, near) in flows {
            let peer = from(accepted[flow as usize].peer_addr());
            assert_eq!(peer, from(near.local_addr()), "flow {flow}");
        }
    }

    #[test]
    fn the_end_that_listens_tells_which_way_udp_is_lost() {
        let (job, token) = (job(), [7; 16]);
        let own = IpAddr::from([127, 0, 0, 1]);
        let told = |said: Option<[u8; WORD]>| {
            let listens = open(own, &job).expect("a socket");
            let to = SocketAddr::new(own, port(&listens));
            let calls = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            if let Some(word) = said {
                calls.send_to(&word, to).expect("said");
            }
            let heard = answer_within(Duration::from_millis(300), &listens, &job, &token);
            heard.expect_err("nobody proves itself").to_string()
        };
        let silent = told(None);
        assert!(silent.contains("no UDP arrived at port"), "{silent}");
        assert!(silent.contains("drops UDP on the way there"), "{silent}");
        let stranger = told(Some(word(&[8; 16], Word::Hello, 0)));
        assert!(stranger.contains("no UDP arrived at port"), "another token: {stranger}");
        // The challenge does not arrive: nobody repeats it.
        let one_way = told(Some(word(&token, Word::Hello, 0)));
        assert!(one_way.contains("UDP arrives at port"), "{one_way}");
        assert!(one_way.contains("drops UDP on the way back"), "{one_way}");
    }

    #[test]
    fn words_are_known_by_token_and_kind() {
        let token = [7; 16];
        let hello = word(&token, Word::Hello, 5);
        assert_eq!(nonce_of(&hello, &token, Word::Hello), Some(5));
        assert_eq!(nonce_of(&hello, &token, Word::Proof), None);
        assert_eq!(nonce_of(&hello, &[8; 16], Word::Hello), None);
        assert_eq!(nonce_of(&hello[..31], &token, Word::Hello), None);
        assert_eq!(nonce_of(&[], &token, Word::Hello), None);
    }
}
