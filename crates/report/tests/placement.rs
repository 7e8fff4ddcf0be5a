//! What the report says of placements whose costs are planted.

#[path = "../../stats/tests/placed/mod.rs"]
mod placed;

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

/// Nothing was measured in two places of one block, so no place is said to matter or not.
#[test]
fn without_two_places_in_a_block_there_is_nothing_to_compare() {
    let mut study = placed::simulated(10, &placed::dells, 7);
    study.records.retain(|record| record.trial == study.trials[0].id);
    let text =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&study));
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let nothing = "TCP, 4 flows: nothing to compare: no two places have a figure in one block";
    assert!(whole.contains(nothing), "{text}");
    assert!(!whole.contains("no place matters") && !whole.contains("intervals hold together"));
}
