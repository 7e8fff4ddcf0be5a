//! One session of a study: the machines as they are, what of the study they can run, and in what
//! they run it.

use super::Defined;
use crate::args::SittingArgs;
use crate::cause::Cause;
use crate::cmd::{direct, own_binary};
use crate::failure::Failure;
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::load::CpuList;
use narrows_model::options::{flows, places};
use narrows_model::study::Found;
use narrows_model::trial::{Path, Trial, TrialId};
use narrows_plan::study::{
    Change, Ends as PlannedEnds, Machine, Planned, Settings, change, standing, trials,
};
use narrows_run::controller::{Ends, sink_job, source_job};
use narrows_run::guard::Guard;
use narrows_run::launch::namespaces::{HUGE_PAGES, MTU_BYTES, Namespaces, sysctl_path};
use narrows_run::{Peer, address, engines, offloads};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Machines, and what of a study they can run.
pub struct Sitting {
    pub host: Host,
    pub peer_hosts: Vec<Host>,
    pub path: Path,
    pub interface: Option<String>,
    /// Levels of the factors that are changed by hand.
    pub levels: BTreeMap<String, Found>,
    /// One a cell.
    pub trials: Vec<Trial>,
    /// Why a cell cannot run here whatever is done by hand; `None` when it can.
    pub missing: Vec<Option<String>>,
    /// Whether a cell's levels are those of the machine.
    pub fits: Vec<bool>,
    peers: Vec<Peer>,
    namespaces: Option<Namespaces>,
}

impl Sitting {
    /// Looks at the machines. `peer` is the one to use when the command line names none.
    pub fn begin(
        defined: &Defined,
        args: &SittingArgs,
        peer: Option<&str>,
    ) -> Result<Self, Failure> {
        for cell in &defined.cells {
            let engine = cell.settings.engine().unwrap_or_default();
            engines::check_words(&engine).map_err(|why| {
                let says = format!("cell '{}': {why}", cell.label());
                Failure::of(Cause::TOOL_WORDS, says)
            })?;
        }
        let host = narrows_host::read(&Root::live());
        let mut peers = Vec::new();
        if let Some(name) = args.peer.as_deref().or(peer) {
            let key = direct::key(args.key.as_deref(), args.key_file.as_deref())?;
            peers.push(Peer::connect(name, args.port, None, &key.ok_or_else(direct::no_key)?)?);
        }
        let peer_hosts: Vec<Host> =
            peers.iter_mut().map(Peer::describe).collect::<Result<_, _>>()?;
        let own_address = peers.first().map(Peer::own_address);
        let interface = own_address.and_then(address::interface);
        let mut namespaces = None;
        let path = match peers.first() {
            Some(peer) if peer.address() == peer.own_address() => Path::Loopback,
            Some(_) => Path::Peer,
            None => {
                namespaces = Namespaces::make().ok();
                if namespaces.is_some() { Path::Namespaces } else { Path::Loopback }
            }
        };
        let mut sitting = Self {
            host,
            peer_hosts,
            path,
            interface,
            levels: BTreeMap::new(),
            trials: Vec::new(),
            missing: Vec::new(),
            fits: Vec::new(),
            peers,
            namespaces,
        };
        sitting.look(defined, args)?;
        Ok(sitting)
    }

    fn look(&mut self, defined: &Defined, args: &SittingArgs) -> Result<(), Failure> {
        let said: BTreeMap<String, String> = args.at.iter().cloned().collect();
        let factors = &defined.definition.factors;
        if let Some(unknown) = said.keys().find(|name| factors.iter().all(|f| f.name != **name)) {
            let says = format!("--at: the study has no factor '{unknown}'");
            return Err(Failure::of(Cause::NO_FACTOR, says));
        }
        let machine = Machine { host: &self.host, peer: self.peer_hosts.first(), said: &said };
        let (levels, unread) = standing(&defined.definition, &machine);
        if let Some(unread) = unread.first() {
            let says = format!("factor '{}': {}", unread.factor, unread.why);
            return Err(Failure::of(Cause::NO_LEVEL, says));
        }
        let ends = PlannedEnds {
            host: &self.host,
            peer: self.peer_hosts.first(),
            path: self.path,
            interface: self.interface.as_deref(),
        };
        let planned = trials(&defined.cells, &ends)
            .map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
        let why_not = |(trial, why): &Planned| why.clone().or_else(|| self.why_not(trial));
        self.missing = planned.iter().map(why_not).collect();
        self.trials = planned.into_iter().map(|(trial, _)| trial).collect();
        let fits = |trial: &Trial| {
            levels.iter().all(|(factor, at)| trial.level(factor) == Some(at.level.as_str()))
        };
        self.fits = self.trials.iter().map(fits).collect();
        self.levels = levels;
        Ok(())
    }

