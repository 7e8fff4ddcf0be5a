//! What `narrows credits` counted: how many cache lines one core has in flight, and what is known
//! of the other domains between its NIC and its memory.

use maud::{Markup, html};
use narrows_dimm::platform;
use narrows_model::Bytes;
use narrows_model::host::{Cache, Host};
use narrows_model::options::kernels;
use narrows_model::result::Method;
use narrows_model::study::{Ended, StoredStudy};
use narrows_model::study_kind::StudyKind;
use narrows_predict::domains::{self, Domains};
use narrows_predict::in_flight::{Chains, InFlight, plateau};
use narrows_stats::{Label, Summary, summarise};

/// What a study of `narrows credits` says; `None` of any other.
pub fn of(stored: &StoredStudy) -> Option<Credits> {
    (stored.study.command == StudyKind::Credits).then(|| Credits::of(stored))
}

/// What is said of a host's domains.
pub struct Credits {
    curve: Vec<Chains>,
    core_reads: Option<InFlight>,
    /// Where the chains were.
    held: Held,
    published: Option<&'static Domains>,
    /// Numbers of chains while which others used the host.
    noisy: usize,
    /// Whether a number of chains has fewer runs than an interval takes.
    is_few: bool,
    /// Why it ended before all runs were made, where it did.
    stopped: Option<String>,
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
    (
        "device writes",
        "needs the counters of the root complex beside traffic: `narrows credits --from` tells them",
    ),
    ("device reads", "no counter tells their lines apart from those of writes"),
];

