//! What one session of a study can run on its machines as they are.

use crate::refusal::Refusal;
use crate::study::Defined;
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::interfaces::Interfaces;
use narrows_model::study::{Found, Session, Study, Title};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_plan::study::{
    Change, Count, Ends, Machine, PeerHost, Planned, Unread, change, standing, trials,
};
use std::collections::BTreeMap;

/// The machines of a session and what joins them.
#[derive(Clone, Debug)]
pub struct Site {
    /// The host that narrows runs on.
    pub host: Host,
    /// Those beside it, in the order of the study's peers.
    pub peers: Vec<Far>,
    /// What joins the ends of network cells.
    pub path: NetworkPath,
    /// Interface of this host that leads to the first peer, where it is known.
    pub interface: Option<String>,
}

/// A host beside the one that narrows runs on.
#[derive(Clone, Debug)]
pub struct Far {
    /// As the study or the user names it.
    pub name: String,
    /// What it says of itself; nothing is known of one that is away.
    pub host: Host,
    /// Interface of this host that leads to it, where it is known.
    pub interface: Option<String>,
    /// Why it takes no part in this session.
    pub away: Option<String>,
    /// Whether it was asked what it is; of one that was not nothing is known, and nothing is
    /// missing.
    pub asked: bool,
}

impl Far {
    /// A host that nobody asked.
    pub fn unasked(name: &str) -> Self {
        let (host, interface, away) = (Host::default(), None, None);
        Self { name: name.to_owned(), host, interface, away, asked: false }
    }

    /// As a plan sees it.
    fn seen(&self) -> PeerHost<'_> {
        PeerHost {
            name: &self.name,
            host: self.present(),
            interface: self.interface.as_deref(),
            away: self.away.as_deref(),
        }
    }

    fn present(&self) -> Option<&Host> {
        Some(&self.host).filter(|_| self.away.is_none() && self.asked)
    }
}

impl Site {
    /// Interfaces of this host that lead to the peers; without a peer the one that is used.
    pub fn interfaces(&self) -> Interfaces {
        if self.peers.is_empty() {
            return Interfaces::one(self.interface.clone());
        }
        self.peers.iter().map(|far| far.interface.clone()).collect()
    }

    /// Whether both ends of the traffic are on this machine: no host is beside it, or an agent of
    /// its own, by its name, its kernel and its processors, to which no device leads.
    pub fn is_one_machine(&self) -> bool {
        let Some(far) = self.peers.first() else { return true };
        let (own, other) = (&self.host, &far.host);
        let interface = far.interface.as_ref().or(self.interface.as_ref());
        let leaves = own.physical_nics().any(|nic| Some(&nic.name) == interface);
        let is_alike = own.name.value().is_some_and(|name| other.name.value() == Some(name))
            && own.kernel.value() == other.kernel.value()
            && own.cpu.places == other.cpu.places;
        !leaves && is_alike
    }

    /// The hosts beside this one, in the order of the study's peers.
    pub fn peer_hosts(&self) -> Vec<Host> {
        self.peers.iter().map(|far| far.host.clone()).collect()
    }

    /// Those of them that take part.
    fn present(&self) -> impl Iterator<Item = &Host> {
        self.peers.iter().filter_map(Far::present)
    }
}

/// What of a study a session can run.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    pub site: Site,
    /// Levels of the factors that are changed by hand.
    pub levels: BTreeMap<String, Found>,
    /// The trials, one a cell.
    pub trials: Vec<Trial>,
    /// Why a cell cannot run here whatever is done by hand; `None` when it can.
    pub missing: Vec<Option<String>>,
    /// Whether a cell's levels are those of the machine.
    pub fits: Vec<bool>,
    /// Factors whose level is not known, in an outlook: no cell fits then.
    pub unread: Vec<Unread>,
}

impl SessionPlan {
    /// Of a study on these machines. `said` is what the user says of factors that no fact tells;
    /// `why_not` tells why a trial cannot run on them.
    pub fn of(
        defined: &Defined,
        site: &Site,
        said: &BTreeMap<String, String>,
        why_not: &dyn Fn(&Trial) -> Option<String>,
    ) -> Result<Self, Refusal> {
        let plan = Self::outlook(defined, site, said, why_not)?;
        if plan.unread.is_empty() { Ok(plan) } else { Err(Refusal::Unread(plan.unread)) }
    }