    /// Why a trial cannot run here.
    fn why_not(&self, trial: &Trial) -> Option<String> {
        if trial.engine.is_none()
            && let Err(error) = narrows_workloads::kind(&trial.kind)
        {
            return Some(error.to_string());
        }
        if trial.kind.starts_with("rdma-")
            && let Some(why) = self.without_rdma(trial)
        {
            return Some(why);
        }
        if trial.engine.is_some() {
            return engines::engine(trial).err();
        }
        let can = self.peers.first().map_or(Ok(()), |peer| peer.can(trial));
        let job = if trial.path == Path::Memory { sink_job(trial) } else { source_job(trial) };
        let job = job.and_then(|job| {
            narrows_workloads::check(&job)
                .map(drop)
                .map_err(|error| narrows_run::RunError::Order(error.to_string()))
        });
        can.and(job).err().map(|error| error.to_string())
    }

    /// What is missing for RDMA at either end.
    fn without_rdma(&self, trial: &Trial) -> Option<String> {
        let asked = trial.params.rdma.as_ref();
        if let Err(error) = narrows_workloads::rdma::available(asked) {
            return Some(match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            });
        }
        if asked.is_some_and(|asked| asked.via.is_some()) {
            return None;
        }
        if self.peers.is_empty() {
            return Some("RDMA is measured to a peer: name one with --peer".to_owned());
        }
        let bare = self.peer_hosts.iter().any(|host| host.rdma.is_empty());
        if bare {
            return Some("the peer has no RDMA device".to_owned());
        }
        let asked = asked?;
        let (own, far) = match trial.params.is_reverse() {
            false => (&asked.source, &asked.sink),
            true => (&asked.sink, &asked.source),
        };
        let hosts = [(own, Some(&self.host)), (far, self.peer_hosts.first())];
        hosts.into_iter().find_map(|(place, host)| {
            let (named, host) = (place.device.as_ref()?, host?);
            let has = host.rdma.iter().any(|device| device.name == *named);
            (!has).then(|| {
                let host = host.name.value().map_or("a host", String::as_str);
                format!("{host} has no RDMA device {named}")
            })
        })
    }

    /// Cells that cannot run here, by their ids, and why.
    pub fn cannot(&self) -> BTreeMap<String, String> {
        let cells = self.trials.iter().zip(&self.missing);
        cells.filter_map(|(trial, why)| Some((trial.id.0.clone(), why.clone()?))).collect()
    }

    /// What joins the ends, in words.
    pub fn path_says(&self) -> String {
        match (self.path, self.peers.first()) {
            (Path::Peer, Some(peer)) => format!("to {}", peer.address()),
            (Path::Namespaces, _) => {
                "between two namespaces of this host: the stack, no NIC and no wire".to_owned()
            }
            _ => "over loopback: not a network result".to_owned(),
        }
    }

    /// Levels that cells with runs left want, in place of those that the machine has: what to
    /// change by hand, the nearest first.
    pub fn changes(
        &self,
        defined: &Defined,
        wanted: &[usize],
        said: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let machine = Machine { host: &self.host, peer: self.peer_hosts.first(), said };
        let mut all: Vec<(Vec<Change>, usize)> = Vec::new();
        for index in wanted {
            let cell = &defined.cells[*index];
            let by_hand = defined.definition.factors.iter().filter(|factor| factor.by_hand);
            let differs = by_hand.filter_map(|factor| {
                let to = cell.level(&factor.name)?;
                let at = self.levels.get(&factor.name).map(|found| found.level.as_str());
                let level = factor.levels.iter().find(|level| level.name == to)?;
                (at != Some(to)).then(|| change(factor, level, &machine))
            });
            let changes: Vec<Change> = differs.collect();
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

    /// The parts that a course takes: its ends, and what makes the host ready for a trial.
    pub fn parts<'a>(
        &'a mut self,
        settings: BTreeMap<TrialId, &'a Settings>,
        guard: &'a mut Option<Guard>,
    ) -> (Ends<'a>, Ready<'a>) {
        let namespaces = self.namespaces.as_ref();
        let ready = Ready {
            settings,
            namespaces,
            interface: self.interface.as_deref(),
            guard,
            defaults: BTreeMap::new(),
            congestion: None,
            mtu_bytes: None,
            offloads: BTreeMap::new(),
            interrupts: interrupts(&self.host, self.interface.as_deref()),
        };
        let ends = match self.peers.is_empty() {
            false => Ends::Peers(&mut self.peers),
            true => Ends::Local {
                address: namespaces.map_or(Ipv4Addr::LOCALHOST.into(), Namespaces::sink_address),
                sink_namespace: namespaces.map(Namespaces::sink_path),
                source_namespace: namespaces.map(Namespaces::source_path),
            },
        };
        (ends, ready)
    }
}

