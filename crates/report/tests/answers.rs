//! The answer of a measurement, and the screen that leads with it.

mod planted;

use narrows_explain::limits::{Limit, Second, Sureness};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::load::{Role, SocketParams, StreamParams, Wait};
use narrows_model::record::{Fault, Outcome, Stage};
use narrows_model::result::{
    Estimate, Finding, Method, PredictedPath, Prediction, ResourceName, Unstated, Weight,
};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Placement};
use narrows_model::units::Unit;
use narrows_model::workload::{Kernel, Metric, Workload};
use narrows_report::answer::{self, Bottleneck};
use narrows_report::drawn::Screen;
use narrows_report::peer_check::PeerCheck;
use narrows_report::{Analysis, brief};
use narrows_stats::Label;
use planted::study;
use textwrap::core::display_width;

fn of_model(gbps: f64) -> Estimate {
    let bps = gbps * 1e9;
    Estimate { value: bps, low: bps, high: bps, unit: Unit::BitsPerSecond, n: 0, by: Method::Model }
}

/// What the cell of a study with one cell should reach, by this resource.
fn expect(analysis: &mut Analysis<'_>, resource: &str, gbps: f64) {
    let (cell, workload) =
        (analysis.summaries[0].label.clone(), analysis.summaries[0].kind.clone());
    let prediction = Prediction {
        path: PredictedPath::Interface("eth0".into()),
        workload,
        cell: Some(cell.clone()),
        range: Some(of_model(gbps)),
        bottleneck: Some(resource.to_owned().into()),
        ceilings: Vec::new(),
        measured: analysis.summaries[0].estimate,
        missing: Vec::new(),
        sessions: Vec::new(),
    };
    analysis.expected.insert(cell, prediction.clone());
    analysis.predictions = vec![prediction];
}

fn find(analysis: &mut Analysis<'_>, weight: Weight, remedy: &str) {
    let finding = Finding {
        rule: "planted".into(),
        weight,
        says: "Something was planted here. ".repeat(12),
        evidence: Vec::new(),
        worth: None,
        remedy: remedy.into(),
    };
    let holds_for = Vec::new();
    analysis.found.push(narrows_explain::conditions::Found { finding, holds_for });
}

/// A study of as many cells as there are rates, as a command makes it.
fn measured(gbps: &[f64]) -> StoredStudy {
    let mut study = study("size", gbps, 10, None);
    study.study.command = StudyKind::Tcp;
    study
}

#[test]
fn memory_is_told_by_the_most_that_was_read_of_it_and_not_of_a_cache() {
    let study = measured(&[15.0, 150.0, 900.0, 200.0]);
    let mut analysis = Analysis::of(&study);
    for summary in &mut analysis.summaries {
        summary.kind = Workload::Memory(Kernel::Read);
        summary.metric = Metric::MemoryBandwidth;
        summary.path = NetworkPath::Memory;
    }
    analysis.summaries[2].labels.push(Label::CacheResident);
    analysis.summaries[3].kind = Workload::Memory(Kernel::Copy);
    let told = |analysis: &Analysis<'_>| answer::headline(analysis).expect("told").label.clone();
    assert_eq!(told(&analysis), analysis.summaries[1].label, "of all threads, not of the first");
    analysis.summaries[0].path = NetworkPath::Peer;
    assert_eq!(told(&analysis), analysis.summaries[0].label, "the network comes first");
}

