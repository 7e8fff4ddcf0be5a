//! Records and reports: which end is which, what is counted, and what files of any version hold.

use narrows_model::host::{Cache, CpuPlace, ExpansionSlot, Host, Nic, PciHop};
use narrows_model::load::{
    Bind, EndReport, FlowTally, Job, Params, Role, Stretch, StretchOf, Timeline, Unacknowledged,
};
use narrows_model::options::runs;
use narrows_model::packets::PacketRate;
use narrows_model::probe::Marked;
use narrows_model::profile::{
    Function, Mode, NotProfiled, Profile, Profiled, SampledBy, SampledWhat, Stack, Task,
};
use narrows_model::record::{External, Figure, Outcome, Record, Reported, Span, Stamp};
use narrows_model::result::{Answer, Evidence, Inapplicable, LookedAt, Missing, NotSo, Verdict};
use narrows_model::trial::TrialId;
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use narrows_model::{Bytes, BytesPerSecond, Fact, Nanos};
use std::time::Duration;

/// A report that is told by its window.
fn report(window_ns: u64) -> Box<EndReport> {
    Box::new(EndReport { window_ns: Nanos(window_ns), ..EndReport::default() })
}

fn record(reports: Vec<Reported>) -> Record {
    Record {
        trial: TrialId("t".to_owned()),
        repeat: 1,
        block: 2,
        outcome: Outcome::Done,
        reports,
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

fn windows<'a>(reports: impl Iterator<Item = &'a EndReport>) -> Vec<u64> {
    reports.map(|report| report.window_ns.0).collect()
}

#[test]
fn an_end_is_found_by_its_role_and_receivers_come_first() {
    let list = Reported::list(Some(report(1)), Some(report(2)), Some(report(3)));
    let roles: Vec<Role> = list.iter().map(|one| one.role).collect();
    assert_eq!(roles, [Role::Receiver, Role::Sender, Role::Background]);
    let more = |role, window| Reported { role, report: report(window), span: None };
    let mut of = record(list);
    of.reports.extend([more(Role::Sender, 4), more(Role::Receiver, 5)]);
    assert_eq!(of.receiver().map(|one| one.window_ns), Some(Nanos(1)));
    assert_eq!(of.sender().map(|one| one.window_ns), Some(Nanos(2)));
    assert_eq!(of.background().map(|one| one.window_ns), Some(Nanos(3)));
    assert_eq!(windows(of.of(Role::Sender)), [2, 4]);
    assert_eq!(windows(of.measured()), [1, 5, 2, 4]);
    of.of_mut(Role::Sender).for_each(|one| one.window_ns = Nanos(9));
    assert_eq!(windows(of.measured()), [1, 5, 9, 9]);
    assert_eq!(record(Reported::list(None, Some(report(2)), None)).receiver(), None);
}

#[test]
fn a_file_has_the_first_of_each_role_by_itself_and_the_others_after_it() {
    let more = |role, window, span| Reported { role, report: report(window), span };
    let mut of = record(Reported::list(Some(report(1)), Some(report(2)), None));
    let json = |of: &Record| serde_json::to_value(of).expect("JSON");
    let back = |of: &Record| serde_json::from_value::<Record>(json(of)).expect("a record");
    let plain = json(&of);
    assert_eq!(
        (&plain["sink"]["window_ns"], &plain["source"]["window_ns"]),
        (&1.into(), &2.into())
    );
    for left_out in ["beside", "more", "session", "external"] {
        assert_eq!(plain.get(left_out), None, "{left_out}");
    }
    assert_eq!(back(&of), of);
    of.session = 3;
    of.reports.push(more(Role::Background, 3, None));
    of.reports.push(more(Role::Sender, 4, None));
    of.external = Some(External {
        tool: "iperf3".to_owned(),
        version: Some("3.16".to_owned()),
        command: None,
        file: Some("/f".to_owned()),
        figures: vec![Figure { name: "sent".to_owned(), value: 1e9, unit: Unit::BitsPerSecond }],
        output: String::new(),
        client: None,
        packets: None,
    });
    let full = json(&of);
    assert_eq!(full["beside"]["window_ns"], 3);
    assert_eq!(
        (&full["more"][0]["role"], full["more"].as_array().map(Vec::len)),
        (&"source".into(), Some(1))
    );
    assert_eq!((&full["session"], &full["external"]["tool"]), (&3.into(), &"iperf3".into()));
    assert_eq!(back(&of), of);
    // Once one end has more to say than older versions could, the order of all is kept.
    let span = Some(Span { open_by_ns: Nanos(5), close_from_ns: Nanos(8) });
    let reports = vec![more(Role::Sender, 2, span), more(Role::Receiver, 1, None)];
    let spanned = record(reports);
    let json_spanned = json(&spanned);
    assert!(json_spanned["sink"].is_null() && json_spanned["source"].is_null());
    assert_eq!(json_spanned["more"][0]["span"]["close_from_ns"], 8);
    assert_eq!(back(&spanned), spanned);
}

#[test]
fn roles_have_the_words_of_older_files() {
    for (role, word, newer) in [
        (Role::Receiver, "\"sink\"", "\"receiver\""),
        (Role::Sender, "\"source\"", "\"sender\""),
        (Role::Background, "\"background\"", "\"background\""),
    ] {
        assert_eq!(serde_json::to_string(&role).expect("JSON"), word);
        assert_eq!(serde_json::from_str::<Role>(word).expect("a role"), role);
        assert_eq!(serde_json::from_str::<Role>(newer).expect("a role"), role);
    }
    let stretch = Stretch { of: StretchOf::SenderWindow, datagrams: 9 };
    let text = r#"{"of":"source-window","datagrams":9}"#;
    assert_eq!(serde_json::to_string(&stretch).expect("JSON"), text);
}

#[test]
fn an_order_lasts_from_the_word_to_go_and_the_wait_before_it() {
    let timeline = Timeline::new(Nanos(1_000_000_000), Nanos(5_000_000_000), Nanos(250_000_000));
    assert_eq!(timeline.length(), Duration::from_millis(6250));
    assert_eq!(timeline.interval_ns, None);
    let endless = Timeline::new(Nanos(u64::MAX), Nanos(1), Nanos(1));
    assert_eq!(endless.length(), Duration::from_nanos(u64::MAX));
    let params = Params::of_network(Bytes(1), 1);
    let mut job = Job::new(Workload::TCP_STREAM, Role::Sender, params, timeline);
    assert_eq!(job.length(), Duration::from_millis(6250));
    job.params.told.tell(&runs::AFTER, 1.5);
    assert_eq!(job.length(), Duration::from_millis(7750));
    assert_eq!((job.end, job.address, job.node, job.ports), (Role::Sender, None, None, None));
    assert_eq!((job.bind, job.grant, job.responses_bps), (None::<Bind>, None, None));
    let text = serde_json::to_string(&job.timeline).expect("JSON");
    let wanted = r#"{"warmup_ns":1000000000,"window_ns":5000000000,"cooldown_ns":250000000}"#;
    assert_eq!(text, wanted);
}

#[test]
fn what_arrived_is_counted_by_the_end_that_can() {
    for (sends, one_sided, counts) in
        [(false, false, true), (true, false, false), (true, true, true), (false, true, false)]
    {
        let flow = FlowTally { sends, one_sided, ..FlowTally::default() };
        assert_eq!(flow.counts(), counts, "{flow:?}");
    }
    let lost = |sent, received| Unacknowledged { sent, received }.lost_share();
    assert_eq!((lost(8, 6), lost(8, 8), lost(0, 0)), (0.25, 0.0, 0.0));
    assert_eq!(lost(8, 9), 0.0, "no share below nothing");
}

#[test]
fn a_profile_counts_its_samples_and_names_its_frames_from_the_innermost() {
    let function = |name: &str, mode| Function { name: name.to_owned(), mode, of: None };
    let stack = |frames: &[u32], samples| Stack {
        task: Task::Own,
        frames: frames.to_vec(),
        samples,
        weight: 1,
    };
    let profile = Profile {
        by: SampledBy::CpuClock,
        what: SampledWhat::Threads,
        targets: 2,
        per_second: 999,
        functions: vec![function("main", Mode::User), function("tcp_sendmsg", Mode::Kernel)],
        stacks: vec![stack(&[1, 0], 7), stack(&[0, 5], 2)],
        lost: 3,
        outside: 4,
        reading_ns: Nanos(5),
        gaps: Vec::new(),
    };
    assert_eq!(profile.samples(), 9);
    let names = |at: usize| {
        profile.frames(&profile.stacks[at]).map(|frame| frame.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((names(0), names(1)), (vec!["tcp_sendmsg", "main"], vec!["main"]));
    let taken = Profiled::Taken(profile.clone());
    assert_eq!(taken.taken(), Some(&profile));
    assert_eq!(Profiled::NotTaken(NotProfiled::NoEvents).taken(), None);
    let text = serde_json::to_string(&taken).expect("JSON");
    assert_eq!(serde_json::from_str::<Profiled>(&text).expect("a profile"), taken);
    let denied = Profiled::NotTaken(NotProfiled::Denied { paranoid: Some(2), capable: false });
    let text = r#"{"not-taken":{"denied":{"paranoid":2,"capable":false}}}"#;
    assert_eq!(serde_json::to_string(&denied).expect("JSON"), text);
}

fn seen(says: &str) -> Evidence {
    Evidence { says: says.to_owned(), from: "/f".to_owned() }
}

#[test]
fn a_verdict_is_clear_by_what_was_looked_at_alone() {
    let not_so = Verdict::NotApplicable { why: Inapplicable::NotSo { because: NotSo::NoCpu } };
    for (verdict, answer, json) in [
        (
            Verdict::clear(seen("1")),
            Answer::Clear,
            r#"{"verdict":"clear","looked_at":[{"says":"1","from":"/f"}]}"#,
        ),
        (
            Verdict::unknown(Missing::unread("mtu")),
            Answer::Unknown,
            concat!(
                r#"{"verdict":"unknown","missing":"#,
                r#"[{"lacks":"fact","name":"mtu","gap":{"gap":"not-read"}}]}"#
            ),
        ),
        (
            Verdict::Found { findings: vec![] },
            Answer::Found,
            r#"{"verdict":"found","findings":[]}"#,
        ),
        (
            not_so,
            Answer::NotApplicable,
            r#"{"verdict":"not-applicable","why":{"reason":"not-so","because":"there is no CPU"}}"#,
        ),
    ] {
        assert_eq!(verdict.answer(), answer);
        assert_eq!(serde_json::to_string(&verdict).expect("JSON"), json);
    }
    let all = LookedAt::new(seen("1"), vec![seen("2")]).and(vec![seen("3")]);
    assert_eq!(all.all(), [seen("1"), seen("2"), seen("3")]);
    let text = serde_json::to_string(&all).expect("JSON");
    assert_eq!(serde_json::from_str::<LookedAt>(&text).expect("evidence"), all);
    let nothing = serde_json::from_str::<LookedAt>("[]").expect_err("nothing seen");
    assert!(nothing.to_string().contains("a clear verdict lists what was looked at"));
    assert_eq!(Vec::from(all).len(), 3);
}

#[test]
fn a_host_finds_its_interfaces_nodes_and_caches() {
    let nic = |name: &str, physical| Nic { name: name.to_owned(), physical, ..Nic::default() };
    let cache = |level, kib| {
        let (kind, cpus) = ("Unified".to_owned(), Vec::new());
        Cache { level, kind, size_bytes: Bytes::kib(kib), cpus }
    };
    let mut host = Host { nics: vec![nic("lo", false), nic("eth0", true)], ..Host::default() };
    assert_eq!(host.last_level_cache_bytes(), Bytes(0));
    host.cpu.caches = vec![cache(2, 1024), cache(3, 2048), cache(3, 4096), cache(1, 32)];
    host.cpu.places = vec![
        CpuPlace { cpu: 4, node: Some(1), ..CpuPlace::default() },
        CpuPlace { cpu: 1, node: Some(0), ..CpuPlace::default() },
        CpuPlace { cpu: 2, node: None, ..CpuPlace::default() },
    ];
    assert_eq!(host.last_level_cache_bytes(), Bytes::kib(6144), "all of the highest level");
    let nodes = [4, 1, 2, 3].map(|cpu| host.node_of_cpu(cpu));
    assert_eq!(nodes, [Some(1), Some(0), None, None]);
    assert_eq!(host.nic("eth0").map(|nic| nic.physical), Some(true));
    assert_eq!(host.nic("eth1"), None);
    let physical: Vec<&str> = host.physical_nics().map(|nic| nic.name.as_str()).collect();
    assert_eq!(physical, ["eth0"]);
}

#[test]
fn a_card_is_in_the_slot_of_the_lowest_function_that_a_slot_names() {
    let slot = |name: &str, address: &str| ExpansionSlot {
        name: name.to_owned(),
        address: Some(address.to_owned()),
        ..ExpansionSlot::default()
    };
    let hop = |address: &str| PciHop { address: address.to_owned(), ..PciHop::default() };
    let path = [hop("0000:3a:00.0"), hop("0000:3b:00.1"), hop("0000:3c:00.0")];
    let mut host = Host::default();
    let found = |host: &Host| host.slot_of(&path).map(|slot| slot.name.clone());
    assert_eq!(found(&host), None, "no slots are told");
    let (above, below) = (slot("above", "0000:3a:00.0"), slot("below", "0000:3b:00.0"));
    host.expansion_slots = Fact::known(vec![above.clone(), below], "SMBIOS");
    // Another function of the same device is in the same slot.
    assert_eq!(found(&host).as_deref(), Some("below"));
    host.expansion_slots = Fact::known(vec![above], "SMBIOS");
    assert_eq!(found(&host).as_deref(), Some("above"));
    host.expansion_slots = Fact::known(vec![slot("other", "0000:3a:01.0")], "SMBIOS");
    assert_eq!(found(&host), None);
}

#[test]
fn a_probes_packets_tell_their_class_and_whether_they_react_to_marks() {
    for (class, dscp, is_ecn) in [(0, 0, false), (0xb8, 46, false), (0xba, 46, true), (1, 0, true)]
    {
        let marked = Marked { class, is_own: true, trains: Vec::new() };
        assert_eq!((marked.dscp(), marked.is_ecn()), (dscp, is_ecn), "{class:#x}");
    }
}

#[test]
fn units_are_powers_of_two_for_sizes_and_of_ten_for_times_and_rates() {
    assert_eq!(
        [Bytes::kib(3), Bytes::mib(3), Bytes::gib(3)],
        [3072, 3_145_728, 3_221_225_472].map(Bytes)
    );
    assert_eq!((Nanos::from_millis(7), Nanos(1_500_000_000).seconds()), (Nanos(7_000_000), 1.5));
    assert_eq!(BytesPerSecond(12.5e9).gbytes(), 12.5);
    let wrong = "fast".parse::<PacketRate>().expect_err("no rate");
    let words = "'fast' is not max, nor 1 to 1G packets a second, such as 14.88M";
    assert_eq!(wrong.to_string(), words);
}
