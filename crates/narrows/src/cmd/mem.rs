//! `narrows mem`: bandwidth and latency of this host's memory.

use super::{demands, lacks};
use crate::args::{MemArgs, OutArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::options::{kernels, runs};
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Kernel;
use narrows_plan::check::profiled;
use narrows_plan::direct::sliced;
use narrows_plan::memory::{self as plan, Wanted};
use narrows_plan::{Spot, blocks};
use narrows_report::{Analysis, numademo};
use narrows_runner::CourseEnd;
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;
use std::net::Ipv4Addr;
use std::path::PathBuf;

pub fn run(args: &MemArgs) -> Result<u8, Failure> {
    output::check_folder(&args.out.out)?;
    let host = narrows_host::read(&Root::live());
    let window = args.told.settings.told(&runs::SECONDS).map_or(plan::WINDOW, Nanos::from_seconds);
    let cpus = match args.told.settings.told(&kernels::NODE) {
        Some(node) => narrows_plan::on_node(&host, node).map_or(1, |spot| spot.cpus.len()),
        None => narrows_plan::choose(&host).cpus.len(),
    } as u32;
    let (spot, trials) = plan::trials(&host, &wanted(args, host.nodes.len(), cpus), window)
        .map_err(|why| Failure::of(Cause::NO_MEMORY, why.to_string()))?;
    let profile = args.told.settings.told(&runs::PROFILE).unwrap_or(false);
    let trials = if profile { profiled(trials) } else { trials };
    let interval = args.slices.interval;
    let trials: Vec<Trial> = match interval {
        Some(_) => trials.into_iter().map(|trial| sliced(trial, interval)).collect(),
        None => trials,
    };
    if args.matrix && plan::nodes_with_memory(&host).len() < 2 {
        note!("no matrix: fewer than two nodes here have memory");
    }
    let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let measurement = LocalStudy {
        command: StudyKind::Mem,
        host: &host,
        spot: &spot,
        trials: &trials,
        repeats: args.repeats.unwrap_or(plan::REPEATS),
        seed,
        memory_node: args.memory_node.or(spot.node),
        out: &args.out,
    };
    let (file, end) = measurement.run()?;
    let html = args.out.out.join("report.html");
    let verdict = output::present(&file, &args.out, Some(&html))?;
    if args.numademo && args.out.format() == "text" {
        let stored = narrows_store::read(&file)?;
        let summaries = Analysis::of(&stored).summaries;
        let cells = stored.trials.iter().zip(&summaries).filter_map(|(trial, summary)| {
            let (kernel, place) = plan::of_numademo(trial)?;
            Some(numademo::KernelRate { kernel, place, rate: summary.estimate })
        });
        let cells: Vec<numademo::KernelRate> = cells.collect();
        output::print_json_or_text(false, &numademo::text(&cells, plan::LOCAL))?;
    }
    output::made(&file, &format!(", report {}", html.display()));
    output::nothing_measured(&file)?;
    demands::judged(&file, &args.out.demands, output::exit_code(&end, verdict))
}

/// Trials on this host's memory that become one study.
pub(super) struct LocalStudy<'a> {
    /// The command, as the study has it.
    pub command: StudyKind,
    /// The host, as it was read before.
    pub host: &'a Host,
    /// Whose CPUs run.
    pub spot: &'a Spot,
    pub trials: &'a [Trial],
    /// Runs of each.
    pub repeats: u32,
    /// Seed of their order.
    pub seed: u64,
    /// The node that the memory is taken from, where it is bound to one.
    pub memory_node: Option<u32>,
    pub out: &'a OutArgs,
}

impl LocalStudy<'_> {
    /// Makes all runs; the study's file, and how they ended.
    pub(super) fn run(&self) -> Result<(PathBuf, CourseEnd), Failure> {
        for trial in self.trials {
            let job = narrows_runner::controller::receiver_job(trial)?;
            narrows_workloads::check(&job)
                .map_err(|error| Failure::of(Cause::LIMIT, error.to_string()))?;
            lacks::check_pages(trial)?;
        }
        let stop = stop::flag()?;
        let study = self.study();
        let file = output::study_path(self.out, self.command.as_str(), study.began_unix_ns);
        let mut draft = Store::draft(&file, &study, self.host)?;
        draft.put_trials(self.trials)?;
        let store = draft.publish_numbered()?;
        let file = store.path().to_owned();
        let steps = blocks(self.trials.len(), self.repeats, self.seed);
        let mut controller = Controller {
            launcher: Launcher::plain(cmd::own_binary()?),
            ends: Ends::Local {
                address: Ipv4Addr::LOCALHOST.into(),
                receiver_namespace: None,
                sender_namespace: None,
            },
            together: false,
            stop: &stop,
            onlooker: None,
        };
        let planned = Planned { study: &study, trials: self.trials, steps: &steps, store: &store };
        let end = output::run_course(&mut controller, &planned, self.out)?;
        Ok((file, end))
    }

    fn study(&self) -> Study {
        Study {
            began_unix_ns: output::now(),
            cache_bytes: self.spot.cache_bytes,
            memory_node: self.memory_node,
            ..Study::new(self.command.clone(), NetworkPath::Memory, self.repeats, self.seed)
        }
    }
}

