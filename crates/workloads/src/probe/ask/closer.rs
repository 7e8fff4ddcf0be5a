//! What packet trains by themselves do not tell: whether both directions share one capacity,
//! whether others use the path, whether it holds packets and lets them go together, and whether it
//! treats packets of another mark otherwise.

use super::{Asker, TRAIN_LEAST, TRAIN_MOST, Way, train};
use crate::LoadError;
use crate::probe::words::Volley;
use narrows_model::probe::{Marked, PathProbe, Train, WayProbe};
use std::thread;
use std::time::Duration;

/// Trains of each kind: of six values the least and the largest have the median between them in 97
/// of 100 cases.
const TRAINS: usize = 6;
/// Small packets of a train at an even pace, and the time between two: a third of a second.
const EVEN_PACKETS: u64 = 160;
const EVEN_GAP_US: u16 = 2000;
const EVEN_TRAINS: usize = 2;
/// Trains of each mark.
const MARKED_TRAINS: usize = 4;
/// Such trains need not be long: they are compared with each other.
const MARKED_PACKETS: u64 = 96;
/// Expedited forwarding (RFC 3246), the class that networks treat best where they know any.
const EXPEDITED: u8 = 46 << 2;
/// ECT(0): the ends react to congestion marks (RFC 3168).
const ECT_0: u8 = 2;
/// CE: a router has marked the packet.
const CE: u8 = 3;
/// Of the rate at which a train came, so much is sent by those below it.
const BELOW_SHARE: f64 = 0.75;
/// What a sleep of the sender takes beyond its length: Linux's timer slack of 50 us and the
/// wake-up.
const SLEEP_BEYOND_US: f64 = 60.0;
/// A shorter time between packets is none that a sleep keeps.
const GAP_LEAST_US: f64 = 30.0;
/// And with a longer one the trains would take too long.
const GAP_MOST_US: f64 = 3200.0;

impl Asker<'_> {
    /// Asks what is asked after all else, the most telling first.
    pub(super) fn look_closer(&mut self, found: &mut PathProbe) -> Result<(), LoadError> {
        found.there.even = self.even(Way::There)?;
        found.back.even = self.even(Way::Back)?;
        self.together(found)?;
        found.there.below = self.below(Way::There, &found.there)?;
        found.back.below = self.below(Way::Back, &found.back)?;
        found.there.marked = self.marked(Way::There, &found.there)?;
        found.back.marked = self.marked(Way::Back, &found.back)?;
        Ok(())
    }

    /// Sends trains both ways at once, of packets and a length that each way had alone.
    fn together(&mut self, found: &mut PathProbe) -> Result<(), LoadError> {
        let of = |way: &WayProbe| {
            let train = way.trains.first()?;
            Some(Volley::train(train.packet_bytes.0 as u16, train.sent.into()))
        };
        let Some((there, back)) = of(&found.there).zip(of(&found.back)) else { return Ok(()) };
        for _ in 0..TRAINS {
            if self.is_over() {
                break;
            }
            let (own, others) = (self.next_round(), self.next_round());
            let mut sent = None;
            let came = self.take_back(others, &back, |asker| {
                if sent.is_none() {
                    sent = Some(asker.line.volley(own, &there)?);
                }
                Ok(())
            })?;
            thread::sleep(Duration::from_millis(10));
            let Some((sent_back, heard_back)) = came else { break };
            let Some(sent) = sent else { break };
            let Some((sent, heard)) = self.outcome(own, sent)? else { break };
            found.there.together.push(train(there.sizes[0], &sent, &heard));
            found.back.together.push(train(back.sizes[0], &sent_back, &heard_back));
        }
        Ok(())
    }

    /// Sends trains a little more slowly than those came that were sent at once: all that a path
    /// carries which nobody else uses.
    fn below(&mut self, way: Way, known: &WayProbe) -> Result<Vec<Train>, LoadError> {
        let mut trains = Vec::new();
        let Some((size, gap_us)) = pace_below(known) else { return Ok(trains) };
        for _ in 0..TRAINS {
            let Some(train) = self.train(way, size, TRAIN_MOST, gap_us)? else { break };
            trains.push(train);
        }
        Ok(trains)
    }

    /// Sends small packets at an even pace.
    fn even(&mut self, way: Way) -> Result<Vec<Train>, LoadError> {
        let size = self.line.least_bytes();
        let mut trains = Vec::new();
        for _ in 0..EVEN_TRAINS {
            let Some(train) = self.train(way, size, EVEN_PACKETS, EVEN_GAP_US)? else { break };
            trains.push(train);
        }
        Ok(trains)
    }

    /// Sends trains of four marks in turn: the traffic's own, another class, with ECN, and marked
    /// by it.
    fn marked(&mut self, way: Way, known: &WayProbe) -> Result<Vec<Marked>, LoadError> {
        let own = self.line.class();
        let other = if own >> 2 == 0 { EXPEDITED } else { 0 };
        let mut all: Vec<Marked> = [own, other, own | ECT_0, own | CE]
            .map(|class| Marked { class, is_own: class == own, trains: Vec::new() })
            .to_vec();
        let Some(size) = known.trains.first().map(|train| train.packet_bytes.0 as u16) else {
            return Ok(Vec::new());
        };
        let packets = known.trains.first().map_or(0, |train| train.sent.into());
        let packets = packets.clamp(TRAIN_LEAST, MARKED_PACKETS);
        for _ in 0..MARKED_TRAINS {
            for marked in &mut all {
                let class = Some(marked.class);
                let volley = Volley { class, ..Volley::train(size, packets) };
                let Some((sent, heard)) = self.volley(way, &volley)? else { return Ok(all) };
                marked.trains.push(train(size, &sent, &heard));
            }
        }
        Ok(all)
    }
}

/// The size and the time between packets of trains below the rate at which others came; `None`
/// where a sleep cannot keep that.
fn pace_below(known: &WayProbe) -> Option<(u16, u16)> {
    let mut each_us: Vec<f64> = known
        .trains
        .iter()
        .filter(|train| train.tail > 0)
        .map(|train| train.tail_ns.0 as f64 / 1e3 / f64::from(train.tail))
        .collect();
    each_us.sort_by(f64::total_cmp);
    let each_us = each_us.get(each_us.len() / 2)?;
    let gap_us = each_us / BELOW_SHARE - SLEEP_BEYOND_US;
    let size = known.trains.first()?.packet_bytes.0 as u16;
    (GAP_LEAST_US..=GAP_MOST_US).contains(&gap_us).then_some((size, gap_us as u16))
}