#[test]
fn a_bottleneck_is_named_by_what_the_runs_show_before_what_was_predicted() {
    let study = measured(&[9.4]);
    let mut analysis = Analysis::of(&study);
    analysis.limits.clear();
    let of = |analysis: &Analysis<'_>| answer::bottleneck(analysis, &analysis.summaries[0]);
    assert_eq!(of(&analysis), Bottleneck::Unknown);
    expect(&mut analysis, "wire", 9.9);
    assert!(matches!(of(&analysis), Bottleneck::Likely(name, _) if name.to_string() == "wire"));
    expect(&mut analysis, "cpu", 30.0);
    let cell = analysis.summaries[0].label.clone();
    // The model's range reaches down to 9 Gb/s.
    let range = analysis.expected.get_mut(&cell).and_then(|it| it.range.as_mut());
    range.expect("a range").low = 9e9;
    assert!(matches!(of(&analysis), Bottleneck::WideOf(name, _) if name.to_string() == "cpu"));
    let says = answer::of(&analysis).expect("an answer").bottleneck;
    assert!(says.starts_with("inconclusive: 31 %") && !says.contains("likely"), "{says}");
    expect(&mut analysis, "wire", 40.0);
    assert!(
        matches!(of(&analysis), Bottleneck::Unexplained(name, _) if name.to_string() == "wire")
    );
    analysis.summaries[0].labels.push(Label::ReceiverBound);
    assert_eq!(of(&analysis), Bottleneck::Shown("the receiver's CPU"));
    analysis.summaries[0].labels.push(Label::Noisy);
    let says = answer::of(&analysis).expect("an answer").bottleneck;
    assert!(says.contains("shown") && says.contains("other processes"), "{says}");
}

/// What was counted comes before the model, and what merely fits after it.
#[test]
fn a_limit_that_was_counted_is_the_bottleneck_and_its_remedy_what_to_do() {
    let study = measured(&[9.4]);
    let mut analysis = Analysis::of(&study);
    analysis.found.clear();
    expect(&mut analysis, "wire", 9.9);
    find(&mut analysis, Weight::Fault, "move the card");
    find(&mut analysis, Weight::Advice, "raise tcp_rmem");
    analysis.found[1].finding.rule = "receive-window".into();
    let limit = |sureness| Limit {
        cell: analysis_label(&study),
        rule: Some("receive-window".into()),
        what: "the receiver's window".into(),
        sureness,
        excludes: Vec::new(),
        next: None,
        action: None,
        worth: None,
        second: None,
    };
    analysis.limits = vec![limit(Sureness::Possible)];
    let says = |analysis: &Analysis<'_>| answer::of(analysis).expect("an answer").bottleneck;
    assert!(says(&analysis).starts_with("wire (likely"), "{}", says(&analysis));
    analysis.limits = vec![limit(Sureness::Counted)];
    assert_eq!(says(&analysis), "the receiver's window (counted)");
    assert_eq!(answer::of(&analysis).expect("an answer").action, "raise tcp_rmem");
    let says_second = "cubic moves 1.4 times what bbr does".to_owned();
    find(&mut analysis, Weight::Advice, "sysctl -w it=cubic");
    analysis.found[2].finding.rule = "congestion-control".into();
    analysis.limits[0].second =
        Some(Second { rule: "congestion-control".into(), says: says_second.clone() });
    assert_eq!(says(&analysis), format!("the receiver's window (counted); second: {says_second}"));
    let action = answer::of(&analysis).expect("an answer").action;
    assert_eq!(action, "raise tcp_rmem; then sysctl -w it=cubic");
    analysis.limits[0].second = None;
    analysis.limits[0].sureness = Sureness::Possible;
    expect(&mut analysis, "wire", 40.0);
    assert_eq!(says(&analysis), "the receiver's window (possible, not compared)");
}

fn analysis_label(study: &StoredStudy) -> String {
    study.trials[0].label.clone()
}

#[test]
fn what_to_do_is_the_remedy_of_what_weighs_most() {
    let study = measured(&[9.4]);
    let mut analysis = Analysis::of(&study);
    analysis.found.clear();
    let action = |analysis: &Analysis<'_>| answer::of(analysis).expect("an answer").action;
    assert!(action(&analysis).starts_with("nothing"), "{}", action(&analysis));
    find(&mut analysis, Weight::Caution, "wait");
    assert_eq!(action(&analysis), "wait");
    find(&mut analysis, Weight::Advice, "turn it on");
    assert_eq!(action(&analysis), "turn it on");
    // Of a level of a study, whose cells share the findings, a remedy says that no rule ties it to
    // this one.
    let results = analysis.study.as_ref().expect("levels");
    let of_level = answer::of_study(&analysis, results).expect("an answer").action;
    assert_eq!(of_level, "turn it on (of a finding that is not shown to limit this)");
}

