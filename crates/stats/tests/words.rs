//! What a figure must not be taken for, where datagrams went and what is open, in the words that
//! people and programs read.

use narrows_stats::{Covers, Label, Loss, LossPlace, Missing, Open};

/// Each label with its word in files, its words for people and whether it is bad.
const LABELS: [(Label, &str, &str, bool); 29] = [
    (Label::Loopback, "loopback", "loopback: not a network result", false),
    (Label::NoNic, "no-nic", "one host, no NIC: not a network result", false),
    (Label::Software, "software", "in software: no NIC does the work of RDMA", false),
    (Label::SameCpu, "same-cpu", "both ends on one CPU", false),
    (
        Label::Truncated,
        "truncated",
        "dropped uncopied (MSG_TRUNC): no application receives like this",
        false,
    ),
    (
        Label::Spliced,
        "spliced",
        "moved to /dev/null unseen (splice): no application has the bytes",
        false,
    ),
    (Label::Joined, "joined", "several datagrams a packet: no wire carried so many packets", false),
    (
        Label::ZeroCopyCopied,
        "zero-copy-copied",
        "zero-copy was requested, but the kernel copied",
        false,
    ),
    (
        Label::BehindSchedule,
        "behind-schedule",
        "generator-bound: the sender fell behind the rate asked for",
        false,
    ),
    (
        Label::AheadOfSchedule,
        "ahead-of-schedule",
        "the sender exceeded the rate asked for by more than 2 %",
        false,
    ),
    (
        Label::HeldBack,
        "held-back",
        "below the rate asked for: the sender's thread was not full; its queue, the path, the \
         receiver or other processes held it",
        false,
    ),
    (Label::CacheResident, "cache-resident", "cache-resident: not memory", false),
    (Label::SenderBound, "source-bound", "sender-bound: its thread filled a CPU", false),
    (Label::ReceiverBound, "sink-bound", "receiver-bound: its thread filled a CPU", false),
    (Label::Noisy, "noisy", "noisy: other processes used the CPUs", false),
    (
        Label::Starved,
        "starved",
        "starved: its threads had no CPU at times, so that memory seems slower",
        false,
    ),
    (Label::Corrupted, "corrupted", "data was corrupted in transit", true),
    (
        Label::Impossible,
        "impossible",
        "impossible: more was counted than came in the window (a backlog from before it)",
        false,
    ),
    (
        Label::Backlog,
        "backlog",
        "a backlog from before the window was read in it: values are what arrived in it",
        false,
    ),
    (
        Label::Rough,
        "rough",
        "rough: the counters and the edges of the window leave an error",
        false,
    ),
    (Label::Nothing, "nothing", "nothing arrived in the windows", true),
    (Label::NothingOneWay, "nothing-one-way", "nothing arrived in one of the two directions", true),
    (
        Label::BackgroundEnded,
        "background-ended",
        "the background load did not last over the run",
        false,
    ),
    (Label::Imported, "imported", "imported: not measured by narrows", false),
    (Label::OtherTool, "other-tool", "as another tool reports its load", false),
    (Label::ToolSent, "tool-sent", "sent by another tool, counted by narrows where it came", false),
    (
        Label::ToolMiscounts,
        "tool-miscounts",
        "the tool's count is not to be believed: it says that it sent more than left its \
         interface, or less than came; the figure is what narrows counted",
        true,
    ),
    (
        Label::ShortWindow,
        "short-window",
        "windows too short for a figure (a median takes 20 round trips): give them more seconds",
        false,
    ),
    (
        Label::FewRuns,
        "few-runs",
        "too few runs for an interval (95 % takes 6): range of the values",
        false,
    ),
];

#[test]
fn a_label_has_a_word_in_files_and_words_for_people() {
    for (label, word, says, is_bad) in LABELS {
        assert_eq!(serde_json::to_string(&label).expect("JSON"), format!("\"{word}\""));
        assert_eq!((label.says(), label.is_bad()), (says, is_bad), "{word}");
    }
}

const PLACES: [(LossPlace, &str, &str); 8] = [
    (LossPlace::Corrupted, "corrupted", "at the receiver's socket, since their checksum was wrong"),
    (LossPlace::ReceiverSocket, "sink-socket", "at the receiver's socket"),
    (LossPlace::ReceiverInterface, "sink-interface", "in the receiver's interface"),
    (LossPlace::ReceiverHost, "sink-host", "in the receiver's host, between interface and socket"),
    (LossPlace::SenderInterface, "source-interface", "in the sender's interface or its queue"),
    (LossPlace::Path, "path", "on the path between the two hosts"),
    (LossPlace::OneHost, "one-host", "between the two interfaces of this one host"),
    (LossPlace::Unknown, "unknown", "at an unknown place"),
];

#[test]
fn a_place_of_loss_has_its_word_and_its_count() {
    for (place, word, says) in PLACES {
        assert_eq!(serde_json::to_string(&place).expect("JSON"), format!("\"{word}\""));
        assert_eq!(place.says(), says);
    }
    let loss = Loss {
        received_datagrams: 100,
        lost_datagrams: 28,
        lost_corrupted_datagrams: 1,
        lost_at_socket_datagrams: 2,
        lost_at_receiver_interface_datagrams: 3,
        lost_in_receiver_host_datagrams: 4,
        lost_on_path_datagrams: 5,
        lost_at_sender_interface_datagrams: 6,
        lost_unplaced_datagrams: 7,
        ..Loss::default()
    };
    let wanted = [
        (LossPlace::Corrupted, 1),
        (LossPlace::ReceiverSocket, 2),
        (LossPlace::ReceiverInterface, 3),
        (LossPlace::ReceiverHost, 4),
        (LossPlace::Path, 5),
        (LossPlace::SenderInterface, 6),
        (LossPlace::Unknown, 7),
    ];
    assert_eq!((loss.places(), loss.all_datagrams()), (wanted, 128));
    let inside = Loss { within_one_host: true, ..loss }.places();
    assert_eq!(inside[4], (LossPlace::OneHost, 5));
}

#[test]
fn what_is_open_and_what_is_missing_say_why() {
    for (open, says) in [
        (
            Open::CpuShared,
            "the job's threads waited for their CPUs, or share a core with the traffic",
        ),
        (
            Open::OneStep,
            "one number of cores was measured, which does not tell whether the job loads memory",
        ),
        (Open::InterruptsShared, "interrupts of the traffic take the job's CPU time"),
        (Open::NotLoaded, "the job does not load memory: more cores move as much more"),
        (Open::JobUnknown, "the job was not measured alone, or was lost"),
        (Open::FewRuns, "too few runs for intervals that hold together"),
        (Open::Unclear, "the intervals are too wide"),
    ] {
        assert_eq!(open.to_string(), says);
    }
    for (missing, says) in [
        (Missing::OlderRecord, "an older version did not note when it read the counters"),
        (Missing::InterfaceCounters, "neither end's interface counters could be read"),
        (Missing::WayIn, "it came in by an unknown interface, not the one its flow leaves by"),
        (Missing::Rdma, "RDMA passes the interface's counters by"),
        (Missing::OtherTool, "another tool made it"),
    ] {
        assert_eq!(missing.to_string(), says);
    }
    let these = "intervals cover more runs of this session, not another day's";
    assert_eq!(Covers::TheseSessions.says(), these);
    assert_eq!(Covers::OtherSessions.says(), "intervals cover other sessions");
}
