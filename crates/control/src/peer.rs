//! An agent on another host, as the controller sees it.

use crate::end::End;
use crate::error::{ControlError, Denial, Gone, NoAddress, Refusal};
use crate::heart::Heart;
use crate::key::Key;
use crate::offers::{NotOffered, Offers};
use crate::session::{Answer, Order};
use crate::turns::Turns;
use crate::wire::{Patience, Reply, Request, Voice, Wire};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::trial::Trial;
use nix::sys::socket::{getsockopt, sockopt};
use socket2::{Domain, SockAddr, Socket, Type};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long one that is silent keeps others from being called.
const CONNECT_SOON: Duration = Duration::from_millis(300);
/// The most handshakes at once. Of hundreds at once each takes as long as all of them, and an agent
/// hangs up on a caller that is not done in time.
static HANDSHAKES: Turns = Turns::of(64);
/// How long one look for a word takes.
const LOOK_UP: Duration = Duration::from_millis(100);
/// How long an agent may take to answer to the proof of the key.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait after each hang-up before the next try.
const CROWDED_PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
];
const DESCRIBE_WITHIN: Duration = Duration::from_secs(20);
/// How long an agent that was met may take to start a worker: it takes milliseconds, and a path
/// that loses bursts has TCP say a word again after 0.2, 0.6, 1.4, 3, 6 and 13 seconds.
const START_WITHIN: Duration = Duration::from_secs(20);
/// How long an agent may take to start a tool's server.
const TOOL_WITHIN: Duration = Duration::from_secs(20);

/// Which addresses of a name to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Its IPv4 addresses alone.
    V4,
    /// Its IPv6 addresses alone.
    V6,
}

impl Family {
    /// Whether an address is of the family.
    pub fn has(self, address: IpAddr) -> bool {
        address.is_ipv4() == (self == Self::V4)
    }
}

/// A connection to an agent. As an [`End`] it is the agent's current worker.
pub struct Peer {
    voice: Voice,
    peer: String,
    replies: Receiver<Result<Reply, ControlError>>,
    /// Answers of workers that nobody has waited for yet.
    held: BTreeMap<u32, VecDeque<Answer>>,
    excused: Arc<Mutex<Option<Instant>>>,
    patience: Patience,
    line: Duration,
    _heart: Heart,
    address: IpAddr,
    own_address: IpAddr,
    path_mtu: Option<Bytes>,
    dialled_in: Duration,
    silent: Vec<IpAddr>,
    offers: Offers,
}

/// A channel to an agent that has proved the key, as this side has.
struct Met {
    own: SocketAddr,
    path_mtu: Option<Bytes>,
    dialled_in: Duration,
    wire: Wire,
}

enum Missed {
    /// Another address may do.
    Connecting(std::io::Error),
    /// The agent was reached.
    Greeting(ControlError),
}

/// Segments of the control connection, both ways, in bytes: with their headers within the 576 B
/// (IPv4, RFC 791) and 1280 B (IPv6, RFC 8200) that every path carries. A path that loses larger
/// packets is what is to be measured, and must not take the words about it.
fn segment_bytes(address: &SocketAddr) -> u32 {
    if address.ip().to_canonical().is_ipv4() { 524 } else { 1208 }
}

/// Whether nothing came back: one that refuses answers at once, and of a family that this host has
/// not nothing was sent.
fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable)
}

/// Connects within so long, with segments that pass every path.
fn dial(address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_tcp_mss(segment_bytes(&address))?;
    socket.connect_timeout(&SockAddr::from(address), within)?;
    Ok(socket.into())
}

