//! The door of a server: connections that have not proved themselves yet, the key to an agent, or
//! that they are an iperf3 client to one that speaks its protocol.
//!
//! Strangers cost bounded memory and time, and keep out nobody: from [`EARLY`] standing on, each
//! newcomer may cost another stranger its place, with a chance that rises to certainty at
//! [`STRANGERS_MAX`]. Who is dropped is drawn from the network with most of them (an IPv4 address,
//! a /64 of IPv6), so that many of one network displace each other first. The newcomer itself is
//! let in: a peer that has the key proves it within a few round trips.

use crate::events::{Event, Teller};
use crate::listen;
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Up to so many strangers stand undisturbed.
const EARLY: usize = 64;
/// No more stand at once.
const STRANGERS_MAX: usize = 256;
/// The chance of a drop at [`EARLY`], of 1000.
const FIRST_CHANCE: usize = 300;
/// Strangers and those dropped whose threads have not ended yet; nobody else is let in before.
const HELD_MAX: usize = 288;

/// What is behind a door.
pub trait Service: Send + Sync + 'static {
    /// Why a connection was turned away, or its session broken off.
    type Error: fmt::Display;

    /// Whether anybody may connect from there; who may not is hung up on.
    fn allows(&self, from: IpAddr) -> bool;

    /// Takes a connection that needs no thread of its own, or gives it back.
    fn take(&self, stream: TcpStream) -> Option<TcpStream> {
        Some(stream)
    }

    /// Serves one connection; what is told of its end, if anything is.
    fn meet(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        admitted: &mut Admitted,
        log: &dyn Fn(Event),
    ) -> Result<Option<String>, Self::Error>;
}

