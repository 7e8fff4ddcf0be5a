//! What the report says of a memory job and traffic that cost each other what is planted.

#[path = "../../stats/tests/beside/mod.rs"]
mod beside;
mod kept;

use beside::{EVEN, Planted, known, red, simulated};
use narrows_model::host::{Host, Module, Node, Slot, SlotPlace};
use narrows_model::load::Role;
use narrows_model::{Bytes, Fact};
use narrows_report::{Analysis, neighbours};
use narrows_stats::{Open, Slower};

/// A Cascade Lake with these channels of DDR4-2933 on each processor.
fn cascade_lake(host: &mut Host, sockets: &[&[&str]]) {
    host.cpu.model = Fact::known("Intel(R) Xeon(R) Gold 6234".to_owned(), "made");
    let slot = |(socket, channel): (u32, &&str)| {
        let channel = (*channel).to_owned().into();
        let module = Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        };
        let at = SlotPlace { socket, channel, controller: None };
        Slot { at: Some(at), module: Some(module), ..Slot::default() }
    };
    let each = (0..).zip(sockets);
    let places = each.flat_map(|(socket, channels)| channels.iter().map(move |one| (socket, one)));
    host.memory.slots = Fact::known(places.map(slot).collect(), "made");
}

/// The model's slowdowns stand beside those that were measured where its numbers are published, and
/// else why they do not.
#[test]
fn a_prediction_stands_beside_both_curves_or_says_why_not() {
    let text = |study: &narrows_model::study::StoredStudy| {
        let format = narrows_report::formats::format("text").expect("a format");
        let text = (format.write)(&Analysis::of(study));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut study = simulated(12, &EVEN, 11);
    let unknown = "no prediction: nobody has published the credits of this processor's family";
    assert!(text(&study).contains(unknown));
    cascade_lake(&mut study.host, &[&[]]);
    assert!(text(&study).contains("no prediction: how many channels of memory are in use"));
    cascade_lake(&mut study.host, &[&["A"]]);
    kept::is_as_kept("neighbours-predicted", &study);
    let one = text(&study);
    // On one channel cores that copy slow a NIC that receives 88 Gb/s, whose writes have few
    // credits; of what it reads they are not known to be all in use.
    let from = |name: &str| one.find(name).unwrap_or_else(|| panic!("{name}: {one}"));
    let says = |from: usize| {
        let rest = &one[from..];
        rest[rest.find("predicted slowdown").expect("a prediction")..].to_owned()
    };
    let received = says(from("TCP, received: "));
    let five = received.split("5 cores: ").nth(1).expect("five cores").to_owned();
    let of = |at: usize| -> f64 {
        let word = five.split_whitespace().nth(at).expect("a figure");
        word.parse().unwrap_or_else(|why| panic!("{word}: {why}"))
    };
    assert!(of(0) > 1.05 && of(6) > 1.1, "{five}");
    let sent = says(from("TCP, sent: "));
    assert!(sent.contains("5 cores: 1.00 x (1.00 to 1.11) and "), "{sent}");
    // One channel does not carry what receivers would copy; six do, and copies suffer.
    assert!(received.contains("which memory could not carry at this rate: 1 core"), "{received}");
    assert!(sent.contains("and without the kernel's copies: 1 core"), "{sent}");
    let mut wide = study.clone();
    cascade_lake(&mut wide.host, &[&["A", "B", "C", "D", "E", "F"]]);
    let wide = text(&wide);
    assert!(wide.contains("with receivers that copy half of their time"), "{wide}");
    let drawn = narrows_report::figures::all(&Analysis::of(&study));
    let (_, svg) =
        drawn.iter().find(|(name, _)| name.starts_with("neighbours-tcp")).expect("a picture");
    assert_eq!(svg.matches("<circle").count(), 20, "two more lines of five: {svg}");
    assert!(svg.contains("the traffic, predicted"), "{svg}");
    study.trials.iter_mut().for_each(|trial| {
        trial.path = narrows_model::trial::NetworkPath::Namespaces;
    });
    assert!(text(&study).contains("no prediction: this traffic passes no NIC"));
}

/// Two processors of unlike memory: the channels are those of the node that the job's memory is on.
#[test]
fn a_prediction_has_the_channels_of_the_jobs_own_node() {
    const ALL: &[&str] = &["A", "B", "C", "D", "E", "F"];
    const ONE: &[&str] = &["A"];
    let said = |sockets: &[&[&str]], memory: Option<u32>, cpus: u32| {
        let mut study = simulated(6, &EVEN, 11);
        cascade_lake(&mut study.host, sockets);
        let gib = |id| Node { id, memory_bytes: known(Bytes::gib(96)), ..Node::default() };
        study.host.nodes = (0..sockets.len() as u32).map(gib).collect();
        study.host.cpu.places.iter_mut().for_each(|place| place.node = Some(cpus));
        for trial in &mut study.trials {
            if let Some(job) = trial.end_mut(Role::Background) {
                job.place.node = memory;
            }
        }
        let format = narrows_report::formats::format("text").expect("a format");
        let text = (format.write)(&Analysis::of(&study));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let from = text.find("redicted slowdown").or_else(|| text.find("no prediction"));
        let from = &text[from.unwrap_or_else(|| panic!("no word of it: {text}"))..];
        from.chars().take(330).collect::<String>()
    };
    let (whole, one) = (said(&[ALL], None, 0), said(&[ONE], None, 0));
    assert_ne!(whole, one);
    // By its CPUs, and by its memory where that is asked for.
    assert_eq!(said(&[ALL, ONE], None, 0), whole);
    assert_eq!(said(&[ALL, ONE], None, 1), one);
    assert_eq!(said(&[ALL, ONE], Some(1), 0), one);
    // Like processors need no node.
    assert_eq!(said(&[ONE, ONE], None, 7), one);
}

#[test]
fn the_report_says_it_in_a_sentence_a_table_and_a_picture() {
    let study = simulated(12, &Planted { traffic: red, job: |_| 1.3, ..EVEN }, 11);
    kept::is_as_kept("neighbours", &study);
    let analysis = Analysis::of(&study);
    let write =
        |name: &str| (narrows_report::formats::format(name).expect("a format").write)(&analysis);
    let text = write("text");
    assert!(text.contains("TCP, sent: slower with 4 cores or more that copy memory: 1."), "{text}");
    assert!(text.contains("with 5 cores; the job is slower too"), "{text}");
    assert!(text.contains("the 20 intervals hold together (95 %)"), "{text}");
    let blue = simulated(12, &Planted { job: |_| 1.3, ..EVEN }, 11);
    let blue =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&blue));
    let wanted = "TCP, sent: not slower with up to 5 cores that copy memory; the job is, 1.";
    assert!(blue.contains(wanted) && blue.contains(" with 5 cores: blue by rates"), "{blue}");
    // The page leads with the traffic that loses most, and not with a level of a factor.
    let page = write("html");
    let (_, head) = page.split_once("class=\"figure\">").expect("a headline");
    assert!(head.starts_with("TCP, received: slower with 4 cores or more that copy memory: 1.5"));
    assert!(head.contains("such a job on 3 cores at most while the network matters"));
    assert!(page.contains("id=\"neighbours\"") && page.contains("data-name=\"job slower\""));
    assert!(write("json").contains("\"neighbours\":"));
    let drawn = narrows_report::figures::all(&analysis);
    let picture = drawn.iter().find(|(name, _)| name.starts_with("neighbours-tcp-sent"));
    let (_, svg) = picture.expect("a picture");
    assert_eq!(svg.matches("<circle").count(), 10, "two lines of five: {svg}");
}