/// Connects, again when the agent hangs up: one that is crowded by strangers may have to drop this
/// side before it can prove its key.
fn greet(address: SocketAddr, key: &Key) -> Result<Met, Missed> {
    let mut pauses = CROWDED_PAUSES.into_iter();
    let mut hung_up = None;
    loop {
        let mut turn = Some(HANDSHAKES.take());
        let mut began = Instant::now();
        let mut stream = dial(address, CONNECT_SOON);
        if stream.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::TimedOut) {
            (turn, began) = (None, Instant::now());
            stream = dial(address, CONNECT_WITHIN);
        }
        let dialled_in = began.elapsed();
        // Whoever answered once and is gone now is told by what it did, not by its absence.
        let stream = stream.map_err(|error| match hung_up.take() {
            Some((peer, why)) => Missed::Greeting(ControlError::HungUp { peer, why }),
            None => Missed::Connecting(error),
        })?;
        let own = stream.local_addr().map_err(Missed::Connecting)?;
        let path_mtu = path_mtu(&stream);
        let met = Wire::call(stream, key).and_then(|mut wire| {
            let proved = wire.voice().beat().and_then(|()| wire.hear_proof(PROOF_WITHIN));
            match proved {
                Err(ControlError::Unreachable { peer, why }) => {
                    Err(ControlError::HungUp { peer, why: Refusal::Gone(why) })
                }
                proved => proved.map(|()| wire),
            }
        });
        drop(turn);
        match met {
            Ok(wire) => return Ok(Met { own, path_mtu, dialled_in, wire }),
            Err(ControlError::HungUp { peer, why }) => match pauses.next() {
                Some(pause) => {
                    thread::sleep(pause);
                    hung_up = Some((peer, why));
                }
                None => return Err(Missed::Greeting(ControlError::HungUp { peer, why })),
            },
            Err(error) => return Err(Missed::Greeting(error)),
        }
    }
}

impl Peer {
    /// Connects to the agent at `host:port`, trying each address that the name has.
    pub fn connect(
        host: &str,
        port: u16,
        family: Option<Family>,
        key: &Key,
    ) -> Result<Self, ControlError> {
        Self::connect_with(host, port, family, key, Patience::default())
    }

    /// The same with a patience of its own.
    pub fn connect_with(
        host: &str,
        port: u16,
        family: Option<Family>,
        key: &Key,
        patience: Patience,
    ) -> Result<Self, ControlError> {
        let unknown = |why| ControlError::UnknownHost { host: host.to_owned(), why };
        let addresses = (host, port).to_socket_addrs();
        let addresses = addresses.map_err(|error| unknown(NoAddress::Lookup(error)))?;
        let addresses = addresses.filter(|at| family.is_none_or(|family| family.has(at.ip())));
        let mut last = unknown(NoAddress::OfFamily);
        let mut silent = Vec::new();
        for address in addresses {
            match greet(address, key) {
                Ok(Met { own, path_mtu, dialled_in, mut wire }) => {
                    wire.expect_beats(patience.silent_max);
                    let excused = Arc::default();
                    let (voice, peer) = (wire.voice().clone(), wire.peer().to_owned());
                    let heart = Heart::start(voice.clone(), patience.beat_every)?;
                    return Ok(Self {
                        replies: listen(wire, Arc::clone(&excused))?,
                        voice,
                        peer,
                        excused,
                        patience,
                        line: Duration::ZERO,
                        _heart: heart,
                        address: address.ip(),
                        own_address: own.ip(),
                        path_mtu,
                        dialled_in,
                        silent,
                        offers: Offers::default(),
                        held: BTreeMap::new(),
                    });
                }
                Err(Missed::Connecting(error)) => {
                    if is_silence(&error) {
                        silent.push(address.ip());
                    }
                    let peer = format!("{host} port {port}");
                    last = ControlError::Unreachable { peer, why: Gone::Connect(error) };
                }
                Err(Missed::Greeting(error)) => return Err(error),
            }
        }
        Err(last)
    }

    /// The agent's address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// This host's address on the way to the agent.
    pub fn own_address(&self) -> IpAddr {
        self.own_address
    }

    /// Largest IP packet on the way to the agent, as far as the kernel knows (IPv4).
    pub fn path_mtu(&self) -> Option<Bytes> {
        self.path_mtu
    }

    /// How long its connection took to be made: a round trip of the path, and longer where a first
    /// packet was lost or this host was busy.
    pub fn dialled_in(&self) -> Duration {
        self.dialled_in
    }

    /// Addresses of its name that were tried before this one, and from which nothing came: who
    /// tries them first waits for each.
    pub fn silent(&self) -> &[IpAddr] {
        &self.silent
    }

    /// True when the peer is this very host: its address is our own.
    pub fn is_own_host(&self) -> bool {
        self.address == self.own_address
    }

