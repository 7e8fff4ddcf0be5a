//! The answer of a measurement: the figure, its bottleneck and how sure that is, and what to do.

use crate::drawn::canvas::cut;
use crate::explained::{self, Standing};
use crate::sentences::Answer;
use crate::study::{Panel, PanelRow, StudyResults, text};
use crate::{Analysis, latency, neighbours, paths, placement, searched, unmade, wire, words};
use narrows_explain::limits::{Limit, PACE, Sureness};
use narrows_model::Bytes;
use narrows_model::load::Role;
use narrows_model::load::Wait;
use narrows_model::result::ResourceAt;
use narrows_model::result::{Estimate, Method, Weight};
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::{Kernel, Metric, Workload};
use narrows_stats::{Label, SearchEnd, Summary};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// What the answer of a study of packets begins with.
pub(crate) const WIRE: &str = "wire rate: ";
/// Columns of a label before its figure.
const LABEL_COLUMNS: usize = 30;

/// What is known of a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub enum Bottleneck {
    /// What was counted in the runs names it: what it is, and how sure that is.
    Named(String, Sureness),
    /// A thread had no more CPU to give.
    Shown(&'static str),
    /// The figure is near to what this resource should allow: its name, and the share of that in
    /// percent.
    Likely(ResourceAt, f64),
    /// The model's range of this resource is so wide that the figure is in it and far from what it
    /// should allow: nothing shows that it limits.
    WideOf(ResourceAt, f64),
    /// The figure is far from what this resource should allow, and no run shows why.
    Unexplained(ResourceAt, f64),
    /// The figure is better than this resource should allow, which the model has wrong then.
    Better(ResourceAt, f64),
    /// What the path should reach is not known, and no run shows what limits it.
    Unknown,
}

/// The figure that a study was made for: a rate over the network before one of memory, a time or a
/// count.
pub fn headline<'a>(analysis: &'a Analysis<'_>) -> Option<&'a Summary> {
    // A probe of the path is nobody's question: what was asked for comes first, with a figure or
    // without one.
    let asked = || analysis.summaries.iter().filter(|one| one.kind != Workload::PathProbe);
    let told = || asked().filter(|summary| summary.estimate.is_some());
    // Of what was asked for no run came to be: others are to compare with.
    let lost = asked().next().filter(|one| unmade::has_only_failed(one) && over_network(one));
    let lost = lost.filter(|lost| limit(analysis, lost).is_some() || !is_sweep(analysis));
    if lost.is_some() {
        return lost;
    }
    told()
        .find(|summary| summary.metric == Metric::Goodput && over_network(summary))
        .or_else(|| told().find(over_network))
        .or_else(|| told().filter(reads_memory).max_by(by_figure))
        .or_else(|| told().next())
        .or_else(|| asked().find(|summary| summary.done > 0))
        .or_else(|| asked().find(|summary| !summary.failed.is_empty()))
        .or_else(|| analysis.summaries.iter().find(|summary| summary.estimate.is_some()))
}

/// Whether a study asks for many sizes of one workload, of which one is no more the question than
/// another.
fn is_sweep(analysis: &Analysis<'_>) -> bool {
    let trials = analysis.stored.trials.iter();
    let sizes: BTreeSet<Bytes> = trials.map(|trial| trial.params.message_bytes).collect();
    sizes.len() > SIZES_ASKED
}

/// What was asked for, and one size to compare it with; a probe has its own.
const SIZES_ASKED: usize = 3;

fn over_network(summary: &&Summary) -> bool {
    summary.path != NetworkPath::Memory
}

/// Whether a cell reads memory in order, and not a cache: the most of these is what the host has.
fn reads_memory(summary: &&Summary) -> bool {
    summary.kind == Workload::Memory(Kernel::Read)
        && !summary.labels.contains(&Label::CacheResident)
}

fn by_figure(one: &&Summary, other: &&Summary) -> Ordering {
    value_of(one).total_cmp(&value_of(other))
}

fn value_of(summary: &Summary) -> f64 {
    summary.estimate.map_or(0.0, |estimate| estimate.value)
}