    /// The same, before anything is run: levels that are not known are told, and refuse nothing.
    pub fn outlook(
        defined: &Defined,
        site: &Site,
        said: &BTreeMap<String, String>,
        why_not: &dyn Fn(&Trial) -> Option<String>,
    ) -> Result<Self, Refusal> {
        let factors = &defined.definition.factors;
        if let Some(unknown) = said.keys().find(|name| factors.iter().all(|f| f.name != **name)) {
            return Err(Refusal::UnknownFactor(unknown.clone()));
        }
        let host = &site.host;
        let at = |peer| standing(&defined.definition, &Machine { host, peer, said });
        let (mut levels, mut unread) = at(None);
        for peer in site.present() {
            // Each must be at the level that the first two are at.
            if unread.is_empty() {
                (levels, unread) = at(Some(peer));
            }
        }
        let (path, interface) = (site.path, site.interface.as_deref());
        let peers: Vec<PeerHost<'_>> = site.peers.iter().map(Far::seen).collect();
        let planned = trials(&defined.cells, &Ends { host, peers: &peers, path, interface })?;
        let missing = |(trial, why): &Planned| why.clone().or_else(|| why_not(trial));
        let missing = planned.iter().map(missing).collect();
        let trials: Vec<Trial> = planned.into_iter().map(|(trial, _)| trial).collect();
        let fits = |trial: &Trial| {
            unread.is_empty()
                && levels.iter().all(|(factor, at)| trial.level(factor) == Some(at.level.as_str()))
        };
        let fits = trials.iter().map(fits).collect();
        Ok(Self { site: site.clone(), levels, trials, missing, fits, unread })
    }

    /// Nothing done yet, and which cells can run on the machine as it is.
    pub(crate) fn counts(&self) -> Vec<Count> {
        let can = self.fits.iter().zip(&self.missing);
        can.map(|(fits, missing)| Count { fits: *fits && missing.is_none(), ..Count::default() })
            .collect()
    }

    /// Refuses a study of which no cell can ever run here, or none but those at a level of a
    /// factor that others are compared with.
    pub fn check_any_runs(&self, baseline: Option<(&str, &str)>) -> Result<(), Refusal> {
        let cells = self.trials.iter().zip(&self.missing);
        let counting = cells.filter(|(trial, _)| {
            baseline.is_none_or(|(factor, level)| trial.level(factor) != Some(level))
        });
        match counting.map(|(_, why)| why.clone()).collect::<Option<Vec<String>>>() {
            Some(whys) => Err(Refusal::NothingRuns(whys.into_iter().next().unwrap_or_default())),
            None => Ok(()),
        }
    }

    /// The session as it is stored when it begins.
    pub(crate) fn session(&self, number: u32, now: Nanos) -> Session {
        Session {
            number,
            began_unix_ns: now,
            narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.site.host.clone(),
            peer_hosts: self.site.peer_hosts(),
            path: self.site.path,
            levels: self.levels.clone(),
            cannot: self.cannot(),
            ended: None,
        }
    }

    /// Cells that cannot run here, by their ids, and why.
    pub fn cannot(&self) -> BTreeMap<String, String> {
        let cells = self.trials.iter().zip(&self.missing);
        cells.filter_map(|(trial, why)| Some((trial.id.0.clone(), why.clone()?))).collect()
    }

    /// Levels that cells with runs left want, in place of those that the machine has: what to
    /// change by hand, the nearest first.
    pub fn changes(
        &self,
        defined: &Defined,
        wanted: &[usize],
        said: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let machine = Machine { host: &self.site.host, peer: self.site.present().next(), said };
        let mut all: Vec<(Vec<Change>, usize)> = Vec::new();
        for index in wanted {
            let changes = self.changes_of(defined, *index, &machine);
            match all.iter_mut().find(|(known, _)| *known == changes) {
                Some((_, cells)) => *cells += 1,
                None => all.push((changes, 1)),
            }
        }
        all.sort_by_key(|(changes, _)| changes.iter().map(|one| one.steps).sum::<usize>());
        all.into_iter()
            .map(|(changes, cells)| {
                let says: Vec<String> = changes.iter().map(Change::to_string).collect();
                format!("{} ({cells} cells)", says.join("; "))
            })
            .collect()
    }

    /// Levels that the next session has to be told, of factors that no fact of this machine gave:
    /// the one level that cells with runs left want, `None` where they want several.
    pub fn to_say<'a>(
        &'a self,
        defined: &'a Defined,
        wanted: &[usize],
    ) -> Vec<(&'a str, Option<&'a str>)> {
        let said = self.levels.iter().filter(|(_, found)| !found.read);
        said.map(|(factor, found)| {
            let mut left = wanted.iter().filter_map(|at| defined.cells[*at].level(factor));
            let first = left.next().unwrap_or(&found.level);
            (factor.as_str(), left.all(|level| level == first).then_some(first))
        })
        .collect()
    }

    /// What to change by hand for one cell.
    fn changes_of(&self, defined: &Defined, index: usize, machine: &Machine<'_>) -> Vec<Change> {
        let cell = &defined.cells[index];
        let by_hand = defined.definition.factors.iter().filter(|factor| factor.by_hand);
        let differs = by_hand.filter_map(|factor| {
            let to = cell.level(&factor.name)?;
            let at = self.levels.get(&factor.name).map(|found| found.level.as_str());
            let level = factor.levels.iter().find(|level| level.name == to)?;
            (at != Some(to)).then(|| change(factor, level, machine))
        });
        differs.collect()
    }
}

