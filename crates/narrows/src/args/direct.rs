//! The command line of direct measurements.

use super::table::{CommandOptions, Packets, Rdma, Tcp, Udp};
use super::untaken::Untaken;
use super::{KeyArgs, OutArgs, repeats};
use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::Nanos;
use narrows_model::container::Container;
use narrows_model::packets::{BURST_FRAMES_MAX, FRAME_BYTES_MAX, FRAME_BYTES_MIN, PacketRate};
use narrows_model::workload::RdmaVerb;

/// Who is measured, how often, from where, and where results go: of every direct measurement.
#[derive(ClapArgs, Clone)]
pub struct PeerArgs {
    /// Name or address of the host that runs `narrows serve`, or ssh:[USER@]HOST (or --ssh
    /// [USER@]HOST) to bring an agent there for as long as this command runs; several measure at
    /// the same time, and share one key
    #[arg(value_name = "HOST", required = true, num_args = 1..=64)]
    pub hosts: Vec<String>,
    /// Port of the agent; without it 7471, and 5201 with --iperf3
    #[arg(long, short = 'p')]
    pub port: Option<u16>,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Runs; six are the least for a 95 % interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = repeats())]
    pub repeats: u32,
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
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

/// The slices of a run's window.
#[derive(ClapArgs)]
pub struct SliceArgs {
    /// Print the rate of each slice of this length as it ends: 1, 0.1, 10ms, in seconds without a
    /// unit; no oftener than every 0.1 s. Bytes are stored by these slices too (--json-stream,
    /// --format iperf3)
    #[arg(long, short = 'i', value_name = "SECONDS", value_parser = interval)]
    pub interval: Option<Nanos>,
}

/// What only measurements over sockets have.
#[derive(ClapArgs)]
pub struct SocketArgs {
    /// The host runs `iperf3 -s` in place of an agent: it needs no key, and reports less
    #[arg(long, conflicts_with_all = ["key_file", "rr", "bidirectional", "verify"])]
    pub iperf3: bool,
    /// Slices of the window.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// Run this host's end in a container: bwrap, podman:IMAGE or docker:IMAGE
    #[arg(long = "in", value_name = "bwrap|podman:IMAGE")]
    pub inside: Option<Container>,
    /// Network of that container, as its tool names it
    #[arg(long, value_name = "NAME", default_value = "host", requires = "inside")]
    pub container_net: String,
    /// Round trips, one outstanding a flow, instead of a stream
    #[arg(long, conflicts_with_all = ["reverse", "bidirectional", "verify"])]
    pub rr: bool,
}

/// Options of `tcp`.
#[derive(ClapArgs)]
pub struct TcpArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// What only sockets have.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Options of the table.
    #[command(flatten)]
    pub told: CommandOptions<Tcp>,
    /// Connections made, used once and closed, instead of a stream
    #[arg(long, conflicts_with_all = ["length", "rr", "reverse", "bidirectional", "verify", "bitrate"])]
    pub connect: bool,
    /// Measure with and without the copy to the program in turn, and report its share of CPU time
    #[arg(long, conflicts_with_all = ["truncate", "receiver", "rr", "connect", "touch", "verify", "iperf3", "bidirectional"])]
    pub copy_share: bool,
    /// Also measure, in turn, what separates causes: a probe of the path (packet sizes,
    /// fragments, trains, handshakes), and of a stream the same with another congestion control
    #[arg(long)]
    pub explain: bool,
}

/// Options of `udp`.
#[derive(ClapArgs)]
pub struct UdpArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// What only sockets have.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Options of the table.
    #[command(flatten)]
    pub told: CommandOptions<Udp>,
    /// Also measure, in turn, what separates a rate limit from random loss: a probe of the
    /// path (packet sizes, fragments, handshakes), and a paced stream also at half of its pace
    #[arg(long)]
    pub explain: bool,
}

/// One of the names that the parser before has let through.
fn verb(name: String) -> Result<RdmaVerb, Untaken> {
    RdmaVerb::named(&name).ok_or_else(|| Untaken::unknown(&name, "verb"))
}

/// Options of `rdma`.
#[derive(ClapArgs)]
#[command(mut_arg("interval", |interval| interval.short(None)))]
#[command(mut_arg("hosts", |hosts| hosts.required(false).required_unless_present("list").help(
    "Name or address of the host that runs `narrows serve`; several measure at the same time")))]
#[command(mut_arg("port", |port| port.help("Port of the agent").value_name("PORT")))]
#[command(mut_arg("bind", |bind| bind.help("Own address that connections leave from")
    .value_name("ADDRESS")))]
