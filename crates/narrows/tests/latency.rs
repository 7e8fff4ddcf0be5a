//! Latency under load: a queue of known length must be seen as long as it is, in the direction in
//! which it is, and one that is kept short must be graded better.

mod common;

use common::bench::Bench;
use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip, study};
use serde_json::Value;

/// Each phase lasts long enough for a shaper of 20 Mb/s to be full for most of it, by streams whose
/// congestion control fills it on any system.
const PHASE: [&str; 4] = ["-t", "3", "-C", "cubic"];

fn measured(bench: &Bench, words: &[&str]) -> Value {
    let output = run(&mut bench.narrows("latency", &[&PHASE[..], &["-J"], words].concat()));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    json["latency"].clone()
}

fn phase<'a>(latency: &'a Value, name: &str) -> &'a Value {
    let phases = latency["phases"].as_array().expect("phases");
    phases.iter().find(|one| one["phase"] == name).expect("a phase")
}

fn rise_ms(latency: &Value, name: &str) -> f64 {
    phase(latency, name)["median_rise"]["value"].as_f64().expect("a rise") / 1e6
}

/// Shapes what the controllers' host sends; false where tc or the queue is not there.
fn shaped(bench: &Bench, queue: &str) -> bool {
    let link = Bench::interface(&bench.here);
    let _ = Bench::inside(&bench.here, &format!("tc qdisc del dev {link} root"));
    Bench::inside(&bench.here, &format!("tc qdisc add dev {link} {queue}")).is_some()
}

#[test]
fn a_queue_of_100_ms_is_seen_in_its_direction_and_a_short_one_is_graded_better() {
    if !is_root() {
        return skip("queue_of_100_ms", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    // 100 ms of 20 Mb/s in front of the bucket.
    if !shaped(&bench, "root handle 1: tbf rate 20mbit burst 16kb latency 100ms") {
        return skip("queue_of_100_ms", "tc is not there");
    }
    patiently("queue_of_100_ms", || {
        let latency = measured(&bench, &[]);
        let (up, down, after) =
            (rise_ms(&latency, "up"), rise_ms(&latency, "down"), rise_ms(&latency, "after"));
        // Cubic leaves between 0.7 of a full queue and all of it: 0.6 to 1.2 of 100 ms.
        assert!((60.0..=120.0).contains(&up), "{up} ms up: {latency}");
        // Acknowledgements alone fill no queue of 20 Mb/s.
        assert!(down < 0.3 * up, "{down} ms down, {up} up");
        assert!(after < 0.1 * up, "{after} ms after, {up} up");
        assert!(["up", "both"].contains(&latency["worst"].as_str().expect("a phase")));
        assert_eq!(latency["grade"], "C", "{latency}");
        // A minute over a tenth of a second, and what a round trip takes beside it.
        let trips = latency["per_minute"].as_f64().expect("trips");
        assert!((500.0..1000.0).contains(&trips), "{trips} a minute");
    });
    // A twelfth of the queue at the same rate.
    assert!(shaped(&bench, "root handle 1: tbf rate 20mbit burst 16kb latency 8ms"));
    patiently("queue_of_8_ms", || {
        let latency = measured(&bench, &[]);
        let grade = latency["grade"].as_str().expect("a grade");
        assert!(["A+", "A"].contains(&grade), "{grade}: {latency}");
        assert!(rise_ms(&latency, "up") < 30.0, "{latency}");
    });
}

#[test]
fn fq_codel_in_its_place_is_graded_better() {
    if !is_root() {
        return skip("fq_codel", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    // The same bucket, and in front of it a queue that is kept short.
    let queue = format!("tc qdisc add dev {} parent 1:1 fq_codel", Bench::interface(&bench.here));
    let bucket = "root handle 1: tbf rate 20mbit burst 16kb latency 100ms";
    if !shaped(&bench, bucket) || Bench::inside(&bench.here, &queue).is_none() {
        return skip("fq_codel", "this kernel has no fq_codel, or tc is not there");
    }
    patiently("fq_codel", || {
        let latency = measured(&bench, &[]);
        let grade = latency["grade"].as_str().expect("a grade");
        assert!(["A+", "A"].contains(&grade), "{grade}: {latency}");
        assert!(rise_ms(&latency, "up") < 30.0, "{latency}");
    });
}

#[test]
fn without_a_host_it_is_the_stack_of_this_one_and_the_file_says_the_same_again() {
    let dir = folder("latency-alone");
    let output = run(narrows()
        .args(["latency", "-t", "0.75", "-i", "10ms", "--over", "tcp", "--out"])
        .arg(&dir));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("grade ") && text.contains("medians: idle "), "{text}");
    assert!(text.lines().count() <= 8, "{text}");
    let file = study(&dir);
    let report = |format: &str| {
        let output = run(narrows().arg("report").arg(&file).args(["--format", format]));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
    };
    let json: Value = serde_json::from_str(&report("json")).expect("JSON");
    let latency = &json["latency"];
    let names: Vec<&str> = latency["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .filter_map(|one| one["phase"].as_str())
        .collect();
    assert_eq!(names, ["idle", "up", "both", "down", "after"]);
    for name in names {
        let one = phase(latency, name);
        // Every ten milliseconds for 0.75 s: 75 requests, give or take the edges of the phase.
        let requests = one["requests"].as_u64().expect("requests");
        assert!((60..=90).contains(&requests), "{name}: {one}");
    }
    let text = report("text");
    assert!(text.contains("Latency under load") && text.contains("unanswered"), "{text}");
    let page = report("html");
    assert!(page.contains("id=\"latency\"") && page.contains("class=\"band\""), "no picture");
}

#[test]
fn what_a_run_has_no_room_for_is_refused_with_a_hint() {
    fails(narrows().args(["latency", "-t", "60"]), 2, "the last load would begin after");
    fails(narrows().args(["latency", "-t", "20", "-i", "1ms"]), 2, "requests in a run");
    fails(narrows().args(["latency", "-t", "0.1"]), 2, "0.75 to 60 seconds");
}
