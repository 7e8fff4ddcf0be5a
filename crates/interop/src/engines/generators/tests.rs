//! What is said of generators that were run, by figures and texts that are known.

use super::super::Runs;
use super::*;
use narrows_model::load::{Params, Timeline};
use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
use narrows_model::{Bytes, workload::Workload};

fn trial() -> Trial {
    Trial {
        id: TrialId("t".into()),
        label: "packets".into(),
        kind: Workload::Packets,
        params: Params::of_network(Bytes(64), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(0), Nanos(1_000_000_000), Nanos(0)),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

fn generator(asked_version: &'static [&'static str]) -> Generator {
    Generator {
        words: |_| Vec::new(),
        told: |_| None,
        version: |text| text.trim().strip_prefix("made up ").map(str::to_owned),
        asked_version,
        places_itself: false,
        bursts_by_second: false,
        leaves: Leaves::Nothing,
        frame_bytes_max: 1518,
        lacks: || None,
    }
}

fn engine(program: fn(&Trial) -> &'static str) -> Engine {
    Engine {
        name: "made up",
        program,
        server_program: None,
        runs: Runs::Ranks,
        package: "none",
        kinds: &[Workload::Packets],
        takes: &[],
        port: PORT,
        server: |_, _| Vec::new(),
        client: |_, _, _| Vec::new(),
        client_words: &[],
        server_words: &[],
        reach: |_, _| Vec::new(),
    }
}

#[test]
fn a_version_is_what_the_program_says_where_it_is_asked() {
    let said = |program, words| asked_version(&engine(program), &generator(words), &trial());
    assert_eq!(said(|_| "echo", &["made", "up", "1.2"]).as_deref(), Some("1.2"));
    assert_eq!(said(|_| "echo", &["something", "else"]), None);
    assert_eq!(said(|_| "no-such-program", &["--version"]), None);
    // What each run prints is not asked for.
    assert_eq!(said(|_| "echo", &[]), None);
}

#[test]
fn packets_of_a_window_are_a_rate_a_second() {
    let window = Window { seconds: 0.5, came: 300, out: 700 };
    for (name, packets, rate) in [("came", window.came, 600.0), ("out", window.out, 1400.0)] {
        let of = window.figure(name.into(), packets);
        assert_eq!((of.name.as_str(), of.value, of.unit), (name, rate, Unit::PacketsPerSecond));
    }
}

#[test]
fn a_failure_has_the_last_three_lines_that_were_said() {
    let why = |said: &str| match failed_with("it ended", said) {
        Ended::Failed(Stage::Run, why) => why,
        _ => panic!("another end"),
    };
    assert_eq!(why("\n  \n"), "it ended: it said nothing");
    assert_eq!(why("one\n\n two \n"), "it ended: one / two");
    assert_eq!(why("one\ntwo\nthree\nfour\n"), "it ended: two / three / four");
}