/// Who asks for round trips and gets too few of them is told so, and not what a probe measured.
#[test]
fn what_was_asked_for_is_answered_before_a_probe_even_without_a_figure() {
    let study = measured(&[9.4, 5.0]);
    let mut analysis = Analysis::of(&study);
    analysis.limits.clear();
    analysis.summaries[0].estimate = None;
    analysis.summaries[0].labels.push(Label::ShortWindow);
    analysis.summaries[1].kind = Workload::PathProbe;
    let answer = answer::of(&analysis).expect("an answer");
    assert!(answer.figure.ends_with(": no value"), "{}", answer.figure);
    assert_eq!(answer.spread, Label::ShortWindow.says());
    assert_eq!(answer.bottleneck, "inconclusive: there is no figure to explain");
    assert!(answer.action.starts_with("measure longer (-t)"), "{}", answer.action);
}

/// Runs that all failed are answered with why, and not with what stood beside them: a probe, or,
/// where a rule tells what the path does with them, a stream to compare with.
#[test]
fn what_was_asked_for_and_failed_in_every_run_is_the_answer() {
    let study = measured(&[9.4, 5.0]);
    let mut analysis = Analysis::of(&study);
    analysis.limits.clear();
    let lost = &mut analysis.summaries[0];
    (lost.estimate, lost.done, lost.failed) = (None, 0, vec!["no room".to_owned(); 6]);
    let untold = answer::of(&analysis).expect("an answer");
    assert!(untold.figure.ends_with(": no value") && untold.spread == "no room", "{untold:?}");
    assert_eq!(untold.bottleneck, "not known, since each of its runs failed");
    let limit = Limit {
        cell: analysis.summaries[0].label.clone(),
        rule: Some("path-class".to_owned()),
        what: "a class of packets that the path drops".to_owned(),
        sureness: Sureness::Compared,
        excludes: Vec::new(),
        next: None,
        action: Some("let it pass".to_owned()),
        worth: None,
        second: None,
    };
    analysis.limits.push(limit);
    let named = answer::of(&analysis).expect("an answer");
    assert!(named.figure.ends_with(": no value") && named.action == "let it pass", "{named:?}");
    assert!(named.bottleneck.starts_with("a class of packets that the path drops"), "{named:?}");
    analysis.limits.clear();
    analysis.summaries[1].kind = Workload::PathProbe;
    let probed = answer::of(&analysis).expect("an answer");
    assert!(probed.figure.ends_with(": no value") && probed.spread == "no room", "{probed:?}");
    assert_eq!(probed.bottleneck, "not known, since each of its runs failed");
    assert_eq!(probed.action, "mend what its runs failed for, and measure again");
}

/// Runs that all failed for one fault are answered with it.
#[test]
fn a_fault_that_all_runs_have_is_the_answer() {
    let of = |faults: [Fault; 2]| {
        let mut study = measured(&[9.4, 5.0]);
        let failed = study.trials[0].id.clone();
        let mut faults = faults.into_iter().cycle();
        for record in study.records.iter_mut().filter(|record| record.trial == failed) {
            let fault = faults.next().unwrap_or_default();
            let why = "16 of 32 failed".to_owned();
            record.outcome = Outcome::Failed { at: Stage::Prepare, why, fault };
        }
        answer::of(&Analysis::of(&study)).expect("an answer")
    };
    for (fault, what, remedy) in [
        (Fault::OutOfFiles, "the limit of open files of an end", "LimitNOFILE="),
        (Fault::OutOfPorts, "the ports of the host that connects", "ip_local_port_range"),
    ] {
        let told = of([fault; 2]);
        assert!(told.figure.ends_with(": no value"), "{told:?}");
        assert!(told.bottleneck.starts_with(what) && told.action.contains(remedy), "{told:?}");
    }
    let mixed = of([Fault::OutOfFiles, Fault::Machine]);
    assert_eq!(mixed.bottleneck, "not known, since each of its runs failed");
}

