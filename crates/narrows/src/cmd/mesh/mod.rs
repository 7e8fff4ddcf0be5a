//! `narrows mesh HOSTS`: pairs among many hosts, and who of them is slow. Their ends are workers of
//! agents, or ranks of an MPI.

mod agents;
mod manifest;
mod rounds;

use self::agents::Held;
use self::rounds::Rounds;
use super::launcher::Launcher;
use super::{demands, measurement};
use crate::args::MeshArgs;
use crate::cause::Cause;
use crate::failure::{CONNECT, Failure, STOPPED, VERDICT};
use crate::{output, screen, stop};
use narrows_control::{Peer, key};
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::load::Params;
use narrows_model::record::Record;
use narrows_model::study::{Ended, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::{Bytes, Nanos, SCHEMA_VERSION};
use narrows_plan::mesh::{self as plan, Pair};
use narrows_plan::{direct as timing, hostset};
use narrows_report::{mesh as report, mesh_windows};
use narrows_runner::launch::{is_ssh, srun};
use narrows_runner::{Crowd, RANK_PAIRS_AT_ONCE, Ranks};
use narrows_stats::mesh::{Figures, Limits, Mesh, lie_apart};
use narrows_store::Store;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a round takes beside its window, about: pairs meet, warm up and cool down.
const BESIDE_WINDOW: Duration = Duration::from_secs(1);
/// More suspects than these are not measured again: then it is no few hosts that are slow.
const SUSPECTS_MAX: usize = 512;

pub fn run(args: &MeshArgs) -> Result<u8, Failure> {
    if let Some(image) = &args.k8s {
        return manifest::print(image, args);
    }
    let named = hostset::expand(&args.hosts)
        .map_err(|why| Failure::of(Cause::HOST_SET, why.to_string()))?;
    let names = if args.start.is_some() { srun::nodes(named)? } else { named };
    if names.len() < 2 {
        return Err(Failure::of(Cause::HOST_SET, "a mesh needs two hosts or more"));
    }
    output::check_folder(&args.out)?;
    let stop = stop::flag()?;
    let (mut crew, hosts, _held) =
        if args.mpi { ranks(names, &stop)? } else { agents::call(args, names, &stop)? };
    let mut meshed = Meshed::open(args, &crew, &hosts)?;
    let measured = meshed.measure(&mut crew, &stop);
    let stopped = measured.inspect_err(|_| output::kept(meshed.store.path(), ""))?;
    let ended = if stopped { Ended::by_signal() } else { Ended::Complete };
    meshed.store.put_ended(&ended)?;
    let path = meshed.store.path().to_owned();
    drop(meshed);
    present(args, &path, &crew, stopped)
}

/// What makes the ends of pairs.
enum Crew {
    Agents(Crowd),
    Ranks(Ranks),
}

impl Crew {
    fn names(&self) -> &[String] {
        match self {
            Self::Agents(crowd) => &crowd.names,
            Self::Ranks(ranks) => &ranks.names,
        }
    }

    /// Why each host is not there.
    fn gone(&self) -> Vec<Option<String>> {
        match self {
            Self::Agents(crowd) => crowd.gone.clone(),
            Self::Ranks(ranks) => {
                ranks.gone.iter().map(|why| why.as_ref().map(ToString::to_string)).collect()
            }
        }
    }

    /// The most pairs of a round.
    fn at_once(&self) -> usize {
        match self {
            Self::Agents(_) => usize::MAX,
            Self::Ranks(_) => RANK_PAIRS_AT_ONCE,
        }
    }

    /// Agents that are there; none where a launcher starts the ends.
    fn peers(&self) -> impl Iterator<Item = &Peer> {
        let peers = match self {
            Self::Agents(crowd) => crowd.peers.as_slice(),
            Self::Ranks(_) => &[],
        };
        peers.iter().flatten()
    }

    fn round(
        &mut self,
        trials: &[(&Trial, u32)],
        block: u32,
        stop: &AtomicBool,
    ) -> (Vec<Record>, bool) {
        match self {
            Self::Agents(crowd) => crowd.round(trials, block, stop),
            Self::Ranks(ranks) => ranks.round(trials, block, stop),
        }
    }
}

/// Who makes the ends, what their hosts are, and the agents that were started, which go with this.
type Called = (Crew, Vec<Host>, Held);

/// Sees which hosts the launcher of the MPI that there is reaches.
fn ranks(names: Vec<String>, stop: &AtomicBool) -> Result<Called, Failure> {
    if let Some(name) = names.iter().find(|name| is_ssh(name)) {
        let says = format!("{name}: the launcher of an MPI takes hosts by name, without ssh:");
        return Err(Failure::of(Cause::HOST_SET, says));
    }
    // Without one, this says what to install.
    Launcher::find(None, stop)?;
    let hosts = names.iter().map(|_| Host::default()).collect();
    let called = Ranks::call(names, stop);
    let ranks = called.ok_or_else(|| Failure::of(Cause::STOPPED, Ended::BY_SIGNAL))?;
    for why in ranks.gone.iter().flatten() {
        note!("{why}");
    }
    match ranks.gone.iter().flatten().next() {
        Some(why) if !ranks.is_enough() => Err(Failure::of(Cause::MPI_HOSTS, why.to_string())),
        _ => Ok((Crew::Ranks(ranks), hosts, Held::Nobody)),
    }
}

/// A mesh while it is measured.
struct Meshed<'a> {
    args: &'a MeshArgs,
    store: Store,
    trials: BTreeMap<Pair, Trial>,
    /// Runs of each pair so far.
    repeats: BTreeMap<Pair, u32>,
    rounds: Vec<Vec<Pair>>,
    /// Rounds so far.
    block: u32,
    /// What a user sees of them.
    seen: Rounds,
}

