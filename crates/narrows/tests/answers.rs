//! Commands that read studies or the host end with the answer: five lines at most.

mod common;

use common::imported::series;
use common::{folder, narrows, out, run};

#[test]
fn what_reads_a_study_or_a_host_ends_with_five_lines() {
    let dir = folder("answers");
    let study = series(&dir, "tcp", &[90.0, 91.0, 92.0, 90.0, 91.0, 92.0]).display().to_string();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/server.toml");
    let dimms = ["predict", "--from", server, "--set", "memory.mts=2400", "--set", "path=tcp"];
    let all: [&[&str]; 6] = [
        &["report", &study],
        &["explain", &study],
        &["predict", "--from", server],
        &dimms,
        &["tune"],
        &["tune", "--profile", "latency"],
    ];
    for words in all {
        let text = out(&run(narrows().args(words)));
        let end: Vec<&str> = text.trim_end().rsplit("\n\n").next().unwrap_or("").lines().collect();
        assert!((2..=5).contains(&end.len()), "{words:?}: {text}");
        assert!(end[0].starts_with("answer: "), "{words:?}: {text}");
        assert!(end.iter().all(|line| line.chars().count() <= 80), "{words:?}: {text}");
        assert!(end.iter().any(|line| line.starts_with("details: ")), "{words:?}: {text}");
        let is_of_host = words[0] != "report" && words[0] != "explain";
        let has_advice = end.iter().any(|line| line.starts_with("do: "));
        assert!(has_advice || !is_of_host, "of other tools' figures no host is known: {text}");
    }
}
