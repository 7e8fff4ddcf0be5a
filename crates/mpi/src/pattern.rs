//! Who sends what to whom, and how long each iteration takes.

use crate::samples::Summary;
use crate::{Mpi, Window};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A message there and one back, between the first pair of ranks.
    PingPong,
    /// A window of messages one way, then a word back.
    Bandwidth,
    /// A window each way at once.
    BothWays,
    /// The window of `Bandwidth` between all pairs at once.
    Pairs,
    /// A sum over all ranks, known to all.
    Allreduce,
    /// Each rank sends a message to every rank.
    Alltoall,
}

impl Pattern {
    /// All of them, by name.
    pub const ALL: [Self; 6] = [
        Self::PingPong,
        Self::Bandwidth,
        Self::BothWays,
        Self::Pairs,
        Self::Allreduce,
        Self::Alltoall,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "pingpong",
            Self::Bandwidth => "bandwidth",
            Self::BothWays => "both-ways",
            Self::Pairs => "pairs",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
        }
    }

    /// The pattern of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// The word of its workload: that of the OSU benchmark, where one measures the same.
    pub fn word(self) -> &'static str {
        match self {
            Self::PingPong => "mpi-latency",
            Self::Bandwidth => "mpi-bandwidth",
            Self::BothWays => "mpi-bi-directional-bandwidth",
            Self::Pairs => "mpi-multiple-bandwidth",
            Self::Allreduce => "mpi-allreduce-latency",
            Self::Alltoall => "mpi-all-to-all-latency",
        }
    }

    /// Whether its figure is a rate and not a time.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::Bandwidth | Self::BothWays | Self::Pairs)
    }

    /// Whether all ranks do the same.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::Allreduce | Self::Alltoall)
    }

    /// The smallest message that it can send, in bytes: a rate needs one, a sum a number.
    pub fn least_bytes(self) -> u64 {
        match self {
            Self::PingPong => 0,
            Self::Bandwidth | Self::BothWays | Self::Pairs | Self::Alltoall => 1,
            Self::Allreduce => 8,
        }
    }

    /// The figure of a run, from what the ranks say: nanoseconds, or bits a second. A ping-pong's
    /// is half of its round trip; a collective's that of the rank that waits longest.
    pub fn figure(self, ranks: &[Summary], of: impl Fn(&Summary) -> f64, message: &Message) -> f64 {
        let timed = ranks.iter().filter(|rank| rank.count > 0);
        let bits = 8.0 * message.bytes as f64 * message.window as f64;
        let rate = |rank: &Summary| bits * 1e9 / of(rank).max(1.0);
        match self {
            Self::PingPong => timed.map(of).next().unwrap_or_default() / 2.0,
            Self::Bandwidth | Self::Pairs => timed.map(rate).sum(),
            Self::BothWays => 2.0 * timed.map(rate).sum::<f64>(),
            Self::Allreduce | Self::Alltoall => timed.map(of).fold(0.0, f64::max),
        }
    }
}

/// What is sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Bytes of one message.
    pub bytes: usize,
    /// Messages under way at once, where the pattern has a window.
    pub window: usize,
    /// Whether all messages of a window are in one buffer at either end, and not in one each.
    pub one_buffer: bool,
}

/// The most that a window's buffer takes, in bytes: its messages are fewer where they are long.
const WINDOW_BYTES: usize = 64 << 20;

impl Message {
    /// A message with a buffer of its own for each of a window, and the window that fits into
    /// memory.
    pub fn of(bytes: usize, window: usize) -> Self {
        let window = window.min(WINDOW_BYTES / bytes.max(1)).max(1);
        Self { bytes, window, one_buffer: false }
    }

    /// A message whose window is in one buffer at either end, of any length: what fits into a cache
    /// is copied in it. The OSU benchmarks measure so.
    pub fn in_one_buffer(bytes: usize, window: usize) -> Self {
        Self { bytes, window: window.max(1), one_buffer: true }
    }

    /// Bytes from one message of a window to the next.
    fn stride(&self) -> usize {
        if self.one_buffer { 0 } else { self.bytes }
    }
}

