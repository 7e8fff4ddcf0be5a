//! Asks a management controller (BMC) for its Redfish resources over TLS: signs in, follows the
//! links to memory, processors and PCIe devices on that one host, within limits, and signs out
//! again, however it ends. What the resources mean is read elsewhere.

#![forbid(unsafe_code)]

mod address;
mod certificate;
mod client;
mod error;
mod pass;
mod session;
mod transport;
mod walk;

pub use address::{Address, BadAddress};
pub use certificate::{BadFingerprint, Fingerprint};
pub use error::BmcError;
pub use walk::{Found, Unread};

use client::Client;
use session::Session;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use walk::Walk;
use zeroize::Zeroizing;

/// A password: wiped from memory when it is dropped, and never shown.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a password as it was typed or read, without the end of its line.
    pub fn of(text: &str) -> Self {
        Self(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Takes a text over, so that no copy of it is left.
    pub fn take(mut text: String) -> Self {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        Self(Zeroizing::new(text))
    }

    fn reveal(&self) -> &str {
        &self.0
    }
}

/// Who asks, and whom to believe.
#[derive(Default)]
pub struct Access {
    /// The account and its password; without it only what the controller tells everybody.
    pub user: Option<(String, Secret)>,
    /// The certificate to accept, whoever signed it; without it the system's roots decide.
    pub pin: Option<Fingerprint>,
}

/// What no controller may exceed. A server with 32 modules and 40 cards has some 200 resources of
/// a few KB each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests in all.
    pub requests: usize,
    /// Bytes of one answer.
    pub answer_bytes: u64,
    /// Bytes of all answers.
    pub all_bytes: u64,
    /// Until a connection is there.
    pub connect: Duration,
    /// From a request to the end of its answer.
    pub answer: Duration,
    /// Time that all requests together may take.
    pub all: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 2000,
            answer_bytes: 4 << 20,
            all_bytes: 64 << 20,
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            all: Duration::from_secs(900),
        }
    }
}

/// How far the asking is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Resources that are there.
    pub done: usize,
    /// Resources that are known to come; their own links may add more.
    pub waiting: usize,
    /// Time since the first request.
    pub since: Duration,
}

impl Progress {
    /// Time left, as if each resource took as long as those until now.
    pub fn left(&self) -> Duration {
        self.since.mul_f64(self.waiting as f64 / self.done.max(1) as f64)
    }
}

/// How often the caller is shown progress, and asks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time for signing out after a stop.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// Everything that the worker thread needs.
struct Order {
    address: Address,
    access: Access,
    limits: Limits,
    stopped: AtomicBool,
}

/// Asks a controller. `stop` ends it early, signed out; `show` is called while it goes on.
pub fn ask(
    address: Address,
    access: Access,
    limits: Limits,
    stop: &AtomicBool,
    mut show: impl FnMut(Progress),
) -> Result<Found, BmcError> {
    let client = Client::new(&address, access.pin.clone(), &limits)?;
    let order = Arc::new(Order { address, access, limits, stopped: AtomicBool::new(false) });
    let (told, hears) = mpsc::channel();
    let worker = {
        let (order, client) = (order.clone(), client.clone());
        thread::spawn(move || work(&order, &client, &told))
    };
    loop {
        match hears.recv_timeout(LOOK_EVERY) {
            Ok(progress) => show(progress),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return worker.join().unwrap_or(Err(BmcError::Stopped));
            }
        }
        if stop.load(Ordering::Relaxed) {
            order.stopped.store(true, Ordering::Relaxed);
            client.interrupt();
            // A connection that is still being made cannot be interrupted, and has no session.
            let until = Instant::now() + LEAVE_WITHIN;
            while !worker.is_finished() && Instant::now() < until {
                thread::sleep(LOOK_EVERY);
            }
            return Err(BmcError::Stopped);
        }
    }
}

/// Signs in, asks, signs out.
fn work(order: &Order, client: &Client, told: &Sender<Progress>) -> Result<Found, BmcError> {
    let session = Session::begin(client, order)?;
    let found = Walk::new(client, &session, order, told).all();
    let found = if order.stopped.load(Ordering::Relaxed) { Err(BmcError::Stopped) } else { found };
    session.end(client, order);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_what_waits() {
        let left = |done: usize, waiting: usize| {
            let since = Duration::from_secs(12);
            Progress { done, waiting, since }.left()
        };
        assert_eq!(left(4, 2), Duration::from_secs(6));
        assert_eq!(left(4, 0), Duration::ZERO);
        assert_eq!(left(0, 3), Duration::from_secs(36), "none is there yet");
    }

    #[test]
    fn a_password_ends_before_its_line_does() {
        for (text, want) in
            [("a\r\n", "a"), ("a \n\n", "a "), ("a", "a"), ("\n", ""), ("\na", "\na")]
        {
            assert_eq!(Secret::of(text).reveal(), want, "{text:?}");
            assert_eq!(Secret::take(text.to_owned()).reveal(), want, "{text:?}");
        }
    }

    #[test]
    fn limits_are_those_that_the_docs_tell() {
        let Limits { requests, answer_bytes, all_bytes, connect, answer, all } = Limits::default();
        assert_eq!((requests, answer_bytes, all_bytes), (2000, 4_194_304, 67_108_864));
        assert_eq!([connect, answer, all].map(|time| time.as_secs()), [10, 30, 900]);
    }
}
