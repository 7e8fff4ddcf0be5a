//! What the report says of a memory job and traffic that cost each other what is planted.

#[path = "../../stats/tests/beside/mod.rs"]
mod beside;

use beside::{EVEN, Planted, red, simulated};
use narrows_model::host::{Host, Module, Slot, SlotPlace};
use narrows_model::{Bytes, Fact};
use narrows_report::Analysis;

/// A Cascade Lake with these channels of DDR4-2933 on its processor.
fn cascade_lake(host: &mut Host, channels: &[&str]) {
    host.cpu.model = Fact::known("Intel(R) Xeon(R) Gold 6234".to_owned(), "made");
    let slot = |channel: &&str| {
        let channel = (*channel).to_owned().into();
        let module = Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        };
        let at = SlotPlace { socket: 0, channel, controller: None };
        Slot { at: Some(at), module: Some(module), ..Slot::default() }
    };
    host.memory.slots = Fact::known(channels.iter().map(slot).collect(), "made");
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
    cascade_lake(&mut study.host, &[]);
    assert!(text(&study).contains("no prediction: how many channels of memory are in use"));
    cascade_lake(&mut study.host, &["A"]);
    let one = text(&study);
    // On one channel cores that copy slow a NIC that receives 88 Gb/s, whose writes have few
    // credits; of what it reads they are not known to be all in use.
    let from = |name: &str| one.find(name).unwrap_or_else(|| panic!("{name}: {one}"));
    let says = |from: usize| {
        let rest = &one[from..];
        rest[rest.find("predicted of").expect("a prediction")..].to_owned()
    };
    let received = says(from("TCP, received: "));
    let five = received.split("5 cores: ").nth(1).expect("five cores").to_owned();
    let of = |at: usize| -> f64 {
        let word = five.split_whitespace().nth(at).expect("a figure");
        word.parse().unwrap_or_else(|why| panic!("{word}: {why}"))
    };
    assert!(of(0) > 1.05 && of(3) > 1.1, "{five}");
    let sent = says(from("TCP, sent: "));
    assert!(sent.contains("5 cores: 1.00 x and "), "{sent}");
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

#[test]
fn the_report_says_it_in_a_sentence_a_table_and_a_picture() {
    let study = simulated(12, &Planted { traffic: red, job: |_| 1.3, ..EVEN }, 11);
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
    assert!(blue.contains(wanted) && blue.contains(" with 5 cores: blue"), "{blue}");
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
