//! What memory kernels can be told.

use super::{Command, Declared, Fits, Flag, Form, Kept, Opt, Takes, Unset, Value, fits};
use crate::Bytes;
use crate::workload::Workload;

const OLD: Declared = Declared { fits: fits::MEMORY, unset: Unset::Null, ..Declared::PLAIN };
const MEM: &[Command] = &[Command::Mem];

/// Threads of a kernel.
pub static THREADS: Opt<u32> = Opt::new(Declared {
    key: "threads",
    takes: Takes::Number(1, 1024),
    help: "Threads of a memory kernel",
    kept: Kept::Field {
        read: |params| {
            let kernel = params.working_set_bytes.0 > 0 || params.memory.is_some();
            kernel.then_some(Value::Number(params.streams.into()))
        },
        write: |params, value, _| {
            if let Value::Number(threads) = value {
                params.streams = *threads as u32;
            }
        },
    },
    ..OLD
});

/// Working set of a kernel over all its threads.
pub static SIZE: Opt<Bytes> = Opt::new(Declared {
    key: "size",
    takes: Takes::Size(0, u64::MAX),
    help: "Working set of a memory kernel over all its threads",
    flags: &[Flag {
        on: MEM,
        long: "size",
        value: "SIZE",
        help: Some(
            "Working set over all threads; without it four times the caches, within half of the \
             free memory",
        ),
        ..Flag::PLAIN
    }],
    kept: Kept::Field {
        read: |params| {
            let bytes = params.working_set_bytes;
            (bytes.0 > 0).then_some(Value::Size(bytes))
        },
        write: |params, value, _| {
            if let Value::Size(bytes) = value {
                params.working_set_bytes = *bytes;
            }
        },
    },
    ..OLD
});

/// Node of a kernel's CPUs.
pub static NODE: Opt<u32> = Opt::new(Declared {
    key: "node",
    takes: Takes::Number(0, u32::MAX as u64),
    help: "Node of a memory kernel's CPUs",
    flags: &[Flag {
        on: MEM,
        long: "node",
        value: "N",
        help: Some("Node whose CPUs run; without it that of the fastest NIC"),
        ..Flag::PLAIN
    }],
    ..OLD
});

/// Width of a kernel's loads and stores.
pub static VECTOR: Opt<String> = Opt::new(Declared {
    key: "vector",
    takes: Takes::Text(Form::Any),
    help: "Width of a memory kernel's loads and stores",
    flags: &[Flag {
        on: MEM,
        long: "vector",
        value: "NAME",
        help: Some(
            "Width of loads and stores; without it neon on ARM, else the widest there is up to avx2",
        ),
        takes: Some(Takes::Word(&["portable", "neon", "avx2", "avx512"])),
        ..Flag::PLAIN
    }],
    kept: Kept::Field {
        read: |params| params.memory.as_ref()?.vector.clone().map(Value::Text),
        write: |params, value, _| {
            params.memory.get_or_insert_default().vector = Some(value.to_string());
        },
    },
    ..OLD
});

/// Chains of pointers that the latency kernel follows side by side.
pub static CHAINS: Opt<u32> = Opt::new(Declared {
    key: "chains",
    takes: Takes::Number(1, 64),
    help: "Chains of pointers that one thread follows side by side; the time of a load is over all",
    fits: Fits { what: "the latency of memory", holds: |load| *load == Workload::MemoryLatency },
    kept: Kept::Key,
    shown: |value, _| Some(format!("{value} chains of pointers side by side")),
    capability: Some("chains"),
    ..Declared::PLAIN
});

/// Whether a kernel's memory is spread over all nodes.
pub static INTERLEAVE: Opt<bool> = Opt::new(Declared {
    key: "interleave",
    help: "Spread a memory kernel's buffers over all nodes with memory, page after page \
           (MPOL_INTERLEAVE)",
    flags: &[Flag {
        on: MEM,
        long: "interleave",
        not_with: &["memory_node", "matrix"],
        ..Flag::PLAIN
    }],
    fits: fits::MEMORY,
    kept: Kept::Key,
    shown: |_, _| Some("memory spread over all nodes".to_owned()),
    capability: Some("interleave"),
    ..Declared::PLAIN
});

/// Pages of a kernel's buffers.
pub static PAGES: Opt<String> = Opt::new(Declared {
    key: "pages",
    takes: Takes::Text(Form::Any),
    help: "Pages of a memory kernel's buffers",
    flags: &[Flag {
        on: MEM,
        long: "pages",
        value: "SIZE",
        help: Some(
            "Pages of the buffers; 2M and 1G must have been set aside (`narrows host --table \
             tuning`)",
        ),
        takes: Some(Takes::Word(super::rdma::PAGE_SIZES)),
        ..Flag::PLAIN
    }],
    kept: Kept::Field {
        read: |params| params.memory.as_ref()?.pages.clone().map(Value::Text),
        write: |params, value, _| {
            params.memory.get_or_insert_default().pages = Some(value.to_string());
        },
    },
    ..OLD
});
