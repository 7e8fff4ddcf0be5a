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
use narrows_model::Bytes;
use narrows_model::host::{Cache, Host};
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
    /// Where the chains were.
    held: Held,
    published: Option<&'static Domains>,
    /// Numbers of chains while which others used the host.
    noisy: usize,
}

/// Where a buffer is after it was read once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It fits a cache that the core reads through.
    Cache,
    /// It is larger than the largest of these.
    Memory,
    /// None of these was read.
    Unknown,
}

impl Held {
    /// Of so many bytes that a CPU reads; `None` is a CPU that is not known.
    fn of(bytes: Bytes, cpu: Option<u32>, host: &Host) -> Self {
        let of_it = |cache: &&Cache| cpu.is_some_and(|cpu| cache.cpus.contains(&cpu));
        let caches = host.cpu.caches.iter().filter(of_it);
        match caches.map(|cache| cache.size_bytes).max() {
            Some(largest) if bytes <= largest => Self::Cache,
            Some(_) => Self::Memory,
            None => Self::Unknown,
        }
    }

    /// After `reads N GB/s`.
    fn words(self) -> &'static str {
        match self {
            Self::Cache => "from a cache that the buffer fits: for memory ask for a larger --size",
            Self::Memory => "from memory, at random addresses",
            Self::Unknown => "from a cache or memory: how large the caches are was not read",
        }
    }

    /// In JSON; `None` where it is not known.
    fn json(self) -> Option<&'static str> {
        match self {
            Self::Cache => Some("cache"),
            Self::Memory => Some("memory"),
            Self::Unknown => None,
        }
    }
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
        let held = stored.trials.first().map_or(Held::Unknown, |trial| {
            let cpu = trial.ends.first().and_then(|end| end.place.cpus.0.first().copied());
            Held::of(trial.params.working_set_bytes, cpu, &stored.host)
        });
        Self { core_reads: plateau(&curve), held, curve, published, noisy }
    }

    fn json(&self) -> String {
        let unmeasured =
            UNMEASURED.map(|(domain, why)| serde_json::json!({ "domain": domain, "missing": why }));
        let document = serde_json::json!({
            "schema_version": narrows_model::SCHEMA_VERSION,
            "core_reads": self.core_reads,
            "read_from": self.held.json(),
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
        let alone = self.curve.first().filter(|first| first.chains == 1);
        let mut text = match &self.core_reads {
            Some(found) => of_reads(found, self.held),
            None if self.curve.is_empty() => "lines in flight: nothing was measured\n".to_owned(),
            None if alone.is_none() => {
                "lines in flight: unknown: the run with a single chain is missing\n".to_owned()
            }
            None => "lines in flight: unknown: only a single chain was measured\n".to_owned(),
        };
        text += "\nchains   ns a load   lines in flight\n";
        for point in &self.curve {
            let ns = point.load_ns.value;
            let lines = alone.map(|one| format!("{:.1}", one.load_ns.value / ns));
            let lines = lines.unwrap_or_else(|| "-".to_owned());
            text += &format!("{:>6}   {ns:>9.1}   {lines:>15}\n", point.chains);
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

fn of_reads(found: &InFlight, held: Held) -> String {
    let InFlight { lines, alone_ns, gb_s, from_chains, is_plateau } = found;
    let least = if *is_plateau { "" } else { "at least " };
    format!(
        "one core has {least}{:.1} lines in flight ({:.1} to {:.1}), from {from_chains} chains on\n\
         a line takes {:.0} ns alone, so a core reads {gb_s:.1} GB/s {}\n",
        lines.value,
        lines.low,
        lines.high,
        alone_ns.value,
        held.words()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_predict::Measured;

    /// A processor of two cores, each with 1 MiB of its own, and 8 MiB of both.
    fn host() -> Host {
        let mut host = Host::default();
        for (level, mib, cpus) in [(2, 1, vec![0]), (2, 1, vec![1]), (3, 8, vec![0, 1])] {
            let kind = "Unified".to_owned();
            host.cpu.caches.push(Cache { level, kind, size_bytes: Bytes(mib << 20), cpus });
        }
        host
    }

    #[test]
    fn a_buffer_is_in_a_cache_of_its_cpu_or_in_memory_or_nobody_knows() {
        let of = |bytes: u64, cpu: Option<u32>| Held::of(Bytes(bytes), cpu, &host());
        assert_eq!(of(10 << 10, Some(0)), Held::Cache);
        assert_eq!(of(8 << 20, Some(1)), Held::Cache);
        assert_eq!(of((8 << 20) + 1, Some(1)), Held::Memory);
        // Another processor's cache is not this one's.
        assert_eq!(of(10 << 10, Some(2)), Held::Unknown);
        assert_eq!(of(10 << 10, None), Held::Unknown);
        assert_eq!(Held::of(Bytes(1 << 40), Some(0), &Host::default()), Held::Unknown);
    }

    fn load_ns(chains: u32, ns: f64) -> Chains {
        let load_ns = Measured { value: ns, low: ns, high: ns, from: String::new() };
        Chains { chains, load_ns }
    }

    #[test]
    fn without_one_chain_alone_no_lines_are_counted() {
        for (curve, says) in [
            (
                vec![load_ns(8, 2.0), load_ns(64, 1.0)],
                "unknown: the run with a single chain is missing",
            ),
            (vec![load_ns(1, 10.0)], "unknown: only a single chain was measured"),
            (vec![], "nothing was measured"),
        ] {
            let core_reads = plateau(&curve);
            let told = Told { core_reads, held: Held::Memory, curve, published: None, noisy: 0 };
            let text = told.text();
            assert!(text.starts_with(&format!("lines in flight: {says}")), "{text}");
            let is_counted = text.contains("   1.0\n");
            assert_eq!(
                is_counted,
                says.ends_with("was measured") && !told.curve.is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_sentence_and_the_document_say_from_where_it_reads() {
        for (held, words, json) in [
            (Held::Cache, "64.0 GB/s from a cache that the buffer fits", r#""read_from": "cache""#),
            (
                Held::Memory,
                "64.0 GB/s from memory, at random addresses",
                r#""read_from": "memory""#,
            ),
            (Held::Unknown, "64.0 GB/s from a cache or memory", r#""read_from": null"#),
        ] {
            let curve = vec![load_ns(1, 10.0), load_ns(12, 1.0), load_ns(64, 1.0)];
            let core_reads = plateau(&curve);
            let told = Told { core_reads, held, curve, published: None, noisy: 0 };
            assert!(told.text().contains(words), "{}", told.text());
            assert!(told.json().contains(json), "{}", told.json());
        }
    }
}
