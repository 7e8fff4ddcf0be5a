//! What reports say of studies whose every figure can be had by hand: units, shares and which of
//! several is the worst.

mod kept;
mod planted;
#[path = "../../stats/tests/told/mod.rs"]
mod told;

use narrows_model::fact::Fact;
use narrows_model::host::Host;
use narrows_model::load::{EndReport, Role};
use narrows_model::record::{Record, Reported};
use narrows_model::study::{RATE, Search, StoredStudy};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{Level, NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::{Bytes, Change};
use narrows_profile::{Breakdown, Class, ClassShare, EndProfile, Flame, NamedShare, TrialProfile};
use narrows_report::diagnosis::Diagnosis;
use narrows_report::drawn::Screen;
use narrows_report::words::way_of;
use narrows_report::{Analysis, profiled};
use narrows_stats::mesh::{Limits, Mesh};
use narrows_stats::summarise;
use told::{datagrams, failed, pair, record, study, told, trial};

fn names() -> Vec<String> {
    ["alpha", "beta", "gamma"].map(str::to_owned).to_vec()
}

#[test]
fn a_meshs_map_is_in_per_cent_of_the_best_and_its_worst_come_first() {
    let unit = Unit::BitsPerSecond;
    let ways = [(0, 1, 10e9), (1, 0, 9.5e9), (0, 2, 4e9), (2, 0, 10e9), (1, 2, 10e9)];
    let pairs = ways.map(|(from, to, _)| pair("tcp-stream", from, to));
    let dead = pair("tcp-stream", 2, 1);
    let mut records: Vec<_> =
        pairs.iter().zip(ways).map(|(trial, way)| told(trial, 0, way.2, unit)).collect();
    records.push(failed(&dead, 0, "no route"));
    let mut trials = pairs.to_vec();
    trials.push(dead);
    let study = study(trials, records);
    let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
    let text = narrows_report::mesh::text(&mesh, &study, &names(), &Screen::FILE);
    let has = |line: &str| assert!(text.contains(line), "{line}: {text}");
    has("3 hosts, 6 pairs: 4 within the limits, 1 slow, 0 slow only among many, 1 failed");
    has("the best 10.0 Gb/s");
    // 4 of 10 Gb/s; of what failed there is no ratio.
    has("from alpha to gamma, and no other of theirs, the worst 40.0 % of the best\n");
    has("the path from gamma to beta, and no other of theirs\n");
    has("  0 alpha    -   100   40\n  1 beta    95     -  100\n  2 gamma  100  fail    -\n");
    let mut whole = kept::Whole::default();
    whole.text("mesh", &text);
    has("runs\n  alpha  gamma  4.00 Gb/s     1\n  beta   alpha  9.50 Gb/s     1\n");
    has("1 round of up to 6 pairs at once; no round had two pairs whose windows");
    // The nearest of three is 10 us, the farthest 40: a quarter as good.
    let ways = [(0, 1, 10e3), (1, 0, 40e3), (0, 2, 10e3)];
    let pairs = ways.map(|(from, to, _)| pair("tcp-rr", from, to));
    let run = |(trial, way): (&Trial, (u32, u32, f64))| told(trial, 0, way.2, Unit::Nanos);
    let records = pairs.iter().zip(ways).map(run).collect();
    let study = told::study(pairs.to_vec(), records);
    let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
    let text = narrows_report::mesh::text(&mesh, &study, &names(), &Screen::FILE);
    assert!(text.contains("  1 beta   25    -    -\n"), "{text}");
    whole.text("round trips", &text);
    whole.is_kept(&kept::file("mesh"));
    assert!(text.contains("the worst 4.00 x the least"), "{text}");
    assert!(text.contains("runs\n  beta   alpha  40.0 us     1\n"), "{text}");
}

#[test]
fn hosts_that_nobody_read_have_no_odd_memory() {
    let ways = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let pairs = ways.map(|(from, to)| pair("tcp-stream", from, to));
    let run = |(trial, (from, to)): (&Trial, (u32, u32))| {
        let slow = from == 2 || to == 2;
        told(trial, 0, if slow { 1e9 } else { 10e9 }, Unit::BitsPerSecond)
    };
    let records = pairs.iter().zip(ways).map(run).collect();
    let mut study = study(pairs.to_vec(), records);
    let few = planted::host([16, 16, 16, 0, 0, 0]);
    study.peer_hosts = vec![planted::host([16; 6]), planted::host([16; 6]), few];
    let text = |study: &StoredStudy| {
        let mesh = Mesh::of(study, Limits::default()).expect("a mesh");
        narrows_report::mesh::text(&mesh, study, &names(), &Screen::FILE)
    };
    let odd = text(&study);
    assert!(odd.contains("gamma: slow both ways") && odd.contains("gamma has"), "{odd}");
    study.peer_hosts[2] = Host::default();
    let unread = text(&study);
    assert!(unread.contains("gamma: slow both ways") && !unread.contains("gamma has"), "{unread}");
}

/// Beta sends 200 Mb/s where the others send 400: once with buffers of 2,304 B, which allow 230
/// Mb/s over 80 us, and once with those that may grow to 4 MiB.
#[test]
fn a_slow_hosts_buffers_are_why_or_are_told_apart() {
    let ways = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let pairs = ways.map(|(from, to)| pair("tcp-stream", from, to));
    let hosts = |beta: &str| {
        ["4096 16384 4194304", beta, "4096 16384 4194304"].map(|sizes| {
            let sizes = Fact::known(sizes.to_owned(), "/proc");
            Host { tuning: [("net.ipv4.tcp_wmem".to_owned(), sizes)].into(), ..Host::default() }
        })
    };
    let said = |sizes: &str| {
        let run = |(trial, (from, _)): (&Trial, (u32, u32))| {
            let slow = from == 1;
            let mut end = EndReport::default();
            // As the stream begins: it grows.
            end.effective.send_buffer_bytes = Some(Bytes(2304));
            for (key, ns) in [("flow0.rtt_ns", 80_000), ("flow0.rtt_min_ns", 40_000)] {
                end.readings.put_words("tcp-info", key, ns);
            }
            let both = Reported::list(Some(Box::default()), Some(Box::new(end)), None);
            let rate = if slow { 200e6 } else { 400e6 };
            Record { reports: both, ..told(trial, 0, rate, Unit::BitsPerSecond) }
        };
        let mut study = study(pairs.to_vec(), pairs.iter().zip(ways).map(run).collect());
        study.peer_hosts = hosts(sizes).to_vec();
        let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
        narrows_report::mesh::text(&mesh, &study, &names(), &Screen::FILE)
    };
    let small = said("2304 2304 2304");
    let wanted = "    likely why: the send buffer of beta, the largest that net.ipv4.tcp_wmem lets it have: \
                  2304 B over a round trip of 80.0 us allow 230 Mb/s, and 200 Mb/s came (2 of 2 \
                  pairs)";
    assert!(small.contains("beta: sends slowly") && small.contains(wanted), "{small}");
    let apart = said("4096 16384 4194304");
    let wanted = "    not the send buffer of beta: 4194304 B over a round trip of 80.0 us allow 419 \
                  Gb/s, and 200 Mb/s came (2 of 2 pairs)";
    assert!(apart.contains(wanted) && !apart.contains("why:"), "{apart}");
    // Small again, and far from what they allow: 16 KiB over 80 us are 1.64 Gb/s.
    let more = said("4096 16384 16384");
    assert!(more.contains("possibly why: the send buffer of beta, by far the smallest"), "{more}");
    assert!(more.contains("allow at most 1.64 Gb/s"), "{more}");
    // Of a host whose settings nobody read nothing is said.
    assert!(!said("").contains("buffer of beta"));
}

#[test]
fn an_agent_on_this_machine_is_no_other_host() {
    let base = trial("tcp-stream", "TCP");
    let study = study(vec![base.clone()], vec![told(&base, 0, 8e9, Unit::BitsPerSecond)]);
    let mut summary = summarise(&study).remove(0);
    summary.path = NetworkPath::Peer;
    assert_eq!(way_of(&summary), "to another host");
    summary.one_machine = true;
    assert!(way_of(&summary).contains("on this machine, no other host"));
    summary.path = NetworkPath::Loopback;
    assert!(way_of(&summary).contains("over loopback"));
}

#[test]
fn a_diagnosis_says_what_moved_the_figure_and_what_did_not() {
    let unit = Unit::BitsPerSecond;
    let base = trial("tcp-stream", "TCP");
    let of = |change: Change, id: &str, says: &str| {
        change.note(Trial { label: format!("TCP, {says}"), ..trial("tcp-stream", id) })
    };
    let more = of(Change::Flows, "b", "4 flows");
    let less = of(Change::MessageSize, "c", "1 KiB messages");
    let left = of(Change::Buffers, "d", "1 MiB buffers");
    let mut records = vec![told(&left, 0, 8e9, unit)];
    for block in 0..=6 {
        records.push(told(&base, block, 8e9, unit));
        records.push(told(&more, block, 24e9, unit));
        records.push(told(&less, block, 4e9, unit));
    }
    let study = study(vec![base, more, less, left], records);
    let analysis = Analysis::of(&study);
    let text = Diagnosis::of(&analysis).text("there", "in the file", &Screen::FILE);
    let has = |line: &str| assert!(text.contains(line), "{line}: {text}");
    has(" 8.00 Gb/s (8.00 to 8.00 Gb/s, 7 runs) to there\n");
    // Six pairs of 24 and 8 Gb/s, as many of 4 and 8, and one of 8 and 8 that nothing confirms.
    has(" 4 flows 3.00 x (3.00 to 3.00, 6 pairs)\n");
    has(" 1 KiB messages 0.50 x (0.50 to 0.50, 6 pairs); 1 MiB buffers 1.00 x (");
    has(" one flow is held, and not the path: use several");
}

#[test]
fn a_search_says_what_was_asked_sent_passed_and_lost() {
    let level = |factor: &str, level: &str| Level { factor: factor.into(), level: level.into() };
    let at = |rate: u64| Trial {
        levels: vec![level("size", "64"), level(RATE, &Search::level_of(rate))],
        ..trial("udp-stream", &rate.to_string())
    };
    let (fast, middle, slow) = (at(2000), at(1600), at(1024));
    // At 2000/s one run loses 1 %, which is allowed, and the others 2 or 3 %; at 1600/s none does.
    let came = [[990, 980, 980, 970].as_slice(), &[980; 12]].concat();
    let mut records: Vec<_> =
        came.iter().zip(0..).map(|(came, at)| record(&fast, at, datagrams(1000, *came))).collect();
    records.extend((16..32).map(|block| record(&middle, block, datagrams(800, 800))));
    records.push(record(&slow, 32, datagrams(512, 512)));
    let mut study = study(vec![fast, middle, slow], records);
    study.study.search = Some(Search {
        rate_max_packets_per_second: 2000.0,
        burst_max_frames: None,
        throughput_packets_per_second: None,
        rate_min_packets_per_second: Some(1000.0),
        resolution_percent: 50.0,
        loss_percent: 1.0,
        confidence_percent: 95.0,
        runs_max: 80,
    });
    kept::is_as_kept("search", &study);
    let analysis = Analysis::of(&study);
    let text = (narrows_report::formats::format("text").expect("a format").write)(&analysis);
    let has = |line: &str| assert!(text.contains(line), "{line}: {text}");
    has("Highest rate at a loss of up to 1 % (95 % sure, by Bayes' rule)");
    // 1600/s of 1000 bytes are 12.8 Mb/s.
    has("  64  1.60 k packets/s  2.00 k packets/s      12.8 Mb/s    33   found\n");
    has("  1.02 k packets/s  1.02 k packets/s (+0.0 %)     1/1              0            0\n");
    has("  2.00 k packets/s  2.00 k packets/s (+0.0 %)    1/16        2.000 %      3.000 %\n");
}

#[test]
fn failed_runs_are_counted_by_their_reason_over_all_cells() {
    let level = |level: &str| Level { factor: "size".into(), level: level.into() };
    let [small, large] = ["small", "large"]
        .map(|name| Trial { levels: vec![level(name)], ..trial("tcp-stream", name) });
    let mut records = vec![
        failed(&small, 0, "no route"),
        failed(&small, 1, "no route"),
        failed(&large, 0, "no route"),
        failed(&small, 2, "killed"),
    ];
    for block in 3..6 {
        records.push(told(&small, block, 8e9, Unit::BitsPerSecond));
        records.push(told(&large, block, 9e9, Unit::BitsPerSecond));
    }
    let mut study = study(vec![small, large], records);
    study.study.command = StudyKind::Study;
    kept::is_as_kept("failed", &study);
    let text =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&study));
    let has = |line: &str| assert!(text.contains(line), "{line}: {text}");
    has("  3 runs failed (size small, large): no route\n  1 run failed (size small): killed\n");
}

