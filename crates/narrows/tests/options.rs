//! An option that is declared in the table alone works from the command line to the kernel, and is
//! in the help, the report, the manual page and a study's file.

mod common;

use common::{err, folder, narrows, out, run, serve, study};
use serde_json::Value;

/// Segments that the end that answers sent in the window for each round trip, and the report.
fn segments_a_trip(words: &[&str]) -> (f64, String) {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let dir = folder(&format!("options{}", words.concat()));
    let mut command = narrows();
    command.env("NARROWS_KEY", &agent.key).args(["tcp", "127.0.0.1", "-p"]);
    command.arg(agent.port.to_string()).args(["--rr", "--per-second", "500", "-t", "0.5"]);
    command.args(["--repeats", "1"]).args(words).arg("--out").arg(&dir);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let export = run(narrows().arg("export").arg(study(&dir)).args(["--format", "json"]));
    let stored: Value = serde_json::from_str(&out(&export)).expect("JSON");
    let report = &stored["records"][0]["sink"];
    let segments = report["readings"]["tcp-info"]["flow0.sent_segments"].as_f64();
    let trips = report["flows"][0]["messages"].as_f64();
    (segments.expect("segments") / trips.expect("trips"), out(&output))
}

/// A response carries the acknowledgement of its request, and is the only segment of an answer.
/// Acknowledged at once, each trip has a segment more.
#[test]
fn quickack_acknowledges_each_request_by_itself() {
    let (segments, report) = segments_a_trip(&[]);
    assert!((0.9..1.2).contains(&segments), "{segments}");
    assert!(!report.contains("acknowledged at once"), "{report}");
    let (segments, report) = segments_a_trip(&["--quickack"]);
    assert!((1.8..2.2).contains(&segments), "{segments}");
    let report: Vec<&str> = report.split_whitespace().collect();
    assert!(report.join(" ").contains("acknowledged at once (TCP_QUICKACK)"), "{report:?}");
}

#[test]
fn quickack_is_in_the_help_the_completions_and_nowhere_else() {
    for (command, has) in [("tcp", true), ("udp", false), ("rdma", false), ("mem", false)] {
        let help = out(&run(narrows().args(["help", command])));
        assert_eq!(help.contains("--quickack"), has, "{command}: {help}");
    }
    let script = out(&run(narrows().args(["completions", "bash"])));
    assert!(script.contains("--quickack"), "{script}");
    let output = run(narrows().args(["tcp", "localhost", "--connect", "--quickack"]));
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}

/// The words of a report, and the words of the sender that the record has.
#[test]
fn what_may_wait_unsent_is_told_from_the_command_line_to_the_report() {
    let (_, report) = segments_a_trip(&["--notsent-lowat", "16K"]);
    let report: Vec<&str> = report.split_whitespace().collect();
    let says = "16 KiB unsent at most (TCP_NOTSENT_LOWAT)";
    assert!(report.join(" ").contains(says), "{report:?}");
    for words in [["--notsent-lowat", "0"], ["--notsent-lowat", "2G"]] {
        let output = run(narrows().args(["tcp", "localhost"]).args(words));
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    }
}
