//! The file of a study of an application: its cells, those of its fabrics, and each run as soon as
//! it is made.

use super::rig::Rig;
use super::run::Ran;
use super::speed::{self, Found};
use crate::args::AppArgs;
use crate::failure::Failure;
use crate::output;
use narrows_app::cells::{AppCell, HOSTS, cells, curves};
use narrows_app::contract::FIGURE;
use narrows_app::definition::Definition;
use narrows_app::scaling::{APPLICATION, OVERSUBSCRIBED};
use narrows_host::Root;
use narrows_model::load::{Params, Timeline};
use narrows_model::record::{Record, Stamp};
use narrows_model::study::{Ended, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, Level, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_mpi::pattern::Pattern;
use narrows_plan::Step;
use narrows_store::Store;
use std::collections::BTreeMap;
use std::path::Path;

/// The file while runs are added to it.
pub struct Sheet {
    store: Store,
    /// One a cell, in order.
    trials: Vec<Trial>,
    curves: Vec<AppCell>,
    /// One a curve and pattern, by label.
    of_fabrics: BTreeMap<String, Trial>,
}

impl Sheet {
    /// A new file with its cells.
    pub fn open(
        args: &AppArgs,
        definition: &Definition,
        rig: &Rig<'_>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let began = output::now();
        let file = output::stamped(&args.out, &definition.name, began);
        let own = narrows_host::read(&Root::live());
        let study = Study {
            began_unix_ns: began,
            quick: args.quick,
            cache_bytes: own.last_level_cache_bytes(),
            ..Study::new(StudyKind::App, path_of(definition), definition.repeats, seed)
        };
        let trials: Vec<Trial> = cells(definition)
            .iter()
            .map(|cell| {
                let mut trial = trial(definition, cell, APPLICATION, &rig.name(cell));
                if rig.is_oversubscribed(cell) {
                    let level = "more ranks than cores".to_owned();
                    trial.notes.push(Level { factor: OVERSUBSCRIBED.to_owned(), level });
                }
                trial
            })
            .collect();
        let is_asked = args.measures_fabrics() && definition.ranks.iter().any(|ranks| *ranks > 1);
        let curves = if is_asked { curves(definition) } else { Vec::new() };
        let of_fabrics: BTreeMap<String, Trial> = curves
            .iter()
            .flat_map(|curve| [Pattern::PingPong, Pattern::Bandwidth].map(|of| (curve, of)))
            .map(|(curve, pattern)| {
                let label = label(definition, curve, pattern);
                let made = trial(definition, curve, pattern.word(), &label);
                (label, made)
            })
            .collect();
        let mut draft = Store::draft(&file, &study, &own)?;
        let all: Vec<Trial> = trials.iter().chain(of_fabrics.values()).cloned().collect();
        draft.put_trials(&all)?;
        Ok(Self { store: draft.publish()?, trials, curves, of_fabrics })
    }

    /// Fabrics that are to be measured.
    pub fn curves(&self) -> &[AppCell] {
        &self.curves
    }

    pub fn file(&self) -> &Path {
        self.store.path()
    }

    /// Stores what a fabric does between two ranks.
    pub fn put_speeds(
        &mut self,
        definition: &Definition,
        curve: &AppCell,
        found: &[Found],
    ) -> Result<(), Failure> {
        let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
        for one in found {
            let label = label(definition, curve, one.pattern);
            let Some(trial) = self.of_fabrics.get(&label) else { continue };
            let repeat = repeats.entry(label).or_default();
            self.store.put_record(&speed::of_study(one, trial, *repeat, FIGURE))?;
            *repeat += 1;
        }
        Ok(())
    }

    /// Stores a run.
    pub fn put(&mut self, step: Step, ran: Ran) -> Result<(), Failure> {
        let Some(trial) = self.trials.get(step.trial) else { return Ok(()) };
        let [began_unix_ns, took_ns] = ran.times;
        let record = Record {
            trial: trial.id.clone(),
            repeat: step.repeat,
            block: step.block,
            outcome: ran.outcome,
            reports: Vec::new(),
            around: Stamp { began_unix_ns, took_ns, ..Stamp::default() },
            session: 0,
            external: Some(ran.external),
        };
        Ok(self.store.put_record(&record)?)
    }

    /// Says how it ended.
    pub fn end(&self, ended: &Ended) -> Result<(), Failure> {
        Ok(self.store.put_ended(ended)?)
    }
}

fn label(definition: &Definition, curve: &AppCell, pattern: Pattern) -> String {
    let [(_, place), (_, fabric), (_, mtu), _] = curve.levels(definition);
    format!("{} {fabric}, {place}, MTU {mtu}", pattern.name())
}

fn path_of(definition: &Definition) -> NetworkPath {
    let has = |of: fn(&narrows_app::definition::Place) -> bool| definition.places.iter().any(of);
    match (has(|place| !place.hosts.is_empty()), has(|place| place.namespaces)) {
        (true, _) => NetworkPath::Peer,
        (false, true) => NetworkPath::Namespaces,
        (false, false) => NetworkPath::Loopback,
    }
}

fn trial(definition: &Definition, cell: &AppCell, word: &str, label: &str) -> Trial {
    let none = Nanos(0);
    let line = Timeline { warmup_ns: none, window_ns: none, cooldown_ns: none, interval_ns: None };
    let (kind, params) = (Workload::from(word), Params::of_network(Bytes(0), 1));
    let (ends, path) = (EndSpec::anywhere(false), path_of(definition));
    let trial = narrows_plan::trial(label, kind, params, ends, path, line);
    let levels = cell.levels(definition);
    let levels = levels.into_iter().map(|(factor, level)| Level { factor: factor.into(), level });
    let hosts =
        definition.places.get(cell.place).map_or_else(String::new, |at| at.hosts.join(", "));
    let noted = Level { factor: HOSTS.to_owned(), level: hosts };
    let notes = Some(noted).filter(|note| !note.level.is_empty()).into_iter().collect();
    Trial { levels: levels.collect(), notes, ..trial }
}
