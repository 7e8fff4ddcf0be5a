//! What a client of ours as an iperf3 server asks for: how much, which way, and whether that is
//! within the limits.

use super::{Parameters, STEP_WITHIN, State, say};
use narrows_control::limits::Limits;
use nix::sys::resource::{UsageWho, getrusage};
use socket2::SockRef;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Limits of a test.
pub const STREAMS_MAX: u32 = 128;
pub const SECONDS_MAX: u32 = 3600;
pub const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// What the buffers of all sockets of a test may take where its owner says nothing.
pub const WINDOWS_BYTES_MAX: u64 = 4 << 30;
/// Bytes of a datagram's head: seconds, microseconds and a counter of four or eight bytes.
pub const HEAD: usize = 16;

/// Why a test is refused. The protocol has numbers for it; the client has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its address is not allowed. "test authorization failed"
    Address = 142,
    /// "test duration too long"
    Seconds = 5,
    /// "number of parallel streams too large"
    Streams = 6,
    /// "block size too large"
    Memory = 7,
    /// "socket buffer size too large"
    Window = 8,
    /// "total required bandwidth is larger than server limit"
    Rate = 27,
    /// "no SCTP support available"
    Sctp = 18,
    /// A datagram's size. "block size invalid"
    Datagram = 20,
}

impl Refusal {
    /// Tells the client: its error number, and the system's, of which there is none.
    pub fn tell(self, mut control: &TcpStream) -> io::Result<()> {
        say(control, State::ServerError)?;
        control.write_all(&(self as u32).to_be_bytes())?;
        control.write_all(&[0; 4])
    }
}

/// Which way a test's payload goes, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    Here,
    /// To the client.
    There,
    /// Both at once, by streams of their own.
    Both,
}

pub fn direction(asked: &Parameters) -> Direction {
    match (asked.bidirectional == Some(true), asked.reverse == Some(true)) {
        (true, _) => Direction::Both,
        (false, true) => Direction::There,
        (false, false) => Direction::Here,
    }
}

/// Streams of all directions.
pub fn flows(asked: &Parameters) -> u32 {
    asked.parallel.saturating_mul(if direction(asked) == Direction::Both { 2 } else { 1 })
}

/// How long a test may go on: what it asked for, and a step more for a client that is late to say
/// that it is over; or all that is allowed where it asked for bytes.
pub fn longest(asked: &Parameters, limits: &Limits) -> Duration {
    let most = limits.seconds.unwrap_or(SECONDS_MAX).min(SECONDS_MAX);
    if asked.num > 0 || asked.blockcount > 0 || asked.time == 0 {
        return Duration::from_secs(most.into());
    }
    Duration::from_secs(asked.time.saturating_add(asked.omit).into()) + STEP_WITHIN
}

/// Bytes that the sockets of a test may take: the kernel doubles what is asked for, and has it for
/// each direction.
fn sockets_bytes(asked: &Parameters) -> u64 {
    asked.window.unwrap_or(0).saturating_mul(4).saturating_mul(flows(asked).into())
}

