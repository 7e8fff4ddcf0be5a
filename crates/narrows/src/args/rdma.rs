//! The command line of RDMA measurements. The letters are those of perftest, where it has one.

use super::direct::{self, DirectArgs, Span};
use super::{OutArgs, seconds};
use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::workload::RdmaVerb;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_plan::Seat;
use std::path::PathBuf;

/// One of the names that the parser before has let through.
fn verb(name: String) -> Result<RdmaVerb, String> {
    RdmaVerb::named(&name).ok_or_else(|| format!("'{name}' is no verb"))
}

/// Options of `rdma`.
#[derive(ClapArgs)]
pub struct RdmaArgs {
    /// Name or address of the host that runs `narrows serve`; several measure at the same time
    #[arg(value_name = "HOST", required_unless_present = "list", num_args = 1..=64)]
    pub hosts: Vec<String>,
    /// Show every device, port and identifier of this host, and what other programs need to select
    /// one; measures nothing
    #[arg(long, conflicts_with = "hosts")]
    pub list: bool,
    /// What is asked of the other end's NIC; write-imm tells its program, send needs its program
    #[arg(long, value_name = "VERB", default_value = "write",
        value_parser = PossibleValuesParser::new(RdmaVerb::ALL.map(RdmaVerb::name)).try_map(verb))]
    pub verb: RdmaVerb,
    /// Round trips, one message under way on each queue pair, instead of bandwidth
    #[arg(long, visible_alias = "rr", conflicts_with_all = ["bidirectional", "verify", "reverse"])]
    pub latency: bool,
    /// Library: queue pairs of verbs, or endpoints of libfabric (write, read, tagged send)
    #[arg(long, value_name = "LIBRARY", default_value = "verbs", value_parser = ["verbs", "libfabric"])]
    pub via: String,
    /// Provider of libfabric, such as tcp, shm, verbs, efa, opx, psm3, cxi; without it the
    /// library's first. tcp and shm do in software what NICs do elsewhere
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Port of the agent
    #[arg(long, short = 'p', value_name = "PORT")]
    pub port: Option<u16>,
    /// The agent's key; better given in the environment, where `ps` does not show it, or in a file
    #[arg(long, env = "NARROWS_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
    /// File that holds the key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Device here, and after a comma at the peer; without it the one that has the end's address
    #[arg(long, short = 'd', value_name = "LOCAL[,REMOTE]")]
    pub device: Option<String>,
    /// Port of the device, from 1; without it the first that is up
    #[arg(long, short = 'i', value_name = "N")]
    pub ib_port: Option<u8>,
    /// Place in the table of identifiers, here and after a comma at the peer; without it the end's
    /// own address, over RoCE v2 before v1
    #[arg(long, short = 'x', value_name = "LOCAL[,REMOTE]")]
    pub gid_index: Option<String>,
    /// Connect through the connection manager; iWARP knows no other way and needs no word
    #[arg(long, short = 'R')]
    pub rdma_cm: bool,
    /// Service: reliable connection, unreliable connection, unreliable datagrams
    #[arg(long, short = 'c', value_name = "NAME", default_value = "rc",
        value_parser = ["rc", "uc", "ud"], ignore_case = true)]
    pub service: String,
    /// Queue pairs, each with a thread of its own
    #[arg(long, short = 'q', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_pairs: u32,
    /// Bytes of each message; without it 64K, 64 for round trips, and 8 for atomic
    /// operations, which have no others
    #[arg(long, short = 's', value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// All sizes from 2 bytes to 8 MiB, each twice the one before
    #[arg(long, short = 'a', conflicts_with = "size")]
    pub all: bool,
    /// Seconds that count in each run
    #[arg(long, short = 'D', value_name = "SECONDS", default_value = "1.5", value_parser = seconds)]
    pub seconds: f64,
    /// Seconds before those, which do not count
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warm_up: Option<f64>,
    /// Runs; six are the least for a 95 % interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Requests under way on a queue pair; without it 128, and less where they hold more than 25
    /// MiB
    #[arg(long, short = 'T', value_name = "N")]
    pub depth: Option<u32>,
    /// Requests posted with one call; without it 1
    #[arg(long, short = 'l', value_name = "N")]
    pub post_list: Option<u32>,
    /// Every how many requests one is to be heard of; without it a quarter of the depth, and a
    /// sixteenth of it for messages beyond 8 KiB
    #[arg(long, short = 'Q', value_name = "N")]
    pub signal_every: Option<u32>,
    /// Messages up to so many bytes are copied into the request; without it 0, and 64 for round
    /// trips where the device takes it
    #[arg(long, short = 'I', value_name = "BYTES")]
    pub inline: Option<u32>,
    /// Largest packet: 256, 512, 1024, 2048, 4096; without it that of the port
    #[arg(long, short = 'm', value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Service level (InfiniBand)
    #[arg(long, short = 'S', value_name = "N", value_parser = clap::value_parser!(u8).range(0..=15))]
    pub service_level: Option<u8>,
    /// Traffic class (RoCE)
    #[arg(long, value_name = "N")]
    pub traffic_class: Option<u8>,
    /// Threads sleep until something completes, instead of looking all the time
    #[arg(long, short = 'e')]
    pub events: bool,
    /// As many queue pairs more, the other way, at the same time
    #[arg(long, short = 'b', visible_alias = "bidir", conflicts_with = "reverse")]
    pub bidirectional: bool,
    /// The peer asks, this host answers
    #[arg(long)]
    pub reverse: bool,
    /// Compare what arrives with what was sent
    #[arg(long)]
    pub verify: bool,
    /// Buffers of each end: hot (one message, over and over), cold (twice the larger last-level
    /// cache), or a size that all queue pairs go through together
    #[arg(long, value_name = "HOT|COLD|SIZE", default_value = "hot", value_parser = direct::span)]
    pub buffer: Span,
    /// Pages of the buffers: 4K, transparent, 2M, 1G
    #[arg(long, value_name = "SIZE", value_parser = ["4K", "transparent", "2M", "1G"])]
    pub pages: Option<String>,
    /// The NIC's writes to memory may pass each other on PCIe
    #[arg(long)]
    pub relaxed_ordering: bool,
    /// CPUs to pin to here and at the peer, as LOCAL,REMOTE; see `narrows help tcp`
    #[arg(long, short = 'A', value_name = "LOCAL,REMOTE", value_parser = direct::affinity)]
    pub affinity: Option<(Seat, Seat)>,
    /// Nodes that the buffers are taken from, here and at the peer; a dash leaves it to the kernel
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = direct::nodes)]
    pub memory_node: Option<(Option<u32>, Option<u32>)>,
    /// Use IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6')]
    pub ipv6: bool,
    /// Own address that connections leave from
    #[arg(long, short = 'B', value_name = "ADDRESS")]
    pub bind: Option<String>,
    /// Run inside this network namespace: a name of `ip netns`, a process id, or a path
    #[arg(long, value_name = "NAME")]
    pub netns: Option<String>,
    /// Background load: a memory kernel on this host from before each run until both ends are done,
    /// such as copy:2, read:4@node:1 or, over the link between sockets, read:4@node:0/memory:1
    #[arg(long, value_name = "KERNEL:THREADS[@WHERE][/memory:NODE]")]
    pub memory_load: Option<narrows_plan::BackgroundLoad>,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

impl RdmaArgs {
    /// What every direct measurement is told.
    pub fn direct(&self) -> DirectArgs {
        DirectArgs {
            hosts: self.hosts.clone(),
            port: self.port,
            key: self.key.clone(),
            key_file: self.key_file.clone(),
            iperf3: false,
            seconds: self.seconds,
            warm_up: self.warm_up,
            interval: None,
            repeats: self.repeats,
            parallel: self.queue_pairs,
            window: None,
            affinity: self.affinity.clone(),
            irq: None,
            memory_node: self.memory_node,
            // A stream sleeps unless told otherwise, as all do; RDMA looks.
            wait: if self.events { "block" } else { "spin" }.to_owned(),
            dscp: None,
            bind: self.bind.clone(),
            ipv4: self.ipv4,
            ipv6: self.ipv6,
            netns: self.netns.clone(),
            inside: None,
            container_net: "host".to_owned(),
            reverse: self.reverse,
            bidirectional: self.bidirectional,
            verify: self.verify,
            rr: self.latency,
            response: None,
            per_second: None,
            bitrate: BitsPerSecond(0.0),
            memory_load: self.memory_load.clone(),
            out: self.out.clone(),
        }
    }
}