fn class(class: Class, share: f64) -> ClassShare {
    ClassShare {
        class,
        samples: 0,
        share,
        cumulative: 0.0,
        by_chance: 0.012,
        cpu_seconds_per_gigabyte: (share > 0.3).then_some(0.25),
    }
}

/// An end of 1,480 samples in two runs, by its classes and the share outside its threads.
fn profiled_end(role: Role, classes: Vec<ClassShare>, outside_threads: f64) -> EndProfile {
    EndProfile {
        role,
        runs: 2,
        by: None,
        what: None,
        per_second: 997,
        lost: 3,
        gaps: Vec::new(),
        not_taken: Vec::new(),
        breakdown: Some(Breakdown {
            samples: 1480,
            classes,
            functions: Vec::new(),
            in_system_calls: 0.625,
            system_calls: vec![NamedShare { name: "sendto".into(), share: 0.5 }],
            unclassified: vec![NamedShare { name: "odd".into(), share: 0.02 }],
            outside_threads,
            network_elsewhere: 7,
            idle: 0,
            others: 0,
        }),
        flame: Default::default(),
    }
}

#[test]
fn a_profiles_classes_stand_by_the_largest_share_of_either_end() {
    let sender = profiled_end(
        Role::Sender,
        vec![
            class(Class::TcpUdpIp, 0.4),
            class(Class::Copy, 0.1),
            class(Class::Unclassified, 0.02),
        ],
        0.0004,
    );
    let receiver = profiled_end(
        Role::Receiver,
        vec![class(Class::Copy, 0.7), class(Class::TcpUdpIp, 0.2), class(Class::Locks, 0.0004)],
        0.05,
    );
    let both = TrialProfile { label: "TCP".into(), ends: vec![sender.clone(), receiver.clone()] };
    let rows: Vec<String> = profiled::table(&both)
        .iter()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    // Copies are 70 % of the receiver's, protocols 40 % of the sender's; what is below 0.05 % is
    // left out. The sums are of a row and those above it.
    let wanted = [
        "class sender +- sum CPU-s/GB receiver +- sum CPU-s/GB",
        "copy 10.0 % 1.2 % 10.0 % - 70.0 % 1.2 % 70.0 % 0.2500",
        "TCP/UDP/IP 40.0 % 1.2 % 50.0 % 0.2500 20.0 % 1.2 % 90.0 % -",
        "unclassified 2.0 % 1.2 % 52.0 % - - 90.0 %",
    ];
    assert_eq!(rows, wanted);
    let said = profiled::said(&sender).join("\n");
    let has = |text: &str, line: &str| assert!(text.contains(line), "{line}: {text}");
    has(&said, "sender: 1480 samples in 2 runs");
    has(&said, " at 997 Hz, 3 lost; 7 samples more of the network");
    has(&said, "62.5 % in system calls (sendto 50.0 %)");
    has(&said, "unclassified: odd 2.0 %");
    let said = profiled::said(&receiver).join("\n");
    has(&said, "; 5.0 % of it outside its threads");
    assert!(!said.contains("unclassified:"), "none to name: {said}");
    let brief = "profile of the receiver: copy 70 %, TCP/UDP/IP 20 %, locks 0 %; 1480 samples";
    assert_eq!(profiled::brief(&receiver), brief);
    // Each end has a flame graph of its own among the figures, with the end's name first.
    let mut flamed = both;
    let copied = Flame { name: "copy_user".into(), weight: 70, ..Flame::default() };
    for end in &mut flamed.ends {
        end.flame = Flame { weight: 100, calls: vec![copied.clone()], ..Flame::default() };
    }
    flamed.ends[1].breakdown = None;
    let graphs = profiled::graphs(&[flamed]);
    let [(name, svg)] = graphs.as_slice() else { panic!("one was sampled: {graphs:?}") };
    assert_eq!(name, "sender, TCP");
    assert!(svg.contains("TCP, sender: flame graph") && svg.contains("copy_user"), "{svg}");
}

