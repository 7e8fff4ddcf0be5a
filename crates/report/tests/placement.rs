//! What the report says of placements whose costs are planted.

mod kept;
#[path = "../../stats/tests/placed/mod.rs"]
mod placed;

use narrows_model::Nanos;
use narrows_model::load::{Bind, EndReport, Role};
use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity};
use narrows_model::record::Reported;
use narrows_model::seating::Seating;
use narrows_model::trial::{EndHost, TrialId};
use narrows_report::Analysis;

#[test]
fn what_costs_most_is_said_and_drawn() {
    let study = placed::simulated(10, &placed::dells, 7);
    let analysis = Analysis::of(&study);
    let format = narrows_report::formats::format("text").expect("a format");
    let text = (format.write)(&analysis);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let most = "TCP, 4 flows: process and memory at both ends costs most";
    assert!(whole.contains(most), "{text}");
    assert!(whole.contains("process here off the NIC's node (0)"), "{text}");
    assert!(whole.contains("memory at the peer off node 0"), "{text}");
    assert!(whole.contains("Not varied: interrupts at the peer"), "{text}");
    let best = text.lines().find(|line| line.starts_with("best for")).expect("a recommendation");
    assert!(best.contains("node 0 > node 0; ") && best.contains("and 10 more"), "{best}");
    let drawn = narrows_report::figures::all(&analysis);
    let heat = |name: &&(String, String)| name.0.starts_with("placement-tcp-4-flows-a-row");
    let (_, map) = drawn.iter().find(heat).expect("a map");
    assert_eq!(map.matches("</title>").count(), 32, "a field a placement");
    // The process here is away in half of them: a fifth less, and with remote buffers there more.
    assert_eq!(map.matches("class=\"worse2\"").count(), 16 + 1, "with the legend's: {map}");
    let (_, bars) = drawn
        .iter()
        .find(|(name, _)| name.starts_with("placement-tcp-4-flows-ends"))
        .expect("bars");
    assert_eq!(bars.matches("</title>").count(), 4, "the NIC, each end away, and both");
    let data = narrows_report::data::all(&analysis);
    let of = |name: &str| {
        let (_, csv) = data.iter().find(|(file, _)| file.starts_with(name)).expect(name);
        csv.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let map = of("placement-tcp-4-flows-a-row");
    assert_eq!(
        (map.len(), map[0].as_str()),
        (33, "here,there,median,times_better,why_not_claimed")
    );
    assert!(map[1].contains(",node 0,") && map[1].contains(",1,"), "the first: {map:?}");
    let bars = of("placement-tcp-4-flows-ends");
    assert_eq!((bars.len(), bars[0].as_str()), (5, "bar,value,low,high,unit"));
    let results = analysis.study.as_ref().expect("levels");
    let answer = narrows_report::answer::of_study(&analysis, results).expect("an answer");
    // A round trip takes 40 % more, four flows lose less: what costs most of all tests.
    let most = "TCP round trip: process and memory at both ends costs most: +4";
    assert!(answer.figure.starts_with(most), "{answer:?}");
    assert!(answer.action.starts_with("best for"), "{answer:?}");
    let page = (narrows_report::formats::format("html").expect("a format").write)(&analysis);
    let (_, head) = page.split_once("class=\"figure\">").expect("a headline");
    assert!(head.starts_with(most), "the page leads with it");
}

/// What the command prints at its end has them too, and not the report alone.
#[test]
fn what_a_placements_nic_costs_stands_beside_what_it_reaches() {
    let mut study = placed::simulated(10, &placed::dells, 7);
    let level = study.trials[0].levels[0].level.clone();
    let ends = |study: &narrows_model::study::StoredStudy| {
        let analysis = Analysis::of(study);
        let results = analysis.study.as_ref().expect("levels");
        narrows_report::brief::study(&analysis, results, &narrows_report::drawn::Screen::FILE, "-")
    };
    assert!(!ends(&study).contains("Price"), "none was given");
    study.study.reading.prices.insert(level.clone(), 480.0);
    let text = ends(&study);
    let (_, table) = text.split_once("Price, and what a hundred of it buys").expect("a table");
    assert!(table.lines().any(|line| line.contains(&level) && line.contains("480.00")), "{text}");
}

/// Nothing was measured in two places of one block, so no place is said to matter or not.
#[test]
fn without_two_places_in_a_block_there_is_nothing_to_compare() {
    let mut study = placed::simulated(10, &placed::dells, 7);
    study.records.retain(|record| record.trial == study.trials[0].id);
    let text =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&study));
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let nothing = "nothing to compare in 2 tests: no two places have a figure in one block";
    assert!(whole.contains(nothing), "{text}");
    assert!(!whole.contains("moved change interval"), "tables of nothing: {text}");
    // Nor does the page lead with that: what its first panel says is an answer.
    let page =
        (narrows_report::formats::format("html").expect("a format").write)(&Analysis::of(&study));
    let (_, head) = page.split_once("class=\"figure\">").expect("a headline");
    assert!(!head.starts_with("TCP, 4 flows: nothing to compare"), "{}", &head[..80]);
    // Where another test shows something, the one that does not is named.
    let mut study = placed::simulated(10, &placed::dells, 7);
    let trips = study.trials.iter().filter(|trial| !trial.kind.is_stream());
    let trips: Vec<_> = trips.map(|trial| trial.id.clone()).collect();
    study.records.retain(|record| !trips.contains(&record.trial));
    let text =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&study));
    assert!(text.contains("TCP, 4 flows: process and memory at both ends costs most"), "{text}");
    assert!(text.contains("TCP round trip: nothing to compare: no two places"), "{text}");
    assert!(!whole.contains("no place matters") && !whole.contains("intervals hold together"));
}

