//! Where each parameter is from, for people. A parameter without a line here does not compile.

use crate::parameters::{BANKS, CHANNELS, GROUPS, Parameters, RANKS, Rules, Timing};

const PAPER: &str = "the paper, table 1 and section 4";
const SCRIPTS: &str = "the paper's scripts";
const JEDEC: &str = "DDR4-2933, 21-21-21, 8 Gb x8 (JESD79-4; DRAMsim3's file of that part)";

/// What it is, its value, its source.
pub type Sourced = (&'static str, String, &'static str);

fn one_way(ps: &u64) -> String {
    format!("{:.1} ns", *ps as f64 / 1e3)
}

fn ns(of: &[&u64]) -> String {
    let each = of.iter().map(|ps| format!("{:.1}", **ps as f64 / 1e3));
    each.collect::<Vec<_>>().join(", ") + " ns"
}

fn mib(lines: u64) -> f64 {
    lines as f64 * 64.0 / 1_048_576.0
}

/// The parameters of the host, and of its controller's marks; turns have a table of their own.
pub fn sourced(parameters: &Parameters) -> Vec<Sourced> {
    let Parameters {
        core_credits,
        device_write_credits,
        device_read_credits,
        entries,
        core_to_agent,
        device_to_agent,
        agent_to_controller,
        agent_write,
        rules,
        timing,
        written_behind,
        written_about,
        device_run,
        device_turn,
    } = parameters;
    let mut all = vec![
        ("credits of a core", core_credits.to_string(), PAPER),
        ("credits of a device's writes", device_write_credits.to_string(), PAPER),
        ("credits of a device's reads", format!("{device_read_credits}, seen at least"), PAPER),
        ("core to the cache's agent, one way", one_way(core_to_agent), "half of 10 ns, the paper"),
        (
            "root complex to the agent, one way",
            one_way(device_to_agent),
            "half of 205 ns, the paper's scripts",
        ),
        (
            "agent to the memory controller, one way",
            one_way(agent_to_controller),
            "half of what 70 ns leave without the core's way and a line of an open row",
        ),
        (
            "a write in the agent before that",
            one_way(agent_write),
            "what 300 ns leave without the ways; that of a core's is taken for the same (assumed)",
        ),
        (
            "lines in the agent at most",
            entries.to_string(),
            "164 of a device and six cores' 66 were seen at once; that it is all is assumed",
        ),
        (
            "channels, ranks, bank groups, banks",
            format!("{CHANNELS}, {RANKS}, {GROUPS}, {BANKS}"),
            "2 channels of 32 banks in 2 ranks: the paper and its scripts",
        ),
        ("which bank", "by parity".to_owned(), "DRAMA (2016) of a client Skylake (assumed here)"),
        (
            "a core's write behind its reads",
            format!("{:.2} MiB and up to {} more", mib(*written_behind), mib(*written_about)),
            "the last-level cache's size; by chance, and in order, is assumed",
        ),
        (
            "a device's lines in order",
            format!("{} KiB", *device_run * 64 / 1024),
            "a page; anywhere after that (assumed)",
        ),
        (
            "streams of drives, of a NIC",
            format!("4, 1; {} B by turns", *device_turn * 64),
            "four drives, the paper; payload of a packet (assumed)",
        ),
    ];
    all.extend(of_rules(rules));
    all.extend(of_timing(timing));
    all
}

fn of_rules(rules: &Rules) -> Vec<Sourced> {
    let Rules { reads, writes, high, low, reads_least: _, writes_most: _, ahead } = rules;
    vec![
        ("lines of a read queue, a write queue", format!("{reads}, {writes}"), SCRIPTS),
        ("marks of the write queue", format!("{high} and {low}"), "85 and 50 %: gem5's defaults"),
        ("who is next", "open rows, then age".to_owned(), "gem5's default (FR-FCFS)"),
        ("rows opened before the turn", format!("{ahead} lines"), "assumed"),
    ]
}

fn of_timing(timing: &Timing) -> Vec<Sourced> {
    let Timing {
        burst,
        same_group,
        open,
        close,
        read,
        write,
        open_least,
        read_to_close,
        write_to_close,
        write_to_read_same,
        write_to_read,
        turn,
        opens_apart,
        four_opens,
        refresh_every,
        refresh,
    } = timing;
    vec![
        ("a line; of one bank group (tCCD)", ns(&[burst, same_group]), JEDEC),
        ("tRCD, tRP, CL, CWL", ns(&[open, close, read, write]), JEDEC),
        ("tRAS, tRTP, tWR", ns(&[open_least, read_to_close, write_to_close]), JEDEC),
        ("tWTR of one group, of others", ns(&[write_to_read_same, write_to_read]), JEDEC),
        ("between directions or ranks", ns(&[turn]), "2 clocks, JESD79-4; of ranks assumed"),
        ("tRRD, tFAW", ns(&[opens_apart, four_opens]), JEDEC),
        ("tREFI, tRFC", ns(&[refresh_every, refresh]), JEDEC),
    ]
}
