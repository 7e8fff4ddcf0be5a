//! What `narrows diagnose` says: the figure, what limits it, which change moved it and by how much,
//! which did not, and what to do.

use crate::drawn::Screen;
use crate::drawn::canvas::{BOLD, PLAIN, wrap};
use crate::{Analysis, probed, words};
use narrows_explain::limits::Limit;
use narrows_model::Change;
use narrows_model::result::Estimate;
use narrows_model::shown;
use narrows_stats::{Changed, Moved, TENTH, changed};
use serde::Serialize;

/// What the findings make likely, and by which changes that would show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hypothesis {
    /// The rule that found it; `None` for a full CPU and where nothing explains the figure.
    pub rule: Option<String>,
    pub says: String,
    /// Changes that would move the figure then.
    pub changes: &'static [Change],
}

/// A change with what is said of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    #[serde(flatten)]
    pub changed: Changed,
    /// What is said of that.
    pub moved: Moved,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The traffic that was diagnosed.
    pub cell: String,
    /// Its figure, over all runs without a change.
    pub figure: Option<Estimate>,
    /// What limits it, and how sure that is.
    pub limit: Option<Limit>,
    /// What else was found, the likeliest first.
    pub hypotheses: Vec<Hypothesis>,
    /// What the probe found of the path.
    pub path: Vec<String>,
    /// What was tried, the most telling first.
    pub changes: Vec<Tried>,
    pub action: String,
}

/// Changes that would move the figure if a rule is right.
const TELLING: [(&str, &[Change]); 22] = {
    use Change::{
        Buffers, BusyPolling, Congestion, Flows, HalfPace, MessageSize, Pace, Placement, Segments,
        Setting, ZeroCopy,
    };
    [
        ("path-mtu-black-hole", &[Segments]),
        ("segment-size", &[Segments]),
        ("congestion-control", &[Congestion]),
        ("sender-pacing", &[Congestion]),
        ("tcp-retransmits", &[Congestion, Pace, HalfPace]),
        ("path-reordering", &[Congestion]),
        ("path-policed", &[Pace, HalfPace, Congestion]),
        ("path-capacity", &[Pace, Flows]),
        ("path-rate-limit", &[Pace, HalfPace]),
        ("receive-window", &[Buffers, Setting, Flows]),
        ("send-buffer", &[Buffers, Setting, Flows]),
        ("receive-autotuning", &[Buffers, Setting]),
        ("window-scaling", &[Setting, Flows]),
        ("tcp-send-buffers", &[Buffers, Setting]),
        ("message-size", &[MessageSize]),
        ("same-cpu", &[Placement]),
        ("softirq-bound", &[Placement, Flows]),
        ("generator-bound", &[ZeroCopy, Flows, Placement]),
        ("noisy-host", &[Placement]),
        ("work-on-remote-node", &[Placement]),
        ("round-trip-time", &[BusyPolling, Flows]),
        ("idle-states", &[BusyPolling]),
    ]
};
/// Where a thread has its CPU full, and where nothing explains the figure.
const OTHERWISE: &[Change] = &[Change::ZeroCopy, Change::Flows, Change::Placement];

/// What is likely, from the limit of the traffic and everything that was found.
pub fn hypotheses(analysis: &Analysis<'_>) -> Vec<Hypothesis> {
    let limit = analysis.limits.first();
    let of_limit = limit.map(|limit| (limit.rule.clone(), limit.what.clone()));
    let found = analysis.found.iter().map(|found| &found.finding);
    let found = found.map(|finding| (Some(finding.rule.clone()), finding.says.clone()));
    let mut all: Vec<Hypothesis> = Vec::new();
    for (rule, says) in of_limit.into_iter().chain(found) {
        let telling = rule.as_deref().map_or(Some(OTHERWISE), |rule| {
            TELLING.iter().find(|(of, _)| *of == rule).map(|(_, changes)| *changes)
        });
        if let Some(changes) = telling
            && all.iter().all(|known| known.rule != rule)
        {
            all.push(Hypothesis { rule, says, changes });
        }
    }
    all
}