/// A rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRole {
    /// The rank that it talks to, in patterns of pairs.
    pub partner: Option<usize>,
    /// Whether it is the one that begins, and counts.
    pub leads: bool,
    /// Ranks on other hosts.
    pub far: usize,
    /// Whether the partner is on another host.
    pub crosses: bool,
}

impl RankRole {
    /// The part of a rank, from the hosts of all: pairs lie across hosts where they can.
    pub fn of(pattern: Pattern, rank: usize, hosts: &[usize]) -> Self {
        let own = hosts.get(rank).copied().unwrap_or_default();
        let far = hosts.iter().filter(|host| **host != own).count();
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        order.sort_by_key(|rank| (hosts.get(*rank).copied(), *rank));
        let half = order.len() / 2;
        let mut place = order.iter().position(|of| *of == rank).unwrap_or_default();
        let none = Self { partner: None, leads: false, far, crosses: false };
        if pattern.is_collective() || place >= 2 * half {
            return none;
        }
        let leads = place < half;
        place = if leads { place + half } else { place - half };
        let only_first = pattern != Pattern::Pairs;
        if only_first && place != 0 && place != half {
            return none;
        }
        let partner = order.get(place).copied();
        let crosses = partner.and_then(|with| hosts.get(with)).is_some_and(|host| *host != own);
        Self { partner, leads, far, crosses }
    }
}

/// Buffers of a rank, touched before anything is timed.
struct Buffers {
    out: Vec<u8>,
    into: Vec<u8>,
    numbers: Vec<f64>,
    sums: Vec<f64>,
}

/// Iterations before those that count, twice.
const WARM: usize = 10;
/// Bytes of a rank after which fewer of them do: a window of long messages takes a second over a
/// slow network.
const WARM_BYTES: usize = 64 << 20;
/// The most iterations of a run; each is kept until its end.
const ITERATIONS_MAX: u64 = 1_000_000;
/// The fewest, while they take no longer than so many times what was asked for.
const ITERATIONS_MIN: u64 = 20;
const LONGEST_TIMES: u64 = 25;
/// The fewest, whatever they take.
const ITERATIONS_LEAST: u64 = 3;

/// Runs a pattern for about so long, and says how long this rank's iterations took. All ranks call
/// it with the same words.
pub fn run(
    mpi: &dyn Mpi,
    pattern: Pattern,
    message: &Message,
    part: &RankRole,
    time: Duration,
) -> Summary {
    let ranks = if pattern == Pattern::Alltoall { mpi.size() } else { 1 };
    let window = if message.one_buffer { 1 } else { message.window };
    let slots = if pattern.is_rate() { window } else { ranks };
    // At least one byte: the word back needs it.
    let length = (message.bytes * slots).max(1);
    let numbers = message.bytes.div_ceil(size_of::<f64>());
    let mut buffers = Buffers {
        out: vec![b'n'; length],
        into: vec![b'-'; length],
        numbers: vec![1.0; numbers],
        sums: vec![0.0; numbers],
    };
    let takes_part = pattern.is_collective() || part.partner.is_some();
    mpi.barrier();
    let mut iterations = 0;
    let mut times = Vec::new();
    if takes_part {
        let warm = warm(pattern, message);
        timed(mpi, pattern, message, part, &mut buffers, warm);
        times = timed(mpi, pattern, message, part, &mut buffers, warm);
        iterations += 2 * warm as u64;
    }
    let mut planned = planned(&times, time).to_ne_bytes();
    mpi.share(&mut planned);
    let planned = u64::from_ne_bytes(planned);
    if takes_part {
        times = timed(mpi, pattern, message, part, &mut buffers, planned as usize);
        iterations += planned;
    }
    mpi.barrier();
    let counts = pattern.is_collective() || part.leads;
    let summary = if counts { Summary::of(times) } else { Summary::default() };
    payload(summary, pattern, message, part, iterations, mpi.size())
}

/// Iterations before those that count: the same at all ranks, which know nothing of each other yet.
fn warm(pattern: Pattern, message: &Message) -> usize {
    let at_once = if pattern.is_rate() { message.window } else { 1 };
    (WARM_BYTES / (message.bytes * at_once).max(1)).clamp(1, WARM)
}

