//! The command line of direct measurements.

use super::{OutArgs, seconds};
use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_plan::{BackgroundLoad, Seat, Where};
use narrows_run::launch::container::Container;
use narrows_workloads::harness::socket::Wait;
use narrows_workloads::{tcp, udp};
use std::path::PathBuf;

/// Options of every direct measurement.
#[derive(ClapArgs)]
pub struct DirectArgs {
    /// Name or address of the host that runs `narrows serve`; several measure at the same time, and
    /// share one key
    #[arg(value_name = "HOST", required = true, num_args = 1..=64)]
    pub hosts: Vec<String>,
    /// Port of the agent; without it 7471, and 5201 with --iperf3
    #[arg(long, short = 'p')]
    pub port: Option<u16>,
    /// The agent's key; better given in the environment, where `ps` does not show it, or in a file
    #[arg(long, env = "NARROWS_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
    /// File that holds the key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The host runs `iperf3 -s` in place of an agent: it needs no key, and tells less
    #[arg(long, conflicts_with_all = ["key_file", "rr", "bidirectional", "verify"])]
    pub iperf3: bool,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "1.5", value_parser = seconds)]
    pub seconds: f64,
    /// Seconds before those, which do not count: 0.5, against an iperf3 server 1 (TCP). A slow or
    /// lossy path needs more, until TCP has found its rate
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds)]
    pub warm_up: Option<f64>,
    /// Length of the slices that bytes are reported for (--json-stream, --format iperf3), in
    /// seconds as with iperf, or with a unit: 1, 0.1, 10ms; what reading them cost is reported
    #[arg(long, short = 'i', value_name = "SECONDS", value_parser = interval_ms)]
    pub interval: Option<u32>,
    /// Runs; six are the least for a 95 % interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Parallel flows
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: u32,
    /// Socket buffer to ask for (K, M, G are powers of two); without it the system's own sizing
    #[arg(long, short = 'w', value_name = "SIZE")]
    pub window: Option<Bytes>,
    /// CPUs to pin to here and at the peer, as LOCAL,REMOTE; each a CPU, a range such as 0-3,
    /// a list such as 0+2+4-7, node:N, nic (the node of the NIC), or other-node; the second may be
    /// same-core. Each flow's thread is bound to one of them; with /all (node:0/all) to the whole
    /// set
    #[arg(long, short = 'A', value_name = "LOCAL,REMOTE", value_parser = affinity)]
    pub affinity: Option<(Seat, Seat)>,
    /// CPUs that this host's NIC is to send its interrupts to, as WHERE of --affinity; put back
    /// afterwards, however it ends
    #[arg(long, value_name = "WHERE")]
    pub irq: Option<Where>,
    /// Nodes that the buffers of messages are taken from, here and at the peer; a dash leaves it to
    /// the kernel
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = nodes)]
    pub memory_node: Option<(Option<u32>, Option<u32>)>,
    /// How threads of both ends wait for bytes
    #[arg(long, value_name = "HOW", default_value = "block",
        value_parser = PossibleValuesParser::new(Wait::ALL.map(Wait::name)))]
    pub wait: String,
    /// Differentiated services code point of all packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=63))]
    pub dscp: Option<u8>,
    /// Own address or interface that data connections leave from
    #[arg(long, short = 'B', value_name = "ADDRESS|DEVICE")]
    pub bind: Option<String>,
    /// Use IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6')]
    pub ipv6: bool,
    /// Run inside this network namespace: a name of `ip netns`, a process id, or a path
    #[arg(long, value_name = "NAME")]
    pub netns: Option<String>,
    /// Run this host's end in a container: bwrap, or podman:IMAGE
    #[arg(long = "in", value_name = "bwrap|podman:IMAGE")]
    pub inside: Option<Container>,
    /// Network of that container, as podman names it
    #[arg(long, value_name = "NAME", default_value = "host", requires = "inside")]
    pub container_net: String,
    /// The peer sends, this host receives; with several peers a fan-in
    #[arg(long, short = 'R', visible_alias = "fan-in")]
    pub reverse: bool,
    /// As many flows more, the other way, at the same time
    #[arg(long, visible_alias = "bidir", conflicts_with = "reverse")]
    pub bidirectional: bool,
    /// Compare every byte that arrives with what was sent
    #[arg(long)]
    pub verify: bool,
    /// Round trips, one outstanding a flow, instead of a stream
    #[arg(long, conflicts_with_all = ["reverse", "bidirectional", "verify"])]
    pub rr: bool,
    /// Bytes of each response; without it those of the request
    #[arg(long, value_name = "SIZE", requires = "rr")]
    pub response: Option<Bytes>,
    /// Open loop: so many requests a second over all flows, each timed from when it was due
    #[arg(long, value_name = "N", requires = "rr")]
    pub per_second: Option<u64>,
    /// Pace of all flows of a direction together in bits per second (K, M, G are powers of ten; 0
    /// is unlimited); TCP is paced by the kernel
    #[arg(long, short = 'b', value_name = "RATE", default_value = "0", conflicts_with = "rr")]
    pub bitrate: BitsPerSecond,
    /// Background load: a memory kernel on this host from before each run until both ends are done,
    /// such as copy:2, read:4@node:1 or, over the link between sockets, read:4@node:0/memory:1; its
    /// rate over the run is shown with the result
    #[arg(long, value_name = "KERNEL:THREADS[@WHERE][/memory:NODE]")]
    pub memory_load: Option<BackgroundLoad>,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Options of `tcp`.