/// The answer of a study; `None` where nothing has a value.
pub fn of(analysis: &Analysis<'_>) -> Option<Answer> {
    if let Some(latency) = &analysis.latency {
        return latency::answer(analysis, latency);
    }
    let summary = headline(analysis)?;
    Some(Answer {
        figure: figure(analysis, summary),
        spread: spread(summary),
        bottleneck: says(analysis, summary),
        action: action(analysis, summary),
    })
}

fn has_figure(panel: &&Panel) -> bool {
    panel.rows.iter().any(|row| row.median.is_some())
}

/// The answer of an experiment: what neighbours or places cost where it asks that, of packets what
/// they are of the wire's rate, else what the
/// levels of its first panel say; what holds that panel's level of the best median, and what to do
/// there. `None` where nothing has a value.
pub fn of_study(analysis: &Analysis<'_>, results: &StudyResults) -> Option<Answer> {
    if let Some(answer) = of_searches(analysis) {
        return Some(answer);
    }
    // A study of packets asks for the link's rate, whatever it measures beside them.
    let wire = wire::text::sentence(analysis).map(|says| format!("{WIRE}{says}"));
    let mut panels = results.panels.iter().filter(has_figure);
    let of_packets = panels.clone().find(|panel| panel.metric == Metric::PacketRate);
    let job = neighbours::worst(analysis);
    let of_job = job.and_then(|test| {
        let is_of_it = |panel: &&Panel| panel.rows.iter().any(|row| row.trial == test.alone);
        panels.clone().find(is_of_it)
    });
    let panel = of_job.or(of_packets.filter(|_| wire.is_some())).or_else(|| panels.next())?;
    let rows = panel.rows.iter().filter_map(|row| Some((row, row.median?)));
    let (row, median) = if panel.metric.larger_is_better() {
        rows.max_by(|a, b| a.1.total_cmp(&b.1))?
    } else {
        rows.min_by(|a, b| a.1.total_cmp(&b.1))?
    };
    let (row, median) = short_of_pace(analysis, panel, row).unwrap_or((row, median));
    let summary = analysis.summaries.get(row.trial)?;
    let (across, level) = (&results.across, &row.level);
    let place = placement::dearest(analysis);
    let remedy = match (&job, &place) {
        (Some(test), _) => neighbours::remedy(test),
        (None, Some(_)) => text::recommendation(results),
        (None, None) => None,
    };
    let asked = job.map(|test| neighbours::answer(analysis, test)).or(place);
    let asked = asked.or_else(|| paths::answer(analysis)).or(wire);
    let said = asked.or_else(|| text::recommendation(results)).or_else(|| {
        let says = text::says(panel, across).into_iter().next()?;
        Some(if panel.name.is_empty() { says } else { format!("{}: {says}", panel.name) })
    });
    let both = summary.there.as_ref().and(summary.estimate.as_ref());
    let value = both.map_or_else(
        || words::exact(median, panel.unit),
        |sum| words::figure(analysis, summary, sum),
    );
    let spread = summary.estimate.as_ref().map_or(String::new(), |of| format!(", {}", ranged(of)));
    Some(Answer {
        figure: said.unwrap_or_else(|| "one level, nothing to compare".to_owned()),
        spread: format!("{across} {level}: {value}{spread}"),
        bottleneck: format!("{across} {level}: {}", says(analysis, summary)),
        action: remedy.unwrap_or_else(|| level_action(analysis, summary)),
    })
}

/// The answer of a study of searches: what passes, what the wire would carry where that is known,
/// and what holds the first search where it begins to lose. `None` where nothing was searched.
fn of_searches(analysis: &Analysis<'_>) -> Option<Answer> {
    let first = analysis.searches.first()?;
    let tried = || first.curve.iter().map(|point| point.asked);
    let beyond = first.loses.and_then(|loses| tried().find(|asked| *asked >= loses));
    let asked = beyond.or_else(|| tried().next_back())?;
    let is_of = |trial: &Trial| searched::is_of(first, trial, asked);
    let at = analysis.stored.trials.iter().position(is_of)?;
    let summary = analysis.summaries.get(at)?;
    let is_open = first.end == SearchEnd::Found && first.passes.is_some() && first.loses.is_none();
    let wire = wire::text::sentence_of_known(analysis);
    let wire = wire.map_or(String::new(), |says| format!("; {WIRE}{says}"));
    let more = if analysis.searches.len() > 1 { ", of the first search" } else { "" };
    Some(Answer {
        figure: searched::sentence(analysis) + &wire,
        spread: format!(
            "{} % sure, {}{more}",
            first.confidence_percent,
            words::counted(first.runs as usize, "run")
        ),
        bottleneck: format!("at {}: {}", searched::most(first, asked), says(analysis, summary)),
        action: match is_open {
            true if first.loss_percent > 0.0 => {
                "search higher: the highest that was tried loses no more than is allowed".to_owned()
            }
            true => "search higher: nothing was lost at the highest that was tried".to_owned(),
            false => level_action(analysis, summary),
        },
    })
}