/// How many iterations fill the time, from those that were tried; only rank 0's answer counts, and
/// it takes part in every pattern.
fn planned(tried: &[u64], time: Duration) -> u64 {
    let median = Summary::of(tried.to_vec()).p50_ns.max(1);
    let time = time.as_nanos() as u64;
    let is_long = median.saturating_mul(ITERATIONS_MIN) > time.saturating_mul(LONGEST_TIMES);
    let least = if is_long { ITERATIONS_LEAST } else { ITERATIONS_MIN };
    (time / median).clamp(least, ITERATIONS_MAX)
}

/// What the rank sent, in all iterations.
fn payload(
    summary: Summary,
    pattern: Pattern,
    message: &Message,
    part: &RankRole,
    iterations: u64,
    ranks: usize,
) -> Summary {
    let bytes = message.bytes as u64 * iterations;
    let window = message.window as u64;
    let to_partner = match pattern {
        Pattern::PingPong => bytes,
        Pattern::Bandwidth | Pattern::Pairs if part.leads => bytes * window,
        Pattern::BothWays => bytes * window,
        _ => 0,
    };
    let to_partner = if part.partner.is_some() { to_partner } else { 0 };
    let near = ranks.saturating_sub(part.far + 1);
    let (away, within) = match pattern {
        Pattern::Alltoall => (bytes * part.far as u64, bytes * near as u64),
        // Whatever the algorithm: a rank's numbers must reach another.
        Pattern::Allreduce => (0, if part.far == 0 { bytes } else { 0 }),
        _ if part.crosses => (to_partner, 0),
        _ => (0, to_partner),
    };
    Summary { away_bytes: away, within_bytes: within, ..summary }
}

/// Nanoseconds of each iteration: one reading of the clock between two of them.
fn timed(
    mpi: &dyn Mpi,
    pattern: Pattern,
    message: &Message,
    part: &RankRole,
    buffers: &mut Buffers,
    iterations: usize,
) -> Vec<u64> {
    let mut times = Vec::with_capacity(iterations);
    let mut before = Instant::now();
    for _ in 0..iterations {
        once(mpi, pattern, message, part, buffers);
        let now = Instant::now();
        times.push((now - before).as_nanos() as u64);
        before = now;
    }
    times
}

fn once(
    mpi: &dyn Mpi,
    pattern: Pattern,
    message: &Message,
    part: &RankRole,
    buffers: &mut Buffers,
) {
    let Message { bytes, window, .. } = *message;
    let with = part.partner.unwrap_or_default();
    match pattern {
        Pattern::PingPong if part.leads => {
            mpi.send(first(&buffers.out, bytes), with);
            mpi.receive(first_mut(&mut buffers.into, bytes), with);
        }
        Pattern::PingPong => {
            mpi.receive(first_mut(&mut buffers.into, bytes), with);
            mpi.send(first(&buffers.out, bytes), with);
        }
        Pattern::Bandwidth | Pattern::Pairs if part.leads => {
            exchange(mpi, message, buffers, [window, 0], with);
            mpi.receive(first_mut(&mut buffers.into, 1), with);
        }
        Pattern::Bandwidth | Pattern::Pairs => {
            exchange(mpi, message, buffers, [0, window], with);
            mpi.send(first(&buffers.out, 1), with);
        }
        Pattern::BothWays => exchange(mpi, message, buffers, [window; 2], with),
        Pattern::Allreduce => mpi.sum(&buffers.numbers, &mut buffers.sums),
        Pattern::Alltoall => mpi.to_all(&buffers.out, &mut buffers.into, bytes),
    }
}

/// The first message of a buffer.
fn first(buffer: &[u8], bytes: usize) -> &[u8] {
    buffer.get(..bytes).unwrap_or_default()
}

/// The same, to be written.
fn first_mut(buffer: &mut [u8], bytes: usize) -> &mut [u8] {
    buffer.get_mut(..bytes).unwrap_or_default()
}