/// How a study is begun, beside its definition.
pub struct Begun<'a> {
    /// Seed of the order of runs.
    pub seed: u64,
    /// Cut short to be tried.
    pub quick: bool,
    /// The peer as the user named it.
    pub peer: Option<&'a str>,
    /// When it began, in Unix time.
    pub began_unix_ns: Nanos,
}

impl Begun<'_> {
    /// The head of its file.
    pub fn head(&self, defined: &Defined, plan: &SessionPlan) -> Study {
        let definition = &defined.definition;
        let title = Title { name: definition.name.clone(), about: definition.about.clone() };
        Study {
            peer: self.peer.map(str::to_owned),
            title: Some(title),
            reading: definition.report.clone(),
            precision: definition.precision,
            spread: definition.spread,
            search: definition.search,
            quick: self.quick,
            interfaces: plan.site.interfaces(),
            began_unix_ns: self.began_unix_ns,
            cache_bytes: plan.site.host.last_level_cache_bytes(),
            ..Study::new(StudyKind::Study, plan.site.path, definition.repeats, self.seed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;
    use narrows_model::host::{CpuPlace, Nic};

    fn host(name: &str, cpus: u32) -> Host {
        let mut host = Host { name: Fact::known(name.to_owned(), "x"), ..Host::default() };
        host.cpu.places = (0..cpus).map(|cpu| CpuPlace { cpu, ..CpuPlace::default() }).collect();
        host.nics = vec![Nic { name: "eth0".to_owned(), physical: true, ..Nic::default() }];
        host
    }

    #[test]
    fn an_agent_to_which_no_device_leads_is_on_this_machine_if_it_is_alike() {
        let site = |peer: Option<(Host, &str)>| {
            let far = |(host, interface): (Host, &str)| Far {
                host,
                interface: Some(interface.to_owned()),
                ..Far::unasked("peer")
            };
            let peers = peer.map(far).into_iter().collect();
            let path = NetworkPath::Peer;
            Site { host: host("one", 4), peers, path, interface: None }.is_one_machine()
        };
        assert!(site(None));
        assert!(site(Some((host("one", 4), "lo"))));
        assert!(site(Some((host("one", 4), "veth0"))));
        assert!(!site(Some((host("one", 4), "eth0"))), "through a device");
        assert!(!site(Some((host("two", 4), "veth0"))), "another name");
        assert!(!site(Some((host("one", 8), "veth0"))), "other processors");
        let kernel = Host { kernel: Fact::known("6.8".to_owned(), "x"), ..host("one", 4) };
        assert!(!site(Some((kernel, "lo"))), "another kernel");
        let nameless = Host { name: Fact::absent("x"), ..host("one", 4) };
        assert!(!site(Some((nameless, "lo"))), "nothing says so");
    }

    #[test]
    fn only_a_host_that_was_asked_and_is_not_away_takes_part() {
        let far = |name: &str, away: Option<&str>, asked: bool| Far {
            host: host(name, 2),
            interface: (name == "here").then(|| "eth1".to_owned()),
            away: away.map(str::to_owned),
            asked,
            ..Far::unasked(name)
        };
        let peers = vec![
            far("here", None, true),
            far("away", Some("it is off"), true),
            far("unasked", None, false),
        ];
        let seen: Vec<_> = peers
            .iter()
            .map(Far::seen)
            .map(|peer| (peer.name, peer.host.is_some(), peer.interface, peer.away))
            .collect();
        let wanted = [
            ("here", true, Some("eth1"), None),
            ("away", false, None, Some("it is off")),
            ("unasked", false, None, None),
        ];
        assert_eq!(seen, wanted);
        let mut site = Site {
            host: host("own", 4),
            peers,
            path: NetworkPath::Peer,
            interface: Some("eth0".to_owned()),
        };
        assert_eq!(site.present().collect::<Vec<_>>(), [&host("here", 2)]);
        assert_eq!(site.peer_hosts(), ["here", "away", "unasked"].map(|name| host(name, 2)));
        let ways = [Some("eth1".to_owned()), None, None];
        assert_eq!(site.interfaces(), ways.into_iter().collect());
        site.peers.clear();
        assert_eq!(site.interfaces(), Interfaces::one(Some("eth0".to_owned())));
    }
}