/// The lowest level of a panel that does not keep the pace which its best keeps: the best has all
/// that was asked for, and the question is what holds the others.
fn short_of_pace<'a>(
    analysis: &Analysis<'_>,
    panel: &'a Panel,
    best: &PanelRow,
) -> Option<(&'a PanelRow, f64)> {
    if !keeps_pace(analysis, best) {
        return None;
    }
    let short = panel.rows.iter().filter_map(|row| Some((row, row.median?)));
    short.filter(|(row, _)| !keeps_pace(analysis, row)).min_by(|a, b| a.1.total_cmp(&b.1))
}

fn keeps_pace(analysis: &Analysis<'_>, row: &PanelRow) -> bool {
    let limit = analysis.summaries.get(row.trial).and_then(|summary| limit(analysis, summary));
    limit.is_some_and(|limit| limit.what == PACE)
}

/// What to do about a level of an experiment. The findings of all its cells stand beside it: a
/// remedy that no rule ties to this one says so.
fn level_action(analysis: &Analysis<'_>, summary: &Summary) -> String {
    let action = action(analysis, summary);
    let limit = limit(analysis, summary);
    let is_own = limit.is_some_and(|limit| limit.rule.is_some() || limit.action.is_some());
    let mut remedies = analysis.found.iter().map(|found| &found.finding.remedy);
    if !is_own && remedies.any(|remedy| *remedy == action) {
        format!("{action} ({BESIDE})")
    } else {
        action
    }
}

/// `tcp-stream: 9.41 Gb/s`.
fn figure(analysis: &Analysis<'_>, summary: &Summary) -> String {
    // A label as long as a line would leave the figure no room.
    let label = cut(&summary.label, LABEL_COLUMNS);
    let sum = summary.estimate.as_ref();
    let figure = sum.map(|sum| words::figure(analysis, summary, sum));
    format!("{label}: {}", figure.unwrap_or_else(|| "no value".to_owned()))
}

/// `95 % interval 9.40 to 9.42 Gb/s, 6 runs`, or why there is no figure.
fn spread(summary: &Summary) -> String {
    let Some(estimate) = &summary.estimate else { return words::no_value(summary) };
    let failed = summary.failed.first().map_or(String::new(), |why| {
        format!("; {} failed: {why}", words::counted(summary.failed.len(), "other"))
    });
    ranged(estimate) + &failed
}

fn ranged(estimate: &Estimate) -> String {
    let what = if estimate.by == Method::Range { "range" } else { "95 % interval" };
    let runs = words::counted(estimate.n as usize, "run");
    if words::is_nothing(estimate.high, estimate.unit) {
        return format!("in any of {runs}");
    }
    if estimate.n < 2 {
        return runs;
    }
    format!("{what} {}, {runs}", words::range(estimate))
}

/// What limits a figure, by what was counted before what was predicted, and what merely fits last.
pub fn bottleneck(analysis: &Analysis<'_>, summary: &Summary) -> Bottleneck {
    let limit = limit(analysis, summary);
    let predicted = by_prediction(analysis, summary);
    match (
        limit.filter(|limit| {
            matches!(limit.sureness, Sureness::Compared | Sureness::Counted | Sureness::Inferred)
        }),
        &predicted,
        limit.filter(|limit| limit.sureness == Sureness::Possible),
    ) {
        (Some(limit), ..) => named(limit),
        (None, Bottleneck::Shown(_) | Bottleneck::Likely(..), _) => predicted,
        (None, _, Some(limit)) => named(limit),
        (None, _, None) => predicted,
    }
}

