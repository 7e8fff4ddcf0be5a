//! What the report says of a memory job and traffic that cost each other what is planted.

#[path = "../../stats/tests/beside/mod.rs"]
mod beside;

use beside::{EVEN, Planted, red, simulated};
use narrows_report::Analysis;

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
