//! The end that listens: it counts what comes, and sends what it is asked to.

use super::line::Line;
use super::words::{Heard, Says, Sent};
use crate::LoadError;
use crate::harness::socket::LOOK_UP;
use crate::harness::{Lane, Phase};

/// Arrivals of one volley that are kept: more come only where packets are sent twice.
const ARRIVALS_MAX: usize = 4096;
/// How often the end of a volley is said, since each word may be lost.
const SENT_SAID: usize = 2;

/// Answers until the run or the questions are over.
pub fn answer(lane: &mut Lane, line: &mut Line) -> Result<(), LoadError> {
    let mut arrivals: Vec<(u16, u64)> = Vec::new();
    let mut counted = 0;
    let mut sent: Option<(u32, Sent)> = None;
    while lane.phase() != Phase::Stop {
        lane.tally.called();
        let Some((word, at_ns)) = line.hear(LOOK_UP)? else { continue };
        lane.tally.moved(1, 0);
        match word.says {
            Says::Ping => line.say(Says::Pong, word.round, &[]),
            Says::Packet => {
                if word.round > counted {
                    counted = word.round;
                    arrivals.clear();
                }
                if word.round == counted && arrivals.len() < ARRIVALS_MAX {
                    arrivals.push((word.index, at_ns));
                }
            }
            Says::Report => {
                let own = word.round == counted;
                let heard = if own { Heard::of(&arrivals) } else { Heard::default() };
                line.say(Says::Outcome, word.round, &heard.bytes());
            }
            Says::Send => {
                let Some(volley) = line.order() else { continue };
                // Asked again, it says again what it has sent, and sends nothing.
                let said = match sent {
                    Some((round, said)) if round >= word.round => said,
                    _ => line.volley(word.round, &volley)?,
                };
                sent = Some((word.round, said));
                for _ in 0..SENT_SAID {
                    line.say(Says::Sent, word.round, &said.bytes());
                }
            }
            Says::Over => return Ok(()),
            Says::Pong | Says::Outcome | Says::Sent => {}
        }
    }
    Ok(())
}