#[test]
fn what_an_engine_would_take_over_is_a_sum_and_the_copy_stays() {
    let classes = |tcp: f64| {
        let all = [
            (Class::TcpUdpIp, tcp),
            (Class::Copy, 0.2),
            (Class::Buffers, 0.15),
            (Class::Driver, 0.05),
            (Class::Interrupts, 0.025),
            // A socket's queue, and who waits at it, stay.
            (Class::Socket, 0.1),
            (Class::Scheduler, 0.1),
        ];
        all.map(|(of, share)| class(of, share)).to_vec()
    };
    let ends = vec![
        profiled_end(Role::Sender, classes(0.3), 0.0),
        profiled_end(Role::Receiver, classes(0.0), 0.0),
    ];
    let says = profiled::offloadable(&TrialProfile { label: "TCP".into(), ends });
    assert_eq!(
        says,
        [
            "sender: TCP/UDP/IP, packet buffers and pages, driver and NAPI, interrupts are 52.5 % of \
          this profile, what an offload engine that did all of it would take over; the copy's \
          20.0 % would stay (a sum of the rows above: nothing offloaded was measured)"
        ],
        "and nothing of an end without TCP"
    );
}

/// Every size that was profiled has its chart of both ends, on the page and as a file: the second
/// of the published pair is the fifth of seven.
#[test]
fn each_profiled_end_has_its_chart() {
    let stored = study(Vec::new(), Vec::new());
    let mut analysis = Analysis::of(&stored);
    let sizes = ["64", "256", "1K", "4K", "16K", "64K", "256K"];
    let of = |role: Role, share: f64| profiled_end(role, vec![class(Class::Copy, share)], 0.0);
    let profile = |size: &&str| TrialProfile {
        label: format!("size {size}, TCP stream, profiled"),
        ends: vec![of(Role::Sender, 0.25), of(Role::Receiver, 0.75)],
    };
    analysis.profiles = sizes.iter().map(profile).collect();
    let files = narrows_report::figures::all(&analysis);
    let named = |name: &str| files.iter().find(|(file, _)| file == name).expect(name).1.as_str();
    let receiver = named("profile-receiver-size-16k-tcp-stream-profiled-classes-and");
    assert!(receiver.contains(">75.0 %<") && !receiver.contains(">25.0 %<"), "{receiver}");
    assert!(named("profile-sender-size-16k-tcp-stream-profiled-classes-and").contains(">25.0 %<"));
    assert!(named("profile-cpu-time-of-the-profiled-ends-by-class").contains("256K"));
    assert_eq!(files.iter().filter(|(name, _)| name.starts_with("profile-")).count(), 15);
    let page = narrows_report::formats::format("html").expect("a format").write;
    let page = page(&analysis);
    assert!(page.contains("<h3>receiver, size 256K, TCP stream, profiled: classes"), "{page}");
    // A flame graph has every function: of four trials it is enough.
    assert_eq!(page.matches(": flame graph</h3>").count(), 8);
}

#[test]
fn imported_figures_name_their_tool_with_its_files_each_once() {
    let stream = trial("tcp-stream", "TCP");
    let of = |at: u32, version: Option<&str>, file: &str| {
        let mut run = told(&stream, at, 8e9, Unit::BitsPerSecond);
        let external = run.external.as_mut().expect("figures");
        (external.version, external.file) = (version.map(str::to_owned), Some(file.to_owned()));
        run
    };
    let mut records = vec![of(0, Some("2"), "a.json"), of(1, Some("2"), "a.json")];
    records.push(of(2, None, "b.json"));
    records.extend((3..10).map(|at| of(at, Some("3"), &format!("c{at}.json"))));
    let mut study = study(vec![stream], records);
    study.study.command = StudyKind::Import;
    let text =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&study));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let c = "c3.json, c4.json, c5.json, c6.json, c7.json, c8.json, 1 more";
    for line in ["told 2, 2 runs: a.json", "told, 1 run: b.json", &format!("told 3, 7 runs: {c}")] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