/// A row of what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Figure,
    Bottleneck,
    /// The changes that moved the figure.
    Moved,
    /// Those that may have.
    Perhaps,
    DidNot,
    Do,
    Details,
}

impl Row {
    /// What stands before it; the figure is told by its cell.
    pub fn name(self, cell: &str) -> &str {
        match self {
            Self::Figure => cell,
            Self::Bottleneck => "bottleneck",
            Self::Moved => "moved it",
            Self::Perhaps => "perhaps",
            Self::DidNot => "did not",
            Self::Do => "do",
            Self::Details => "details",
        }
    }
}

impl Diagnosis {
    /// Of a study that `narrows diagnose` has measured: its first trial is the traffic.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let base = analysis.stored.trials.first();
        let cell = base.map(|trial| trial.label.clone()).unwrap_or_default();
        let summary = analysis.summaries.iter().find(|summary| summary.label == cell);
        let limit = analysis.limits.iter().find(|limit| limit.cell == cell).cloned();
        let tried = changed(analysis.stored).into_iter();
        let mut changes: Vec<Tried> =
            tried.map(|changed| Tried { moved: changed.moved(), changed }).collect();
        changes.sort_by(|a, b| telling(a).cmp(&telling(b)).then(effect(b).total_cmp(&effect(a))));
        let action = action(analysis, limit.as_ref(), &changes);
        Self {
            cell,
            figure: summary.and_then(|summary| summary.estimate),
            limit,
            hypotheses: hypotheses(analysis),
            path: probed::says(analysis.stored),
            changes,
            action,
        }
    }

    /// Five answers, each of a line or some, and where the rest is.
    pub fn text(&self, to: &str, rest: &str, screen: &Screen) -> String {
        self.told(to, rest, screen, |_| true)
    }

    /// Those of them that are wanted.
    pub fn told(
        &self,
        to: &str,
        rest: &str,
        screen: &Screen,
        is_wanted: impl Fn(Row) -> bool,
    ) -> String {
        let rows = self.rows(to, rest);
        let told = rows.iter().filter(|(row, says)| !says.is_empty() && is_wanted(*row));
        let named: Vec<(&str, &str)> =
            told.map(|(row, says)| (row.name(&self.cell), says.as_str())).collect();
        lines(&named, screen)
    }

    fn rows(&self, to: &str, rest: &str) -> Vec<(Row, String)> {
        let figure = self.figure.as_ref().map_or("no figure".to_owned(), |figure| {
            let runs = words::counted(figure.n as usize, "run");
            format!("{} ({}, {runs})", words::middle(figure), words::range(figure))
        });
        let limits = self.limit.as_ref().map_or("not known".to_owned(), says_limit);
        let limits = [vec![limits], self.path.clone()].concat().join("; ");
        let figure = format!("{figure} to {to}");
        let none = match self.changes.is_empty() {
            true => "not known, no change was tried to the end",
            false => "nothing that was tried",
        };
        let moved = self.listed(|tried| tried.moved == Moved::Up);
        let moved = if moved.is_empty() { none.to_owned() } else { moved };
        let perhaps = self.listed(is_open);
        let not = self.listed(|tried| tried.moved != Moved::Up && !is_open(tried));
        let not = if not.is_empty() { "-".to_owned() } else { not };
        vec![
            (Row::Figure, figure),
            (Row::Bottleneck, limits),
            (Row::Moved, moved),
            (Row::Perhaps, perhaps),
            (Row::DidNot, not),
            (Row::Do, self.action.clone()),
            (Row::Details, rest.to_owned()),
        ]
    }

    fn listed(&self, is_of: impl Fn(&Tried) -> bool) -> String {
        let these = self.changes.iter().filter(|tried| is_of(tried));
        these.map(says_tried).collect::<Vec<_>>().join("; ")
    }
}