pub struct RdmaArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// Show every device, port and identifier of this host, and what other programs need to select
    /// one; measures nothing
    #[arg(long, conflicts_with = "hosts")]
    pub list: bool,
    /// Operation on the other end's NIC; write-imm notifies its program, send needs its program
    #[arg(long, value_name = "VERB", default_value = "write",
        value_parser = PossibleValuesParser::new(RdmaVerb::ALL.map(RdmaVerb::name)).try_map(verb))]
    pub verb: RdmaVerb,
    /// Round trips, one outstanding message on each queue pair, instead of bandwidth
    #[arg(long, visible_alias = "rr", conflicts_with_all = ["bidirectional", "verify", "reverse"])]
    pub latency: bool,
    /// Slices of the window.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// All sizes from 2 bytes to 8 MiB, each twice the one before
    #[arg(long, short = 'a', conflicts_with = "size")]
    pub all: bool,
    /// Options of the table.
    #[command(flatten)]
    pub told: CommandOptions<Rdma>,
}

/// Options of `packets`.
#[derive(ClapArgs)]
#[command(mut_arg("hosts", |hosts| hosts.required(false).help(
    "Name or address of the host that runs `narrows serve`; without one, between two namespaces of \
     this host")))]
#[command(mut_arg("port", |port| port.help("Port of the agent").value_name("PORT")))]
pub struct PacketsArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// Interface that packets leave from; raw senders (xdp, af-xdp, ring) send on no other, and to
    /// the peer's MAC address alone. Two ports of this host, eth0,eth1, that a cable joins send to
    /// each other at once, without HOST
    #[arg(long, value_name = "IF", conflicts_with = "bind")]
    pub nic: Option<String>,
    /// What the verdict on the wire's rate needs and cannot read of --nic, such as nic.gbps=10 or
    /// cpu.ghz=3.6: keys of `narrows predict --set`
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::study::said, requires = "nic")]
    pub set: Vec<(String, String)>,
    /// Slices of the window.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// What a search is told.
    #[command(flatten)]
    pub search: SearchArgs,
    /// Options of the table.
    #[command(flatten)]
    pub told: CommandOptions<Packets>,
}

/// Options of a search for a rate, or for a burst.
#[derive(ClapArgs)]
#[command(group(clap::ArgGroup::new("searched").args(["zero_loss", "back_to_back"])))]
pub struct SearchArgs {
    /// Search for the highest rate at which nothing is lost (the throughput of RFC 2544), up to
    /// --rate: each run's rate follows from those before, until the answer is sure; `narrows study
    /// resume` goes on with one that was stopped
    #[arg(long, requires = "rate", conflicts_with_all = ["bidirectional", "bitrate"])]
    pub zero_loss: bool,
    /// Search for the longest burst at full speed of which nothing is lost (RFC 9004), of at most
    /// so many frames
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(2..=BURST_FRAMES_MAX),
        conflicts_with_all = ["zero_loss", "bidirectional", "bitrate", "fail_if", "expect",
            "burst"])]
    pub back_to_back: Option<u64>,
    /// What the path carries without loss, as --zero-loss found it: the buffer that a burst shows
    /// is corrected by it
    #[arg(long, value_name = "N", requires = "back_to_back", value_parser = packet_rate)]
    pub throughput: Option<f64>,
    /// Share of a run's packets that may be lost, in per cent
    #[arg(long, value_name = "PERCENT", requires = "searched", default_value_t = 0.0)]
    pub loss: f64,
    /// How narrow the answer is to be, in per cent of it
    #[arg(long, value_name = "PERCENT", requires = "searched", default_value_t = 2.0)]
    pub resolution: f64,
    /// Runs of each search after which it is left undecided
    #[arg(long, value_name = "N", requires = "searched", default_value_t = 80)]
    pub runs_max: u32,
    /// Sizes of frames to search for one after the other; without it --length, or 64
    #[arg(long, value_name = "BYTES", requires = "searched", value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(FRAME_BYTES_MIN..=FRAME_BYTES_MAX))]
    pub sizes: Vec<u64>,
}

/// A rate of packets that is a number.
fn packet_rate(text: &str) -> Result<f64, Untaken> {
    match text.parse() {
        Ok(PacketRate::PerSecond(rate)) => Ok(rate),
        _ => Err(Untaken::form(text, "packets a second such as 1M")),
    }
}

/// An interval of whole milliseconds.
fn interval(text: &str) -> Result<Nanos, Untaken> {
    interval_ms(text).map(|ms| Nanos::from_millis(ms.into()))
}

/// Milliseconds of an interval: seconds without a unit, or `10ms`, `1s`.
pub(super) fn interval_ms(text: &str) -> Result<u32, Untaken> {
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 1000.0),
        _ => (text, 1000.0),
    };
    let ms = number.trim().parse::<f64>().ok().map(|number| (number * scale).round());
    let ms = ms.filter(|ms| (1.0..=60_000.0).contains(ms)).map(|ms| ms as u32);
    ms.ok_or_else(|| Untaken::form(text, "0.001 to 60 seconds, such as 1, 0.1 or 10ms"))
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