/// Makes the host ready for a trial: settings that the study varies. What is changed on the host
/// itself is put back when the guard goes, however this process ends.
pub struct Ready<'a> {
    settings: BTreeMap<TrialId, &'a Settings>,
    namespaces: Option<&'a Namespaces>,
    interface: Option<&'a str>,
    guard: &'a mut Option<Guard>,
    /// What kernel settings were before any trial changed them.
    defaults: BTreeMap<String, String>,
    /// The congestion control that routes have.
    congestion: Option<String>,
    /// The MTU that a trial has set.
    mtu_bytes: Option<u32>,
    /// What offloads were before any trial changed them.
    offloads: BTreeMap<String, bool>,
    /// Files of the NIC's interrupts, with the CPUs that each had once a trial has moved it.
    interrupts: BTreeMap<String, Option<String>>,
}

/// The files that say where the interrupts of an interface go.
fn interrupts(host: &Host, interface: Option<&str>) -> BTreeMap<String, Option<String>> {
    let nic = interface.and_then(|name| host.nic(name));
    let irqs = nic.and_then(|nic| nic.irqs.value()).into_iter().flatten();
    irqs.map(|irq| (format!("/proc/irq/{}/smp_affinity_list", irq.number), None)).collect()
}

impl Ready<'_> {
    /// Sets what a trial asks for, and back what only others ask for.
    pub fn for_trial(&mut self, trial: &Trial) -> Result<(), String> {
        let Some(settings) = self.settings.get(&trial.id).copied() else { return Ok(()) };
        if trial.path == Path::Memory {
            // Only what is of the whole host matters to it.
            return self.sysctls(&settings.sysctl, |name| name == HUGE_PAGES);
        }
        self.mtu(settings.told(&places::MTU))?;
        self.offloads(&settings.offloads)?;
        self.steer(trial.place.irq.as_ref())?;
        if let Some(pair) = self.namespaces {
            // An outside tool may not be able to ask for one.
            let wanted = settings.told(&flows::CONGESTION).filter(|_| trial.engine.is_some());
            if wanted != self.congestion {
                let set = pair.set_congestion(wanted.as_deref());
                set.map_err(|error| format!("congestion: {error}"))?;
                self.congestion = wanted;
            }
        }
        self.sysctls(&settings.sysctl, |_| true)
    }

    /// Sets the kernel settings that a trial asks for and `mine` takes, and back what it does not.
    fn sysctls(
        &mut self,
        wanted: &BTreeMap<String, String>,
        mine: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let others: Vec<(String, String)> = self
            .defaults
            .iter()
            .filter(|(name, _)| mine(name) && !wanted.contains_key(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in others {
            self.sysctl(&name, &value)?;
        }
        for (name, value) in wanted.iter().filter(|(name, _)| mine(name)) {
            let was = self.sysctl(name, value)?;
            self.defaults.entry(name.clone()).or_insert(was);
        }
        Ok(())
    }

    fn offloads(&mut self, wanted: &BTreeMap<String, bool>) -> Result<(), String> {
        let mut all = wanted.clone();
        for (feature, was) in &self.offloads {
            all.entry(feature.clone()).or_insert(*was);
        }
        for (feature, on) in all {
            let was = self.offload(&feature, on)?;
            self.offloads.entry(feature).or_insert(was);
        }
        Ok(())
    }

    /// Switches an offload; what it was.
    fn offload(&mut self, feature: &str, on: bool) -> Result<bool, String> {
        let says = |error: narrows_run::RunError| format!("offload {feature}: {error}");
        match (self.namespaces, self.interface) {
            (Some(pair), _) => pair.set_offload(feature, on).map_err(says),
            (None, Some(name)) => {
                let was = offloads::get(name, feature, None).map_err(says)?;
                if was != on {
                    let path = offloads::path(name, feature);
                    self.guard()?.set(&path, offloads::word(on)).map_err(says)?;
                }
                Ok(was)
            }
            (None, None) => Err("offloads: the interface between the ends is not known".into()),
        }
    }

    /// Sends the NIC's interrupts where a trial wants them, or back.
    fn steer(&mut self, wanted: Option<&CpuList>) -> Result<(), String> {
        if wanted.is_some() && (self.namespaces.is_some() || self.interrupts.is_empty()) {
            return Err("irq: no NIC with interrupts of its own joins the ends".to_owned());
        }
        let list = wanted.map(|cpus| {
            let cpus: Vec<String> = cpus.0.iter().map(u32::to_string).collect();
            cpus.join(",")
        });
        for (path, was) in self.interrupts.clone() {
            let Some(to) = list.clone().or(was.clone()) else { continue };
            if was.is_none() {
                let now = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
                self.interrupts.insert(path.clone(), Some(now.trim().to_owned()));
            }
            self.guard()?.set(&path, &to).map_err(|error| format!("irq: {error}"))?;
        }
        Ok(())
    }

    fn mtu(&mut self, wanted: Option<u32>) -> Result<(), String> {
        if wanted == self.mtu_bytes {
            return Ok(());
        }
        let says = |error: narrows_run::RunError| format!("mtu: {error}");
        match (self.namespaces, self.interface) {
            (Some(pair), _) => pair.set_mtu(wanted.unwrap_or(MTU_BYTES)).map_err(says)?,
            (None, Some(name)) => {
                let path = format!("/sys/class/net/{name}/mtu");
                match wanted {
                    Some(mtu) => self.guard()?.set(&path, &mtu.to_string()).map_err(says)?,
                    // The guard puts back what it was.
                    None => *self.guard = None,
                }
            }
            (None, None) => return Err("mtu: the interface between the ends is not known".into()),
        }
        self.mtu_bytes = wanted;
        Ok(())
    }

    /// Sets a kernel setting; what it was.
    fn sysctl(&mut self, name: &str, value: &str) -> Result<String, String> {
        let says = |error: narrows_run::RunError| format!("sysctl {name}: {error}");
        if let Some(pair) = self.namespaces.filter(|_| name != HUGE_PAGES) {
            return pair.set_sysctl(name, value).map_err(says);
        }
        let path = sysctl_path(name).map_err(says)?;
        let was = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        self.guard()?.set(&path, value).map_err(says)?;
        let now = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        // The kernel sets aside as many pages as it finds in one piece.
        if name == HUGE_PAGES && now.trim() != value.trim() {
            return Err(format!("{name}: {} of {value} pages could be had", now.trim()));
        }
        Ok(was.trim_end().to_owned())
    }

    fn guard(&mut self) -> Result<&mut Guard, String> {
        if self.guard.is_none() {
            let binary = own_binary().map_err(|failure| failure.says().to_owned())?;
            *self.guard = Some(Guard::start(&binary).map_err(|error| error.to_string())?);
        }
        self.guard.as_mut().ok_or_else(|| "the guard is gone".to_owned())
    }
}