/// A time that is longer than predicted is no share of what something allows, and one that is
/// shorter needs no limit.
#[test]
fn a_time_is_a_multiple_of_the_predicted_one() {
    let study = measured(&[9.4]);
    let of = |predicted: f64| {
        let mut analysis = Analysis::of(&study);
        analysis.limits.clear();
        expect(&mut analysis, "wake-up", predicted);
        if let Some(estimate) = &mut analysis.summaries[0].estimate {
            estimate.unit = Unit::Nanos;
        }
        answer::of(&analysis).expect("an answer")
    };
    let long = of(2.0).bottleneck;
    assert!(long.contains("4.7 x the time predicted, and no run shows why"), "{long}");
    let short = of(40.0);
    let says = "none shown: 0.2 x the time predicted, so the prediction is too long";
    assert!(short.bottleneck.starts_with(says), "{}", short.bottleneck);
    assert!(short.action.starts_with("nothing: the figure is better"), "{}", short.action);
}

/// Nothing holds what is far faster than predicted, although the model's range has it.
#[test]
fn no_bottleneck_is_likely_where_a_figure_is_far_better_than_predicted() {
    let study = measured(&[9.4]);
    let of = |predicted: f64, unit: Unit| {
        let mut analysis = Analysis::of(&study);
        analysis.limits.clear();
        expect(&mut analysis, "wake-up", predicted);
        let cell = analysis.summaries[0].label.clone();
        let range = analysis.expected.get_mut(&cell).and_then(|it| it.range.as_mut());
        let range = range.expect("a range");
        (range.low, range.high) = (1e9, 90e9);
        if let Some(estimate) = &mut analysis.summaries[0].estimate {
            estimate.unit = unit;
        }
        answer::of(&analysis).expect("an answer").bottleneck
    };
    assert!(of(40.0, Unit::Nanos).starts_with("none shown: 0.2 x"), "{}", of(40.0, Unit::Nanos));
    assert!(of(9.0, Unit::Nanos).starts_with("wake-up (likely: 1.0 x"));
    assert!(of(2.0, Unit::Nanos).starts_with("inconclusive: 4.7 x"));
    assert!(of(2.0, Unit::BitsPerSecond).starts_with("none shown: 470 %"));
    assert!(of(47.0, Unit::BitsPerSecond).starts_with("inconclusive: 20 %"));
}

/// The prediction is of threads that have CPUs of their own.
#[test]
fn round_trips_of_threads_that_nobody_pinned_may_take_somewhat_longer() {
    let study = measured(&[9.4]);
    let of = |predicted: f64| {
        let mut analysis = Analysis::of(&study);
        analysis.limits.clear();
        expect(&mut analysis, "wake-up", predicted);
        analysis.summaries[0].kind = Workload::TCP_RR;
        if let Some(estimate) = &mut analysis.summaries[0].estimate {
            estimate.unit = Unit::Nanos;
        }
        answer::of(&analysis).expect("an answer").bottleneck
    };
    assert!(of(4.0).contains("2.3 x the time predicted, which is of threads"), "{}", of(4.0));
    assert!(of(2.0).contains("4.7 x the time predicted, and no run shows why"), "{}", of(2.0));
}

#[test]
fn a_rate_above_the_predicted_one_is_held_by_nothing_that_is_known() {
    let study = measured(&[9.4]);
    let mut analysis = Analysis::of(&study);
    analysis.limits.clear();
    expect(&mut analysis, "cpu", 2.0);
    let says = answer::of(&analysis).expect("an answer").bottleneck;
    let wanted = "none shown: 470 % of what cpu should allow, so the prediction is too low";
    assert!(says.starts_with(wanted), "{says}");
}

