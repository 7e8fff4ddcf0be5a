//! trafgen of netsniff-ng: frames in a ring that the kernel shares (PACKET_TX_RING), past the
//! queueing discipline; with a rate a system call for each.

use super::generators::{Generator, Leaves, Order, PORT};
use super::{Engine, Runs};
use narrows_model::packets::{FCS_BYTES, FRAME_BYTES_MAX, HEADER_BYTES};
use narrows_model::workload::Workload;

/// How trafgen is called, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "trafgen",
    program: |_| "trafgen",
    server_program: None,
    runs: Runs::Generator(&GENERATOR),
    package: "netsniff-ng",
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
    asked_version: &["--version"],
    // It binds its first process to CPU 0.
    places_itself: true,
    bursts_by_second: true,
    leaves: Leaves::Nothing,
    frame_bytes_max: FRAME_BYTES_MAX,
    lacks: || None,
};

/// One process; neither the kernel's socket memory nor the NIC's interrupts are touched.
fn words(order: &Order<'_>) -> Vec<String> {
    let Order { from_mac, to_mac, from, to, .. } = order;
    let filling = order.frame_bytes.saturating_sub(HEADER_BYTES + FCS_BYTES);
    let packet = format!(
        "{{ eth(sa={from_mac}, da={to_mac}), ipv4(saddr={from}, daddr={to}, ttl=1), \
         udp(sp={PORT}, dp={PORT}), fill(0, {filling}) }}"
    );
    let mut all = ["--dev", order.interface, "--cpus", "1", "--no-sock-mem", "--notouch-irq"]
        .map(str::to_owned)
        .to_vec();
    all.extend(order.rate.iter().flat_map(|rate| ["--rate".to_owned(), format!("{rate}pps")]));
    // It has room for 2048 bytes otherwise.
    all.extend((order.frame_bytes > 2048).then(|| "--jumbo-support".to_owned()));
    all.push(packet);
    all
}

/// `931328 packets outgoing`, the sum of its processes.
fn told(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_suffix(" packets outgoing"));
    lines.find_map(|number| number.parse().ok())
}

/// `trafgen 0.6.8 (Flutternozzle), Git id: (none)`
fn version(text: &str) -> Option<String> {
    let mut words = text.lines().next()?.strip_prefix("trafgen ")?.split_whitespace();
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::generators::order_of_test;

    #[test]
    fn it_is_told_frames_and_rate_and_nothing_of_the_host() {
        let words = |bytes, rate| words(&order_of_test(bytes, rate)).join(" ");
        let around = "--dev eth1 --cpus 1 --no-sock-mem --notouch-irq";
        let packet = "{ eth(sa=02:00:00:00:00:01, da=02:00:00:00:00:02), \
                      ipv4(saddr=198.51.100.1, daddr=198.51.100.2, ttl=1), udp(sp=9, dp=9), ";
        assert_eq!(words(64, None), format!("{around} {packet}fill(0, 18) }}"));
        let paced = format!("{around} --rate 20000pps {packet}fill(0, 1472) }}");
        assert_eq!(words(1518, Some(20_000.0)), paced);
        let jumbo = format!("{around} --jumbo-support {packet}fill(0, 8972) }}");
        assert_eq!(words(9018, None), jumbo);
    }

    #[test]
    fn what_it_says_is_read_where_it_says_it() {
        let text = "     1 packets to schedule\n    60 bytes in total\nRunning! Hang up with ^C!\n\n\
                    \x20     931328 packets outgoing\n    55879680 bytes outgoing\n\
                    \x20          1 sec, 991932 usec on CPU0 (931328 packets)\n";
        assert_eq!(told(text), Some(931_328));
        assert_eq!(told("     1 packets to schedule\n"), None);
        let version = version("trafgen 0.6.8 (Flutternozzle), Git id: (none)\nmultithreaded\n");
        assert_eq!(version.as_deref(), Some("0.6.8"));
    }
}
