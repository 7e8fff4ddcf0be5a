//! Servers side by side: of studies with planted figures, and as the pages describe them.

mod kept;
mod planted;

use narrows_model::host::{CpuSocket, Host, Nic};
use narrows_model::load::Bind;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_predict::Said;
use narrows_predict::wire_rate::Verdict;
use narrows_report::Analysis;
use narrows_report::servers::{self, ServerRecord, Source, of_study, record};
use narrows_report::wire::{Asked, complements};
use narrows_validate::ServerRow;
use planted::study;
use std::collections::BTreeSet;

/// A host with one port of 10 GbE, on which one core copies 34.9 GB/s and so many packets of 64 B
/// arrived.
fn measured(mpps: f64, path: NetworkPath) -> StoredStudy {
    let mut study = study("test", &[1.0, 1.0], 7, None);
    let nic = Nic {
        name: "eth7".to_owned(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(1e10), "planted"),
        ..Nic::default()
    };
    study.host = Host { nics: vec![nic], ..Host::default() };
    study.host.product = Fact::known("X9SCL".to_owned(), "planted");
    for (at, (kind, unit, value)) in [
        ("memory-memcpy", Unit::BytesPerSecond, 34.9e9),
        ("packets", Unit::PacketsPerSecond, mpps * 1e6),
    ]
    .into_iter()
    .enumerate()
    {
        let trial = &mut study.trials[at];
        trial.kind = kind.into();
        trial.label = kind.to_owned();
        (trial.path, trial.params.message_bytes) = match at {
            0 => (NetworkPath::Memory, Bytes(0)),
            _ => (path, Bytes(64)),
        };
        let id = trial.id.clone();
        for one in study.records.iter_mut().filter(|one| one.trial == id) {
            for figure in one.external.iter_mut().flat_map(|external| &mut external.figures) {
                (figure.value, figure.unit) = (value, unit);
            }
        }
    }
    study
}

fn judged(stored: &StoredStudy, said: &[(&str, &str)]) -> ServerRecord {
    let said: Said = said.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let analysis = Analysis::of(stored);
    let asked =
        Asked { host: &stored.host, analysis: Some(&analysis), also: None, said: &said, nic: None };
    record(&Source { name: "a/b.narrows".to_owned(), asked }).expect("a server")
}

/// What the post says of its X9SCL and the measurement does not.
const SLOT: &[(&str, &str)] = &[("cpu.ghz", "3.6"), ("nic.pcie", "2x8"), ("nic.model", "82599")];

#[test]
fn a_study_gives_memory_and_packets_and_the_rest_is_said() {
    let inside = measured(3.0, NetworkPath::Namespaces);
    let bare = judged(&inside, &[]);
    assert_eq!((bare.server.as_str(), bare.nic.as_deref()), ("X9SCL", Some("eth7")));
    let near =
        |value: Option<f64>, wanted: f64| value.is_some_and(|v| (v / wanted - 1.0).abs() < 0.01);
    assert!(near(bare.memory_gb_s, 34.9), "{bare:?}");
    assert_eq!(bare.memory_by.as_deref(), Some("measured"));
    assert!(near(bare.packets_mpps, 3.0) && bare.packets_through_nic == Some(false), "{bare:?}");
    assert!(near(bare.wire_mpps, 14.88), "{bare:?}");
    assert!(bare.says.starts_with("unknown: needs ") && bare.says.contains("cpu.ghz"), "{bare:?}");
    // Between namespaces nothing was asked of the card.
    let told = judged(&inside, SLOT);
    assert_eq!((told.says.as_str(), told.verdict_by.as_str()), ("yes", "model"));
    let behind = judged(&inside, &[SLOT, &[("nic.uplink", "2x4/128")]].concat());
    assert_eq!(behind.says, "no: chipset slot, 11.7 to 13.7 M/s");
}

#[test]
fn what_crossed_the_card_decides() {
    let full = judged(&measured(14.85, NetworkPath::Peer), &[("nic.uplink", "2x4/128")]);
    assert_eq!((full.says.as_str(), full.verdict_by.as_str()), ("yes", "measurement"));
    let short = judged(&measured(9.0, NetworkPath::Peer), SLOT);
    assert_eq!((short.verdict.as_str(), short.verdict_by.as_str()), ("unknown", "measurement"));
    assert!(short.says.contains("what held the"), "{short:?}");
}