/// A rate that the sender did not reach is an answer, whether or not it is known what held it.
#[test]
fn packets_that_were_not_sent_as_asked_are_told_before_what_held_them() {
    let mut study = measured(&[9.4]);
    study.trials[0].params.message_bytes = Bytes(64);
    study.trials[0].params.rate_bps = Some(20_000 * 8 * 64);
    let mut analysis = Analysis::of(&study);
    analysis.limits.clear();
    let summary = &mut analysis.summaries[0];
    summary.kind = Workload::Packets;
    summary.labels = vec![Label::HeldBack];
    summary.traffic.get_or_insert_default().sender_messages_per_second = Some(17_000.0);
    let says = |analysis: &Analysis<'_>| answer::of(analysis).expect("an answer").bottleneck;
    let told = "the sender reached 17.0 k of 20.0 k packets/s (counted)";
    assert_eq!(says(&analysis), format!("{told}; no run shows what held it"));
    analysis.limits = vec![Limit {
        cell: analysis_label(&study),
        rule: None,
        what: "the sender's thread".into(),
        sureness: Sureness::Counted,
        excludes: Vec::new(),
        next: None,
        action: None,
        worth: None,
        second: None,
    }];
    assert_eq!(says(&analysis), format!("{told}: the sender's thread (counted)"));
    analysis.summaries[0].labels.clear();
    assert_eq!(says(&analysis), "the sender's thread (counted)");
    analysis.summaries[0].labels = vec![Label::HeldBack];
    analysis.summaries[0].kind = Workload::TCP_STREAM;
    assert_eq!(says(&analysis), "the sender's thread (counted)");
}

#[test]
fn nothing_measured_has_no_answer_and_says_where_the_rest_is() {
    let study = StoredStudy::unmeasured(Host::default());
    let analysis = Analysis::of(&study);
    assert!(answer::of(&analysis).is_none());
    let text = plain(&brief::text(&analysis, &Screen::FILE, "narrows report x.narrows"));
    assert!(text.contains("details: narrows report x.narrows"), "{text}");
}