fn named(limit: &Limit) -> Bottleneck {
    Bottleneck::Named(limit.what.clone(), limit.sureness)
}

/// What the rules say holds a cell.
fn limit<'a>(analysis: &'a Analysis<'_>, summary: &Summary) -> Option<&'a Limit> {
    analysis.limits.iter().find(|limit| limit.cell == summary.label)
}

fn by_prediction(analysis: &Analysis<'_>, summary: &Summary) -> Bottleneck {
    if summary.labels.contains(&Label::SenderBound) {
        return Bottleneck::Shown("the sender's CPU");
    }
    if summary.labels.contains(&Label::ReceiverBound) {
        return Bottleneck::Shown("the receiver's CPU");
    }
    let cell = explained::cell(analysis, summary);
    match (cell.bottleneck, cell.measured, cell.expected) {
        (Some(resource), Some(measured), Some(expected)) if expected.value > 0.0 => {
            let percent = 100.0 * measured.value / expected.value;
            match cell.standing {
                Standing::AsExpected if NEAR_PERCENT.contains(&percent) => {
                    Bottleneck::Likely(resource, percent)
                }
                Standing::AsExpected if !is_better(summary, percent) => {
                    Bottleneck::WideOf(resource, percent)
                }
                _ if is_better(summary, percent) => Bottleneck::Better(resource, percent),
                _ => Bottleneck::Unexplained(resource, percent),
            }
        }
        _ => Bottleneck::Unknown,
    }
}

/// What a limit should allow, in percent of which a figure must be for the limit to be likely: no
/// less than half and no more than twice. A range of the model may be wider; what is better than
/// that nothing holds.
const NEAR_PERCENT: std::ops::RangeInclusive<f64> = 50.0..=200.0;

fn is_better(summary: &Summary, percent: f64) -> bool {
    if is_time(summary) { percent < 100.0 } else { percent > 100.0 }
}

/// Up to so many per cent of a predicted time, where threads are woken takes it: healthy paths of
/// two namespaces whose threads the scheduler places took 250, and 24 on one CPU.
const PLACED_PERCENT: f64 = 300.0;

/// Whether a time of round trips is one that threads which nobody pinned may take: the prediction
/// is of CPUs that each end has to itself and that are awake.
fn is_placed(analysis: &Analysis<'_>, summary: &Summary, percent: f64) -> bool {
    let is_trips = matches!(summary.kind, Workload::TCP_RR | Workload::UDP_RR);
    is_trips && percent <= PLACED_PERCENT && is_unpinned(analysis, summary)
}

/// Whether neither end's threads were given CPUs.
fn is_unpinned(analysis: &Analysis<'_>, summary: &Summary) -> bool {
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
    trial.is_some_and(|trial| {
        [Role::Sender, Role::Receiver].iter().all(|role| trial.place(*role).cpus.0.is_empty())
    })
}

/// A bottleneck in words, without what comes second.
fn in_words(analysis: &Analysis<'_>, summary: &Summary) -> String {
    match bottleneck(analysis, summary) {
        Bottleneck::Named(what, sureness) => {
            let what = what.trim_end_matches(',');
            format!("{what} ({sureness})")
        }
        Bottleneck::Shown(what) => format!("{what} (shown: a thread filled it)"),
        Bottleneck::Likely(resource, percent) if is_time(summary) => {
            format!(
                "{resource} (likely: {:.1} x the time predicted, in its range)",
                percent / 100.0
            )
        }
        Bottleneck::Unexplained(_, percent) if is_placed(analysis, summary, percent) => format!(
            "none shown: {:.1} x the time predicted, which is of threads that wake at once on CPUs \
             of their own; these were not pinned",
            percent / 100.0
        ),
        Bottleneck::Unexplained(_, percent) if is_time(summary) => format!(
            "inconclusive: {:.1} x the time predicted, and no run shows why",
            percent / 100.0
        ),
        Bottleneck::Better(_, percent) if is_time(summary) => format!(
            "none shown: {:.1} x the time predicted, so the prediction is too long",
            percent / 100.0
        ),
        Bottleneck::Better(resource, percent) => format!(
            "none shown: {percent:.0} % of what {resource} should allow, so the prediction is too \
             low"
        ),
        Bottleneck::Likely(resource, percent) => {
            format!("{resource} (likely: {percent:.0} % of what it should allow)")
        }
        Bottleneck::WideOf(_, percent) if is_time(summary) => format!(
            "inconclusive: {:.1} x the time predicted, whose range is too wide to tell",
            percent / 100.0
        ),
        Bottleneck::WideOf(resource, percent) => format!(
            "inconclusive: {percent:.0} % of what {resource} should allow, whose range is too \
             wide to tell"
        ),
        Bottleneck::Unexplained(resource, percent) => format!(
            "inconclusive: {percent:.0} % of what {resource} should allow, and no run shows why"
        ),
        Bottleneck::Unknown if summary.estimate.is_none() => {
            "inconclusive: there is no figure to explain".to_owned()
        }
        Bottleneck::Unknown => "inconclusive: nothing predicts what this path should \
        reach"
            .to_owned(),
    }
}