#[test]
fn a_copy_that_stayed_in_caches_is_left_out_with_its_reason() {
    let mut study = measured(3.0, NetworkPath::Namespaces);
    let rule = |study: &StoredStudy| judged(study, &[]).rule;
    assert_eq!(rule(&study).as_deref(), Some("yes"));
    study.study.cache_bytes = Bytes::gib(1);
    let one = judged(&study, &[]);
    assert_eq!((one.memory_by.as_deref(), one.rule), (None, None));
    let why = one.memory_left_out.expect("a reason");
    assert_eq!(why, "34.90 GB/s (memory-memcpy, 7 runs) left out: its buffers fit into the caches");
    let text = servers::text(&[judged(&study, &[])]);
    assert!(text.contains("memcpy of 34.90 GB/s"), "{text}");
    // What somebody says of memory needs no excuse, and is judged by the rule.
    let said = judged(&study, &[("memory.core_gb_s", "15.9")]);
    assert_eq!((said.memory_left_out, said.rule.as_deref()), (None, Some("no")));
}

/// The same file without its memory (0) or without its packets (1).
fn half(study: &StoredStudy, left_out: usize) -> StoredStudy {
    let mut half = study.clone();
    let gone = half.trials.remove(left_out).id;
    half.records.retain(|record| record.trial != gone);
    half
}

#[test]
fn two_files_of_one_host_are_one_row() {
    let mut whole = measured(3.0, NetworkPath::Namespaces);
    let (packets, memory) = (half(&whole, 0), half(&whole, 1));
    assert!(!complements(&memory, &packets), "nobody says which host it is");
    whole.host.name = Fact::known("n1".to_owned(), "planted");
    let (packets, memory) = (half(&whole, 0), half(&whole, 1));
    assert!(complements(&memory, &packets) && complements(&packets, &memory));
    assert!(!complements(&memory, &memory) && !complements(&whole, &packets));
    let mut other = packets.clone();
    other.host.nics[0].name = "eth8".to_owned();
    assert!(!complements(&memory, &other), "another card is another server");
    let (first, also) = (Analysis::of(&memory), Analysis::of(&packets));
    let asked = Asked {
        host: &memory.host,
        analysis: Some(&first),
        also: Some(&also),
        said: &Said::new(),
        nic: None,
    };
    let row = record(&Source { name: "a, b".to_owned(), asked }).expect("a server");
    let both = (row.memory_gb_s.is_some(), row.packets_mpps.is_some());
    assert_eq!(both, (true, true), "{row:?}");
}

/// A study whose packets went by eth7, beside a faster interface that sent nothing.
fn bound(path: NetworkPath, bind: Bind) -> StoredStudy {
    let mut study = measured(3.0, path);
    let fast = Nic {
        name: "eth0".to_owned(),
        speed_bps: Fact::known(BitsPerSecond(1e11), "planted"),
        ..study.host.nics[0].clone()
    };
    study.host.nics.insert(0, fast);
    let near = study.trials[1].ends.iter_mut().find(|end| end.host == EndHost::Controller);
    near.expect("an end").bind = Some(Bind { device: Some("eth7".to_owned()), ..bind });
    study
}

#[test]
fn of_two_ports_the_one_that_was_named_is_told() {
    let cable = Bind { cable: Some("eth8".to_owned()), ..Bind::default() };
    let row = judged(&bound(NetworkPath::Cable, cable), &[]);
    assert_eq!(row.nic.as_deref(), Some("eth7"), "and not the fastest, which sent nothing");
    assert_eq!(row.packets_from.as_deref(), Some("arrived, from port to port, 7 runs"));
}

/// The ends may have met over another interface than their frames passed by.
#[test]
fn beside_an_interface_that_is_lent_the_own_one_is_told() {
    let lent = Bind { lent: Some("eth9".to_owned()), ..Bind::default() };
    let mut study = bound(NetworkPath::Peer, lent);
    study.study.interfaces = [Some("eth0".to_owned())].into_iter().collect();
    assert_eq!(judged(&study, &[]).nic.as_deref(), Some("eth7"));
    let near = study.trials[1].ends.iter_mut().find(|end| end.host == EndHost::Controller);
    near.expect("an end").bind = None;
    assert_eq!(judged(&study, &[]).nic.as_deref(), Some("eth0"), "by which the ends met");
}

