//! The kernel's own generator: a thread of the kernel for each CPU, told by files of
//! /proc/net/pktgen, which exist in each network namespace. A shell writes them, since it can be
//! killed: the kernel stops sending when whoever waits for it is gone.

use super::generators::{Generator, Lack, Leaves, Order, PORT};
use super::{Engine, Runs};
use narrows_model::packets::{FCS_BYTES, FRAME_BYTES_MAX};
use narrows_model::workload::Workload;
use std::path::Path;

/// How pktgen is told, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "pktgen",
    program: |_| "sh",
    server_program: None,
    runs: Runs::Generator(&GENERATOR),
    package: "dash",
    kinds: &[Workload::Packets],
    takes: &["length", "bitrate", "mac", "i_know"],
    port: PORT,
    server: |_, _| Vec::new(),
    client: |_, _, _| Vec::new(),
    client_words: &[],
    server_words: &[],
    reach: |_, _| Vec::new(),
};

static GENERATOR: Generator = Generator {
    words,
    told,
    version,
    asked_version: &[],
    places_itself: false,
    bursts_by_second: false,
    leaves: Leaves::Nothing,
    frame_bytes_max: FRAME_BYTES_MAX,
    lacks,
};

const FILES: &str = "/proc/net/pktgen";

fn lacks() -> Option<Lack> {
    let (what, hint) = ("this kernel has no pktgen", "modprobe pktgen");
    (!Path::new(FILES).is_dir()).then_some(Lack { what, hint })
}

/// What the shell runs: $1 the kernel's thread, $2 the interface, and then lines of the interface's
/// file. A thread that has interfaces already is somebody else's.
const SCRIPT: &str = r#"
cd /proc/net/pktgen || exit
cat pgctrl
thread=$1 device=$2
shift 2
if grep -q '^\(Running\|Stopped\): *[^ ]' "$thread"; then
  echo "$thread is in use: echo rem_device_all > $PWD/$thread"
  exit 1
fi
trap : INT
echo "add_device $device" >"$thread" || exit
for line; do echo "$line" >"$device" || { echo "refused: $line"; exit 1; }; done
echo start >pgctrl
sleep 0.2
cat "$device"
echo rem_device_all >"$thread"
"#;

fn words(order: &Order<'_>) -> Vec<String> {
    let Order { interface, from_mac, to_mac, from, to, cpu, .. } = order;
    let mut lines = vec![
        "count 0".to_owned(),
        "clone_skb 0".to_owned(),
        format!("pkt_size {}", order.frame_bytes.saturating_sub(FCS_BYTES)),
        format!("src_mac {from_mac}"),
        format!("dst_mac {to_mac}"),
        format!("src_min {from}"),
        format!("src_max {from}"),
        format!("dst_min {to}"),
        format!("dst_max {to}"),
        format!("udp_src_min {PORT}"),
        format!("udp_src_max {PORT}"),
        format!("udp_dst_min {PORT}"),
        format!("udp_dst_max {PORT}"),
    ];
    lines.push(order.rate.map_or("delay 0".to_owned(), |rate| format!("ratep {rate}")));
    let mut all = ["-c", SCRIPT, "sh"].map(str::to_owned).to_vec();
    all.extend([format!("kpktgend_{cpu}"), (*interface).to_owned()]);
    all.extend(lines);
    all
}

/// `Result: OK: 2000123(c1999000+d1123) usec, 3000000 (60byte,0frags)`
fn told(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once("Result: OK: ")?;
    let (_, rest) = rest.split_once(" usec, ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `Packet Generator for packet performance testing. Version: 2.75`
fn version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("performance testing. Version: ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::generators::order_of_test;

    #[test]
    fn its_files_are_told_frames_and_rate() {
        let told = |rate| words(&order_of_test(64, rate))[3..].join("; ");
        let wanted = "kpktgend_3; eth1; count 0; clone_skb 0; pkt_size 60; \
                      src_mac 02:00:00:00:00:01; dst_mac 02:00:00:00:00:02; src_min 198.51.100.1; \
                      src_max 198.51.100.1; dst_min 198.51.100.2; dst_max 198.51.100.2; \
                      udp_src_min 9; udp_src_max 9; udp_dst_min 9; udp_dst_max 9; ";
        assert_eq!(told(None), format!("{wanted}delay 0"));
        assert_eq!(told(Some(20_000.0)), format!("{wanted}ratep 20000"));
    }

    #[test]
    fn its_result_is_read_and_a_stop_before_it_is_none() {
        let text = "Packet Generator for packet performance testing. Version: 2.75\n\
            Params: count 0  min_pkt_size: 60  max_pkt_size: 60\n\
            Result: OK: 2000123(c1999000+d1123) usec, 3000017 (60byte,0frags)\n\
            \x20 1499916pps 719Mb/sec (719959680bps) errors: 3\n";
        assert_eq!((told(text), version(text).as_deref()), (Some(3_000_017), Some("2.75")));
        assert_eq!(told("Params: count 0\nResult: Idle\n"), None);
    }
}
