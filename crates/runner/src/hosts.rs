//! The agents of a study, and which of them are gone. One that is gone costs the cells that need
//! it until the study is resumed; all others go on.

use crate::error::RunError;
use crate::session::Site;
use narrows_control::ControlError;
use narrows_model::record::Need;
use narrows_model::trial::{EndHost, Trial};
use std::collections::BTreeMap;

/// The agents of a study's session.
#[derive(Debug, Default)]
pub struct Hosts {
    /// In the order of the study's peers, as it names them.
    names: Vec<String>,
    /// How many of them were reached when the session began.
    present: usize,
    /// What the conversation with each ended with, by its place among the names.
    gone: BTreeMap<usize, ControlError>,
}

impl Hosts {
    /// All that take part in a session, none of them gone.
    pub fn of(site: &Site) -> Self {
        let names = site.peers.iter().map(|far| far.name.clone()).collect();
        let present = site.peers.iter().filter(|far| far.away.is_none()).count();
        Self { names, present, gone: BTreeMap::new() }
    }

    /// Notes that an agent cannot be spoken with any more; what runs lack from now on.
    pub fn lose(&mut self, peer: usize, error: ControlError) -> Need {
        let why = error.to_string();
        self.gone.entry(peer).or_insert(error);
        self.need(peer, why)
    }

    /// What a trial lacks since a host is gone.
    pub fn missing(&self, trial: &Trial) -> Option<Need> {
        trial.ends.iter().find_map(|end| match end.host {
            EndHost::Peer(at) => {
                let (peer, why) = self.gone.get_key_value(&(at as usize))?;
                Some(self.need(*peer, why.to_string()))
            }
            EndHost::Controller => None,
        })
    }

    pub fn gone(&self) -> Vec<Need> {
        self.gone.iter().map(|(peer, why)| self.need(*peer, why.to_string())).collect()
    }

    /// Where no agent is left: what the first of them ended with.
    pub fn all_gone(&mut self) -> Option<RunError> {
        if self.gone.len() < self.present {
            return None;
        }
        self.gone.pop_first().map(|(_, error)| error.into())
    }

    fn need(&self, peer: usize, why: String) -> Need {
        let name = self.names.get(peer).cloned();
        Need::Host { name: name.unwrap_or_else(|| format!("number {}", peer + 1)), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Far;
    use narrows_model::host::Host;
    use narrows_model::trial::{EndSpec, NetworkPath};
    use std::time::Duration;

    fn hosts(away: [bool; 3]) -> Hosts {
        let far = |(name, away): (&&str, bool)| Far {
            away: away.then(|| "no answer".to_owned()),
            ..Far::unasked(name)
        };
        let peers = ["a", "b", "c"].iter().zip(away).map(far).collect();
        Hosts::of(&Site { host: Host::default(), peers, path: NetworkPath::Peer, interface: None })
    }

    fn vanished(peer: &str) -> ControlError {
        ControlError::Vanished { peer: peer.to_owned(), silent: Duration::from_secs(1) }
    }

    fn need(name: &str, peer: &str) -> Need {
        Need::Host { name: name.to_owned(), why: vanished(peer).to_string() }
    }

    #[test]
    fn a_host_that_is_gone_is_missed_by_the_trials_that_need_it() {
        let mut all = hosts([false; 3]);
        let trial = |peer: u32| {
            let mut ends = EndSpec::anywhere(false);
            ends[0].host = EndHost::Peer(peer);
            Trial {
                id: narrows_model::trial::TrialId("t".into()),
                label: String::new(),
                kind: "tcp-stream".into(),
                params: narrows_model::load::Params::of_network(narrows_model::Bytes(1), 1),
                ends,
                path: NetworkPath::Peer,
                timeline: narrows_model::load::Timeline::new(
                    narrows_model::Nanos(0),
                    narrows_model::Nanos(1),
                    narrows_model::Nanos(0),
                ),
                levels: Vec::new(),
                notes: Vec::new(),
                engine: None,
            }
        };
        assert_eq!((all.missing(&trial(1)), all.gone()), (None, Vec::new()));
        assert_eq!(all.lose(1, vanished("first")), need("b", "first"));
        // What it ended with first stays.
        assert_eq!(all.lose(1, vanished("later")), need("b", "later"));
        assert_eq!(all.missing(&trial(1)), Some(need("b", "first")));
        assert_eq!(all.missing(&trial(2)), None);
        assert_eq!(all.gone(), [need("b", "first")]);
        assert_eq!(all.lose(7, vanished("x")), need("number 8", "x"), "people count from one");
    }

    #[test]
    fn nothing_goes_on_once_all_that_were_there_are_gone() {
        let mut all = hosts([false, true, false]);
        assert!(all.all_gone().is_none());
        all.lose(2, vanished("c"));
        assert!(all.all_gone().is_none(), "one is left");
        all.lose(0, vanished("a"));
        let why = all.all_gone().map(|why| why.to_string());
        assert_eq!(why, Some(vanished("a").to_string()));
    }
}
