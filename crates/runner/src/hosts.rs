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
