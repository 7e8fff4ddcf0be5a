//! Identities that stored studies are joined by: they must not change between releases.

use narrows_model::load::Timeline;
use narrows_model::trial::{EndSpec, NetworkPath, Placement};
use narrows_model::{Bytes, Nanos};
use narrows_plan::study::{Cell, Definition, cells};
use narrows_plan::trial;

/// Every key that a study's file had before options were declared once, each set in some cell.
const ALL_KEYS: &str = r#"
name = "all"
repeats = 2
[base]
load = "tcp-stream"
engine = "iperf3"
engine_client = "-Z -N"
engine_server = "-4"
seconds = 5
warmup_seconds = 0.25
length = "64K"
parallel = 3
window = "2M"
bitrate = "3G"
congestion = "bbr"
sender = "zerocopy"
receiver = "splice"
wait = "spin"
buffer = "cold"
touch = true
verify = false
reverse = true
bidirectional = false
nagle = "on"
mss = 999
dscp = 46
response = 7
per_second = 8
affinity = "1,nic"
memory_node = "-,1"
irq = "node:1"
threads = 4
size = "1G"
node = 0
vector = "avx2"
pages = "2M"
mtu = 9000
offloads = { gro = false, tso = true }
sysctl = { "net.ipv4.tcp_sack" = "0" }
[[factor]]
name = "what"
levels = [
  { name = "plain" },
  { name = "length", length = 1024 },
  { name = "load", load = "memory-copy" },
  { name = "round trips", load = "tcp-rr", buffer = "hot", bitrate = 0 },
  { name = "offloads", offloads = { gro = true } },
  { name = "background", memory_load = "copy:2" },
  { name = "rdma", load = "rdma-write-stream", rdma = { device = "a,b", ib_port = 1,
    gid_index = ",3", connection = "cm", service = "RC", depth = 64, post_list = 2,
    signal_every = 8, inline = 0, path_mtu = 1024, service_level = 3, traffic_class = 4,
    relaxed_ordering = true, pages = "4K", via = "verbs" } },
  { name = "no rdma", load = "rdma-send-rr", rdma = {} },
  { name = "fabric", load = "rdma-send-rr", rdma = { via = "libfabric", provider = "tcp" } },
]
"#;

/// Nothing set but what a study must have.
const NO_KEYS: &str = "name = 'none'\nrepeats = 1";

fn ids(text: &str) -> Vec<String> {
    let definition = Definition::parse(text).expect(text);
    cells(&definition).expect("cells").into_iter().map(|cell| cell.id.0).collect()
}

#[test]
fn cells_keep_their_ids() {
    assert_eq!(ids(NO_KEYS), ["2b02a1b66bd1d510"]);
    let all = [
        "f37b41248684eed9",
        "50b3c3ff6401d5c6",
        "2b166be022ca0ee5",
        "05d2ef8ce6f5bc91",
        "7092ffc2621f0682",
        "b428fb1945a4ad63",
        "d4fa0153143bf3f5",
        "f9a1e94a79d14c79",
        "d3bfe9ceb99398d4",
    ];
    assert_eq!(ids(ALL_KEYS), all);
}

/// Ids of direct trials are made of what the workload is told.
#[test]
fn parameters_of_cells_keep_their_text() {
    let line = Timeline {
        warmup_ns: Nanos(1),
        window_ns: Nanos(2),
        cooldown_ns: Nanos(3),
        interval_ns: None,
    };
    let cells = cells(&Definition::parse(ALL_KEYS).expect("a study")).expect("cells");
    let id = |cell: &Cell| {
        let settings = &cell.settings;
        let params = settings.params(Bytes::mib(48), Bytes::mib(300)).expect("parameters");
        let none = Placement::default();
        let ends = EndSpec::pair(none.clone(), none, params.is_reverse());
        trial("x", settings.kind(), params, ends, NetworkPath::Loopback, line).id.0
    };
    let all = [
        "dd682e4121c706c9",
        "74c491fcb2a7ec3a",
        "f0265eea02232801",
        "775b92530c7144f5",
        "dd682e4121c706c9",
        "dd682e4121c706c9",
        "8d98b0343901ad91",
        "5065ae3531708f16",
        "c64f7263846bd5e5",
    ];
    assert_eq!(cells.iter().map(id).collect::<Vec<_>>(), all);
}