/// Answers by name, each wrapped to the width of a screen.
pub fn lines(answers: &[(&str, &str)], screen: &Screen) -> String {
    let mut text = String::new();
    for (name, says) in answers {
        let line = format!("{name}: {}", shown::line(says));
        for (at, part) in wrap(&line, screen.width(), "  ").into_iter().enumerate() {
            let head = format!("{name}:");
            let part = match at {
                0 => part.replacen(&head, &format!("{BOLD}{head}{PLAIN}"), 1),
                _ => part,
            };
            text += &(part.trim_end().replace('\u{a0}', " ") + "\n");
        }
    }
    screen.show(&text)
}

/// What moved the figure before what did not, and what can be done before what only tells.
fn telling(tried: &Tried) -> (Moved, bool) {
    (tried.moved, !tried.changed.change.is_remedy())
}

/// Whether a change moved more in two pairs of runs and was not tried to the end.
fn is_open(tried: &Tried) -> bool {
    tried.moved == Moved::Left && effect(tried) >= TENTH
}

/// The ratio that is known best.
fn effect(tried: &Tried) -> f64 {
    tried.changed.ratio.map_or(tried.changed.tried_ratio, |ratio| ratio.value)
}

/// `a policer on the path (inferred from several counters); not the window`.
pub fn says_limit(limit: &Limit) -> String {
    let whole = limit.to_string();
    whole.strip_prefix(&format!("{}: ", limit.cell)).unwrap_or(&whole).to_owned()
}

/// `4 flows 2.1 x (1.9 to 2.4, 6 pairs)`.
fn says_tried(tried: &Tried) -> String {
    let Changed { says, ratio, tried_ratio, .. } = &tried.changed;
    let (value, rest) = match ratio {
        Some(ratio) => {
            let unclear = if tried.moved == Moved::Unclear { ", unclear" } else { "" };
            let range = format!("{} to {}", times(ratio.low), times(ratio.high));
            (
                ratio.value,
                format!("({range}, {}{unclear})", words::counted(ratio.n as usize, "pair")),
            )
        }
        None => (*tried_ratio, "(2 pairs)".to_owned()),
    };
    format!("{says} {} x {rest}", times(value))
}

fn times(ratio: f64) -> String {
    if ratio >= 100.0 { "over 100".to_owned() } else { format!("{ratio:.2}") }
}

/// What to do: what the largest effect says, or else what the rule of the limit does. That several
/// flows move more only says that one is held: by what, and what to do, the rule knows.
fn action(analysis: &Analysis<'_>, limit: Option<&Limit>, changes: &[Tried]) -> String {
    let best =
        changes.iter().find(|tried| tried.moved == Moved::Up && tried.changed.change.is_remedy());
    let rule = limit.and_then(|limit| limit.rule.as_deref());
    let mut found = analysis.found.iter().map(|found| &found.finding);
    let remedy = found.find(|finding| Some(finding.rule.as_str()) == rule);
    // What no rule names, as the CPU time that a thread lacked, has its own.
    let own = || limit.and_then(|limit| limit.action.as_deref());
    let remedy = remedy.map(|finding| finding.remedy.as_str()).or_else(own);
    let is_cap = limit.is_some_and(Limit::is_cap);
    let is_beside = best.is_some_and(|best| {
        let change = best.changed.change;
        (is_cap && change == Change::Congestion) || !tells_of(told_by(limit), change)
    });
    chosen(best.map(|best| &best.changed), remedy, is_beside)
}

/// The changes that would move the figure if a limit is right; `None` where nothing is known to
/// limit it, of which whatever moves it tells.
fn told_by(limit: Option<&Limit>) -> Option<&'static [Change]> {
    let limit = limit?;
    let Some(rule) = limit.rule.as_deref() else {
        return limit.is_named().then_some(OTHERWISE);
    };
    Some(TELLING.iter().find(|(of, _)| *of == rule).map_or(&[], |(_, changes)| *changes))
}

