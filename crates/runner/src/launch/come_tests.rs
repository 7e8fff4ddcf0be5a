//! Who has come, by what tasks and srun say.

use super::*;
use std::sync::mpsc::channel;

/// What tasks and srun say, in this order, and then nothing more, or the end.
fn come(lines: &[&str], is_over: bool, count: usize) -> (Come, Waited) {
    let (says, heard) = channel();
    for line in lines {
        let line = (*line).to_owned();
        let line = if line.contains("srun: ") { Heard::Srun(line) } else { Heard::Task(line) };
        says.send(line).expect("heard");
    }
    let held = (!is_over).then_some(says);
    let (mut come, stop) = (Come::default(), AtomicBool::new(false));
    let within = Duration::from_millis(if is_over { 60_000 } else { 300 });
    let waited = come.wait(count, &heard, &stop, within, &mut |_| {});
    drop(held);
    (come, waited)
}

#[test]
fn each_node_has_its_agent_or_the_reason_why_not() {
    let lines = [
        "a line of a prolog",
        " 0: narrows-node n1",
        " 1: narrows-node n2",
        "10: narrows-node n3",
        " 3: narrows-node n4",
        "10: error: cannot listen on port 7471: Address already in use",
        "10: hint: `ss -lptn` shows what listens there",
        " 0: narrows-listening 7471",
        "10: narrows-ended 3",
        " 3: sh: 1: /opt/narrows: not found",
        " 3: narrows-ended 127",
    ];
    let (late, waited) = come(&lines, false, 5);
    assert_eq!((waited, late.listening()), (Waited::Late, 1));
    assert_eq!(late.lacks("n1"), None);
    for (node, why) in [
        ("n2", "its agent did not listen in time"),
        ("n3", "cannot listen on port 7471: Address already in use"),
        ("n4", "sh: 1: /opt/narrows: not found"),
        ("n5", "srun started nothing there in time"),
    ] {
        assert_eq!(late.lacks(node), Some(why));
    }
    let (_, waited) = come(&[&lines[..], &["1: narrows-listening 7471"]].concat(), false, 4);
    assert_eq!(waited, Waited::All, "who has ended is not waited for");
    let (over, waited) = come(&lines[..2], true, 2);
    assert_eq!((waited, over.listening()), (Waited::Ended, 0));
}

#[test]
fn a_wish_to_end_is_heard_while_agents_are_waited_for() {
    let (_says, heard) = channel();
    let stop = AtomicBool::new(true);
    let ended = Come::default().wait(1, &heard, &stop, TELL_EVERY, &mut |_| {});
    assert_eq!(ended, Waited::Stopped);
}

#[test]
fn lines_are_read_to_the_end_and_in_pieces_where_they_are_long() {
    let (says, heard) = channel();
    let long = "x".repeat(LINE_BYTES_MAX as usize + 1);
    let text = format!("0: a\n{long}\nlast");
    read_lines(text.as_bytes(), |line| says.send(line).is_ok());
    drop(says);
    let mut taken = 0;
    read_lines(text.as_bytes(), |_| {
        taken += 1;
        false
    });
    assert_eq!(taken, 1, "nobody takes more");
    let lines: Vec<String> = heard.iter().collect();
    let lengths: Vec<usize> = lines.iter().map(String::len).collect();
    assert_eq!(lengths, [4, LINE_BYTES_MAX as usize, 1, 4]);
}

#[test]
fn a_node_that_srun_does_not_reach_is_known_by_its_words() {
    let lines = [
        "0: narrows-node n1",
        "srun: error: Task launch for StepId=11.0 failed on node n5: Communication connection failure",
        "srun: error: Application launch failed: Communication connection failure",
        "0: slurmstepd-n1: error: *** STEP 11.0 ON n1 CANCELLED ***",
    ];
    let (mut over, waited) = come(&lines, true, 2);
    assert_eq!((waited, over.listening()), (Waited::Ended, 0));
    let unreached: Vec<(&str, &str)> =
        over.unreached.iter().map(|(node, why)| (node.as_str(), why.as_str())).collect();
    assert_eq!(unreached, [("n5", "Communication connection failure")]);
    let mut told = Vec::new();
    over.tell(&mut |seen| {
        if let Seen::Srun(line) = seen {
            told.push(line.to_owned());
        }
    });
    assert_eq!(told, lines[1..3]);
    assert_eq!(over.last(), ": n1: slurmstepd-n1: error: *** STEP 11.0 ON n1 CANCELLED ***");
}
