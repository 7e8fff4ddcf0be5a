//! testpmd of DPDK in its txonly mode, over packet sockets (net_af_packet) or AF_XDP (net_af_xdp):
//! no device is taken from the kernel, no huge page is set aside, and nothing is left in /run.

use super::generators::{Generator, Leaves, Order, PORT};
use super::{Engine, Runs};
use narrows_model::packets::FCS_BYTES;
use narrows_model::workload::Workload;

/// Over packet sockets.
pub static ENGINE: Engine = engine("testpmd", &PACKET);
/// Over AF_XDP, by DPDK's driver.
pub static ENGINE_XDP: Engine = engine("testpmd-af-xdp", &XDP);

static PACKET: Generator = generator(|order| words("net_af_packet0", order), Leaves::Promiscuous);
static XDP: Generator = generator(|order| words("net_af_xdp0", order), Leaves::Program);

/// The largest frame without VLAN of a network that has no jumbo frames: one segment of DPDK's own
/// buffers, and of the packet socket's ring as its driver makes it.
const FRAME_BYTES_MAX: u64 = 1518;
/// Buffers of packets, and MiB of memory for them: no more than the two rings need.
const BUFFERS: &str = "16384";
const MEMORY_MIB: &str = "128";

const fn engine(name: &'static str, generator: &'static Generator) -> Engine {
    Engine {
        name,
        program: |_| "dpdk-testpmd",
        server_program: None,
        runs: Runs::Generator(generator),
        package: "dpdk-dev",
        kinds: &[Workload::Packets],
        // It has no rate of its own, and devices of this sort keep none for it.
        takes: &["length", "mac", "i_know"],
        port: PORT,
        server: |_, _| Vec::new(),
        client: |_, _, _| Vec::new(),
        client_words: &[],
        server_words: &[],
        reach: |_, _| Vec::new(),
    }
}

const fn generator(words: fn(&Order<'_>) -> Vec<String>, leaves: Leaves) -> Generator {
    Generator {
        words,
        told,
        version,
        asked_version: &[],
        places_itself: false,
        bursts_by_second: false,
        leaves,
        frame_bytes_max: FRAME_BYTES_MAX,
        lacks: || None,
    }
}

/// Its second thread sends, on the CPU that was asked for; the first one waits there. It prints
/// once a second, without which it would wait for a key.
fn words(device: &str, order: &Order<'_>) -> Vec<String> {
    let Order { interface, to_mac, from, to, cpu, .. } = order;
    let length = order.frame_bytes.saturating_sub(FCS_BYTES);
    let line = format!(
        "-v --no-huge -m {MEMORY_MIB} --no-pci --no-shconf --no-telemetry \
         --lcores=0@{cpu},1@{cpu} --vdev={device},iface={interface} -- \
         --total-num-mbufs={BUFFERS} --forward-mode=txonly \
         --eth-peer=0,{to_mac} --tx-ip={from},{to} --tx-udp={PORT},{PORT} --txpkts={length} \
         --stats-period=1 --auto-start"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// `TX-packets: 703712  TX-dropped: 0  TX-total: 703712` of its last words: packets that its driver
/// has taken, and those that it has not.
fn told(text: &str) -> Option<u64> {
    let (_, last) = text.rsplit_once("Accumulated forward statistics")?;
    let (_, rest) = last.split_once("TX-packets:")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `EAL: RTE Version: 'DPDK 22.11.11'`
fn version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("RTE Version: '")?;
    Some(rest.split('\'').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::generators::order_of_test;

    #[test]
    fn it_is_told_its_device_and_touches_no_other() {
        let wanted = "-v --no-huge -m 128 --no-pci --no-shconf --no-telemetry --lcores=0@3,1@3 \
                      --vdev=net_af_packet0,iface=eth1 -- --total-num-mbufs=16384 \
                      --forward-mode=txonly --eth-peer=0,02:00:00:00:00:02 \
                      --tx-ip=198.51.100.1,198.51.100.2 --tx-udp=9,9 --txpkts=60 --stats-period=1 \
                      --auto-start";
        let order = order_of_test(64, None);
        assert_eq!((PACKET.words)(&order).join(" "), wanted);
        let other = wanted.replace("net_af_packet0", "net_af_xdp0");
        assert_eq!((XDP.words)(&order).join(" "), other);
    }

    #[test]
    fn the_last_count_is_the_one_that_it_means() {
        let text = "EAL: RTE Version: 'DPDK 22.11.11'\n  TX-packets: 4128       TX-errors: 0\n\
            \x20 ---------------------- Forward statistics for port 0  -----\n\
            \x20 TX-packets: 703711         TX-dropped: 32            TX-total: 703743\n\
            \x20 +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++\n\
            \x20 RX-packets: 5              RX-dropped: 0             RX-total: 5\n\
            \x20 TX-packets: 703712         TX-dropped: 31            TX-total: 703743\n";
        assert_eq!((told(text), version(text).as_deref()), (Some(703_712), Some("DPDK 22.11.11")));
        let (early, _) = text.split_once("Accumulated").expect("its last words");
        assert_eq!(told(early), None, "a count on the way is none of the whole run");
    }
}
