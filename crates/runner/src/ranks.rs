//! One round of a mesh whose ends are ranks of an MPI: its launcher starts a pair of them on two
//! hosts, each pair by itself. No agent is asked, and windows begin when their ranks have met.

use crate::controller::unmade;
use crate::stamp::StampBefore;
use narrows_interop::engines::{self, Ended};
use narrows_model::record::{Fault, Need, Outcome, Record, Stage};
use narrows_model::trial::{EndHost, Trial};
use narrows_plan::Step;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Launchers at once: each is a process here with two connections of ssh. The plan has no round of
/// more pairs.
pub const RANK_PAIRS_AT_ONCE: usize = 32;

/// The hosts of a mesh on which a launcher starts ranks.
pub struct Ranks {
    /// In the order in which they are named.
    pub names: Vec<String>,
    /// Why the launcher brings no rank to each; `None` of those that it reaches.
    pub gone: Vec<Option<String>>,
}

impl Ranks {
    /// Has two ranks meet on each host by itself: one that the launcher does not reach costs its
    /// pairs seconds now, and not a minute each.
    pub fn call(names: Vec<String>, stop: &AtomicBool) -> Self {
        let mut gone = Vec::new();
        for some in names.chunks(RANK_PAIRS_AT_ONCE) {
            let called = at_once(some, |name| engines::ranks_meet(name, stop).err());
            gone.extend(called.into_iter().map(|why| match why {
                Some(why) => why.map(|why| why.to_string()),
                None => Some(PANICKED.to_owned()),
            }));
        }
        Self { names, gone }
    }

    /// Whether two hosts or more are there.
    pub fn is_enough(&self) -> bool {
        self.gone.iter().filter(|why| why.is_none()).count() > 1
    }

    /// Runs these trials at once; a record each, in their order, and whether the user stopped them.
    pub fn round(
        &self,
        trials: &[(&Trial, u32)],
        block: u32,
        stop: &AtomicBool,
    ) -> (Vec<Record>, bool) {
        let (mut records, mut stopped) = (Vec::new(), false);
        let ran = at_once(trials, |(trial, repeat)| {
            self.one(trial, &Step { trial: 0, repeat: *repeat, block }, stop)
        });
        for ((trial, repeat), ran) in trials.iter().zip(ran) {
            let step = Step { trial: 0, repeat: *repeat, block };
            records.push(match ran {
                Some(Some(record)) => record,
                Some(None) => {
                    stopped = true;
                    unmade(trial, &step, Outcome::Skipped { missing: Vec::new() })
                }
                None => unmade(trial, &step, failed(Stage::Run, PANICKED.to_owned())),
            });
        }
        (records, stopped)
    }

    /// One pair; `None` where the user stopped it.
    fn one(&self, trial: &Trial, step: &Step, stop: &AtomicBool) -> Option<Record> {
        let around = StampBefore::take();
        let pair = trial.pairs().next()?;
        let [from, to] = [pair.sender.host, pair.receiver.host].map(|host| self.host(host));
        let record = match (from, to) {
            (Ok(from), Ok(to)) => match engines::run_ranks(trial, [from, to], stop) {
                Ok(external) => {
                    Record { external: Some(external), ..unmade(trial, step, Outcome::Done) }
                }
                Err(Ended::Failed(at, why)) => unmade(trial, step, failed(at, why)),
                Err(Ended::Stopped) => return None,
            },
            (Err(need), _) | (_, Err(need)) => {
                unmade(trial, step, Outcome::Skipped { missing: vec![need] })
            }
        };
        Some(Record { around: around.finish(), ..record })
    }

    /// The name of an end's host, or why it is not there.
    fn host(&self, host: EndHost) -> Result<&str, Need> {
        let at = match host {
            EndHost::Peer(at) => at as usize,
            EndHost::Controller => usize::MAX,
        };
        let name = self.names.get(at).map_or("this host", String::as_str);
        match self.gone.get(at) {
            Some(None) => Ok(name),
            Some(Some(why)) => Err(Need::Host { name: name.to_owned(), why: why.clone() }),
            None => Err(Need::Host { name: name.to_owned(), why: "it is not named".to_owned() }),
        }
    }
}

const PANICKED: &str = "the thread of this launcher panicked";

fn failed(at: Stage, why: String) -> Outcome {
    Outcome::Failed { at, why, fault: Fault::Machine }
}

/// What each comes to, in threads of their own; `None` of one that panicked.
fn at_once<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<Option<R>> {
    thread::scope(|scope| {
        let of = &of;
        let begun: Vec<_> = all.iter().map(|one| scope.spawn(move || of(one))).collect();
        begun.into_iter().map(|thread| thread.join().ok()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::workload::Workload;

    #[test]
    fn a_host_that_is_gone_costs_its_pairs_and_no_launcher() {
        let [a, b] = ["n1", "n2"].map(str::to_owned);
        let names = vec![a, b];
        let line = Timeline::new(Nanos(0), Nanos(1), Nanos(0));
        let params = Params::of_network(narrows_model::Bytes(8), 1);
        let kind = Workload::from("mpi-latency");
        let trial = narrows_plan::mesh::trial((0, 1), &kind, &params, line, &names);
        let gone = vec![None, Some("no route".to_owned())];
        let ranks = Ranks { names, gone };
        assert!(!ranks.is_enough());
        let (records, stopped) = ranks.round(&[(&trial, 3)], 7, &AtomicBool::new(false));
        assert!(!stopped);
        assert_eq!((records[0].repeat, records[0].block), (3, 7));
        let need = Need::Host { name: "n2".to_owned(), why: "no route".to_owned() };
        assert_eq!(records[0].outcome, Outcome::Skipped { missing: vec![need] });
    }
}