    /// The agent's host, as it reads itself; what the agent offers is kept.
    pub fn describe(&mut self) -> Result<Host, ControlError> {
        match self.ask(&Request::Describe, DESCRIBE_WITHIN)? {
            Reply::Host { host, offers } => {
                self.offers = offers;
                Ok(*host)
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// Whether the agent, once it has described itself, can run its end of a trial.
    pub fn can(&self, trial: &Trial) -> Result<(), ControlError> {
        let peer = &self.peer;
        self.offers.can(trial).map_err(|what| not_offered(peer, what))?;
        trial.lent().map_or(Ok(()), |name| self.mac_of(name).map(drop))
    }

    /// Names of the interfaces that the agent's owner lends for raw frames.
    pub fn interfaces(&self) -> Vec<String> {
        self.offers.interfaces.iter().map(|lent| lent.name.clone()).collect()
    }

    /// The MAC address of an interface that the agent's owner lends for raw frames.
    pub fn mac_of(&self, name: &str) -> Result<&str, ControlError> {
        let peer = self.peer.clone();
        let lent = self.offers.interface(name).ok_or_else(|| {
            let (peer, asked, lent) = (peer.clone(), name.to_owned(), self.interfaces());
            Denial::NotLent { peer, asked, lent }
        })?;
        let gone = || Denial::NoInterface { peer, name: name.to_owned() }.into();
        lent.mac.as_deref().ok_or_else(gone)
    }

    /// Whether the agent's ends can meet those of other agents, and its owner lets them meet any.
    /// The owner may still refuse some.
    pub fn can_meet(&self) -> Result<(), ControlError> {
        self.knows_meetings()?;
        if self.offers.meets_nobody {
            return Err(Denial::MeetsNobody { peer: self.peer.clone() }.into());
        }
        Ok(())
    }

    /// Whether the agent understands an order to meet another agent's end.
    pub fn knows_meetings(&self) -> Result<(), ControlError> {
        let lacks = || not_offered(&self.peer, NotOffered::Meetings);
        if self.offers.meets { Ok(()) } else { Err(lacks()) }
    }

    /// Starts a worker at the agent.
    pub fn start(&mut self) -> Result<(), ControlError> {
        self.start_worker(0)
    }

    /// Starts the worker of a number; those of others go on.
    pub fn start_worker(&mut self, worker: u32) -> Result<(), ControlError> {
        match self.ask(&Request::Start { worker }, START_WITHIN)? {
            Reply::Started => {
                // What came before is of the one that had the number.
                self.held.remove(&worker);
                Ok(())
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// The worker of a number.
    pub fn worker(&mut self, worker: u32) -> PeerWorker<'_> {
        PeerWorker { peer: self, worker }
    }

    /// Whether its ends say what they moved while they run.
    pub fn can_tell(&self) -> bool {
        self.offers.tells
    }

    /// Whether the agent's owner lends a tool's server.
    pub fn lends(&self, tool: &str) -> bool {
        self.offers.tools.iter().any(|lent| lent == tool)
    }

    /// Starts a tool's server at the agent for a trial; [`Self::stop`] ends it. Its port.
    pub fn serve_tool(&mut self, trial: &Trial) -> Result<u16, ControlError> {
        match self.ask(&Request::Tool { trial: Box::new(trial.clone()) }, TOOL_WITHIN)? {
            Reply::Serving { port } => Ok(port),
            other => Err(self.unexpected(other)),
        }
    }

    /// Ends the agent's workers, and a tool's server.
    pub fn stop(&mut self) -> Result<(), ControlError> {
        self.held.clear();
        self.voice.send(&Request::Stop)
    }

    fn ask(&mut self, request: &Request, within: Duration) -> Result<Reply, ControlError> {
        self.voice.send(request)?;
        loop {
            match self.reply(within)? {
                // A late word of a worker that was stopped, or one of another worker.
                Some(Reply::Answer { answer, worker }) => self.hold(worker, answer),
                Some(reply) => return Ok(reply),
                // It was met: what is missing is its process, or the way to it.
                None => {
                    let peer = self.peer.clone();
                    return Err(ControlError::Vanished { peer, silent: within });
                }
            }
        }
    }

    /// The next word of the agent; `None` when there was none in time.
    fn reply(&self, within: Duration) -> Result<Option<Reply>, ControlError> {
        match self.replies.recv_timeout(within) {
            Ok(reply) => reply.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::gone(&self.peer, Gone::Over)),
        }
    }

    fn hold(&mut self, worker: u32, answer: Answer) {
        self.held.entry(worker).or_default().push_back(answer);
    }

    fn unexpected(&self, reply: Reply) -> ControlError {
        match reply {
            Reply::Refused { why } => Denial::Told { peer: self.peer.clone(), why }.into(),
            other => ControlError::refused(&self.peer, Refusal::OutOfTurn(Box::new(other))),
        }
    }
}

fn not_offered(peer: &str, what: NotOffered) -> ControlError {
    ControlError::refused(peer, Refusal::NotOffered(what))
}

fn path_mtu(stream: &TcpStream) -> Option<Bytes> {
    let mtu = getsockopt(stream, sockopt::IpMtu).ok()?;
    u64::try_from(mtu).ok().map(Bytes)
}

/// Listens all the time, whatever the controller does meanwhile: a peer that vanishes is noticed,
/// and its beats do not pile up.
fn listen(
    mut wire: Wire,
    excused: Arc<Mutex<Option<Instant>>>,
) -> Result<Receiver<Result<Reply, ControlError>>, ControlError> {
    let (say, replies) = channel();
    let listening = thread::Builder::new().name("agent replies".into()).spawn(move || {
        loop {
            wire.excuse(*excused.lock().unwrap_or_else(PoisonError::into_inner));
            let heard = wire.receive::<Reply>(LOOK_UP).transpose();
            let Some(heard) = heard else { continue };
            let over = heard.is_err();
            if say.send(heard).is_err() || over {
                break;
            }
        }
    });
    listening.map_err(ControlError::thread)?;
    Ok(replies)
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.voice.hang_up();
    }
}

/// One of an agent's workers.
pub struct PeerWorker<'a> {
    peer: &'a mut Peer,
    worker: u32,
}

impl End for PeerWorker<'_> {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        let peer = &mut *self.peer;
        match order {
            Order::Prepare { job } => {
                // An older agent would read the order without it, and measure something else.
                if let Some(what) = peer.offers.unknown_option(&job.params) {
                    return Err(not_offered(&peer.peer, what));
                }
                if job.grant.is_some() || self.worker > 0 {
                    peer.knows_meetings()?;
                }
                peer.line = job.length();
            }
            Order::Arm { .. } | Order::GoUntilTold | Order::Release => {}
            Order::Go { .. } => {
                let until = Instant::now() + peer.line.min(peer.patience.excused_max);
                *peer.excused.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
            }
        }
        peer.voice.send(&Request::Order { order: order.clone(), worker: self.worker })
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        let held = self.peer.held.get_mut(&self.worker);
        if let Some(answer) = held.and_then(VecDeque::pop_front) {
            return Ok(Some(answer));
        }
        match self.peer.reply(within)? {
            Some(Reply::Answer { answer, worker }) if worker == self.worker => Ok(Some(answer)),
            Some(Reply::Answer { answer, worker }) => {
                self.peer.hold(worker, answer);
                Ok(None)
            }
            Some(other) => Err(self.peer.unexpected(other)),
            None => Ok(None),
        }
    }
}

