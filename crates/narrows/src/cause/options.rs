//! Command lines that ask for what does not go together, or is not there.

use super::Cause;

impl Cause {
    /// A manual page of no command.
    pub const NO_PAGE: Self = Self::usage("`narrows --help` lists the commands");
    /// An order that makes no sense.
    pub const ORDER: Self = Self::usage("see `narrows help`");
    /// A network of its own for what has the host's.
    pub const HOSTS_NETWORK: Self =
        Self::usage("leave --container-net out, or run an image: --in podman:IMAGE");
    /// A network namespace that is not there.
    pub const NO_NAMESPACE: Self =
        Self::usage("`ip netns list` has their names; a process id or a path will do too");
    /// A user that this host does not have.
    pub const NO_USER: Self = Self::usage("name a user of this host: `getent passwd` lists them");
    /// A journal of another boot or network namespace.
    pub const ELSEWHERE: Self = Self::usage(
        "go where it was applied (`nsenter --net=FILE`, `ip netns exec NAME`); after a reboot, or \
         where that namespace is gone, remove the journal",
    );
    /// Beyond what a workload can be told.
    pub const LIMIT: Self = Self::usage(
        "`narrows help tcp`, `udp`, `rdma`, `mem` and `packets` have the limits of their options",
    );
    /// Raw packets to another host without what the user must say.
    pub const RAW_PACKETS: Self = Self::usage(
        "raw senders need --nic and --rate with a HOST, and raw receivers there --peer-nic; \
         `narrows help packets` has the others",
    );
    /// Interfaces of packets that are neither toward a host nor two ports of this one.
    pub const PORTS: Self = Self::usage(
        "`narrows host` lists the interfaces; two ports need a cable from one to the other",
    );
    /// Interfaces that an agent cannot lend.
    pub const LENDS: Self = Self::usage(
        "--packets lends Ethernet interfaces of this host; `narrows host --table nic` lists them",
    );
    /// A tool without a server, whose server an agent is to lend.
    pub const LENDS_NO_TOOL: Self = Self::usage(
        "leave it out, studies run it without: ranks of MPI are started by their launcher, and what \
         generators of packets send is counted where it comes",
    );
    /// An outside generator that was told what it cannot do.
    pub const GENERATOR: Self = Self::usage(
        "trafgen and pktgen keep a --rate, testpmd goes as fast as it can; all send between \
         namespaces of this host, or from one of its ports to another",
    );
    /// A search for a rate without the highest one.
    pub const SEARCH_RATE: Self = Self::usage("name it: --rate 1M, or that of the link: 14.88M");
    /// Bursts with a rate of their own.
    pub const BURST_RATE: Self =
        Self::usage("leave --rate out, or say --rate max, as raw frames to a host need it");
    /// Several hosts for what is measured with one.
    pub const ONE_HOST: Self = Self::usage("name one host");
    /// What an agent of narrows would have to answer, asked of another tool's server.
    pub const NO_AGENT: Self =
        Self::usage("run `narrows serve` at the other side, and leave --iperf3 out");
    /// A set of hosts that cannot be read, or names too few.
    pub const HOST_SET: Self =
        Self::usage("name each host once, as n1 n2 or n[1-8]; `narrows help mesh` has examples");
    /// Hosts that a pattern of traffic is not of, or what it leaves no room for.
    pub const PATTERN: Self = Self::usage(
        "name each host once, by an address that the others reach; `narrows help tcp` has the \
         patterns",
    );
    /// A host for a study whose file names them.
    pub const PEERS: Self =
        Self::usage("leave --peer out, or leave `peers` out of the study's file");
    /// Phases that are longer, or requests that are more, than a run has room for.
    pub const PHASES: Self =
        Self::usage("give fewer seconds to each phase (-t), or more time between requests (-i)");
    /// Several files for what is done with one.
    pub const ONE_FILE: Self = Self::usage("name one file");
    /// A place that a host does not have, or that is not known of it.
    pub const NO_PLACE: Self =
        Self::usage("see `narrows host` on both hosts for their nodes and CPUs");
    /// An RDMA device that this host does not have.
    pub const NO_DEVICE: Self = Self::usage("`narrows host --table rdma` lists the RDMA devices");
    /// A time that is too short for what is to be measured in it.
    pub const NO_TIME: Self =
        Self::usage("give more --minutes, or ask for fewer and shorter runs in them");
    /// A place on a host that does not describe itself.
    pub const UNKNOWN_PLACE: Self = Self::usage("name its CPUs by number");
    /// Interrupts that cannot be moved, because there are none of the NIC alone.
    pub const NO_INTERRUPTS: Self = Self::usage("see `narrows host --table nic`");
    /// Memory that cannot be measured as asked.
    pub const NO_MEMORY: Self = Self::usage("see `narrows help mem`, and `narrows host`");
    /// A setting on which there is no advice.
    pub const NO_ADVICE: Self = Self::usage("`narrows tune` without --setting prints the names");

    /// No study file where they are looked for.
    pub const NO_FILES: Self = Self::usage("name folders or files that narrows wrote (*.narrows)");
    /// A study that counted nothing of a root complex.
    pub const NO_ROOT_LINES: Self = Self::usage(
        "name a study of `narrows neighbours HOST` over RDMA or packets, run where the counters of \
         root complexes may be read: `narrows report FILE -v` says why they were not",
    );
    /// Nothing of one side of a comparison is on the other.
    pub const NOTHING_IN_COMMON: Self =
        Self::usage("cells are matched by workload, parameters and levels");
    /// A comparison of one side.
    pub const ONE_SIDE: Self = Self::usage("name two files, or --split, or --before and --after");
    /// A cell that the study does not have.
    pub const NO_CELL: Self = Self::usage("name one of its cells, as `narrows report` prints them");

    /// A server that cannot be predicted as it is described.
    pub const NO_PREDICTION: Self =
        Self::usage("docs/predict.md lists the keys, and what each can be");
    /// Memory, a rate or a family that nobody told.
    pub const NO_SERVER_KNOWN: Self = Self::usage(
        "docs/predict.md lists the keys; `--calibrate FILE`, a file of `narrows check`, stands in \
         for the modules",
    );
    /// A server of a table that cannot be judged as it is described.
    pub const NO_SERVER: Self = Self::usage("--set KEY=VALUE takes the keys of docs/predict.md");
    /// A format that a table of servers does not have.
    pub const SERVERS_FORMAT: Self = Self::usage("leave --format out for a table to read");
    /// A search that has no bounds, or too many modules.
    pub const NO_SEARCH: Self =
        Self::usage("see `narrows help predict`, and `narrows host --table memory` for the slots");
    /// A fabric that cannot be built as it is asked for.
    pub const NO_FABRIC: Self = Self::usage(
        "see `narrows help fabric`; `narrows fabric --list` has the switches that are known",
    );
    /// A published table that cannot be read.
    pub const NO_TABLE: Self = Self::usage("docs/validate.md has the fields of published tables");
}
