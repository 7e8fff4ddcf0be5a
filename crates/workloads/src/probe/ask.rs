//! The end that connects: it asks, one question after the other, the most telling first, and
//! reports what it has when time is over.

use super::handshakes;
use super::line::Line;
use super::sizes::Search;
use super::words::{Heard, Says, Sent, Volley};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, Phase};
use narrows_model::probe::{Fragments, PathMtu, PathProbe, Train, WayProbe};
use narrows_model::{Bytes, Nanos};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

/// Small datagrams that are answered one by one.
const PINGS: u32 = 20;
/// How long one answer is waited for, at most.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// Answers that are waited for beyond round trips: the other end's thread has to be woken.
const SPARE: Duration = Duration::from_millis(30);
/// How often a question is asked again.
const ASKED: u32 = 6;
/// How often each size of a search is sent.
const COPIES: u16 = 4;
/// How often the two sizes of its end are sent once more, to be sure.
const SURE: u16 = 8;
/// Of those of the size that passes so many must come.
const SURE_LEAST: usize = 5;
/// Datagrams of either sort that fragments are tried with.
const FRAGMENTED: u16 = 12;
/// Trains of a way.
const TRAINS: usize = 10;
/// Packets of the first train, by which the length of the others is chosen.
const TRAIN_LEAST: u64 = 32;
/// Packets of the longest: with 1500 B each, 384 KB.
const TRAIN_MOST: u64 = 256;
/// How long a train should take to come.
const TRAIN_LASTS_NS: u64 = 60_000_000;
/// Fewer lost packets of all trains are no reason to look further.
const LOST_LEAST: u32 = 3;
/// Packets of a train that is paced: as many as the longest of the others.
const TRAIN_PACED: u64 = TRAIN_MOST;
/// Trains of the pace that is looked for.
const TRAINS_PACED: usize = 6;
/// The first pace: what a sleep of the sender takes in any case.
const GAP_LEAST_US: u16 = 50;
/// The slowest pace: 3 Mb/s with 1500 B each.
const GAP_MOST_US: u16 = 3200;
/// Packets of trains are not larger than this.
const TRAIN_PACKET_MAX: u64 = 9000;
/// The largest interface of which two fragments make one datagram.
const FRAGMENTED_MAX: u64 = 60_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

/// Asks everything; `tcp` is where connections are taken.
pub fn ask(
    lane: &mut Lane,
    line: Option<Line>,
    tcp: SocketAddr,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    lane.wait_at_gate();
    while lane.phase() < Phase::Window {
        thread::sleep(Duration::from_millis(1));
    }
    let mut found = PathProbe::default();
    let mut trips = Trips::none()?;
    if let Some(line) = line {
        let mut asker = Asker { lane, line, round: 0, round_trip: Duration::ZERO };
        found.is_udp_answered = asker.ping(&mut trips)?;
        if found.is_udp_answered {
            found.there.mtu = asker.mtu(Way::There)?;
            found.back.mtu = asker.mtu(Way::Back)?;
            found.there.fragments = asker.fragments(Way::There, found.there.mtu)?;
            found.back.fragments = asker.fragments(Way::Back, found.back.mtu)?;
        }
        found.handshakes = asker.handshakes(tcp, told)?;
        // A pace that was asked for is not what a train keeps.
        if found.is_udp_answered && told.job.params.rate_bps.is_none() {
            found.there.trains = asker.trains(Way::There, &found.there)?;
            found.back.trains = asker.trains(Way::Back, &found.back)?;
            found.there.paced = asker.paced(Way::There, &found.there.trains)?;
            found.back.paced = asker.paced(Way::Back, &found.back.trains)?;
            asker.look_closer(&mut found)?;
        }
        asker.end();
    } else {
        found.handshakes = Some(handshakes::probe(tcp, &told.job, ANSWER_WITHIN / 10)?);
    }
    Ok(LaneEnd { round_trips: Some(trips), probe: Some(Box::new(found)), ..LaneEnd::default() })
}