#[derive(ClapArgs)]
pub struct TcpArgs {
    /// What is common.
    #[command(flatten)]
    pub direct: DirectArgs,
    /// Bytes of each write and read; without it 64K, and 64 for round trips
    #[arg(long, short = 'l', value_name = "SIZE")]
    pub length: Option<Bytes>,
    /// Connections made, used once and closed, instead of a stream
    #[arg(long, conflicts_with_all = ["length", "rr", "reverse", "bidirectional", "verify", "bitrate"])]
    pub connect: bool,
    /// Buffers of each end: hot (one message, over and over), cold (twice the larger last-level
    /// cache), or a size that all flows go through together
    #[arg(long, value_name = "HOT|COLD|SIZE", default_value = "hot", value_parser = span)]
    pub buffer: Span,
    /// The sink reads every byte once more on receipt
    #[arg(long)]
    pub touch: bool,
    /// How bytes are handed to the kernel
    #[arg(long, value_name = "HOW", default_value = "write",
        value_parser = PossibleValuesParser::new(tcp::senders::SENDERS.iter().map(|s| s.name)))]
    pub sender: String,
    /// How bytes are taken from the kernel; truncate drops them there, splice moves them away
    /// unseen
    #[arg(long, value_name = "HOW", default_value = "recv",
        value_parser = PossibleValuesParser::new(tcp::receivers::RECEIVERS.iter().map(|r| r.name)))]
    pub receiver: String,
    /// The same as --receiver truncate: beside an ordinary run it tells the price of the copy
    #[arg(long, conflicts_with = "receiver")]
    pub truncate: bool,
    /// Measure with and without the copy to the program in turn, and tell its share of CPU time
    #[arg(long, conflicts_with_all = ["truncate", "receiver", "rr", "connect", "touch", "verify", "iperf3", "bidirectional"])]
    pub copy_share: bool,
    /// Largest segment to ask for
    #[arg(long, short = 'M', value_name = "BYTES")]
    pub mss: Option<u32>,
    /// Switch Nagle's algorithm, which waits for more to send, on or off; without it on for streams
    /// and off for round trips
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    pub nagle: Option<String>,
    /// Congestion control to ask for; what was in use is read back
    #[arg(long, short = 'C', value_name = "NAME")]
    pub congestion: Option<String>,
}

/// Options of `udp`.
#[derive(ClapArgs)]
pub struct UdpArgs {
    /// What is common.
    #[command(flatten)]
    pub direct: DirectArgs,
    /// Bytes of each datagram's payload; without it 1472, and 64 for round trips
    #[arg(long, short = 'l', value_name = "SIZE")]
    pub length: Option<Bytes>,
    /// How datagrams are handed to the kernel
    #[arg(long, value_name = "HOW", default_value = "send",
        value_parser = PossibleValuesParser::new(udp::senders::SENDERS.iter().map(|s| s.name)))]
    pub sender: String,
    /// How datagrams are taken from the kernel
    #[arg(long, value_name = "HOW", default_value = "recv",
        value_parser = PossibleValuesParser::new(udp::receivers::RECEIVERS.iter().map(|r| r.name)))]
    pub receiver: String,
}

/// Milliseconds of an interval: seconds without a unit, or `10ms`, `1s`.
pub(super) fn interval_ms(text: &str) -> Result<u32, String> {
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 1000.0),
        _ => (text, 1000.0),
    };
    let ms = number.trim().parse::<f64>().ok().map(|number| (number * scale).round());
    let ms = ms.filter(|ms| (1.0..=60_000.0).contains(ms)).map(|ms| ms as u32);
    ms.ok_or_else(|| format!("'{text}' is not 0.001 to 60 seconds, such as 1, 0.1 or 10ms"))
}

/// Span of an end's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One message a flow.
    Hot,
    /// Twice the larger last-level cache of the two hosts.
    Cold,
    /// So many bytes.
    Of(Bytes),
}

pub(super) fn span(text: &str) -> Result<Span, String> {
    match text {
        "hot" => Ok(Span::Hot),
        "cold" => Ok(Span::Cold),
        size => {
            size.parse().map(Span::Of).map_err(|_| format!("'{size}' is not hot, cold or a size"))
        }
    }
}

pub(super) fn affinity(text: &str) -> Result<(Seat, Seat), String> {
    let pair = text.split_once(',').ok_or_else(|| format!("'{text}' is not LOCAL,REMOTE"))?;
    Ok((pair.0.parse()?, pair.1.parse()?))
}

pub(super) fn nodes(text: &str) -> Result<(Option<u32>, Option<u32>), String> {
    let pair = text.split_once(',').ok_or_else(|| format!("'{text}' is not LOCAL,REMOTE"))?;
    let node = |text: &str| match text.trim() {
        "-" => Ok(None),
        number => {
            number.parse().map(Some).map_err(|_| format!("'{number}' is no node, nor a dash"))
        }
    };
    Ok((node(pair.0)?, node(pair.1)?))
}

#[cfg(test)]
mod tests {
    use super::interval_ms;

    #[test]
    fn intervals_are_seconds_unless_they_say_otherwise() {
        let told = ["1", "0.1", "10ms", "2s", "1ms", "60"].map(interval_ms);
        assert_eq!(told, [1000, 100, 10, 2000, 1, 60_000].map(Ok));
        for wrong in ["", "0", "0.0001", "61", "-1", "nan", "inf", "1m", "ms"] {
            assert!(interval_ms(wrong).is_err(), "{wrong}");
        }
    }
}
