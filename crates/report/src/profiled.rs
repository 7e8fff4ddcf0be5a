//! Profiles in words: a table by class with both ends side by side, and what is said under it.

use crate::plots::{flame, pareto, stacked};
use crate::{Analysis, words};
use maud::{Markup, PreEscaped, html};
use narrows_profile::{
    Breakdown, Changed, Class, ClassShare, EndChanged, EndProfile, NamedShare, TrialProfile,
};

/// Classes of a one-line profile.
const BRIEF_CLASSES: usize = 5;
/// Functions and calls that are named of each end.
const FUNCTIONS: usize = 8;
const CALLS: usize = 4;
/// Above this share what has no class is named.
const UNCLASSIFIED_MAX: f64 = 0.02;
/// What an offload engine of TCP would do in the place of the CPU.
const ENGINE: [Class; 4] = [Class::TcpUdpIp, Class::Buffers, Class::Driver, Class::Interrupts];
/// A smaller part is not worth a line of its own.
const SMALL: f64 = 0.0005;

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// `profile of the sender: copy 40 %, TCP/UDP/IP 26 %, ...; 1480 samples`.
pub fn brief(end: &EndProfile) -> String {
    let of = format!("profile of the {}", end.name());
    let Some(breakdown) = &end.breakdown else { return format!("{of}: {}", none(end)) };
    let largest = breakdown.classes.iter().take(BRIEF_CLASSES);
    let parts: Vec<String> =
        largest.map(|one| format!("{} {:.0} %", one.class, 100.0 * one.share)).collect();
    format!("{of}: {}; {} samples", parts.join(", "), breakdown.samples)
}

/// Why an end has no classes.
fn none(end: &EndProfile) -> String {
    match end.not_taken.first() {
        Some(why) => format!("none: {why}"),
        None => "no sample fell into its window: it was short, or the end was idle".to_owned(),
    }
}

/// Rows of a table: the classes by what both ends spend on them.
pub fn table(profile: &TrialProfile) -> Vec<String> {
    let ends: Vec<(&EndProfile, &Breakdown)> =
        profile.ends.iter().filter_map(|end| Some((end, end.breakdown.as_ref()?))).collect();
    if ends.is_empty() {
        return Vec::new();
    }
    let mut head = format!("{:<26}", "class");
    for (end, _) in &ends {
        head += &format!("{:>9} {:>7} {:>7} {:>9}", end.name(), "+-", "sum", "CPU-s/GB");
    }
    let mut rows = vec![head];
    let mut sums = vec![0.0; ends.len()];
    for class in classes(&ends) {
        let mut row = format!("{:<26}", class.name());
        for ((_, breakdown), sum) in ends.iter().zip(&mut sums) {
            *sum += breakdown.share(class);
            row += &cell(breakdown.classes.iter().find(|one| one.class == class), *sum);
        }
        rows.push(row);
    }
    rows
}

/// A share with its uncertainty, that of this row and those above together, and its cost.
fn cell(share: Option<&ClassShare>, sum: f64) -> String {
    let sum = percent(sum);
    let Some(one) = share else { return format!("{:>9} {:>7} {sum:>7} {:>9}", "-", "", "") };
    let cost = one.cpu_seconds_per_gigabyte.map_or("-".to_owned(), |cost| format!("{cost:.4}"));
    format!("{:>9} {:>7} {sum:>7} {cost:>9}", percent(one.share), percent(one.by_chance),)
}

/// All classes of the ends, the largest share of any end first.
fn classes(ends: &[(&EndProfile, &Breakdown)]) -> Vec<Class> {
    let all = ends.iter().flat_map(|(_, breakdown)| &breakdown.classes);
    let mut largest: Vec<(Class, f64)> = Vec::new();
    for one in all.filter(|one| one.share >= SMALL) {
        match largest.iter_mut().find(|(class, _)| *class == one.class) {
            Some((_, share)) => *share = share.max(one.share),
            None => largest.push((one.class, one.share)),
        }
    }
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.into_iter().map(|(class, _)| class).collect()
}

/// What there is to say of an end's profile, a line each.
pub fn said(end: &EndProfile) -> Vec<String> {
    let of = end.name();
    let Some(breakdown) = &end.breakdown else { return vec![format!("{of}: {}", none(end))] };
    let mut lines = vec![format!("{of}: {}", taken(end, breakdown))];
    let calls = listed(&breakdown.system_calls, CALLS);
    lines.push(format!(
        "{of}: {} in system calls ({calls}); system-call entry and exit {}",
        percent(breakdown.in_system_calls),
        percent(breakdown.share(Class::Entry)),
    ));
    let functions: Vec<String> = breakdown
        .functions
        .iter()
        .take(FUNCTIONS)
        .map(|one| format!("{} {}", one.name, percent(one.share)))
        .collect();
    lines.push(format!("{of}: top functions {}", functions.join(", ")));
    if breakdown.share(Class::Unclassified) >= UNCLASSIFIED_MAX {
        lines.push(format!("{of}: unclassified: {}", listed(&breakdown.unclassified, CALLS)));
    }
    lines.extend(end.not_taken.iter().map(|why| format!("{of}: not in every run: {why}")));
    lines
}