impl<'a> Meshed<'a> {
    fn open(args: &'a MeshArgs, crew: &Crew, hosts: &[Host]) -> Result<Self, Failure> {
        let own = narrows_host::read(&Root::live());
        let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
        let rounds = args.shape().rounds(crew.names().len(), seed);
        let rounds = plan::at_most(&rounds, crew.at_once());
        let (kind, settings) = (args.kind(), args.settings());
        let caches = hosts.iter().map(Host::last_level_cache_bytes);
        let cache = caches.fold(own.last_level_cache_bytes(), Bytes::max);
        let params: Params = settings
            .params(cache, Bytes(0))
            .map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))?;
        let window = args.seconds.map_or(timing::WINDOW, Nanos::from_seconds);
        let trials: BTreeMap<Pair, Trial> = rounds
            .iter()
            .flatten()
            .copied()
            .map(|pair| {
                let line = if args.mpi { plan::of_ranks(window) } else { plan::timeline(window) };
                let trial = plan::trial(pair, &kind, &params, line, crew.names());
                (pair, Trial { engine: args.engine(), ..trial })
            })
            .collect();
        let all: Vec<Trial> = trials.values().cloned().collect();
        for (trial, peer) in
            all.first().iter().flat_map(|trial| crew.peers().map(move |peer| (trial, peer)))
        {
            measurement::check(trial)?;
            peer.can(trial)?;
        }
        let began = output::now();
        let study = study(crew, seed, began, &own);
        let mut draft = Store::draft(&output::stamped(&args.out, "mesh", began), &study, &own)?;
        draft.put_trials(&all)?;
        draft.put_peer_hosts(hosts)?;
        let store = draft.publish()?;
        let seen = Rounds::new(rounds.len(), Duration::from_nanos(window.0) + BESIDE_WINDOW);
        Ok(Self { args, store, trials, repeats: BTreeMap::new(), rounds, block: 0, seen })
    }

    /// A round, and once more where its windows lay apart: then pairs had less beside them than
    /// they were to have. Whether the user stopped it.
    fn until_met(
        &mut self,
        crew: &mut Crew,
        round: &[Pair],
        stop: &AtomicBool,
    ) -> Result<bool, Failure> {
        let (stopped, is_apart) = self.round(crew, round, stop)?;
        if stopped || !is_apart {
            return Ok(stopped);
        }
        self.seen.add(1);
        Ok(self.round(crew, round, stop)?.0)
    }

    /// All rounds, and suspects again; whether the user stopped it.
    fn measure(&mut self, crew: &mut Crew, stop: &AtomicBool) -> Result<bool, Failure> {
        for round in std::mem::take(&mut self.rounds) {
            if self.until_met(crew, &round, stop)? {
                return Ok(true);
            }
        }
        if self.args.once {
            return Ok(false);
        }
        // Half as many pairs each time, until every suspect has run by itself.
        let mut at_once = (crew.names().len() / 4).clamp(1, crew.at_once());
        loop {
            let suspects = self.suspects()?;
            if suspects.is_empty() {
                return Ok(false);
            }
            if suspects.len() > SUSPECTS_MAX {
                note!("{} suspects, too many to be measured again", suspects.len());
                return Ok(false);
            }
            let rounds = plan::packed(&suspects, at_once);
            let alone = rounds.iter().all(|round| round.len() == 1);
            self.seen.add(rounds.len());
            for round in rounds {
                if self.until_met(crew, &round, stop)? {
                    return Ok(true);
                }
            }
            if alone {
                return Ok(false);
            }
            at_once = (at_once / 2).max(1);
        }
    }

    /// One round, and its records to disk; whether the user stopped it, and whether its windows lay
    /// apart.
    fn round(
        &mut self,
        crew: &mut Crew,
        round: &[Pair],
        stop: &AtomicBool,
    ) -> Result<(bool, bool), Failure> {
        let mut trials = Vec::new();
        for pair in round {
            let Some(trial) = self.trials.get(pair) else { continue };
            let repeat = self.repeats.entry(*pair).or_default();
            trials.push((trial, *repeat));
            *repeat += 1;
        }
        self.seen.begins(trials.len());
        let (records, stopped) = crew.round(&trials, self.block, stop);
        let ran = trials.iter().map(|(trial, _)| *trial).zip(&records);
        self.seen.ran(Figures::of(ran));
        self.block += 1;
        if !stopped {
            self.store.put_records(&records)?;
        }
        Ok((stopped, lie_apart(&records)))
    }

    /// Pairs that were slow the last time, of what is stored.
    fn suspects(&self) -> Result<Vec<Pair>, Failure> {
        let stored = narrows_store::read(self.store.path())?;
        let mesh = Mesh::of(&stored, limits(self.args));
        Ok(mesh.map(|mesh| mesh.suspects()).unwrap_or_default())
    }
}