fn says(analysis: &Analysis<'_>, summary: &Summary) -> String {
    if is_unmade(analysis, summary) {
        return unmade::says(analysis, summary);
    }
    let mut says = in_words(analysis, summary);
    if let Some(short) = short_of_rate(analysis, summary) {
        says = match bottleneck(analysis, summary) {
            Bottleneck::Unknown
            | Bottleneck::Unexplained(..)
            | Bottleneck::Better(..)
            | Bottleneck::WideOf(..) => {
                format!("{short} (counted); no run shows what held it")
            }
            _ => format!("{short} (counted): {says}"),
        };
    }
    if let Some(second) = limit(analysis, summary).and_then(|limit| limit.second.as_ref()) {
        says += &format!("; second: {}", second.says);
    }
    if summary.labels.contains(&Label::Noisy) {
        says += &format!("; {}", words::label(Label::Noisy, summary));
    }
    if let Some(next) = limit(analysis, summary).and_then(|limit| limit.next.as_ref()) {
        says += &format!("; then {}, {} (modelled)", next.resource, words::middle(&next.allows));
    }
    says
}

/// Whether every run of a cell failed, and nothing tells why but what they said.
fn is_unmade(analysis: &Analysis<'_>, summary: &Summary) -> bool {
    unmade::has_only_failed(summary) && limit(analysis, summary).is_none()
}

/// How many packets the sender reached of those that were asked for, where it fell short: an answer
/// whatever held it.
fn short_of_rate(analysis: &Analysis<'_>, summary: &Summary) -> Option<String> {
    let short = [Label::BehindSchedule, Label::HeldBack];
    let is_short = summary.labels.iter().any(|label| short.contains(label));
    if summary.kind != Workload::Packets || !is_short {
        return None;
    }
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label)?;
    let frame_bits = 8.0 * trial.params.message_bytes.0 as f64;
    let asked = trial.params.rate_bps? as f64 / frame_bits;
    let sent = summary.traffic.as_ref()?.sender_messages_per_second?;
    let [sent, asked] = [sent, asked].map(|rate| words::value(rate, Unit::PacketsPerSecond));
    let sent = match (sent.split_once(" p"), asked.split_once(" p")) {
        (Some((number, _)), Some(_)) => number.to_owned(),
        _ => sent.clone(),
    };
    Some(format!("the sender reached {sent} of {asked}"))
}

fn is_time(summary: &Summary) -> bool {
    summary.estimate.as_ref().is_some_and(|estimate| estimate.unit == Unit::Nanos)
}

/// What to do where a figure is better than predicted.
const NOTHING: &str = "nothing: the figure is better than the model expects of this path";

/// What to do where the window held too few samples.
const LONGER: &str = "measure longer (-t): the window held too few round trips for a median";

/// What to do where nothing explains the figure: a finding beside it is no reason for it.
const UNDECIDED: &str = "let `narrows diagnose HOST` change one thing at a time and see what moves \
                         the figure; nothing shows that a finding below it is the cause";

/// The same of round trips over sockets, which `diagnose` does not measure.
const UNDECIDED_TRIPS: &str = "measure again with --wait spin: what is left then is neither sleep nor \
                               wake-up; nothing shows that a finding below it is the cause";