/// What an engine that did the network's work would take over of each end's CPU time, and what the
/// copy keeps: sums of the profile, a line each. Nothing of an end that has no work of TCP.
pub fn offloadable(profile: &TrialProfile) -> Vec<String> {
    let ends = profile.ends.iter().filter_map(|end| Some((end, end.breakdown.as_ref()?)));
    let of_tcp = ends.filter(|(_, breakdown)| breakdown.share(Class::TcpUdpIp) >= SMALL);
    let shares = of_tcp.map(|(end, breakdown)| {
        let sum: f64 = ENGINE.iter().map(|class| breakdown.share(*class)).sum();
        (end, sum, breakdown.share(Class::Copy))
    });
    let names = ENGINE.map(Class::name).join(", ");
    let told = shares.map(|(end, engine, copy)| {
        format!(
            "{}: {} are {} of this profile, what an offload engine that did all of it would take \
             over; the copy's {} would stay (a sum of the rows above: nothing offloaded was \
             measured)",
            end.name(),
            names,
            percent(engine),
            percent(copy)
        )
    });
    told.collect()
}

/// What the ends could not see; what is so at all of them is said once.
pub fn gaps(profile: &TrialProfile) -> Vec<String> {
    let mut lines = Vec::new();
    for end in &profile.ends {
        for gap in &end.gaps {
            let everywhere = profile.ends.iter().all(|other| other.gaps.contains(gap));
            let of = if everywhere { String::new() } else { format!("{}: ", end.name()) };
            let line = format!("{of}{gap}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// How the samples were taken, and what came beside them.
fn taken(end: &EndProfile, breakdown: &Breakdown) -> String {
    let by = end.by.map_or("", |by| by.name());
    let mut text = format!(
        "{} in {} by {by} at {} Hz",
        words::counted(breakdown.samples as usize, "sample"),
        words::counted(end.runs as usize, "run"),
        end.per_second
    );
    if end.lost > 0 {
        text += &format!(", {} lost", end.lost);
    }
    if breakdown.outside_threads >= SMALL {
        let share = percent(breakdown.outside_threads);
        text += &format!("; {share} of it outside its threads, in interrupts and ksoftirqd");
    } else if breakdown.network_elsewhere > 0 {
        text += &format!(
            "; {} more of the network outside the threads of this host's ends, in neither's share",
            words::counted(breakdown.network_elsewhere as usize, "sample")
        );
    }
    text
}

fn listed(parts: &[NamedShare], most: usize) -> String {
    let parts: Vec<String> =
        parts.iter().take(most).map(|one| format!("{} {}", one.name, percent(one.share))).collect();
    if parts.is_empty() { "none seen".to_owned() } else { parts.join(", ") }
}

/// What changed between two profiles of an end, a line each.
pub fn changes(end: &EndChanged) -> Vec<String> {
    let of = format!("profile of {}, {}", words::tame(&end.label), end.name());
    let (before, after) = end.runs;
    if end.classes.iter().all(|one| one.interval.is_none()) {
        return vec![format!("{of}: too few runs to tell what changed ({before} and {after})")];
    }
    let shown: Vec<&Changed> = end.classes.iter().filter(|one| one.is_shown()).collect();
    if shown.is_empty() {
        return vec![format!("{of}: no class of CPU time changed ({before} and {after} runs)")];
    }
    shown.into_iter().map(|one| format!("{of}: {}", change(one))).collect()
}

/// `copy 25.4 % -> 40.1 %, +14.7 points (10.2 to 18.9)`.
fn change(one: &Changed) -> String {
    let (low, high) = one.interval.unwrap_or((one.difference, one.difference));
    format!(
        "{} {} -> {}, {:+.1} points ({:+.1} to {:+.1})",
        one.class,
        percent(one.before),
        percent(one.after),
        100.0 * one.difference,
        100.0 * low,
        100.0 * high
    )
}

/// Trials whose ends have a chart each; the bars have all.
const CHARTS: usize = 24;
/// Trials whose ends have a flame graph each, which are many times as large.
const GRAPHS: usize = 4;
/// Above the bars of all ends.
const ALL: &str = "CPU time of the profiled ends by class, in %";

/// The bars of all ends, and the classes of each end by itself, with their titles.
pub fn pictures(profiles: &[TrialProfile]) -> Vec<(String, String)> {
    let all = (!profiles.is_empty()).then(|| (ALL.to_owned(), stacked::draw(ALL, profiles)));
    let each =
        profiles.iter().flat_map(|profile| profile.ends.iter().map(move |end| (profile, end)));
    let each = each.filter_map(|(profile, end)| {
        let title = charted(profile, end);
        let drawn = pareto::draw(&title, end.breakdown.as_ref()?);
        Some((title, drawn))
    });
    all.into_iter().chain(each).collect()
}

/// The flame graphs of all ends, with what each is called.
pub fn graphs(profiles: &[TrialProfile]) -> Vec<(String, String)> {
    let each = profiles.iter().flat_map(|profile| {
        let sampled = profile.ends.iter().filter(|end| end.breakdown.is_some());
        sampled.map(move |end| (profile, end))
    });
    each.map(|(profile, end)| {
        let title = graphed(profile, end);
        let drawn = flame::draw(&title, &end.flame);
        (format!("{}, {}", end.name(), profile.label), drawn)
    })
    .collect()
}

fn graphed(profile: &TrialProfile, end: &EndProfile) -> String {
    format!("{}, {}: flame graph", profile.label, end.name())
}

/// What the chart of an end is called; who the end is comes first, since names of files are short.
fn charted(profile: &TrialProfile, end: &EndProfile) -> String {
    format!("{}, {}: classes and their sum", end.name(), profile.label)
}

/// The section of the page: all ends as bars, then each end by itself.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    let profiles = &analysis.profiles;
    if profiles.is_empty() {
        return html! {};
    }
    html! {
        h2 id="profiles" { "Where the CPU time went" }
        div class="grid" {
            div class="card" { h3 { (ALL) } (PreEscaped(stacked::draw(ALL, profiles))) }
            @for profile in profiles.iter().take(CHARTS) {
                @for end in &profile.ends { (chart(profile, end)) }
                @for line in offloadable(profile) { p class="soft" { (line) } }
            }
            @for profile in profiles.iter().take(GRAPHS) {
                @for end in &profile.ends { (graph(profile, end)) }
            }
        }
        @if profiles.len() > CHARTS {
            p class="soft" { "Of the others only the bars are drawn: JSON has their figures." }
        } @else if profiles.len() > GRAPHS {
            p class="soft" { "Flame graphs are of the first " (GRAPHS) " only." }
        }
    }
}

/// The classes of one end, the largest first, with their sums.
fn chart(profile: &TrialProfile, end: &EndProfile) -> Markup {
    let title = charted(profile, end);
    html! {
        div class="card" {
            h3 { (title) }
            @if let Some(breakdown) = &end.breakdown {
                (PreEscaped(pareto::draw(&title, breakdown)))
            }
            @for line in said(end) { p class="soft" { (line) } }
            @for gap in &end.gaps { p class="soft" { (gap.to_string()) } }
        }
    }
}

/// Who called whom at one end.
fn graph(profile: &TrialProfile, end: &EndProfile) -> Markup {
    let title = graphed(profile, end);
    html! {
        @if end.breakdown.is_some() {
            div class="card wide" {
                h3 { (title) }
                div class="scroll" { (PreEscaped(flame::draw(&title, &end.flame))) }
                p class="soft" {
                    "Each function upon its caller, as wide as the time of it and of what it called; \
                     colours are classes, grey is whatever called it."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::Role;
    use narrows_profile::Class;

    /// What is said of classes by their intervals, all from 20 to 35 %.
    fn said(intervals: &[Option<(f64, f64)>]) -> Vec<String> {
        let of = |interval: &Option<(f64, f64)>| Changed {
            class: Class::Copy,
            before: 0.2,
            after: 0.35,
            difference: 0.15,
            interval: *interval,
        };
        let classes = intervals.iter().map(of).collect();
        changes(&EndChanged { label: "a".into(), role: Role::Sender, runs: (5, 7), classes })
    }

    #[test]
    fn a_class_is_named_where_its_interval_leaves_out_that_nothing_changed() {
        let few = ["profile of a, sender: too few runs to tell what changed (5 and 7)"];
        assert_eq!(said(&[]), few);
        assert_eq!(said(&[None, None]), few);
        let none = ["profile of a, sender: no class of CPU time changed (5 and 7 runs)"];
        assert_eq!(said(&[Some((-0.1, 0.2))]), none);
        assert_eq!(said(&[None, Some((0.0, 0.2))]), none);
        let line = |range: &str| {
            format!("profile of a, sender: copy 20.0 % -> 35.0 %, +15.0 points ({range})")
        };
        let both = said(&[Some((-0.1, 0.2)), Some((0.1, 0.2)), None, Some((-0.3, -0.001))]);
        assert_eq!(both, [line("+10.0 to +20.0"), line("-30.0 to -0.1")]);
    }

    #[test]
    fn so_many_parts_are_listed_and_none_is_said() {
        let part = |name: &str, share: f64| NamedShare { name: name.into(), share };
        let parts = [part("read", 0.5), part("write", 0.25), part("poll", 0.125)];
        assert_eq!(listed(&parts, 2), "read 50.0 %, write 25.0 %");
        assert_eq!(listed(&parts[..1], 2), "read 50.0 %");
        assert_eq!((listed(&[], 2), listed(&parts, 0)), ("none seen".into(), "none seen".into()));
    }
}