/// So many messages there and so many back at once.
fn exchange(
    mpi: &dyn Mpi,
    message: &Message,
    buffers: &mut Buffers,
    [sends, receives]: [usize; 2],
    with: usize,
) {
    let Buffers { out, into, .. } = buffers;
    let stride = message.stride();
    mpi.exchange(Window { out, into, each: message.bytes, stride, sends, receives }, with);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn pairs_lie_across_hosts_however_ranks_are_laid_out() {
        for hosts in [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] {
            for rank in 0..4 {
                let part = RankRole::of(Pattern::Pairs, rank, &hosts);
                let partner = part.partner.expect("a partner");
                let back = RankRole::of(Pattern::Pairs, partner, &hosts);
                assert_eq!(back.partner, Some(rank), "{hosts:?}");
                assert!(part.crosses && part.leads != back.leads, "{hosts:?} {rank}");
            }
        }
        let of = |rank, hosts: &[usize]| RankRole::of(Pattern::PingPong, rank, hosts);
        assert_eq!(of(0, &[0, 1, 0, 1]).partner, Some(1));
        assert_eq!(of(2, &[0, 1, 0, 1]).partner, None);
        // One host, and an odd one out.
        assert_eq!(of(0, &[0, 0, 0]).partner, Some(1));
        assert_eq!(of(2, &[0, 0, 0]).partner, None);
        assert!(!of(0, &[0, 0]).crosses);
        assert_eq!(of(0, &[0]).partner, None);
    }

    #[test]
    fn figures_are_halves_sums_and_the_slowest() {
        let rank = |p50_ns| Summary { count: 9, p50_ns, ..Summary::default() };
        let idle = Summary::default();
        let message = Message::of(1000, 10);
        let of = |pattern: Pattern, ranks: &[Summary]| {
            pattern.figure(ranks, |rank| rank.p50_ns as f64, &message)
        };
        assert_eq!(of(Pattern::PingPong, &[rank(3000), idle]), 1500.0);
        assert_eq!(of(Pattern::Bandwidth, &[rank(8000), idle]), 10e9);
        assert_eq!(of(Pattern::BothWays, &[rank(8000), idle]), 20e9);
        assert_eq!(of(Pattern::Pairs, &[rank(8000), rank(16_000), idle, idle]), 15e9);
        assert_eq!(of(Pattern::Allreduce, &[rank(5), rank(9)]), 9.0);
    }

    #[test]
    fn payload_is_counted_where_it_goes() {
        let message = Message::of(10, 4);
        let of = |pattern, leads, crosses, far, ranks| {
            let part = RankRole { partner: Some(1), leads, far, crosses };
            let of = payload(Summary::default(), pattern, &message, &part, 3, ranks);
            (of.away_bytes, of.within_bytes)
        };
        assert_eq!(of(Pattern::PingPong, true, true, 1, 2), (30, 0));
        assert_eq!(of(Pattern::Bandwidth, true, false, 0, 2), (0, 120));
        assert_eq!(of(Pattern::Bandwidth, false, true, 1, 2), (0, 0));
        assert_eq!(of(Pattern::BothWays, false, true, 1, 2), (120, 0));
        assert_eq!(of(Pattern::Alltoall, false, false, 2, 4), (60, 30));
        assert_eq!(of(Pattern::Allreduce, false, false, 0, 2), (0, 30));
    }

    #[test]
    fn long_messages_have_a_smaller_window() {
        assert_eq!(Message::of(4 << 20, 64).window, 16);
        assert_eq!(Message::of(0, 64).window, 64);
        assert_eq!(Message::of(1 << 30, 64).window, 1);
        assert_eq!(Message::in_one_buffer(1 << 30, 64).window, 64, "there is no more of it");
    }

    #[test]
    fn a_ping_pong_may_be_empty_and_a_sum_has_a_number() {
        use Pattern::{Allreduce, Alltoall, Bandwidth, BothWays, Pairs, PingPong};
        let least = [PingPong, Bandwidth, BothWays, Pairs, Alltoall, Allreduce];
        assert_eq!(least.map(Pattern::least_bytes), [0, 1, 1, 1, 1, 8]);
    }

    /// A rank whose calls are written down, and that nobody answers.
    struct Told(RefCell<Vec<String>>, usize);

    impl Told {
        fn call(&self, says: String) {
            self.0.borrow_mut().push(says);
        }
    }

    impl Mpi for Told {
        fn rank(&self) -> usize {
            0
        }
        fn size(&self) -> usize {
            self.1
        }
        fn version(&self) -> &str {
            "told"
        }
        fn host(&self) -> String {
            "here".to_owned()
        }
        fn barrier(&self) {
            self.call("barrier".to_owned());
        }
        fn send(&self, bytes: &[u8], to: usize) {
            self.call(format!("send {} to {to}", bytes.len()));
        }
        fn receive(&self, into: &mut [u8], from: usize) {
            self.call(format!("receive {} from {from}", into.len()));
        }
        fn exchange(&self, window: Window<'_>, with: usize) {
            let Window { out, into, each, stride, sends, receives } = window;
            let messages = if stride == 0 { 1 } else { sends.max(receives) };
            assert_eq!([out.len(), into.len()], [messages * each; 2], "room for all, and no more");
            let place = if stride == 0 { " in one place" } else { "" };
            self.call(format!("{sends} there, {receives} back of {each} with {with}{place}"));
        }
        fn sum(&self, of: &[f64], into: &mut [f64]) {
            self.call(format!("sum {} into {}", of.len(), into.len()));
        }
        fn to_all(&self, out: &[u8], into: &mut [u8], each: usize) {
            self.call(format!("{each} of {} to all, {}", out.len(), into.len()));
        }
        fn gather(&self, _: &[u8], _: &mut [u8]) {}
        fn share(&self, bytes: &mut [u8]) {
            self.call(format!("share {}", bytes.len()));
        }
        fn finish(&self) {}
    }

    /// The calls of one iteration, and what the rank says of those that counted.
    fn run_of(pattern: Pattern, leads: bool, partner: Option<usize>) -> (Vec<String>, Summary) {
        run_with(&Message::of(100, 4), pattern, leads, partner)
    }

    fn run_with(
        message: &Message,
        pattern: Pattern,
        leads: bool,
        partner: Option<usize>,
    ) -> (Vec<String>, Summary) {
        let mpi = Told(RefCell::default(), 3);
        let part = RankRole { partner, leads, far: 2, crosses: true };
        // No time at all: the fewest iterations.
        let told = run(&mpi, pattern, message, &part, Duration::ZERO);
        let calls = mpi.0.into_inner();
        let edges = calls.iter().filter(|call| *call == "barrier").count();
        assert_eq!((calls.first(), calls.last(), edges), (calls.last(), calls.first(), 2));
        let at = calls.iter().position(|call| call == "share 8").expect("the number is shared");
        let (warm, timed) = (&calls[1..at], &calls[at + 1..calls.len() - 1]);
        let once = timed[..timed.len() / 3].to_vec();
        let each = once.len();
        assert_eq!([warm.len(), timed.len()], [20 * each, 3 * each], "twice ten, then three");
        for iteration in warm.chunks(once.len().max(1)).chain(timed.chunks(once.len().max(1))) {
            assert_eq!(iteration, once);
        }
        (once, told)
    }

    #[test]
    fn an_iteration_is_what_its_pattern_says() {
        let calls = |pattern, leads| run_of(pattern, leads, Some(2)).0;
        assert_eq!(calls(Pattern::PingPong, true), ["send 100 to 2", "receive 100 from 2"]);
        assert_eq!(calls(Pattern::PingPong, false), ["receive 100 from 2", "send 100 to 2"]);
        for pattern in [Pattern::Bandwidth, Pattern::Pairs] {
            let leads = ["4 there, 0 back of 100 with 2", "receive 1 from 2"];
            assert_eq!(calls(pattern, true), leads);
            let follows = ["0 there, 4 back of 100 with 2", "send 1 to 2"];
            assert_eq!(calls(pattern, false), follows);
        }
        assert_eq!(calls(Pattern::BothWays, false), ["4 there, 4 back of 100 with 2"]);
        // 100 bytes are thirteen numbers of eight.
        assert_eq!(calls(Pattern::Allreduce, false), ["sum 13 into 13"]);
        assert_eq!(calls(Pattern::Alltoall, false), ["100 of 300 to all, 300"]);
        assert!(run_of(Pattern::PingPong, false, None).0.is_empty(), "nobody to talk to");
    }

    #[test]
    fn a_window_in_one_buffer_sends_as_much_from_one_place() {
        let message = Message::in_one_buffer(100, 4);
        let (calls, told) = run_with(&message, Pattern::Bandwidth, true, Some(2));
        assert_eq!(calls, ["4 there, 0 back of 100 with 2 in one place", "receive 1 from 2"]);
        assert_eq!((told.count, told.away_bytes), (3, 9200));
        let (calls, _) = run_with(&message, Pattern::BothWays, false, Some(2));
        assert_eq!(calls, ["4 there, 4 back of 100 with 2 in one place"]);
    }

    #[test]
    fn who_leads_counts_three_and_sends_twenty_three() {
        let of = |pattern, leads| {
            let told = run_of(pattern, leads, Some(2)).1;
            (told.count, told.away_bytes, told.within_bytes)
        };
        assert_eq!(of(Pattern::PingPong, true), (3, 2300, 0));
        assert_eq!(of(Pattern::PingPong, false), (0, 2300, 0), "the other end counts");
        assert_eq!(of(Pattern::Bandwidth, true), (3, 9200, 0));
        assert_eq!(of(Pattern::Alltoall, false), (3, 4600, 0), "to two ranks elsewhere");
    }

    #[test]
    fn a_window_of_long_messages_is_warmed_up_with_few() {
        let of = |pattern, bytes, window| warm(pattern, &Message::of(bytes, window));
        assert_eq!([0, 8, 1 << 20].map(|bytes| of(Pattern::PingPong, bytes, 1)), [10; 3]);
        let windows = [8, 64 << 10, 128 << 10, 1 << 20, 4 << 20, 1 << 30];
        let warm = windows.map(|bytes| of(Pattern::Bandwidth, bytes, 64));
        assert_eq!(warm, [10, 10, 8, 1, 1, 1]);
    }

    #[test]
    fn iterations_fill_the_time_within_their_bounds() {
        let of = |each_ns: u64, time| planned(&[each_ns, each_ns, 9 * each_ns], time);
        assert_eq!(of(1000, Duration::from_secs(1)), 1_000_000, "no more than are kept");
        assert_eq!(of(10_000, Duration::from_secs(1)), 100_000);
        assert_eq!(of(1_000_000_000, Duration::from_secs(1)), 20, "no fewer for twenty seconds");
        assert_eq!(of(1_250_000_000, Duration::from_secs(1)), 20);
        assert_eq!(
            of(1_250_000_001, Duration::from_secs(1)),
            3,
            "more than 25 times what was asked"
        );
        assert_eq!(of(5_000_000_000, Duration::from_millis(200)), 3);
    }

    #[test]
    fn patterns_have_the_words_of_the_osu_benchmarks() {
        let words = Pattern::ALL.map(|pattern| (pattern.name(), pattern.word()));
        let wanted = [
            ("pingpong", "mpi-latency"),
            ("bandwidth", "mpi-bandwidth"),
            ("both-ways", "mpi-bi-directional-bandwidth"),
            ("pairs", "mpi-multiple-bandwidth"),
            ("allreduce", "mpi-allreduce-latency"),
            ("alltoall", "mpi-all-to-all-latency"),
        ];
        assert_eq!(words, wanted);
        for pattern in Pattern::ALL {
            assert_eq!(Pattern::named(pattern.name()), Some(pattern));
            assert_eq!(pattern.is_rate(), pattern.word().ends_with("bandwidth"), "{pattern:?}");
        }
        assert_eq!(Pattern::named("mpi-latency"), None);
        assert_eq!(
            Pattern::ALL.map(Pattern::is_collective),
            [false, false, false, false, true, true]
        );
    }
}