/// The same where nobody pinned the threads.
const UNDECIDED_UNPINNED: &str = "measure again with each end on a CPU of its own (-A \
                                  LOCAL,REMOTE), and with --wait spin: what is left then is \
                                  neither placement, sleep nor wake-up; nothing shows that a \
                                  finding below it is the cause";

/// The same of what nothing measures another way.
const UNDECIDED_ELSE: &str = "measure again to another host or with another option; nothing shows that \
                              a finding below it is the cause";

/// Of a remedy that no rule ties to the bottleneck.
const BESIDE: &str = "of a finding that is not shown to limit this";

/// What would decide where nothing explains the figure.
fn undecided(analysis: &Analysis<'_>, summary: &Summary) -> &'static str {
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
    let wait = trial.and_then(|trial| trial.params.socket.as_ref()?.wait.clone());
    let sleeps = wait.is_none_or(|wait| wait == Wait::Block);
    match summary.kind {
        Workload::TCP_RR | Workload::UDP_RR if sleeps && is_unpinned(analysis, summary) => {
            UNDECIDED_UNPINNED
        }
        Workload::TCP_RR | Workload::UDP_RR if sleeps => UNDECIDED_TRIPS,
        Workload::Stream(_) => UNDECIDED,
        _ => UNDECIDED_ELSE,
    }
}

/// What to do about the bottleneck, and then about what comes second.
pub fn action(analysis: &Analysis<'_>, summary: &Summary) -> String {
    let first = after_failed(summary, first_action(analysis, summary));
    let second = limit(analysis, summary).and_then(|limit| limit.second.as_ref());
    let mut found = analysis.found.iter().map(|found| &found.finding);
    let remedy = second.and_then(|second| found.find(|finding| finding.rule == second.rule));
    match remedy.filter(|finding| finding.remedy != first) {
        // What comes second is all that there is to do.
        Some(finding) if first == NOTHING => finding.remedy.clone(),
        Some(finding) => format!("{first}; then {}", finding.remedy),
        None => first,
    }
}

/// What to do where runs failed: what keeps those from running counts before what holds the others.
fn after_failed(summary: &Summary, action: String) -> String {
    let failed = summary.failed.len();
    if failed == 0 || summary.estimate.is_none() || 2 * failed < summary.values.len() {
        return action;
    }
    // There is nothing else to do.
    if [NOTHING, NO_FINDING].contains(&action.as_str()) {
        FAILED.to_owned()
    } else {
        format!("{FAILED}; then {action}")
    }
}

/// What to do where no rule found anything.
const NO_FINDING: &str = "nothing: no rule found anything to change";

/// What may end some of the runs to a host that answers others.
const FAILED: &str = "see why runs failed: a firewall's quota or limit of connections between (nft \
                      list ruleset: quota, ct count, limit), or an agent that went away";

/// The remedy of what names the bottleneck, else of the heaviest finding; where that was looked
/// for and is unexplained, what would decide.
fn first_action(analysis: &Analysis<'_>, summary: &Summary) -> String {
    if is_unmade(analysis, summary) {
        return unmade::action(analysis, summary).to_owned();
    }
    let limit = limit(analysis, summary);
    if let Some(action) = limit.and_then(|limit| limit.action.clone()) {
        return action;
    }
    if matches!(bottleneck(analysis, summary), Bottleneck::Better(..)) {
        return NOTHING.to_owned();
    }
    let is_short = summary.estimate.is_none() && summary.labels.contains(&Label::ShortWindow);
    if limit.is_some_and(|limit| limit.sureness == Sureness::Unexplained) && !is_short {
        return undecided(analysis, summary).to_owned();
    }
    let is_named = limit.is_some_and(|limit| limit.sureness != Sureness::Unexplained);
    if !is_named && summary.labels.contains(&Label::ShortWindow) {
        return LONGER.to_owned();
    }
    let rule = limit.and_then(|limit| limit.rule.as_deref());
    let findings = || analysis.found.iter().map(|found| &found.finding);
    match findings()
        .find(|finding| Some(finding.rule.as_str()) == rule)
        .or_else(|| findings().find(|finding| finding.weight != Weight::Caution))
        .or_else(|| findings().next())
    {
        Some(finding) => finding.remedy.clone(),
        None => NO_FINDING.to_owned(),
    }
}