/// The page leads with what the terminal leads with, and what a study recommends.
#[test]
fn a_page_begins_with_the_answer() {
    let page = narrows_report::formats::FORMATS.iter().find(|one| one.name == "html");
    let page = page.expect("a page");
    let mut study = measured(&[9.4]);
    // What is in brackets there is no interval.
    study.trials[0].label = "stream (64K)".into();
    let mut analysis = Analysis::of(&study);
    analysis.study = None;
    let written = (page.write)(&analysis);
    assert!(written.contains(r#"stream (64K): 9.39 Gb/s <span class="soft">"#), "{written}");
    let answer = answer::of(&analysis).expect("an answer");
    let at = |text: &str| written.find(text).unwrap_or_else(|| panic!("{text}: {written}"));
    assert!(
        at(&answer.figure) < at(&answer.bottleneck) && at(&answer.action) < at(r#"id="findings""#)
    );
    let unmeasured = StoredStudy::unmeasured(Host::default());
    let unmeasured = (page.write)(&Analysis::of(&unmeasured));
    assert!(!unmeasured.contains(r#"class="card answer""#), "{unmeasured}");
}

fn plain(text: &str) -> String {
    ["\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"]
        .iter()
        .fold(text.to_owned(), |text, style| text.replace(style, ""))
}

/// Lines from the figure to the details.
fn answer_lines(text: &str) -> usize {
    let at = |begin: &str| text.lines().position(|line| line.starts_with(begin));
    at("details:").expect("details are named") + 1 - at("size 1").expect("the figure is told")
}

#[test]
fn an_answer_is_eight_lines_at_most_and_the_screen_is_one() {
    for cells in [1, 2, 3, 8, 40] {
        let rates: Vec<f64> = (0..cells).map(|cell| 9.0 + f64::from(cell)).collect();
        let mut study = measured(&rates);
        study.study.command = StudyKind::Check;
        for trial in &mut study.trials {
            trial.label =
                format!("{} with a name that is much longer than it should be", trial.label);
        }
        let mut analysis = Analysis::of(&study);
        analysis.summaries[0].labels.push(Label::Noisy);
        expect(&mut analysis, "inter-socket", 400.0);
        for _ in 0..5 {
            find(&mut analysis, Weight::Fault, &"move the card to the other slot, ".repeat(30));
        }
        for columns in [60, 80, 100, 200] {
            let screen = Screen { columns: Some(columns), unicode: true };
            let text = plain(&brief::text(&analysis, &screen, "-v, or narrows report x.narrows"));
            assert!((3..=8).contains(&answer_lines(&text)), "{text}");
            assert!(text.contains("\nbottleneck: ") && text.contains("\ndo: move"), "{text}");
            for line in text.lines() {
                assert!(display_width(line) <= columns, "{columns}: {line}");
            }
            assert!(columns < 80 || text.lines().count() <= 24, "{text}");
            assert_eq!(text.matches(" rules: ").count(), 1, "{text}");
            let flat = unwrapped(&text);
            assert!(columns < 80 || flat.contains("fault: Something was planted here."), "{text}");
            // What is longer than its lines ends with a clause.
            assert!(columns > 80 || flat.contains("other slot (more: -v) details:"), "{text}");
        }
    }
}

#[test]
fn a_run_that_failed_is_told_though_its_cell_is_left_out() {
    let mut study = measured(&[9.0; 40]);
    study.study.command = StudyKind::Check;
    let mut analysis = Analysis::of(&study);
    let screen = Screen { columns: Some(80), unicode: true };
    let text = |analysis: &Analysis<'_>| plain(&brief::text(analysis, &screen, "-v"));
    assert!(!text(&analysis).contains("failed"), "{}", text(&analysis));
    analysis.summaries[39].failed.push("its worker was killed".into());
    let says = text(&analysis);
    assert!(says.contains("left out here; 1 run failed in them"), "{says}");
}

/// Words with one space between them, however the lines were broken.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn nothing_of_an_answer_is_cut_in_the_middle() {
    const REMEDY: &str = "see first, on the end that is not ours, whether its sockets dropped: \
        nstat -az UdpRcvbufErrors, and its interface: ip -s link; only then what lies between";
    let study = measured(&[9.4]);
    let mut analysis = Analysis::of(&study);
    expect(&mut analysis, "inter-socket", 400.0);
    let reach = Prediction {
        workload: Workload::TCP_STREAM,
        measured: None,
        missing: [ResourceName::Wire, ResourceName::Pcie, ResourceName::Memory, ResourceName::Nic]
            .map(|name| Unstated { resource: name.into(), why: String::new() })
            .to_vec(),
        ..analysis.predictions[0].clone()
    };
    analysis.predictions.push(reach);
    analysis.summaries[0].labels.push(Label::Noisy);
    analysis.found.clear();
    find(&mut analysis, Weight::Advice, REMEDY);
    let says = analysis.found[0].finding.says.trim().to_owned();
    for columns in [70, 80, 120] {
        let screen = Screen { columns: Some(columns), unicode: true };
        let text = plain(&brief::text(&analysis, &screen, "-v, or narrows report x.narrows"));
        let flat = unwrapped(&text);
        assert!(!text.contains('…'), "{text}");
        assert!(flat.contains(&format!("do: {REMEDY} details:")), "{text}");
        let bottleneck = answer::of(&analysis).expect("an answer").bottleneck;
        assert!(flat.contains(&format!("bottleneck: {bottleneck} do:")), "{text}");
        assert!(flat.contains("unknown and may be lower (predicted)"), "{text}");
        let ends = flat.contains("Something was planted here (more: -v)");
        assert!(ends || flat.contains(&format!("advice: {says}")), "{text}");
    }
}

/// What is said of two ways with these rates, of which so much is known of what holds each.
fn of_ways(gbps: [f64; 2], sureness: [Sureness; 2]) -> String {
    let mut study = measured(&gbps);
    study.trials[1].params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
    let mut analysis = Analysis::of(&study);
    let limit = |at: usize, what: &str, action: &str| Limit {
        cell: study.trials[at].label.clone(),
        rule: None,
        what: what.into(),
        sureness: sureness[at],
        excludes: Vec::new(),
        next: None,
        action: Some(action.into()),
        worth: None,
        second: None,
    };
    analysis.limits =
        vec![limit(0, "the threads", "measure again"), limit(1, "a policer", "raise its rate")];
    let text = PeerCheck::of(&analysis).text("beta", None, "narrows report", &Screen::FILE);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_way_that_nobody_can_explain_is_left_out_beside_a_far_slower_one_that_is_known() {
    use Sureness::{Inferred, Possible, Unexplained};
    let tells = |gbps, sureness| {
        let text = of_ways(gbps, sureness);
        let both = ["the threads", "a policer"].map(|what| text.contains(what));
        let to_do = ["measure again", "raise its rate"].map(|action| text.contains(action));
        assert_eq!(both, to_do, "what holds a way is told with what to do about it: {text}");
        both
    };
    assert_eq!(tells([3.2, 1.0], [Unexplained, Inferred]), [false, true]);
    assert_eq!(tells([3.2, 1.0], [Possible, Inferred]), [false, true], "no more than possible");
    assert_eq!(tells([1.0, 3.2], [Inferred, Unexplained]), [true, false], "the way back");
    for (gbps, sureness, why) in [
        ([2.8, 1.0], [Unexplained, Inferred], "not far slower"),
        ([1.0, 3.2], [Unexplained, Inferred], "the slower way is not known"),
        ([3.2, 1.0], [Inferred, Inferred], "both are known"),
        ([3.2, 1.0], [Unexplained, Possible], "neither is"),
    ] {
        assert_eq!(tells(gbps, sureness), [true, true], "{why}");
    }
}

#[test]
fn what_would_decide_depends_on_what_the_threads_did_while_they_waited() {
    // Whether both ends had CPUs of their own, and how their threads waited.
    let of = |kind: Workload, is_pinned: bool, wait: Option<Wait>| {
        let mut study = measured(&[9.4]);
        for role in [Role::Sender, Role::Receiver] {
            let place = if is_pinned { Placement::on([1]) } else { Placement::default() };
            study.trials[0].end_mut(role).expect("an end").place = place;
        }
        study.trials[0].params.socket = Some(SocketParams { wait, ..SocketParams::default() });
        let mut analysis = Analysis::of(&study);
        analysis.summaries[0].kind = kind;
        analysis.limits = vec![Limit {
            cell: analysis_label(&study),
            rule: None,
            what: "nothing that was checked explains the rate".into(),
            sureness: Sureness::Unexplained,
            excludes: Vec::new(),
            next: None,
            action: None,
            worth: None,
            second: None,
        }];
        answer::of(&analysis).expect("an answer").action
    };
    for (action, begins) in [
        (of(Workload::TCP_RR, false, None), "measure again with each end on a CPU of its own (-A"),
        (of(Workload::TCP_RR, true, None), "measure again with --wait spin"),
        (of(Workload::UDP_RR, true, Some(Wait::Block)), "measure again with --wait spin"),
        // Threads that never slept have no wake-up to take away.
        (of(Workload::UDP_RR, true, Some(Wait::Spin)), "measure again to another host"),
        (of(Workload::TCP_RR, false, Some(Wait::Spin)), "measure again to another host"),
        (of(Workload::TCP_STREAM, true, None), "let `narrows diagnose HOST` change one thing"),
    ] {
        assert!(action.starts_with(begins), "{begins}: {action}");
    }
}