/// Without a choice: all kernels, latency by size, and node by node where there are several.
fn wanted(args: &MemArgs, nodes: usize, cpus: u32) -> Wanted {
    let tables = args.latency || args.loaded || args.matrix || args.numademo;
    let chosen = tables || !args.kernels.is_empty();
    let kernels = match (args.kernels.is_empty(), chosen) {
        (false, _) => args.kernels.clone(),
        (true, true) => Vec::new(),
        (true, false) => Kernel::ALL.to_vec(),
    };
    let settings = &args.told.settings;
    Wanted {
        kernels,
        threads: if args.sweep { sweep(cpus) } else { args.threads.clone() },
        node: settings.told(&kernels::NODE),
        memory_node: args.memory_node,
        interleave: settings.told(&kernels::INTERLEAVE) == Some(true),
        latency: args.latency || !chosen,
        chains: Vec::new(),
        loaded: args.loaded,
        matrix: args.matrix || !chosen && nodes > 1,
        numademo: args.numademo,
        vector: settings.told(&kernels::VECTOR),
        pages: settings.told(&kernels::PAGES),
        working_set_bytes: settings.told(&kernels::SIZE),
    }
}

/// 1, 2, 4 and so on, and the number of CPUs.
fn sweep(cpus: u32) -> Vec<u32> {
    let doubled = (0..10).map(|bit| 1 << bit).take_while(|threads| *threads < cpus);
    doubled.chain([cpus.clamp(1, 1024)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command, help};
    use crate::kept;
    use clap::FromArgMatches;

    /// The trials of a command line on a host of two CPUs.
    fn trials(line: &str) -> String {
        let words = std::iter::once("narrows").chain(line.split(' '));
        let matches = help::command().try_get_matches_from(words);
        let matches = matches.unwrap_or_else(|why| panic!("{why}"));
        let args = Args::from_arg_matches(&matches).expect("arguments");
        let Command::Mem(args) = args.command else { panic!("{line}") };
        let host = kept::stored("memory").host;
        let wanted = wanted(&args, host.nodes.len(), 2);
        let (kernels, threads) = (wanted.kernels.len(), wanted.threads.clone());
        let Wanted { latency, loaded, matrix, numademo, .. } = wanted;
        format!(
            "$ {line}\n  {kernels} kernels, threads {threads:?}, latency {latency}, loaded {loaded}, \
             matrix {matrix}, numademo {numademo}, {:?} {:?} {:?} {:?} {:?}\n",
            wanted.node, wanted.memory_node, wanted.vector, wanted.pages, wanted.working_set_bytes
        )
    }

    #[test]
    fn command_lines_want_what_was_found_right() {
        let all = [
            "mem",
            "mem -k copy,triad",
            "mem --latency",
            "mem --loaded",
            "mem --matrix",
            "mem --numademo",
            "mem --sweep -k read",
            "mem --threads 1,2,8",
            "mem --node 0 --memory-node 1 -k read",
            "mem --size 64M --pages 2M -k write",
        ];
        kept::is_kept_text("mem", &all.map(trials).concat());
    }

    #[test]
    fn a_sweep_doubles_up_to_the_number_of_cpus() {
        assert_eq!(sweep(0), [1]);
        assert_eq!(sweep(1), [1]);
        assert_eq!(sweep(2), [1, 2]);
        assert_eq!(sweep(6), [1, 2, 4, 6]);
        assert_eq!(sweep(8), [1, 2, 4, 8]);
        assert_eq!(sweep(5000).last(), Some(&1024));
        assert_eq!(sweep(5000).len(), 11);
    }

    #[test]
    fn nodes_are_set_against_each_other_where_there_are_two() {
        let words = ["narrows", "mem"];
        let matches = help::command().try_get_matches_from(words).expect("arguments");
        let args = Args::from_arg_matches(&matches).expect("arguments");
        let Command::Mem(args) = args.command else { panic!("mem") };
        assert_eq!([1, 2, 3].map(|nodes| wanted(&args, nodes, 1).matrix), [false, true, true]);
    }
}
