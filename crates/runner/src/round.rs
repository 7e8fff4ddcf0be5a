//! One round of a mesh: pairs of agents, none of which is in two pairs, each driven by a thread of
//! its own. All begin together; one that fails costs its own cell, and an agent that is gone those
//! of its host.

use crate::controller::unmade;
use crate::gate::Gate;
use crate::pairs::{At, Couple, Meeting, run_gated};
use crate::stamp::StampBefore;
use crate::steps::{Broken, fatal};
use narrows_control::Peer;
use narrows_model::record::{Fault, Lost, Need, Outcome, Record, Reported, Stage};
use narrows_model::trial::{EndHost, Trial};
use narrows_plan::Step;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// The agents of a mesh; those that are gone leave their place empty.
pub struct Crowd {
    /// In the order in which the hosts are named.
    pub names: Vec<String>,
    /// Connections to their agents.
    pub peers: Vec<Option<Peer>>,
    /// What each ended with that is not there.
    pub gone: Vec<Option<String>>,
}

/// What a pair's thread gives back.
struct Ran {
    record: Record,
    agents: [Option<Peer>; 2],
    /// Which of the two is gone, and why.
    gone: Option<(usize, String)>,
    stopped: bool,
}

impl Crowd {
    /// Whether two agents or more are left.
    pub fn is_enough(&self) -> bool {
        self.peers.iter().flatten().count() > 1
    }

    /// Runs these trials at once; a record each, in their order, and whether the user stopped them.
    /// `block` is the number of the round.
    pub fn round(
        &mut self,
        trials: &[(&Trial, u32)],
        block: u32,
        stop: &AtomicBool,
    ) -> (Vec<Record>, bool) {
        let gate = Gate::of(trials.len());
        let mut tickets: Vec<_> = trials.iter().map(|_| Some(gate.ticket())).collect();
        let mut places = Vec::new();
        let ran: Vec<Ran> = thread::scope(|scope| {
            let mut running = Vec::new();
            for ((trial, repeat), ticket) in trials.iter().zip(&mut tickets) {
                let pair = hosts_of(trial);
                places.push(pair);
                let step = Step { trial: 0, repeat: *repeat, block };
                let agents = pair.map(|at| self.peers.get_mut(at).and_then(Option::take));
                let missing = self.missing(pair, &agents);
                let named = pair.map(|at| self.name(at));
                let ticket = ticket.take();
                running.push(scope.spawn(move || match (missing, ticket) {
                    (None, Some(ticket)) => one(trial, &step, agents, (pair, named), ticket, stop),
                    (missing, _) => skipped(trial, &step, agents, missing),
                }));
            }
            let joined = running.into_iter().zip(trials).map(|(thread, (trial, repeat))| {
                let step = Step { trial: 0, repeat: *repeat, block };
                thread.join().unwrap_or_else(|_| {
                    let missing = "the thread of this pair ended".to_owned();
                    let need = Need::Host { name: trial.label.clone(), why: missing };
                    skipped(trial, &step, [None, None], Some(need))
                })
            });
            joined.collect()
        });
        let stopped = stop.load(SeqCst) || ran.iter().any(|one| one.stopped);
        let mut records = Vec::new();
        for (pair, one) in places.into_iter().zip(ran) {
            self.take_back(pair, one.agents, one.gone);
            records.push(one.record);
        }
        (records, stopped)
    }

    /// What the pair lacks before it begins.
    fn missing(&self, pair: [usize; 2], agents: &[Option<Peer>; 2]) -> Option<Need> {
        let at = pair.into_iter().zip(agents).find(|(_, agent)| agent.is_none())?.0;
        let name = self.name(at);
        let why = self.gone.get(at).cloned().flatten();
        Some(Need::Host { name, why: why.unwrap_or_else(|| "it is not there".to_owned()) })
    }

    fn name(&self, at: usize) -> String {
        self.names.get(at).cloned().unwrap_or_else(|| format!("number {}", at.saturating_add(1)))
    }

    fn take_back(
        &mut self,
        pair: [usize; 2],
        agents: [Option<Peer>; 2],
        gone: Option<(usize, String)>,
    ) {
        let lost = gone.as_ref().map(|(at, _)| pair[*at]);
        for (at, agent) in pair.into_iter().zip(agents) {
            if let (Some(place), false) = (self.peers.get_mut(at), lost == Some(at)) {
                *place = agent;
            }
        }
        if let Some((at, why)) = gone
            && let Some(place) = self.gone.get_mut(pair[at])
        {
            place.get_or_insert(why);
        }
    }
}

/// Hosts of the sender and of the receiver.
fn hosts_of(trial: &Trial) -> [usize; 2] {
    let of = |at: usize| match trial.ends.get(at).map(|end| end.host) {
        Some(EndHost::Peer(peer)) => peer as usize,
        Some(EndHost::Controller) | None => usize::MAX,
    };
    [of(0), of(1)]
}

/// One pair from its start to its record.
fn one(
    trial: &Trial,
    step: &Step,
    agents: [Option<Peer>; 2],
    (pair, names): ([usize; 2], [String; 2]),
    ticket: crate::gate::Ticket<'_>,
    stop: &AtomicBool,
) -> Ran {
    let around = StampBefore::take();
    let mut agents = agents;
    let ran = trial.pairs().next().ok_or_else(|| fatal(crate::RunError::NoPeer)).and_then(|two| {
        let place = |host: EndHost| match host {
            EndHost::Peer(at) => At::Agent(usize::from(at as usize != pair[0])),
            EndHost::Controller => At::Agent(usize::MAX),
        };
        let sender = (two.sender, place(two.sender.host));
        let receiver = (two.receiver, place(two.receiver.host));
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let meeting = Meeting { address, namespaces: [None, None] };
        run_gated(&mut agents, vec![Couple { trial, sender, receiver, meeting }], ticket, stop)
    });
    let around = around.finish();
    let mut record = unmade(trial, step, Outcome::Done);
    record.around = around;
    let (mut gone, mut stopped) = (None, false);
    match ran {
        Ok(reports) => record.reports = reports.into_iter().flatten().collect::<Vec<Reported>>(),
        Err(broken) => {
            stopped = matches!(broken, Broken::Stopped);
            if let Broken::Gone(at, why) = &broken {
                gone = Some((*at, why.to_string()));
            }
            record.outcome = outcome(broken, &names);
        }
    }
    Ran { record, agents, gone, stopped }
}

fn outcome(broken: Broken, names: &[String; 2]) -> Outcome {
    match broken {
        Broken::Failed(at, why) => Outcome::Failed { at, why, fault: Fault::Machine },
        Broken::Told(at, why, fault) => Outcome::Failed { at, why, fault },
        Broken::Lost(Lost { at, cause }) => {
            Outcome::Failed { at, why: cause.to_string(), fault: Fault::from(&cause) }
        }
        Broken::Gone(at, why) => {
            // As of later runs: it is the host that is gone, and no fault of the pair.
            let name = names.get(at).cloned().unwrap_or_default();
            Outcome::Skipped { missing: vec![Need::Host { name, why: why.to_string() }] }
        }
        Broken::Fatal(why) => {
            Outcome::Failed { at: Stage::Start, why: why.to_string(), fault: Fault::Machine }
        }
        Broken::Stopped => Outcome::Skipped { missing: Vec::new() },
    }
}

fn skipped(trial: &Trial, step: &Step, agents: [Option<Peer>; 2], missing: Option<Need>) -> Ran {
    let outcome = Outcome::Skipped { missing: missing.into_iter().collect() };
    Ran { record: unmade(trial, step, outcome), agents, gone: None, stopped: false }
}
