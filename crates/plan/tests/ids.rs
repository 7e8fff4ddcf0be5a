//! Ids of trials: a study that was begun with an older narrows goes on only if each cell still has
//! the id that it had, so these were written down once, by narrows 0.1.

use narrows_model::load::{Params, Timeline};
use narrows_model::trial::{EndSpec, MemoryLoad, NetworkPath, Placement, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};

/// Workload, id of a trial, id of an imported one.
const IDS: [(&str, &str, &str); 29] = [
    ("memory-copy", "763f873c094f7a1c", "6f20fa865bf4f23b"),
    ("memory-copy-nt", "e7f01233e9a875e1", "8fb78e5ac03260e0"),
    ("memory-latency", "cbd622e0fbc94266", "538a79bd077cbf13"),
    ("memory-memcpy", "570f0072b07d053a", "cbf40dd1924157ba"),
    ("memory-read", "1e15558fbceb0b96", "e58851fd578067ad"),
    ("memory-read-random", "d54444b0e61562af", "6a837e03e6abd3f6"),
    ("memory-triad", "b8e2ebfeaa95acf0", "404921e147914b92"),
    ("memory-triad-nt", "5c7c9e72e2e6c2e9", "46aa24f01a402df4"),
    ("memory-write", "a237f73de74a0e0f", "8efe77217ba9af35"),
    ("memory-write-nt", "e57bfb9beb70c72e", "1c2ac6ca0e565836"),
    ("packets", "5009533a31391229", "829f474a5806de5a"),
    ("path-probe", "72d6168826d4cc5c", "72b70a0a9b8dff2e"),
    ("rdma-atomic-rr", "fbf45e3bfff1c6af", "e4c156adb9bc2c1c"),
    ("rdma-atomic-stream", "713b3de0f9665999", "05c410f02a0302b3"),
    ("rdma-read-rr", "538030718d69f4c7", "eee0a31a07a62270"),
    ("rdma-read-stream", "505d01160f07c8e1", "0205857c216bdc0f"),
    ("rdma-send-rr", "f9a624943f3a6104", "70ec2c66fcb25e71"),
    ("rdma-send-stream", "3a4c913645db113a", "5f0937b5e1411499"),
    ("rdma-write-imm-rr", "25bee78c1e446cd3", "2f31a5c18b2b1ac7"),
    ("rdma-write-imm-stream", "80afc323aa4e0501", "36230dae17ea5101"),
    ("rdma-write-rr", "5edf5f4a6b3806c4", "94edc488b0047ac5"),
    ("rdma-write-stream", "69b9c47b0f45fe04", "c861bd7e184f8064"),
    ("tcp-connect", "2d0021b02bd57527", "b6cf7f3f185e3b4a"),
    ("tcp-rr", "515481764b3bbbed", "30630b3fb147e3ac"),
    ("tcp-stream", "bbc260366ef49621", "d299638512fa3bab"),
    ("udp-rr", "99b2caf85cd2a16d", "f01ff9049b7dfbdf"),
    ("udp-stream", "b577522a88918e4d", "fd0900ee27c76d99"),
    ("mpi-latency", "f97bae604e7143d3", "7016e0cf7d0e05e2"),
    ("tcp-latency", "fad8b0ec1629ca7b", "88d4d04695df6ba9"),
];

fn trial(kind: Workload) -> Trial {
    let params = Params::of_network(Bytes(64), 1);
    let sender = Placement { node: Some(1), ..Placement::default() };
    let mut ends = EndSpec::pair(Placement::on([0, 2]), sender, false);
    let kernel = Workload::from("memory-read");
    let load = MemoryLoad { kind: kernel, threads: 1, working_set_bytes: Bytes(0) };
    ends.push(EndSpec::background(load, Placement::default()));
    let timeline = Timeline {
        warmup_ns: Nanos(1),
        window_ns: Nanos(2),
        cooldown_ns: Nanos(3),
        interval_ns: None,
    };
    narrows_plan::trial("a label", kind, params, ends, NetworkPath::Peer, timeline)
}

#[test]
fn ids_are_those_of_older_versions() {
    for (word, id, imported) in IDS {
        let kind = Workload::from(word);
        assert_eq!(trial(kind.clone()).id.0, id, "{word}");
        let of = narrows_plan::imported("a tool", kind, vec![], vec![]);
        assert_eq!(of.id.0, imported, "{word}, imported");
    }
    let own = Workload::named().filter(Workload::is_own);
    let missing: Vec<Workload> =
        own.filter(|kind| IDS.iter().all(|(word, ..)| kind.as_str() != *word)).collect();
    assert_eq!(missing, [], "each workload of narrows is here");
}