/// Whether a change tells of a limit.
fn tells_of(told_by: Option<&[Change]>, change: Change) -> bool {
    told_by.is_none_or(|changes| changes.contains(&change))
}

/// What to do of what moved the figure most and of what the limit's rule says, by whether what
/// moved it is beside that limit: a congestion control does not lift what an end or the path caps,
/// and a change that tells nothing of the rule's cause leaves the cause.
fn chosen(best: Option<&Changed>, remedy: Option<&str>, is_beside: bool) -> String {
    match (best, remedy) {
        (Some(best), Some(remedy)) if best.change == Change::Flows => {
            format!("{remedy}; several flows, as was tried, move more too")
        }
        // Which buffer is too small, and why, the rule knows.
        (Some(best), Some(remedy)) if best.change == Change::Buffers => remedy.to_owned(),
        (Some(best), Some(remedy)) if best.change == Change::ZeroCopy => {
            format!("{remedy}; {}, as was tried, moves more too", best.says)
        }
        // Whatever takes the CPU, a byte costs less of it in larger messages.
        (Some(best), Some(remedy)) if best.change == Change::MessageSize => {
            format!("{remedy}; larger messages, as was tried, move more too")
        }
        (Some(best), Some(remedy)) if is_beside => {
            format!("{remedy}; what was tried moves more too: {}", best.says)
        }
        (Some(best), _) => advice(best),
        (None, Some(remedy)) => remedy.to_owned(),
        (None, None) => {
            "no change of sockets, flows or placement moves it: look at what limits".to_owned()
        }
    }
}