impl Credits {
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
        let is_range =
            |summary: &Summary| summary.estimate.is_some_and(|of| of.by == Method::Range);
        let stopped = match &stored.ended {
            Some(Ended::Complete) => None,
            Some(Ended::Interrupted { why }) => Some(why.clone()),
            None => Some("not ended".to_owned()),
        };
        Self {
            core_reads: plateau(&curve),
            held,
            curve,
            published,
            noisy,
            is_few: summaries.iter().any(is_range),
            stopped,
        }
    }

    /// The same for programs, without its schema's version.
    pub fn json(&self) -> serde_json::Value {
        let unmeasured =
            UNMEASURED.map(|(domain, why)| serde_json::json!({ "domain": domain, "missing": why }));
        serde_json::json!({
            "core_reads": self.core_reads,
            "read_from": self.held.json(),
            "curve": self.curve,
            "noisy_cells": self.noisy,
            "few_runs": self.is_few,
            "stopped": self.stopped,
            "not_measured": unmeasured,
            "published": self.published.map(|of| serde_json::json!({
                "family": of.family,
                "source": of.source,
                "core_read_credits": of.core_read.credits,
                "device_write_credits": of.device_write.credits,
                "device_write_ns": of.device_write.unloaded_ns,
            })),
        })
    }

    /// How many lines, of what, and how sure that is.
    pub fn answer(&self) -> Vec<String> {
        let mut lines = match &self.core_reads {
            Some(found) => self.of_reads(found),
            None => vec![format!("lines in flight: {}", self.unknown())],
        };
        if let Some(why) = &self.stopped {
            lines.push(format!("it ended early ({why}): fewer runs than were planned"));
        }
        lines
    }

    /// Why there is no number of lines.
    fn unknown(&self) -> &'static str {
        match self.curve.first() {
            None => "nothing was measured",
            Some(first) if first.chains == 1 => "unknown: only a single chain was measured",
            Some(_) => "unknown: the run with a single chain is missing",
        }
    }

    fn of_reads(&self, found: &InFlight) -> Vec<String> {
        let InFlight { lines, alone_ns, gb_s, from_chains, is_plateau } = found;
        let least = if *is_plateau { "" } else { "at least " };
        let interval = match self.is_few {
            true => "too few runs for an interval: 95 % takes 6".to_owned(),
            false => format!("{:.1} to {:.1}", lines.low, lines.high),
        };
        let count = lines.value;
        vec![
            format!(
                "one core has {least}{count:.1} lines in flight ({interval}), from {from_chains} \
                 chains on"
            ),
            format!(
                "a line takes {:.0} ns alone, so a core reads {gb_s:.1} GB/s {}",
                alone_ns.value,
                self.held.words()
            ),
        ]
    }

    /// Each number of chains, with what a load takes and how many lines that makes.
    fn rows(&self) -> Vec<[String; 3]> {
        let alone = self.curve.first().filter(|first| first.chains == 1);
        let rows = self.curve.iter().map(|point| {
            let ns = point.load_ns.value;
            let lines = alone.map(|one| format!("{:.1}", one.load_ns.value / ns));
            [point.chains.to_string(), format!("{ns:.1}"), lines.unwrap_or_else(|| "-".to_owned())]
        });
        rows.collect()
    }

    /// What else is to be known: other users, what was not measured, what was published.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.noisy > 0 {
            notes.push(format!(
                "other processes used this host in {} of {} rows: measure again while it is idle",
                self.noisy,
                self.curve.len()
            ));
        }
        notes.extend(UNMEASURED.map(|(domain, why)| format!("not measured: {domain}: {why}")));
        notes.push(match self.published {
            Some(of) => of.published(),
            None => "published for this processor's family: nothing".to_owned(),
        });
        notes
    }

    /// As text: the answer, the curve, and what else is to be known.
    pub fn text(&self) -> String {
        let mut text = self.answer().join("\n") + "\n\nchains   ns a load   lines in flight\n";
        for [chains, ns, lines] in self.rows() {
            text += &format!("{chains:>6}   {ns:>9}   {lines:>15}\n");
        }
        text + &self.notes().join("\n") + "\n"
    }

    /// The curve for a page, whose head has the answer.
    pub fn section(&self) -> Markup {
        html! {
            h2 id="credits" { "Lines in flight" }
            div class="scroll" { table {
                thead { tr {
                    th class="number" { "chains" } th class="number" { "ns a load" }
                    th class="number" { "lines in flight" }
                } }
                tbody { @for row in self.rows() {
                    tr { @for cell in row { td class="number" { (cell) } } }
                } }
            } }
            @for note in self.notes() { p class="soft" { (note) } }
        }
    }
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
            let text = Credits { core_reads, curve, ..bare() }.text();
            assert!(text.starts_with(&format!("lines in flight: {says}")), "{text}");
            let is_counted = text.contains("   1.0\n");
            assert_eq!(is_counted, says.contains("only"), "{text}");
        }
    }

    #[test]
    fn the_sentence_and_the_document_say_from_where_it_reads() {
        for (held, words, json) in [
            (Held::Cache, "64.0 GB/s from a cache that the buffer fits", Some("cache")),
            (Held::Memory, "64.0 GB/s from memory, at random addresses", Some("memory")),
            (Held::Unknown, "64.0 GB/s from a cache or memory", None),
        ] {
            let curve = vec![load_ns(1, 10.0), load_ns(12, 1.0), load_ns(64, 1.0)];
            let core_reads = plateau(&curve);
            let told = Credits { core_reads, held, curve, ..bare() };
            assert!(told.text().contains(words), "{}", told.text());
            assert_eq!(told.json()["read_from"], serde_json::json!(json));
            assert!(told.section().into_string().contains("<td class=\"number\">64</td>"));
        }
    }

    #[test]
    fn few_runs_and_an_early_end_are_told_with_the_answer() {
        let curve = vec![load_ns(1, 10.0), load_ns(12, 1.0), load_ns(64, 1.0)];
        let core_reads = plateau(&curve);
        let all = Credits { core_reads, curve, ..bare() };
        let [sure, _] = &all.answer()[..] else { panic!("{:?}", all.answer()) };
        assert!(sure.contains("10.0 lines in flight (10.0 to 10.0), from 12 chains on"), "{sure}");
        let cut = Credits { is_few: true, stopped: Some("stopped by Ctrl-C".into()), ..all };
        let told = cut.answer();
        assert!(told[0].contains("(too few runs for an interval: 95 % takes 6)"), "{told:?}");
        assert_eq!(told[2], "it ended early (stopped by Ctrl-C): fewer runs than were planned");
        assert_eq!(cut.json()["stopped"], "stopped by Ctrl-C");
    }

    fn bare() -> Credits {
        Credits {
            curve: Vec::new(),
            core_reads: None,
            held: Held::Memory,
            published: None,
            noisy: 0,
            is_few: false,
            stopped: None,
        }
    }
}