#[test]
fn a_study_of_packets_has_the_wires_rate_of_each_size() {
    let mut stored = measured(9.0, NetworkPath::Peer);
    let mut large = stored.trials[1].clone();
    large.id = narrows_model::trial::TrialId("large".to_owned());
    large.params.message_bytes = Bytes(1518);
    let mut record = stored.records[7].clone();
    record.trial = large.id.clone();
    stored.trials.push(large);
    stored.records.push(record);
    kept::is_as_kept("packets", &stored);
    // The study asks for the wire's rate, though its first panel is of memory.
    let analysis = Analysis::of(&stored);
    let results = analysis.study.as_ref().expect("levels");
    let answer = narrows_report::answer::of_study(&analysis, results).expect("an answer");
    assert!(
        answer.figure.starts_with("wire rate: unknown for 64 B (14.88 M packets/s): needs "),
        "{answer:?}"
    );
    assert!(answer.spread.contains("9.000 M packets/s"), "{answer:?}");
    let page = (narrows_report::formats::format("html").expect("a format").write)(&analysis);
    let (_, head) = page.split_once("class=\"figure\">").expect("a headline");
    assert!(head.starts_with("wire rate: unknown for 64 B"), "the page leads with it");
    assert!(!page.contains("From memory to wire"), "nobody asked what TCP would reach");
    let all = of_study(&Analysis::of(&stored));
    let of = |frame: &str| {
        let wire = all.iter().find(|one| one.frame == frame).and_then(|one| one.wire_mpps);
        wire.expect("a rate")
    };
    // 10 Gb/s over frames with 20 B of preamble and gap.
    assert!((of("64 B") - 1e4 / (8.0 * 84.0)).abs() < 1e-9);
    assert!((of("1518 B") - 1e4 / (8.0 * 1538.0)).abs() < 1e-9);
    let text = narrows_report::formats::text::FORMAT.write;
    let text = text(&Analysis::of(&stored));
    assert!(text.contains("Wire rate of the link") && text.contains("0.81"), "{text}");
    // The same host without a port that tells its speed.
    stored.host.nics.clear();
    let unknown = of_study(&Analysis::of(&stored));
    assert!(unknown.iter().all(|one| one.says == "unknown: needs the link's speed: nic.gbps=10"));
}

/// The page has a row for each key, in their order, as the schema has them.
#[test]
fn the_page_has_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.md");
    let page = std::fs::read_to_string(page).expect("docs/report.md");
    let section = page.split("## Servers").nth(1).expect("a section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let keys = rows.filter_map(|row| row.split(" | ").next());
    let told: BTreeSet<String> =
        keys.flat_map(|keys| keys.split(", ")).map(|key| key.replace('`', "")).collect();
    let schema = serde_json::to_value(schemars::schema_for!(ServerRecord)).expect("a schema");
    let known = schema["properties"].as_object().expect("keys");
    assert_eq!(told, known.keys().cloned().collect::<BTreeSet<String>>());
}

/// As they were read and found right: NARROWS_GOLDEN=write keeps them anew.
#[test]
fn servers_measured_and_published_are_as_they_were_found_right() {
    let mut own = measured(3.0, NetworkPath::Namespaces);
    let socket = |populated| CpuSocket { populated, ..CpuSocket::default() };
    let model = "Intel(R) Xeon(R) CPU E5620 @ 2.40GHz";
    own.host.cpu.model = Fact::known(model.to_owned(), "planted");
    own.host.cpu.sockets = Fact::known([true, true, false].map(socket).to_vec(), "planted");
    let mut one = measured(0.05, NetworkPath::Peer);
    one.host.cpu = own.host.cpu.clone();
    one.host.cpu.sockets = Fact::known([true, false].map(socket).to_vec(), "planted");
    let mut unnamed = measured(14.85, NetworkPath::Peer);
    unnamed.host.product = Fact::absent("planted");
    let of_another = [SLOT, &[("cpu", "AMD EPYC 7601 32-Core Processor")]].concat();
    let row = |server: &str, verdict| ServerRow {
        server: server.to_owned(),
        chipset: Some("C602".to_owned()),
        clock_ghz: Some(2.4),
        memory_gb_s: Some(9.5),
        frame_bytes: None,
        slot: "2x8".to_owned(),
        published_mpps: Some(14.2),
        model_mpps: Some(13.1),
        wire_mpps: Some(14.88),
        verdict,
        rule: None,
        said: "almost".to_owned(),
        below_mpps: None,
        note: None,
    };
    let bare = ServerRow {
        chipset: None,
        clock_ghz: None,
        memory_gb_s: None,
        frame_bytes: Some(128),
        published_mpps: None,
        model_mpps: None,
        wire_mpps: None,
        said: "-".to_owned(),
        ..row("=bare", Verdict::Yes)
    };
    let mut all = vec![
        judged(&own, &[]),
        judged(&own, SLOT),
        judged(&one, &[SLOT, &[("nic.uplink", "2x4/128")]].concat()),
        judged(&unnamed, &of_another),
    ];
    all.extend(servers::published(&[row("A", Verdict::Yes), bare], "tables/some.toml"));
    let below = ServerRow {
        published_mpps: None,
        below_mpps: Some(2.0),
        said: "no".to_owned(),
        note: Some("two ports RX+TX: not above 10 Mpps".to_owned()),
        ..row("B", Verdict::Yes)
    };
    all.extend(servers::published(&[below], "tables/others.toml"));
    let now = format!("{}\n{}", servers::text(&all), servers::csv(&all));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers.txt");
    if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
        std::fs::write(&path, &now).expect("written");
    }
    assert_eq!(now, std::fs::read_to_string(&path).expect("what was kept"));
}