impl End for Peer {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        self.worker(0).order(order)
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        self.worker(0).answer(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::SockRef;
    use std::net::TcpListener;

    #[test]
    fn an_address_is_silent_that_neither_answers_nor_refuses() {
        use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
        let kinds = [TimedOut, HostUnreachable, ConnectionRefused, NetworkUnreachable];
        assert_eq!(kinds.map(|kind| is_silence(&kind.into())), [true, true, false, false]);
    }

    #[test]
    fn words_pass_every_path_in_small_segments() {
        for (address, bytes) in
            [("192.0.2.1:7", 524), ("[::ffff:192.0.2.1]:7", 524), ("[2001:db8::1]:7", 1208)]
        {
            assert_eq!(segment_bytes(&address.parse().expect("an address")), bytes, "{address}");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let near = dial(listener.local_addr().expect("address"), CONNECT_WITHIN).expect("connects");
        let far = listener.accept().expect("a connection").0;
        for (end, stream) in [("near", &near), ("far", &far)] {
            // Less the options of each packet.
            let bytes = SockRef::from(stream).tcp_mss().expect("a number");
            assert!((400..=524).contains(&bytes), "{end}: {bytes} B");
        }
        assert!(path_mtu(&near).is_some_and(|mtu| mtu.0 >= 1280), "as the kernel has it");
    }

    #[test]
    fn a_family_has_its_addresses_alone() {
        let [v4, v6] = ["192.0.2.1", "::1"].map(|text| text.parse().expect("an address"));
        assert_eq!([Family::V4, Family::V6].map(|family| family.has(v4)), [true, false]);
        assert_eq!([Family::V4, Family::V6].map(|family| family.has(v6)), [false, true]);
        let key = Key::random().expect("a key");
        let none = Peer::connect("127.0.0.1", 1, Some(Family::V6), &key).err();
        let says = "127.0.0.1: the name has no such address";
        assert_eq!(none.map(|why| why.to_string()).as_deref(), Some(says));
    }
}
