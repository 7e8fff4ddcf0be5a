//! One round of a mesh whose ends are ranks of an MPI: its launcher starts a pair of them on two
//! hosts, each pair by itself. No agent is asked, and windows begin when their ranks have met.

use crate::controller::unmade;
use crate::stamp::StampBefore;
use narrows_control::at_once;
use narrows_interop::engines::{self, Ended, NoRanks};
use narrows_model::record::{Fault, Need, Outcome, Record, Stage};
use narrows_model::trial::{EndHost, Trial};
use narrows_plan::Step;
use std::sync::atomic::AtomicBool;

/// Launchers at once: each is a process here with two connections of ssh. The plan has no round of
/// more pairs.
pub const RANK_PAIRS_AT_ONCE: usize = 32;

/// The hosts of a mesh on which a launcher starts ranks.
pub struct Ranks {
    /// In the order in which they are named.
    pub names: Vec<String>,
    /// Why the launcher starts no rank on each; `None` of those on which it does.
    pub gone: Vec<Option<NoRanks>>,
}

impl Ranks {
    /// Has two ranks meet on each host by itself: one that the launcher does not reach costs its
    /// pairs seconds now, and not a minute each. `None` where the user stopped it.
    pub fn call(names: Vec<String>, stop: &AtomicBool) -> Option<Self> {
        Self::call_by(names, |name| engines::ranks_meet(name, stop))
    }

    fn call_by(
        names: Vec<String>,
        meet: impl Fn(&str) -> Result<(), NoRanks> + Sync,
    ) -> Option<Self> {
        let mut gone = Vec::new();
        for some in names.chunks(RANK_PAIRS_AT_ONCE) {
            let called = at_once::all(some, |name| meet(name));
            for (name, met) in some.iter().zip(called) {
                gone.push(match met {
                    Some(Ok(())) => None,
                    Some(Err(NoRanks::Stopped)) => return None,
                    Some(Err(why)) => Some(why),
                    None => Some(NoRanks::Failed { host: name.clone(), why: PANICKED.to_owned() }),
                });
            }
        }
        Some(Self { names, gone })
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
        let ran = at_once::all(trials, |(trial, repeat)| {
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
            Some(Some(why)) => Err(Need::Host { name: name.to_owned(), why: there(why) }),
            None => Err(Need::Host { name: name.to_owned(), why: "it is not named".to_owned() }),
        }
    }
}

/// Why there are no ranks on a host that is named already.
fn there(why: &NoRanks) -> String {
    match why {
        NoRanks::Stopped => why.to_string(),
        NoRanks::Failed { why, .. } => format!("no rank starts there: {why}"),
    }
}

const PANICKED: &str = "the thread of this launcher panicked";

fn failed(at: Stage, why: String) -> Outcome {
    Outcome::Failed { at, why, fault: Fault::Machine }
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
        let why = NoRanks::Failed { host: "n2".to_owned(), why: "no route".to_owned() };
        let gone = vec![None, Some(why)];
        let ranks = Ranks { names, gone };
        assert!(!ranks.is_enough());
        let (records, stopped) = ranks.round(&[(&trial, 3)], 7, &AtomicBool::new(false));
        assert!(!stopped);
        assert_eq!((records[0].repeat, records[0].block), (3, 7));
        let why = "no rank starts there: no route".to_owned();
        let need = Need::Host { name: "n2".to_owned(), why };
        assert_eq!(need.to_string(), "host n2 is gone: no rank starts there: no route");
        assert_eq!(records[0].outcome, Outcome::Skipped { missing: vec![need] });
    }

    #[test]
    fn hosts_that_were_asked_until_the_user_stopped_are_not_said_to_fail() {
        let names = || ["n1", "n2", "n3"].map(str::to_owned).to_vec();
        let fails = |name: &str| match name {
            "n1" => Ok(()),
            "n2" => panic!("a fault that was planted"),
            host => Err(NoRanks::Failed { host: host.to_owned(), why: "no route".to_owned() }),
        };
        let ranks = Ranks::call_by(names(), fails).expect("nobody stopped it");
        let says = ranks.gone.iter().map(|why| why.as_ref().map(ToString::to_string));
        let says: Vec<_> = says.collect();
        let panicked = "cannot start a rank on n2: the thread of this launcher panicked";
        let no_route = "cannot start a rank on n3: no route";
        assert_eq!(says, [None, Some(panicked.to_owned()), Some(no_route.to_owned())]);
        let stops = |name: &str| if name == "n3" { Err(NoRanks::Stopped) } else { fails(name) };
        assert!(Ranks::call_by(names(), stops).is_none());
    }
}