/// Gives a stream's socket what the client asks both ends for.
pub fn prepare(socket: SockRef<'_>, asked: &Parameters) -> io::Result<()> {
    if let Some(window) = asked.window.filter(|window| *window > 0) {
        let bytes = usize::try_from(window).unwrap_or(usize::MAX);
        socket.set_send_buffer_size(bytes)?;
        socket.set_recv_buffer_size(bytes)?;
    }
    if asked.udp == Some(true) {
        return Ok(());
    }
    if let Some(name) = &asked.congestion {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    match asked.mss.filter(|mss| *mss > 0) {
        Some(mss) => socket.set_tcp_mss(mss),
        None => Ok(()),
    }
}

/// What is beyond the limits of the program or of its owner.
pub fn within_limits(asked: &Parameters, limits: &Limits) -> Result<(), (Refusal, String)> {
    let no = |refusal: Refusal, why: String| Err((refusal, why));
    let (count, seconds) = (flows(asked), u64::from(asked.time) + u64::from(asked.omit));
    let most = limits.seconds.unwrap_or(SECONDS_MAX).min(SECONDS_MAX);
    if asked.sctp == Some(true) {
        return no(Refusal::Sctp, "SCTP is not offered".into());
    }
    if seconds > most.into() {
        return no(Refusal::Seconds, format!("{seconds} s, at most {most}"));
    }
    let most = limits.streams.unwrap_or(STREAMS_MAX).min(STREAMS_MAX);
    if asked.parallel == 0 || count > most {
        return no(Refusal::Streams, format!("{count} streams, at most {most}"));
    }
    if asked.udp == Some(true) && !(HEAD as u64..=65_507).contains(&asked.len) {
        return no(Refusal::Datagram, format!("datagrams of {} B", asked.len));
    }
    // What is received takes a buffer of a stream too; a datagram's is as large as any.
    let each = if asked.udp == Some(true) { 1 << 16 } else { asked.len };
    let bytes = each.saturating_mul(count.into());
    let most = limits.memory_bytes.map_or(u64::MAX, |most| most.0);
    if !(1..=MESSAGE_BYTES_MAX).contains(&asked.len) || bytes > most {
        return no(Refusal::Memory, format!("{bytes} B of buffers, messages of {} B", asked.len));
    }
    let sockets = sockets_bytes(asked);
    if sockets > WINDOWS_BYTES_MAX || sockets.saturating_add(bytes) > most {
        return no(Refusal::Window, format!("{sockets} B of sockets' buffers"));
    }
    let rate = asked.bandwidth.filter(|rate| *rate > 0);
    let rate = rate.map(|rate| rate.saturating_mul(asked.parallel.into()));
    match (limits.rate_bps, rate) {
        (Some(most), rate)
            if direction(asked) != Direction::Here && rate.is_none_or(|rate| rate > most) =>
        {
            let says = rate.map_or("no pace (-b)".to_owned(), |rate| format!("{rate} bit/s"));
            no(Refusal::Rate, format!("{says}, this end sends at most {most}"))
        }
        _ => Ok(()),
    }
}

/// CPU time of this process at a moment.
pub struct Used {
    at: Instant,
    user: f64,
    system: f64,
}

impl Used {
    pub fn now() -> Self {
        let seconds =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let of = |time: fn(&nix::sys::resource::Usage) -> nix::sys::time::TimeVal| {
            usage.as_ref().map_or(0.0, |usage| seconds(time(usage)))
        };
        Self {
            at: Instant::now(),
            user: of(nix::sys::resource::Usage::user_time),
            system: of(nix::sys::resource::Usage::system_time),
        }
    }

    /// Per cent of one CPU since then, in user mode and in the kernel.
    pub fn shares(&self) -> (f64, f64) {
        let now = Self::now();
        let percent = 100.0 / self.at.elapsed().as_secs_f64().max(1e-9);
        ((now.user - self.user) * percent, (now.system - self.system) * percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_of_the_owner_holds() {
        let limits = Limits {
            seconds: Some(5),
            streams: Some(4),
            memory_bytes: Some(narrows_model::Bytes::mib(1)),
            rate_bps: Some(1_000_000),
            ..Limits::default()
        };
        let asked = || Parameters { time: 5, parallel: 4, len: 1000, ..Parameters::default() };
        let refused = |asked: &Parameters| within_limits(asked, &limits).err().map(|(why, _)| why);
        assert_eq!(refused(&asked()), None);
        assert_eq!(refused(&Parameters { omit: 1, ..asked() }), Some(Refusal::Seconds));
        assert_eq!(refused(&Parameters { parallel: 5, ..asked() }), Some(Refusal::Streams));
        let both = Parameters { bidirectional: Some(true), bandwidth: Some(1), ..asked() };
        assert_eq!(refused(&both), Some(Refusal::Streams), "eight flows");
        assert_eq!(refused(&Parameters { parallel: 2, ..both.clone() }), None);
        assert_eq!(refused(&Parameters { len: 1 << 19, ..asked() }), Some(Refusal::Memory));
        let back = |bandwidth| Parameters { reverse: Some(true), bandwidth, ..asked() };
        assert_eq!(refused(&back(None)), Some(Refusal::Rate));
        assert_eq!(refused(&back(Some(0))), Some(Refusal::Rate), "0 is as fast as it goes");
        assert_eq!(refused(&back(Some(250_001))), Some(Refusal::Rate), "of four streams");
        assert_eq!(refused(&back(Some(250_000))), None);
        // 130,000 bytes for each way, doubled by the kernel, and two flows: 1.04 of 1.05 MB.
        let window = |window| Parameters { window, parallel: 2, ..asked() };
        assert_eq!(refused(&window(Some(130_000))), None);
        assert_eq!(refused(&window(Some(131_000))), Some(Refusal::Window));
        assert_eq!(refused(&window(Some(u64::MAX))), Some(Refusal::Window));
        // A test by bytes has no time of its own.
        let bytes = Parameters { num: 1 << 40, time: 0, ..asked() };
        assert_eq!(longest(&bytes, &limits), Duration::from_secs(5));
    }

    #[test]
    fn the_programs_own_limits_hold_without_an_owners() {
        let asked = || Parameters { time: 1, parallel: 1, len: 1000, ..Parameters::default() };
        let refused =
            |asked: Parameters| within_limits(&asked, &Limits::default()).err().map(|(why, _)| why);
        assert_eq!(refused(Parameters { time: 3600, parallel: 128, ..asked() }), None);
        assert_eq!(refused(Parameters { time: 3600, omit: 1, ..asked() }), Some(Refusal::Seconds));
        assert_eq!(refused(Parameters { parallel: 129, ..asked() }), Some(Refusal::Streams));
        assert_eq!(refused(Parameters { parallel: 0, ..asked() }), Some(Refusal::Streams));
        assert_eq!(refused(Parameters { len: 64 << 20, ..asked() }), None);
        assert_eq!(refused(Parameters { len: (64 << 20) + 1, ..asked() }), Some(Refusal::Memory));
        assert_eq!(refused(Parameters { len: 0, ..asked() }), Some(Refusal::Memory));
        assert_eq!(refused(Parameters { sctp: Some(true), ..asked() }), Some(Refusal::Sctp));
        let udp = |len: u64| refused(Parameters { udp: Some(true), len, ..asked() });
        assert_eq!([16, 65_507].map(udp), [None; 2]);
        assert_eq!([15, 65_508].map(udp), [Some(Refusal::Datagram); 2]);
        // A datagram may be as large as any, whatever was said of it.
        let few = Limits { memory_bytes: Some(narrows_model::Bytes(65_535)), ..Limits::default() };
        let small = Parameters { udp: Some(true), len: 16, ..asked() };
        assert!(within_limits(&small, &few).is_err_and(|(why, _)| why == Refusal::Memory));
        let exact = Parameters { len: 65_535, ..asked() };
        assert!(within_limits(&exact, &few).is_ok() && within_limits(&asked(), &few).is_ok());
        // An owner allows no more than the program does.
        let wide = Limits { seconds: Some(9999), streams: Some(9999), ..Limits::default() };
        let huge = Parameters { window: Some(1 << 40), ..asked() };
        assert!(within_limits(&huge, &wide).is_err_and(|(why, _)| why == Refusal::Window));
        let many = Parameters { parallel: 129, ..asked() };
        assert!(within_limits(&many, &wide).is_err());
        assert!(within_limits(&Parameters { time: 3601, ..asked() }, &wide).is_err());
        // What is only received needs no pace.
        let slow = Limits { rate_bps: Some(1), ..Limits::default() };
        assert!(within_limits(&asked(), &slow).is_ok());
    }

    #[test]
    fn directions_flows_and_lengths() {
        let asked = |reverse, bidirectional| Parameters {
            reverse,
            bidirectional,
            parallel: 3,
            time: 4,
            omit: 1,
            ..Parameters::default()
        };
        let (no, yes) = (Some(false), Some(true));
        let of = |asked: Parameters| (direction(&asked), flows(&asked));
        assert_eq!(of(asked(None, None)), (Direction::Here, 3));
        assert_eq!(of(asked(no, no)), (Direction::Here, 3));
        assert_eq!(of(asked(yes, no)), (Direction::There, 3));
        assert_eq!(of(asked(no, yes)), (Direction::Both, 6));
        let limits = Limits { seconds: Some(70), ..Limits::default() };
        let seconds = |change: &dyn Fn(&mut Parameters), limits: &Limits| {
            let mut asked = asked(None, None);
            change(&mut asked);
            longest(&asked, limits).as_secs()
        };
        assert_eq!(seconds(&|_| {}, &limits), 5 + STEP_WITHIN.as_secs());
        assert_eq!(seconds(&|asked| asked.num = 1, &limits), 70);
        assert_eq!(seconds(&|asked| asked.blockcount = 1, &limits), 70);
        assert_eq!(seconds(&|asked| asked.time = 0, &limits), 70);
        assert_eq!(seconds(&|asked| asked.time = 0, &Limits::default()), 3600);
    }

    #[test]
    fn a_busy_thread_is_a_share_of_one_cpu() {
        let used = Used::now();
        while used.at.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(0);
        }
        let (user, system) = used.shares();
        // Other tests run beside it, and others' processes.
        assert!(user > 5.0 && user < 6400.0 && (0.0..6400.0).contains(&system), "{user} {system}");
    }
}
