//! Whose test it is. One runs at a time, and its protocol has no key, so the server is shared out:
//! a client that came while another network's test ran finds room when that test is over, since
//! the network that had it then leaves as long a pause.

use super::COOKIE_BYTES;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What a client's connections begin with, all of a test with the same.
pub type Cookie = [u8; COOKIE_BYTES];

/// The longest pause of a network that others waited for: in it they come again and are served.
pub const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Connections whose order is kept: more than a test has streams, fewer than a crowd could fill.
const ARRIVALS_KEPT: usize = 4096;

/// The order in which connections came. Which of a test's streams send and which receive goes by
/// it, and the cookies, by which a stream is known, may arrive in another.
#[derive(Default)]
pub struct Arrivals(VecDeque<SocketAddr>);

impl Arrivals {
    /// Keeps that a connection came, forgetting the eldest of too many.
    pub fn came(&mut self, stream: &TcpStream) {
        if self.0.len() == ARRIVALS_KEPT {
            self.0.pop_front();
        }
        self.0.extend(stream.peer_addr());
    }

    /// Puts streams into the order in which they came; what is not known comes last.
    pub fn sort(&self, streams: &mut [TcpStream]) {
        streams.sort_by_cached_key(|stream| {
            let from = stream.peer_addr().ok();
            // A port that was used before counts by its last time.
            let place = self.0.iter().rposition(|came| Some(*came) == from);
            place.unwrap_or(usize::MAX)
        });
    }
}

/// Who has the server, and who is to leave it to others for a while.
#[derive(Default)]
pub struct Turns {
    /// The order in which connections came, of whatever test.
    pub arrivals: Arrivals,
    current: Option<Current>,
    pause: Option<Pause>,
}

/// A test that runs: what its connections say, and where they are taken to.
struct Current {
    cookie: Cookie,
    network: IpAddr,
    began: Instant,
    streams: Sender<TcpStream>,
    /// TCP streams that have not come yet; more than were asked for are not taken.
    missing: u32,
    /// Another client came meanwhile, of whatever network.
    is_awaited: Arc<AtomicBool>,
    /// One of another network did.
    is_awaited_elsewhere: bool,
}

impl Current {
    /// A client came that has to wait for this test.
    fn await_by(&mut self, cookie: &Cookie, network: IpAddr) {
        self.is_awaited.fetch_or(self.cookie != *cookie, SeqCst);
        self.is_awaited_elsewhere |= self.network != network;
    }
}

/// A network that has had its share.
struct Pause {
    network: IpAddr,
    until: Instant,
}

/// What the holder of the turn has of it.
pub struct Granted {
    /// Its data connections, as they come.
    pub streams: Receiver<TcpStream>,
    /// Whether another client was turned away since.
    pub is_awaited: Arc<AtomicBool>,
}

/// What a connection with a cookie is.
pub enum Caller {
    /// A data stream of the test that runs, which has it now.
    Stream,
    /// A client, while another's test runs or while it leaves the server to others.
    TooEarly(TcpStream),
    /// A client whose test can begin.
    Client(TcpStream),
}

impl Turns {
    pub fn is_of_current(&self, cookie: &Cookie) -> bool {
        self.current.as_ref().is_some_and(|current| current.cookie == *cookie)
    }

    /// Gives a stream to the test that runs, if it is of it.
    pub fn sort(
        &mut self,
        stream: TcpStream,
        cookie: &Cookie,
        network: IpAddr,
        now: Instant,
    ) -> Caller {
        let pauses = self.pauses(network, now);
        match &mut self.current {
            Some(current) if current.cookie == *cookie && current.missing > 0 => {
                current.missing -= 1;
                let _ = current.streams.send(stream);
                Caller::Stream
            }
            Some(current) => {
                current.await_by(cookie, network);
                Caller::TooEarly(stream)
            }
            None if pauses => Caller::TooEarly(stream),
            None => Caller::Client(stream),
        }
    }

    /// Begins a test of so many TCP streams, unless one runs or the network is to wait.
    pub fn begin(
        &mut self,
        cookie: Cookie,
        missing: u32,
        network: IpAddr,
        now: Instant,
    ) -> Option<Granted> {
        if let Some(current) = &mut self.current {
            current.await_by(&cookie, network);
            return None;
        }
        if self.pauses(network, now) {
            return None;
        }
        let (streams, taken) = channel();
        let is_awaited = Arc::new(AtomicBool::new(false));
        let granted = Granted { streams: taken, is_awaited: is_awaited.clone() };
        let is_awaited_elsewhere = false;
        let began = now;
        self.current = Some(Current {
            cookie,
            network,
            began,
            streams,
            missing,
            is_awaited,
            is_awaited_elsewhere,
        });
        Some(granted)
    }

