//! Where the two ends run, what runs beside them, and what joins them.

use super::{Command, Declared, Flag, Form, Opt, Takes, Unset, fits};

const OLD: Declared = Declared { fits: fits::NETWORK, unset: Unset::Null, ..Declared::PLAIN };
const TCP_UDP: &[Command] = &[Command::Tcp, Command::Udp];
const RDMA: &[Command] = &[Command::Rdma];
const RDMA_PACKETS: &[Command] = &[Command::Rdma, Command::Packets];

/// CPUs of both ends, `LOCAL,REMOTE`.
pub static AFFINITY: Opt<String> = Opt::new(Declared {
    key: "affinity",
    takes: Takes::Text(Form::Places),
    help: "CPUs to pin to here and at the peer, as LOCAL,REMOTE; each a CPU, a range such as 0-3, \
           a list such as 0+2+4-7, node:N, nic (the node of the NIC), or other-node; the second \
           may be same-core; with --pattern sender=, receiver= or HOST= before each. Each flow's \
           thread is bound to one of them; with /all (node:0/all) to the whole set",
    flags: &[
        Flag { on: TCP_UDP, ..AFFINITY_FLAG },
        Flag {
            on: RDMA_PACKETS,
            help: Some(
                "CPUs to pin to here and at the peer, as LOCAL,REMOTE; see `narrows help tcp`",
            ),
            ..AFFINITY_FLAG
        },
    ],
    ..OLD
});

const AFFINITY_FLAG: Flag =
    Flag { long: "affinity", letter: Some('A'), value: "LOCAL,REMOTE", ..Flag::PLAIN };

/// Nodes of both ends' buffers, `LOCAL,REMOTE`.
pub static MEMORY_NODE: Opt<String> = Opt::new(Declared {
    key: "memory_node",
    takes: Takes::Text(Form::Nodes),
    help: "Nodes that the buffers of messages are taken from, here and at the peer; a dash leaves \
           it to the kernel; with --pattern sender=, receiver= or HOST= before each",
    flags: &[
        Flag { on: TCP_UDP, ..NODES_FLAG },
        Flag {
            on: RDMA,
            help: Some(
                "Nodes that the buffers are taken from, here and at the peer; a dash leaves it to \
                 the kernel",
            ),
            ..NODES_FLAG
        },
    ],
    ..OLD
});

const NODES_FLAG: Flag = Flag { long: "memory-node", value: "LOCAL,REMOTE", ..Flag::PLAIN };

/// Where this host's NIC sends its interrupts.
pub static IRQ: Opt<String> = Opt::new(Declared {
    key: "irq",
    takes: Takes::Text(Form::Place),
    help: "CPUs that this host's NIC is to send its interrupts to, as WHERE of --affinity; put \
           back afterwards, however it ends",
    flags: &[Flag { on: TCP_UDP, long: "irq", value: "WHERE", ..Flag::PLAIN }],
    unset: Unset::Left,
    ..OLD
});

/// A background load on this host.
pub static MEMORY_LOAD: Opt<String> = Opt::new(Declared {
    key: "memory_load",
    takes: Takes::Text(Form::BackgroundLoad),
    help: "Background load: a memory kernel on this host from before each run until both ends are \
           done, such as copy:2, read:4@node:1 or, over the link between sockets, \
           read:4@node:0/memory:1; its rate over the run is shown with the result",
    flags: &[
        Flag { on: TCP_UDP, ..LOAD_FLAG },
        Flag {
            on: RDMA,
            help: Some(
                "Background load: a memory kernel on this host from before each run until both \
                 ends are done, such as copy:2, read:4@node:1 or, over the link between sockets, \
                 read:4@node:0/memory:1",
            ),
            ..LOAD_FLAG
        },
    ],
    ..OLD
});

const LOAD_FLAG: Flag =
    Flag { long: "memory-load", value: "KERNEL:THREADS[@WHERE][/memory:NODE]", ..Flag::PLAIN };

/// MTU of the interface between the ends.
pub static MTU: Opt<u32> = Opt::new(Declared {
    key: "mtu",
    takes: Takes::Number(0, u32::MAX as u64),
    help: "MTU of the interface between the ends, which narrows sets and puts back",
    ..OLD
});

/// Patterns of traffic among several hosts.
pub const PATTERNS: &[&str] =
    &["pair", "fan-in", "fan-out", "half-in-half-out", "ring", "all-pairs"];

/// Who sends to whom among the hosts of a trial.
pub static PATTERN: Opt<String> = Opt::new(Declared {
    key: "pattern",
    takes: Takes::Word(PATTERNS),
    help: "The hosts send to each other, all at once, and this one carries no data: pair (the first \
           to the second, the third to the fourth), fan-in (to the first host), fan-out (from it), \
           half-in-half-out, ring or all-pairs; their owners name each other with `narrows serve \
           --peers`",
    flags: &[Flag {
        on: TCP_UDP,
        long: "pattern",
        value: "PATTERN",
        not_with: &["iperf3", "inside", "bind"],
        ..Flag::PLAIN
    }],
    unset: Unset::Left,
    ..OLD
});

/// What this host's end runs in.
pub static IN: Opt<String> = Opt::new(Declared {
    key: "in",
    takes: Takes::Text(Form::Any),
    help: "What this host's end runs in: host, bwrap, podman:IMAGE or docker:IMAGE",
    unset: Unset::Left,
    ..OLD
});

/// Network of the container.
pub static CONTAINER_NET: Opt<String> = Opt::new(Declared {
    key: "container_net",
    takes: Takes::Text(Form::Any),
    help: "Network of that container as its tool names it, such as bridge; without it the host's",
    unset: Unset::Left,
    ..OLD
});

/// Where the packets of this host's end leave from.
pub static BIND: Opt<String> = Opt::new(Declared {
    key: "bind",
    takes: Takes::Text(Form::Any),
    help: "Own address or interface that data connections leave from: which of this host's NICs is \
           measured",
    unset: Unset::Left,
    ..OLD
});