/// What Dell shows of the link: 63 % of what the busiest socket's links carry where the process is
/// away, 7 % where it is at the NIC.
#[test]
fn use_of_the_link_is_drawn_in_per_cent_of_what_it_carries() {
    let mut study = placed::simulated(6, &placed::dells, 7);
    let model = "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz";
    study.host.cpu.model = placed::known(model.to_owned());
    study.peer_hosts = vec![study.host.clone()];
    study.sessions[0].host = study.host.clone();
    study.sessions[0].peer_hosts = study.peer_hosts.clone();
    // 38.4 GB/s of two links at 9.6 GT/s.
    let carries = 38.4e9;
    for record in &mut study.records {
        let at = study.trials.iter().find(|trial| trial.id == record.trial).expect("a trial");
        let seating = Seating::of(at, &study.host, &study.host).expect("a seating");
        let share = if seating.here.process == Some(1) { 0.63 } else { 0.07 };
        let own = at.controllers().expect("an end").role;
        let sent = |package: u32, share: f64| Count {
            of: Quantity::SocketLinkSent,
            by: CountedBy::Uncore,
            package: Some(package),
            bytes: (share * carries) as u64,
            counters: 2,
            ran_thousandths: None,
        };
        // A tenth of that is what the cores miss.
        let missed = Count { of: Quantity::CacheMissed, ..sent(0, 0.1 * share) };
        let counts = vec![sent(0, share), sent(1, 0.01), missed];
        let span_ns = Nanos(1_000_000_000);
        let memory = MemoryTraffic { span_ns, counts, ..MemoryTraffic::default() };
        let end = EndReport { memory: Some(Box::new(memory)), ..EndReport::default() };
        let (sender, receiver) = match own {
            Role::Sender => (Some(Box::new(end)), None),
            _ => (None, Some(Box::new(end))),
        };
        record.reports = Reported::list(receiver, sender, None);
    }
    kept::is_as_kept("placement", &study);
    let analysis = Analysis::of(&study);
    let drawn = narrows_report::figures::all(&analysis);
    let use_of =
        |name: &&(String, String)| name.0 == "placement-tcp-4-flows-use-of-the-busiest-socket";
    let (_, bars) = drawn.iter().find(use_of).expect("bars");
    let misses =
        |name: &&(String, String)| name.0 == "placement-tcp-4-flows-cache-misses-of-the-cores";
    let (_, missed) = drawn.iter().find(misses).expect("bars of misses");
    assert!(missed.contains(">2.42 GB/s<") && missed.contains(">0.269 GB/s<"), "{missed}");
    assert!(bars.contains(">7 %<") && bars.contains(">63 %<"), "{bars}");
    let text = narrows_report::formats::format("text").expect("a format").write;
    let text = text(&analysis);
    assert!(text.contains("of the link") && text.contains("63 %"), "{text}");
}