/// Serves until `stop`. Each connection has a thread of its own, so that a silent one holds up
/// nobody; strangers make room for each other.
pub fn serve<S: Service>(
    listener: &TcpListener,
    service: &Arc<S>,
    stop: &AtomicBool,
    log: impl Fn(Event) + Send + Sync + 'static,
) {
    let teller = Arc::new(Teller::new(log));
    let door = Arc::new(Door::default());
    while !stop.load(SeqCst) {
        teller.tell_left_out();
        if door.is_full() {
            // The threads of those that made room end now; newcomers wait in the kernel.
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let Some((stream, from)) = listen::next(listener) else { continue };
        if !service.allows(from.ip()) {
            teller.tell(Event::TurnedAway(format!("{from}: not among the allowed addresses")));
            continue;
        }
        let Some(stream) = service.take(stream) else { continue };
        let (service, own) = (service.clone(), teller.clone());
        let started = door.admit(&stream, from.ip()).and_then(|admitted| {
            thread::Builder::new().spawn(move || meet(&*service, stream, from, admitted, &own))
        });
        if let Err(error) = started {
            teller.tell(Event::TurnedAway(format!("{from}: {error}")));
        }
    }
}

/// Serves one connection and tells of its end.
fn meet<S: Service>(
    service: &S,
    stream: TcpStream,
    from: SocketAddr,
    mut admitted: Admitted,
    teller: &Teller<impl Fn(Event)>,
) {
    match service.meet(stream, from, &mut admitted, &|event| teller.tell(event)) {
        Ok(said) => said.into_iter().for_each(|said| teller.tell(Event::Ended(said))),
        Err(_) if admitted.standing() == Standing::Dropped => {
            teller.tell(Event::Dropped(from.to_string()));
        }
        Err(error) => teller.tell(Event::TurnedAway(error.to_string())),
    }
}

/// Counts the strangers.
#[derive(Default)]
pub struct Door {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    next: u64,
    strangers: BTreeMap<u64, Unproved>,
    leaving: usize,
}

struct Unproved {
    network: IpAddr,
    /// The connection, to be closed from here.
    stream: TcpStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Unproved,
    /// It has proved what is asked of it.
    Proved,
    /// It had to make room.
    Dropped,
}

/// A connection that came in; it is counted until it proves itself, or is dropped.
pub struct Admitted {
    door: Arc<Door>,
    number: u64,
    proved: bool,
}

impl Door {
    /// Whether nobody else can be let in now.
    pub fn is_full(&self) -> bool {
        let inside = self.lock();
        inside.strangers.len() + inside.leaving >= HELD_MAX
    }

    /// Lets a connection in; a stranger may have to make room for it.
    pub fn admit(self: &Arc<Self>, stream: &TcpStream, from: IpAddr) -> io::Result<Admitted> {
        let stream = stream.try_clone()?;
        let mut inside = self.lock();
        if draw(1000) < chance(inside.strangers.len()) {
            inside.make_room();
        }
        let number = inside.next;
        inside.next += 1;
        inside.strangers.insert(number, Unproved { network: network(from), stream });
        drop(inside);
        Ok(Admitted { door: self.clone(), number, proved: false })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Closes the connection of a stranger of the network that has most of them.
    fn make_room(&mut self) {
        let mut of: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for stranger in self.strangers.values() {
            *of.entry(stranger.network).or_default() += 1;
        }
        let most = of.values().max().copied().unwrap_or(0);
        let crowd = |stranger: &Unproved| of.get(&stranger.network) == Some(&most);
        let crowd: Vec<u64> = self
            .strangers
            .iter()
            .filter_map(|(number, stranger)| crowd(stranger).then_some(*number))
            .collect();
        let Some(number) = crowd.get(draw(crowd.len())) else { return };
        if let Some(stranger) = self.strangers.remove(number) {
            // Whoever waits for a word of it hears its end.
            let _ = stranger.stream.shutdown(Shutdown::Both);
            self.leaving += 1;
        }
    }
}

impl Admitted {
    /// It has proved itself: it is a stranger no more, unless it was dropped before.
    pub fn prove(&mut self) -> Standing {
        self.proved |= self.door.lock().strangers.remove(&self.number).is_some();
        self.standing()
    }

    pub fn standing(&self) -> Standing {
        if self.proved {
            return Standing::Proved;
        }
        if self.door.lock().strangers.contains_key(&self.number) {
            Standing::Unproved
        } else {
            Standing::Dropped
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut inside = self.door.lock();
        if !self.proved && inside.strangers.remove(&self.number).is_none() {
            inside.leaving -= 1;
        }
    }
}

/// The chance, of 1000, that a newcomer costs one of so many strangers its place.
fn chance(standing: usize) -> usize {
    if standing < EARLY {
        return 0;
    }
    let over = (standing - EARLY).min(STRANGERS_MAX - EARLY);
    FIRST_CHANCE + (1000 - FIRST_CHANCE) * over / (STRANGERS_MAX - EARLY)
}

/// What one holder of addresses usually has: an address of IPv4, a /64 of IPv6.
pub fn network(of: IpAddr) -> IpAddr {
    match of.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// A number below `below`. Without random numbers the first is as good as any.
fn draw(below: usize) -> usize {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => (u64::from_le_bytes(bytes) % below.max(1) as u64) as usize,
        Err(_) => 0,
    }
}

/// Whether an error of a connection says that the other side closed it.
pub fn is_hang_up(error: &io::Error) -> bool {
    let reset = [Errno::ECONNRESET, Errno::EPIPE].map(|errno| errno as i32);
    error.kind() == io::ErrorKind::UnexpectedEof
        || error.raw_os_error().is_some_and(|errno| reset.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_chance_of_a_drop_rises_to_certainty() {
        assert_eq!([0, 63].map(chance), [0, 0]);
        assert_eq!([64, 160, 256, 400].map(chance), [300, 650, 1000, 1000]);
        assert!((64..256).all(|n| chance(n) <= chance(n + 1)));
    }

    #[test]
    fn a_network_is_an_address_of_ipv4_and_a_64_of_ipv6() {
        let at = |text: &str| network(text.parse().expect("address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
    }

    #[test]
    fn who_crowds_the_door_makes_room_and_others_stay() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let stream = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let door = Arc::new(Door::default());
        let from =
            |text: &str| door.admit(&stream, text.parse().expect("address")).expect("let in");
        let few: Vec<Admitted> = (0..20).map(|n| from(&format!("192.0.2.{n}"))).collect();
        let crowd: Vec<Admitted> = (0..600).map(|n| from(&format!("2001:db8::{n:x}"))).collect();
        assert!(few.iter().all(|admitted| admitted.standing() == Standing::Unproved));
        let stand = |crowd: &[Admitted]| {
            crowd.iter().filter(|admitted| admitted.standing() == Standing::Unproved).count()
        };
        assert!((100..=STRANGERS_MAX).contains(&(stand(&crowd) + 20)), "{}", stand(&crowd));
        assert!(door.is_full(), "until the threads of the dropped have ended");
        drop(crowd);
        assert!(!door.is_full());
        let mut late = from("2001:db8::1");
        assert_eq!(late.prove(), Standing::Proved);
        drop((late, few));
        let inside = door.lock();
        assert_eq!((inside.strangers.len(), inside.leaving), (0, 0));
    }
}