fn limits(args: &MeshArgs) -> Limits {
    Limits { latency_times: args.latency_times, rate_share: args.rate_share }
}

fn study(crew: &Crew, seed: u64, began_unix_ns: Nanos, own: &Host) -> Study {
    Study {
        peer: Some(crew.names().join(", ")),
        began_unix_ns,
        cache_bytes: own.last_level_cache_bytes(),
        ..Study::new(StudyKind::Mesh, NetworkPath::Peer, 1, seed)
    }
}

fn present(args: &MeshArgs, path: &Path, crew: &Crew, stopped: bool) -> Result<u8, Failure> {
    let stored = narrows_store::read(path)?;
    let mesh = Mesh::of(&stored, limits(args));
    if mesh.is_none() && stopped {
        note!("stopped before a pair was measured");
        return Ok(STOPPED);
    }
    let mesh = mesh.ok_or_else(|| Failure::of(Cause::RUNS_FAILED, "no pair was measured"))?;
    let names = crew.names();
    if let Some(file) = &args.svg {
        output::write_whole(file, &report::svg(&mesh, names))?;
    }
    let text = if args.json {
        let document = serde_json::json!({
            "schema_version": SCHEMA_VERSION, "hosts": names, "gone": crew.gone(), "mesh": mesh,
            "socket_buffers": mesh_windows::all(&mesh, &stored),
        });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    } else {
        report::text(&mesh, &stored, names, &screen::of_output())
    };
    output::print_json_or_text(args.json, &text)?;
    output::made(path, "");
    let code = match (stopped, mesh.best, mesh.named.is_empty()) {
        (true, _, _) => STOPPED,
        (false, None, _) => CONNECT,
        (false, Some(_), false) => VERDICT,
        (false, Some(_), true) => 0,
    };
    demands::judged_of(&stored, &args.demands, code)
}