/// What was left open is no part of a claim, and no number of cores is named that was not measured.
#[test]
fn a_sentence_claims_what_was_measured_alone() {
    let study = simulated(12, &Planted { job: |_| 1.3, ..EVEN }, 11);
    let analysis = Analysis::of(&study);
    let mut test = analysis.neighbours[0].clone();
    test.steps[4].regime = Slower::Open(Open::Unclear);
    let blue = neighbours::answer(&analysis, &test);
    assert!(blue.contains("not slower with up to 4 cores that copy memory"), "{blue}");
    let open = "; inconclusive with 5 cores: the intervals are too wide";
    assert!(blue.ends_with(open), "{blue}");
    let red = Slower::Traffic { from_cores: 3, with_job: true };
    (test.steps[1].regime, test.steps[3].regime) = (Slower::Open(Open::Unclear), red);
    (test.steps[2].regime, test.regime) = (red, red);
    let some = neighbours::answer(&analysis, &test);
    assert!(some.contains("slower with 3 and 4 cores that copy memory"), "{some}");
    let spared = neighbours::remedy(&test).expect("a remedy");
    assert!(spared.starts_with("such a job on 1 core at most"), "{spared}");
    test.steps[4].regime = red;
    let all = neighbours::answer(&analysis, &test);
    assert!(all.contains("slower with 3 cores or more that copy memory"), "{all}");
    test.steps[0].regime = Slower::Open(Open::Unclear);
    let none = neighbours::remedy(&test).expect("a remedy");
    assert!(none.starts_with("no such job on this node"), "{none}");
}