    /// Ends the test that runs. If other networks waited, its own leaves them as long as it took.
    pub fn end(&mut self, now: Instant) {
        let Some(current) = self.current.take() else { return };
        let until = now + now.saturating_duration_since(current.began).min(PAUSE_MAX);
        // A pause of another network goes on beside a test that nobody waited for.
        if current.is_awaited_elsewhere {
            self.pause = Some(Pause { network: current.network, until });
        }
    }

    fn pauses(&self, network: IpAddr, now: Instant) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.network == network && now < pause.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn stream() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        TcpStream::connect(listener.local_addr().expect("address")).expect("connect")
    }

    fn cookie(of: u8) -> Cookie {
        [of; COOKIE_BYTES]
    }

    #[test]
    fn streams_are_in_the_order_in_which_they_came_and_not_in_that_of_their_cookies() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let clients: Vec<TcpStream> =
            (0..4).map(|_| TcpStream::connect(address).expect("a client")).collect();
        let mut came = Arrivals::default();
        let mut taken: Vec<TcpStream> =
            clients.iter().map(|_| listener.accept().expect("a stream").0).collect();
        taken.iter().for_each(|stream| came.came(stream));
        taken.rotate_left(3);
        taken.swap(1, 2);
        came.sort(&mut taken);
        let ports = |streams: &[TcpStream], of: fn(&TcpStream) -> SocketAddr| -> Vec<u16> {
            streams.iter().map(|stream| of(stream).port()).collect()
        };
        let wanted = ports(&clients, |stream| stream.local_addr().expect("an address"));
        assert_eq!(ports(&taken, |stream| stream.peer_addr().expect("an address")), wanted);
        (0..ARRIVALS_KEPT).for_each(|_| came.came(&taken[1]));
        assert_eq!(came.0.len(), ARRIVALS_KEPT, "a crowd fills no memory");
    }

    #[test]
    fn who_had_a_test_that_others_waited_for_leaves_them_as_long() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let granted = turns.begin(cookie(1), 1, ONE, at(0)).expect("it is free");
        assert!(turns.begin(cookie(2), 1, ONE, at(1)).is_none(), "one at a time");
        let other = turns.sort(stream(), &cookie(3), OTHER, at(2));
        assert!(matches!(other, Caller::TooEarly(_)) && granted.is_awaited.load(SeqCst));
        turns.end(at(4));
        assert!(turns.begin(cookie(4), 1, ONE, at(7)).is_none(), "it had four seconds");
        assert!(matches!(turns.sort(stream(), &cookie(4), ONE, at(7)), Caller::TooEarly(_)));
        assert!(matches!(turns.sort(stream(), &cookie(5), OTHER, at(7)), Caller::Client(_)));
        assert!(turns.begin(cookie(5), 1, OTHER, at(7)).is_some());
        turns.end(at(8));
        assert!(turns.begin(cookie(6), 1, OTHER, at(8)).is_some(), "nobody waited for it");
    }

    #[test]
    fn a_client_of_the_same_network_waits_too_and_nobody_leaves_it_room() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let granted = turns.begin(cookie(1), 1, ONE, at(0)).expect("it is free");
        turns.sort(stream(), &cookie(1), ONE, at(0));
        turns.sort(stream(), &cookie(1), ONE, at(1));
        assert!(!granted.is_awaited.load(SeqCst), "one stream too many is nobody who waits");
        turns.sort(stream(), &cookie(2), ONE, at(2));
        assert!(granted.is_awaited.load(SeqCst));
        turns.end(at(4));
        assert!(turns.begin(cookie(1), 1, ONE, at(4)).is_some(), "no other network waited");
    }

    #[test]
    fn a_pause_ends_and_is_never_longer_than_its_bound() {
        let now = Instant::now();
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        for (took, paused) in [(4, 4), (3600, PAUSE_MAX.as_secs())] {
            let mut turns = Turns::default();
            drop(turns.begin(cookie(1), 0, ONE, at(0)).expect("it is free"));
            turns.sort(stream(), &cookie(2), OTHER, at(1));
            turns.end(at(took));
            assert!(turns.begin(cookie(3), 0, ONE, at(took + paused - 1)).is_none());
            assert!(turns.begin(cookie(3), 0, ONE, at(took + paused)).is_some());
        }
    }

    #[test]
    fn no_more_streams_are_taken_than_were_asked_for() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let granted = turns.begin(cookie(1), 2, ONE, now).expect("it is free");
        assert!(turns.is_of_current(&cookie(1)) && !turns.is_of_current(&cookie(2)));
        let mut sorted = || turns.sort(stream(), &cookie(1), ONE, now);
        assert!(matches!([sorted(), sorted()], [Caller::Stream, Caller::Stream]));
        assert!(matches!(sorted(), Caller::TooEarly(_)));
        assert_eq!(granted.streams.try_iter().count(), 2);
    }
}