/// A study's own names of places, and its NICs of both nodes at once, which are in no one place.
#[test]
fn bars_have_the_names_of_the_study_and_what_is_in_several_places() {
    let mut study = placed::simulated(6, &placed::dells, 7);
    let ended = |bind: &str, at: &narrows_model::trial::Trial| {
        let mut ends = at.ends.clone();
        for end in ends.iter_mut().filter(|end| end.host == EndHost::Controller) {
            end.bind = Some(Bind { device: Some(bind.into()), ..Bind::default() });
        }
        ends
    };
    let mut both = study.trials[0].clone();
    both.id = TrialId("both".into());
    both.label = "both".into();
    both.ends = [ended("eth0", &both), ended("eth1", &both)].concat();
    both.levels[0].level = "an adapter on each node".into();
    let runs: Vec<_> = study.records_of(&study.trials[0]).cloned().collect();
    for mut run in runs {
        run.trial = both.id.clone();
        study.records.push(run);
    }
    study.trials[0].levels[0].level = "NIC's node".into();
    study.trials.push(both);
    // What the hosts of both NICs at once had to do.
    for record in study.records.iter_mut().filter(|record| record.trial.0 == "both") {
        let mut end = EndReport::default();
        end.readings.put_words("cpu", "cpu0.user_ns", 370);
        end.readings.put_words("cpu", "cpu0.idle_ns", 630);
        record.reports = Reported::list(Some(Box::new(end.clone())), Some(Box::new(end)), None);
    }
    let analysis = Analysis::of(&study);
    let format = narrows_report::formats::format("text").expect("a format");
    let text = (format.write)(&analysis);
    let mut rows = text.lines().filter(|line| line.contains("an adapter on each node "));
    assert!(rows.any(|row| row.contains("37 % / 37 %")), "{text}");
    let told = "not counted: use of the link between sockets, cache misses of the cores, memory";
    assert!(text.contains(told), "{text}");
    let drawn = narrows_report::figures::all(&analysis);
    let of = |begins: &str| {
        let found = drawn.iter().find(|(name, _)| name.starts_with(begins));
        found.map(|(_, svg)| svg.as_str()).expect("a figure")
    };
    let bars = of("placement-tcp-4-flows-ends");
    assert!(bars.contains(">NIC's node: node 0 &gt; node 0<"), "{bars}");
    assert!(bars.contains(">an adapter on each node<"), "{bars}");
    assert!(!bars.contains(">at the NIC: node 0"), "{bars}");
    let cpu = of("placement-tcp-4-flows-cpu-of-whole-hosts");
    assert!(cpu.contains(">receiver, an adapter on each node<") && cpu.contains(">37 %<"), "{cpu}");
    let map = of("placement-tcp-4-flows-a-row");
    assert!(map.contains("an adapter on each node"), "{map}");
    let field =
        map.split("class=\"unclear\"").find(|part| part.contains("an adapter on each node &gt;"));
    assert!(field.is_some_and(|part| part.contains("(several NICs at once)")), "{map}");
}