/// How many packets came of each of a volley's two sizes, which were sent in turn.
fn of_each(volley: &Volley, heard: &Heard) -> [usize; 2] {
    [0, 1].map(|first| {
        let of_size = (first..volley.packets()).step_by(2);
        of_size.filter(|index| heard.has(*index)).count()
    })
}

/// A volley of packets of one size as it is told.
fn train(size: u16, sent: &Sent, heard: &Heard) -> Train {
    Train {
        packet_bytes: Bytes(size.into()),
        sent: count(sent.packets),
        sent_ns: Nanos(sent.took_ns),
        came: count(heard.came),
        late: count(heard.late),
        came_ns: Nanos(heard.came_ns),
        tail: count(heard.tail),
        tail_ns: Nanos(heard.tail_ns),
        head: count(heard.head),
        head_ns: Nanos(heard.head_ns),
        rests: heard.gaps.map(|gaps| count(gaps.rests)),
        rests_ns: Nanos(heard.gaps.map_or(0, |gaps| gaps.rests_ns)),
        longest_ns: Nanos(heard.gaps.map_or(0, |gaps| gaps.longest_ns)),
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

struct Asker<'a> {
    lane: &'a mut Lane,
    line: Line,
    round: u32,
    /// The longest that was seen.
    round_trip: Duration,
}

impl Asker<'_> {
    fn is_over(&mut self) -> bool {
        self.lane.phase() > Phase::Window
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn answer_within(&self) -> Duration {
        (2 * self.round_trip + SPARE).min(ANSWER_WITHIN)
    }

    /// Asks for small answers; whether any came.
    fn ping(&mut self, trips: &mut Trips) -> Result<bool, LoadError> {
        let mut answered = false;
        for _ in 0..PINGS {
            if self.is_over() {
                break;
            }
            let round = self.next_round();
            let began = Instant::now();
            self.line.say(Says::Ping, round, &[]);
            if self.wait_for(Says::Pong, round, ANSWER_WITHIN)? {
                let took = began.elapsed();
                trips.took(took.as_nanos() as u64);
                self.round_trip = self.round_trip.max(took);
                self.lane.tally.moved(1, 0);
                answered = true;
            }
        }
        Ok(answered)
    }

    /// Waits for a word of this round; others are dropped.
    fn wait_for(&mut self, says: Says, round: u32, within: Duration) -> Result<bool, LoadError> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.line.hear(left)? {
                Some((word, _)) if word.says == says && word.round == round => return Ok(true),
                Some(_) if !left.is_zero() => {}
                _ => return Ok(false),
            }
        }
    }

    /// Sends a volley, or has one sent: what was sent, and what came.
    fn volley(&mut self, way: Way, volley: &Volley) -> Result<Option<(Sent, Heard)>, LoadError> {
        if self.is_over() {
            return Ok(None);
        }
        let done = match way {
            Way::There => self.there(volley)?,
            Way::Back => self.back(volley)?,
        };
        if done.is_some() {
            self.lane.tally.moved(1, 0);
        }
        Ok(done)
    }

    fn there(&mut self, volley: &Volley) -> Result<Option<(Sent, Heard)>, LoadError> {
        let round = self.next_round();
        let sent = self.line.volley(round, volley)?;
        // What another packet has overtaken comes a little later.
        thread::sleep(SPARE / 3);
        self.outcome(round, sent)
    }

    /// Asks what came of a volley.
    fn outcome(&mut self, round: u32, sent: Sent) -> Result<Option<(Sent, Heard)>, LoadError> {
        for _ in 0..ASKED {
            self.line.say(Says::Report, round, &[]);
            if self.wait_for(Says::Outcome, round, self.answer_within())? {
                let Sent { told_bytes, .. } = self.line.sent();
                return Ok(self.line.outcome().map(|heard| (Sent { told_bytes, ..sent }, heard)));
            }
            if self.is_over() {
                break;
            }
        }
        Ok(None)
    }

    fn back(&mut self, volley: &Volley) -> Result<Option<(Sent, Heard)>, LoadError> {
        let round = self.next_round();
        self.take_back(round, volley, |_| Ok(()))
    }

    /// Has a volley sent, and does something meanwhile, once, after it was asked for.
    fn take_back(
        &mut self,
        round: u32,
        volley: &Volley,
        mut meanwhile: impl FnMut(&mut Self) -> Result<(), LoadError>,
    ) -> Result<Option<(Sent, Heard)>, LoadError> {
        let lasts = Duration::from_micros(u64::from(volley.gap_us) + 100) * volley.packets() as u32;
        let mut arrivals = Vec::new();
        let mut sent = None;
        for _ in 0..ASKED {
            self.line.say(Says::Send, round, &volley.bytes());
            if arrivals.is_empty() {
                meanwhile(self)?;
            }
            let mut until = Instant::now() + lasts + self.answer_within();
            // While packets come the volley is not over, however slow the way is.
            while let Some((word, at_ns)) =
                self.line.hear(until.saturating_duration_since(Instant::now()))?
            {
                if word.round != round || self.is_over() {
                    continue;
                }
                match word.says {
                    Says::Packet => {
                        arrivals.push((word.index, at_ns));
                        until = until.max(Instant::now() + self.answer_within());
                    }
                    Says::Sent if sent.is_none() => {
                        sent = self.line.told();
                        until = Instant::now() + SPARE / 3;
                    }
                    _ => {}
                }
                if Instant::now() >= until {
                    break;
                }
            }
            if sent.is_some() || self.is_over() {
                break;
            }
        }
        Ok(sent.map(|sent| (sent, Heard::of(&arrivals))))
    }

    /// Searches the largest packet that passes; `None` where it cannot be told.
    fn mtu(&mut self, way: Way) -> Result<Option<PathMtu>, LoadError> {
        let Some(first) = self.facts(way)? else { return Ok(None) };
        let most = u16::try_from(first.interface_bytes).unwrap_or(u16::MAX);
        let mut search = Search::new(self.line.least_bytes(), most);
        let mut told_bytes = 0;
        loop {
            let sizes = search.next();
            if sizes.is_empty() {
                break;
            }
            let volley = Volley {
                sizes,
                copies: COPIES,
                gap_us: 300,
                may_fragment: false,
                is_train: false,
                class: None,
            };
            let Some((sent, heard)) = self.volley(way, &volley)? else { return Ok(None) };
            search.learn(&volley.sizes, |index| heard.has(index));
            told_bytes = sent.told_bytes;
        }
        if let Some(sizes) = search.passes.zip(search.vanishes)
            && !self.is_sure(way, sizes)?
        {
            return Ok(None);
        }
        Ok(Some(PathMtu {
            interface_bytes: Bytes(first.interface_bytes),
            passes_bytes: search.passes.map(bytes),
            vanishes_bytes: search.vanishes.map(bytes),
            told_bytes: (told_bytes > 0).then_some(Bytes(told_bytes)),
            used_bytes: Bytes(first.used_bytes),
        }))
    }

    /// What the sending end of a way knows before anything large was sent.
    fn facts(&mut self, way: Way) -> Result<Option<Sent>, LoadError> {
        let small = Volley {
            sizes: vec![self.line.least_bytes()],
            copies: 1,
            gap_us: 0,
            may_fragment: true,
            is_train: false,
            class: None,
        };
        match way {
            Way::There => Ok(Some(self.line.sent())),
            Way::Back => Ok(self.volley(way, &small)?.map(|(sent, _)| sent)),
        }
    }

    /// Whether packets of the larger of two sizes never come while those of the smaller do, sent in
    /// turn and one at a time: loss, a full queue or a policer would meet both.
    fn is_sure(&mut self, way: Way, (passes, vanishes): (u16, u16)) -> Result<bool, LoadError> {
        let volley = Volley {
            sizes: vec![passes, vanishes],
            copies: SURE,
            gap_us: 5000,
            may_fragment: false,
            is_train: true,
            class: None,
        };
        let Some((_, heard)) = self.volley(way, &volley)? else { return Ok(false) };
        let [smaller, larger] = of_each(&volley, &heard);
        Ok(smaller >= SURE_LEAST && larger == 0)
    }

    /// Sends datagrams that need two fragments, and as many that need none, in turn. Where large
    /// packets vanish, so would the first fragment: nothing is told of fragments then.
    fn fragments(
        &mut self,
        way: Way,
        mtu: Option<PathMtu>,
    ) -> Result<Option<Fragments>, LoadError> {
        let Some(mtu) = mtu.filter(|mtu| mtu.vanishes_bytes.is_none()) else { return Ok(None) };
        let interface = mtu.interface_bytes.0;
        let Some(size) = u16::try_from(interface + 600).ok().filter(|_| interface < FRAGMENTED_MAX)
        else {
            return Ok(None);
        };
        let volley = Volley {
            sizes: vec![self.line.least_bytes(), size],
            copies: FRAGMENTED,
            gap_us: 1000,
            may_fragment: true,
            is_train: true,
            class: None,
        };
        let Some((_, heard)) = self.volley(way, &volley)? else { return Ok(None) };
        let [whole_came, came] = of_each(&volley, &heard).map(|count| count as u32);
        Ok(Some(Fragments { sent: FRAGMENTED.into(), came, whole_came }))
    }

    fn handshakes(
        &mut self,
        tcp: SocketAddr,
        told: &Flow,
    ) -> Result<Option<narrows_model::probe::Handshakes>, LoadError> {
        if self.is_over() {
            return Ok(None);
        }
        handshakes::probe(tcp, &told.job, self.round_trip).map(Some)
    }

    /// Sends trains: one by which their length is chosen, and those that count.
    fn trains(&mut self, way: Way, known: &WayProbe) -> Result<Vec<Train>, LoadError> {
        let passes = known.mtu.and_then(|mtu| mtu.passes_bytes);
        let size = passes.map_or(576, |bytes| bytes.0.min(TRAIN_PACKET_MAX)) as u16;
        let mut trains = Vec::new();
        let Some(first) = self.train(way, size, TRAIN_LEAST, 0)? else { return Ok(trains) };
        let each_ns = first.came_ns.0 / u64::from(first.came.max(2) - 1);
        let packets = (TRAIN_LASTS_NS / each_ns.max(1)).clamp(TRAIN_LEAST, TRAIN_MOST);
        for _ in 0..TRAINS {
            let Some(train) = self.train(way, size, packets, 0)? else { break };
            trains.push(train);
        }
        Ok(trains)
    }

    /// Sends trains whose packets are further apart, where those sent back to back lost some: at
    /// a pace that loses no more than half, which a policer and a queue too short for bursts have,
    /// and losses at random have not; and at a fifth of it.
    fn paced(&mut self, way: Way, fast: &[Train]) -> Result<Vec<Train>, LoadError> {
        let mut trains = Vec::new();
        let lost: u32 = fast.iter().map(|train| train.sent.saturating_sub(train.came)).sum();
        let size = fast.first().map_or(0, |train| train.packet_bytes.0) as u16;
        if lost < LOST_LEAST {
            return Ok(trains);
        }
        let mut gap_us = GAP_LEAST_US;
        while gap_us < GAP_MOST_US {
            let Some(train) = self.train(way, size, TRAIN_PACED, gap_us)? else {
                return Ok(trains);
            };
            if 2 * train.came >= train.sent {
                break;
            }
            gap_us *= 2;
        }
        for gap_us in [gap_us; TRAINS_PACED].into_iter().chain([5 * gap_us; 2]) {
            let Some(train) = self.train(way, size, TRAIN_PACED, gap_us)? else { break };
            trains.push(train);
        }
        Ok(trains)
    }

    fn train(
        &mut self,
        way: Way,
        size: u16,
        packets: u64,
        gap_us: u16,
    ) -> Result<Option<Train>, LoadError> {
        let volley = Volley { gap_us, ..Volley::train(size, packets) };
        let heard = self.volley(way, &volley)?;
        Ok(heard.map(|(sent, heard)| train(size, &sent, &heard)))
    }

    /// Lets the other end go.
    fn end(&mut self) {
        let round = self.next_round();
        for _ in 0..3 {
            self.line.say(Says::Over, round, &[]);
        }
    }
}

fn bytes(size: u16) -> Bytes {
    Bytes(size.into())
}

mod closer;