/// What a change that moved the figure says to do.
fn advice(changed: &Changed) -> String {
    let says = &changed.says;
    match changed.change {
        Change::Congestion => format!(
            "use {says} at the sending host: sysctl -w net.ipv4.tcp_congestion_control={says}, or \
             for one path ip route change ... congctl {says}"
        ),
        Change::Buffers => {
            "let the kernel size socket buffers (no -w, no SO_RCVBUF), and raise the largest that \
             it may take: net.ipv4.tcp_rmem and tcp_wmem, at both ends"
                .to_owned()
        }
        Change::MessageSize => {
            "send larger messages, or gather small ones before they are sent".to_owned()
        }
        Change::Flows => {
            "one flow is held, and not the path: use several, or raise what holds one (its window, \
             its CPU)"
                .to_owned()
        }
        Change::Segments => "use smaller segments: ip route change ... mtu SIZE, or sysctl -w \
             net.ipv4.tcp_mtu_probing=1 at the sender, and let ICMP \"too big\" pass"
            .to_owned(),
        Change::Placement => {
            "give the threads CPUs of their own: -A, taskset, or what pins them to one".to_owned()
        }
        Change::ZeroCopy => "avoid the program's copy: sendfile, or --sender".to_owned(),
        Change::BusyPolling => {
            "wake-ups hold it: narrows tune --profile latency, net.core.busy_poll".to_owned()
        }
        Change::Pace => format!("send at {says}: fq's maxrate, or SO_MAX_PACING_RATE"),
        Change::Setting => {
            let name = says.split('=').next().unwrap_or(says);
            format!("narrows tune --apply --setting {name}, or sysctl -w {says}")
        }
        Change::Direction | Change::HalfPace => says.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_explain::limits::Sureness;
    use narrows_model::result::Method;
    use narrows_model::trial::TrialId;
    use narrows_model::units::Unit;

    #[test]
    fn what_holds_one_flow_is_mended_before_there_are_more() {
        let changed = |change, says: &str| Changed {
            change,
            trial: TrialId("t".into()),
            says: says.to_owned(),
            tried_ratio: 4.0,
            ratio: None,
        };
        let (flows, cubic) =
            (changed(Change::Flows, "8 flows"), changed(Change::Congestion, "cubic"));
        let remedy = "sysctl -w net.ipv4.tcp_window_scaling=1 at the peer";
        let scaling = Some(remedy);
        let wanted = "sysctl -w net.ipv4.tcp_window_scaling=1 at the peer; several flows, as was \
                      tried, move more too";
        assert_eq!(chosen(Some(&flows), scaling, false), wanted);
        assert!(chosen(Some(&flows), None, false).starts_with("one flow is held"));
        assert!(
            chosen(Some(&cubic), scaling, false).starts_with("use cubic"),
            "it moved the figure"
        );
        assert_eq!(chosen(None, scaling, false), remedy);
        let quota = "raise cpu.max of its control group";
        let capped = chosen(Some(&cubic), Some(quota), true);
        assert_eq!(capped, format!("{quota}; what was tried moves more too: cubic"));
        let pace = changed(Change::Pace, "a pace of 177 Mb/s");
        let option = Some("let the option pass");
        let of_rule = |rule| told_by(Some(&limit(Some(rule), Sureness::Counted)));
        let beside = chosen(Some(&pace), option, !tells_of(of_rule("tcp-sack"), pace.change));
        let wanted = "let the option pass; what was tried moves more too: a pace of 177 Mb/s";
        assert_eq!(beside, wanted, "a pace tells nothing of an option");
        let policed = chosen(Some(&pace), option, !tells_of(of_rule("path-policed"), pace.change));
        assert!(policed.starts_with("send at a pace"), "{policed}");
        assert!(tells_of(None, Change::Congestion), "nothing is known to be told");
        let unexplained = limit(None, Sureness::Unexplained);
        assert!(tells_of(told_by(Some(&unexplained)), Change::Congestion), "nor is it here");
        // A thread that lacks CPU time lacks it under any congestion control.
        let starved = limit(None, Sureness::Counted);
        assert!(!tells_of(told_by(Some(&starved)), Change::Congestion));
        assert!(tells_of(told_by(Some(&starved)), Change::Placement), "it had a CPU of its own");
        let larger = changed(Change::MessageSize, "messages of 1 MiB");
        let both = chosen(Some(&larger), Some(quota), false);
        assert_eq!(both, format!("{quota}; larger messages, as was tried, move more too"));
        assert!(chosen(Some(&larger), None, false).starts_with("send larger messages"));
        assert!(chosen(None, None, false).starts_with("no change of sockets"));
    }

    fn limit(rule: Option<&str>, sureness: Sureness) -> Limit {
        Limit {
            cell: "tcp".into(),
            rule: rule.map(str::to_owned),
            what: "it".into(),
            sureness,
            excludes: Vec::new(),
            next: None,
            action: None,
            worth: None,
            second: None,
        }
    }

    fn tried(change: Change, says: &str, ratio: Option<(f64, f64, f64)>, moved: Moved) -> Tried {
        let ratio = ratio.map(|(low, value, high)| Estimate {
            value,
            low,
            high,
            unit: Unit::Share,
            n: 6,
            by: Method::MedianRatio,
        });
        let (trial, says) = (TrialId("t".into()), says.to_owned());
        Tried { changed: Changed { change, trial, says, tried_ratio: 3.0, ratio }, moved }
    }

    #[test]
    fn a_change_is_told_with_what_it_moved_and_how_sure_that_is() {
        let of = |ratio, moved| says_tried(&tried(Change::Flows, "4 flows", ratio, moved));
        let known = Some((1.9, 2.125, 2.4));
        assert_eq!(of(known, Moved::Up), "4 flows 2.12 x (1.90 to 2.40, 6 pairs)");
        assert_eq!(of(known, Moved::Unclear), "4 flows 2.12 x (1.90 to 2.40, 6 pairs, unclear)");
        assert_eq!(of(None, Moved::Up), "4 flows 3.00 x (2 pairs)");
        let large = Some((99.994, 100.0, 400.0));
        let wanted = "4 flows over 100 x (99.99 to over 100, 6 pairs)";
        assert_eq!(of(large, Moved::Up), wanted);
        assert_eq!(effect(&tried(Change::Flows, "", known, Moved::Up)), 2.125);
        assert_eq!(effect(&tried(Change::Flows, "", None, Moved::Up)), 3.0);
    }

    #[test]
    fn the_best_change_that_mends_is_what_to_do_and_each_says_how() {
        for (change, says, how) in [
            (Change::Congestion, "bbr", "congctl bbr"),
            (Change::Congestion, "bbr", "tcp_congestion_control=bbr, or"),
            (Change::Buffers, "", "tcp_rmem and tcp_wmem, at both ends"),
            (Change::MessageSize, "", "send larger messages"),
            (Change::Flows, "", "use several, or raise what holds one"),
            (Change::Segments, "", "mtu SIZE"),
            (Change::Placement, "", "CPUs of their own"),
            (Change::ZeroCopy, "", "sendfile, or --sender"),
            (Change::BusyPolling, "", "net.core.busy_poll"),
            (Change::Pace, "1 Gb/s", "send at 1 Gb/s: fq's maxrate"),
            (Change::Setting, "a.b=1", "--setting a.b, or sysctl -w a.b=1"),
            (Change::Direction, "the other way", "the other way"),
            (Change::HalfPace, "half of it", "half of it"),
        ] {
            let told = advice(&tried(change, says, None, Moved::Up).changed);
            assert!(told.contains(how), "{told}");
        }
    }

    #[test]
    fn changes_are_listed_by_what_they_moved() {
        let telling_of = |change, moved| telling(&tried(change, "", None, moved));
        assert!(telling_of(Change::Buffers, Moved::Up) < telling_of(Change::Buffers, Moved::Not));
        assert!(telling_of(Change::Buffers, Moved::Up) < telling_of(Change::Direction, Moved::Up));
        let mut diagnosis = Diagnosis {
            cell: "tcp".into(),
            figure: None,
            limit: None,
            hypotheses: Vec::new(),
            path: vec!["the path holds 1 Gb/s".into()],
            changes: vec![
                tried(Change::Flows, "4 flows", Some((1.9, 2.0, 2.1)), Moved::Up),
                tried(Change::Pace, "1 Gb/s", None, Moved::Down),
                tried(Change::Buffers, "no -w", None, Moved::Left),
            ],
            action: "this".into(),
        };
        let screen = Screen { columns: Some(200), unicode: false };
        let wanted = "tcp: no figure to beta\nbottleneck: not known; the path holds 1 Gb/s\n\
                      moved it: 4 flows 2.00 x (1.90 to 2.10, 6 pairs)\n\
                      perhaps: no -w 3.00 x (2 pairs)\n\
                      did not: 1 Gb/s 3.00 x (2 pairs)\n\
                      do: this\ndetails: report.html\n";
        let plain = |text: String| text.replace(BOLD, "").replace(PLAIN, "");
        assert_eq!(plain(diagnosis.text("beta", "report.html", &screen)), wanted);
        diagnosis.changes.clear();
        let none = plain(diagnosis.text("beta", "report.html", &screen));
        assert!(none.contains("moved it: not known, no change was tried to the end\n"), "{none}");
        diagnosis.changes = vec![tried(Change::Buffers, "no -w", None, Moved::Left)];
        let left = plain(diagnosis.text("beta", "report.html", &screen));
        assert!(left.contains("moved it: nothing that was tried\nperhaps: no -w"), "{left}");
        assert!(left.contains("did not: -\n"), "{left}");
        diagnosis.changes[0].changed.tried_ratio = 1.09;
        let left = plain(diagnosis.text("beta", "report.html", &screen));
        assert!(left.contains("moved it: nothing that was tried\ndid not: no -w"), "{left}");
    }
}
