//! `narrows credits`: how many cache lines one core of this host has in flight, and what is known
//! of the other domains between its NIC and its memory.

use super::mem::LocalStudy;
use crate::args::CreditsArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_control::key;
use narrows_dimm::platform;
use narrows_host::Root;
use narrows_model::options::kernels;
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_plan::memory as plan;
use narrows_predict::domains::{self, Domains};
use narrows_predict::in_flight::{Chains, InFlight, plateau};
use narrows_stats::{Label, summarise};

pub fn run(args: &CreditsArgs) -> Result<u8, Failure> {
    let out = args.results();
    output::check_folder(&out.out)?;
    let host = narrows_host::read(&Root::live());
    let wanted = plan::Wanted {
        node: args.node,
        chains: plan::CHAINS.to_vec(),
        working_set_bytes: args.size,
        ..plan::Wanted::default()
    };
    let (spot, trials) = plan::trials(&host, &wanted, plan::WINDOW)
        .map_err(|why| Failure::of(Cause::NO_MEMORY, why.to_string()))?;
    let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let measurement = LocalStudy {
        command: StudyKind::Credits,
        host: &host,
        spot: &spot,
        trials: &trials,
        repeats: args.repeats.unwrap_or(plan::REPEATS),
        seed,
        memory_node: None,
        out: &out,
    };
    let (file, end) = measurement.run()?;
    let stored = narrows_store::read(&file)?;
    let told = Told::of(&stored);
    if args.json {
        output::print_exact(&told.json())?
    } else {
        output::print(&told.text())?
    }
    output::made(&file, "");
    output::nothing_measured(&file)?;
    Ok(output::exit_code(&end, 0))
}

/// What is said of a host's domains.
struct Told {
    curve: Vec<Chains>,
    core_reads: Option<InFlight>,
    published: Option<&'static Domains>,
    /// Numbers of chains while which others used the host.
    noisy: usize,
}

/// Domains that this measures nothing of, and why.
const UNMEASURED: [(&str, &str); 3] = [
    (
        "core writes",
        "a store that misses first reads its line; what follows cannot be seen from here",
    ),
    ("device writes", "needs the counters of the root complex"),
    ("device reads", "needs the counters of the root complex"),
];

impl Told {
    fn of(stored: &StoredStudy) -> Self {
        let summaries = summarise(stored);
        let cells = stored.trials.iter().filter_map(|trial| {
            let chains = kernels::CHAINS.of(&trial.params)?;
            let summary = summaries.iter().find(|summary| summary.label == trial.label)?;
            Chains::of(chains, summary)
        });
        let mut curve: Vec<Chains> = cells.collect();
        curve.sort_by_key(|point| point.chains);
        let noisy =
            summaries.iter().filter(|summary| summary.labels.contains(&Label::Noisy)).count();
        let published = domains::of(platform::of(&stored.host));
        Self { core_reads: plateau(&curve), curve, published, noisy }
    }

    fn json(&self) -> String {
        let unmeasured =
            UNMEASURED.map(|(domain, why)| serde_json::json!({ "domain": domain, "missing": why }));
        let document = serde_json::json!({
            "schema_version": narrows_model::SCHEMA_VERSION,
            "core_reads": self.core_reads,
            "curve": self.curve,
            "noisy_cells": self.noisy,
            "not_measured": unmeasured,
            "published": self.published.map(|of| serde_json::json!({
                "family": of.family,
                "source": of.source,
                "core_read_credits": of.core_read.credits,
                "device_write_credits": of.device_write.credits,
                "device_write_ns": of.device_write.unloaded_ns,
            })),
        });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    fn text(&self) -> String {
        let mut text = match &self.core_reads {
            Some(found) => of_reads(found),
            None => "lines in flight: nothing was measured\n".to_owned(),
        };
        text += "\nchains   ns a load   lines in flight\n";
        let alone = self.curve.first().map_or(0.0, |one| one.load_ns.value);
        for point in &self.curve {
            let ns = point.load_ns.value;
            text += &format!("{:>6}   {ns:>9.1}   {:>15.1}\n", point.chains, alone / ns);
        }
        if self.noisy > 0 {
            let cells = self.curve.len();
            text += &format!(
                "other processes used this host in {} of {cells} rows: measure again while it is \
                idle\n",
                self.noisy
            );
        }
        for (domain, why) in UNMEASURED {
            text += &format!("not measured: {domain}: {why}\n");
        }
        text += &match self.published {
            Some(of) => format!(
                "published for {}: {} reads of a core, {} writes of a device ({})\n",
                of.family, of.core_read.credits, of.device_write.credits, of.source
            ),
            None => "published for this processor's family: nothing\n".to_owned(),
        };
        text
    }
}

fn of_reads(found: &InFlight) -> String {
    let InFlight { lines, alone_ns, gb_s, from_chains, is_plateau } = found;
    let least = if *is_plateau { "" } else { "at least " };
    format!(
        "one core has {least}{:.1} lines in flight ({:.1} to {:.1}), from {from_chains} chains on\n\
         a line takes {:.0} ns alone, so a core reads {gb_s:.1} GB/s from anywhere in memory\n",
        lines.value, lines.low, lines.high, alone_ns.value
    )
}
