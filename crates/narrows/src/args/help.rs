//! Help in groups: commands by what they are for, options by theme, the common ones alone with
//! `-h`, and examples that are tried by the tests.

use super::Args;
use crate::cause::exit_codes;
use crate::screen;
use clap::{Arg, Command, CommandFactory};
use narrows_model::options::{Declared, places, rdma, runs, trips};
use narrows_report::drawn::Screen;
use std::ptr;

/// Commands by what they are for.
const COMMANDS: [(&str, &[&str]); 4] = [
    (
        "Measure",
        &[
            "check",
            "mem",
            "credits",
            "tcp",
            "udp",
            "rdma",
            "packets",
            "latency",
            "mesh",
            "mpi",
            "app",
            "placement",
            "neighbours",
            "paths",
            "search",
            "serve",
            "study",
        ],
    ),
    ("Understand", &["host", "predict", "diagnose", "explain", "fabric", "tune"]),
    ("Read and exchange", &["report", "compare", "history", "list", "verify", "export", "import"]),
    ("Set up", &["completions", "man"]),
];

/// Options that are declared at their command, by theme. Those of the table have theirs from
/// [`theme`].
const THEMES: [(&str, &[&str]); 6] = [
    (
        "Other end",
        &["peer", "port", "key", "key_file", "bind", "ipv4", "ipv6", "netns", "nic", "iperf3"],
    ),
    ("Runs", &["repeats", "rate", "interval", "seed", "explain", "apply"]),
    ("Workload", &["rr", "connect", "copy_share", "verb", "latency", "all"]),
    (
        "Search",
        &["zero_loss", "back_to_back", "throughput", "loss", "resolution", "runs_max", "sizes"],
    ),
    ("Placement", &["inside", "container_net"]),
    (
        "Results",
        &["out", "format", "json", "csv", "json_stream", "verbose", "fail_if", "expect", "set"],
    ),
];

/// The options of measurements that `-h` shows; `--help` has all.
const COMMON: [&str; 25] = [
    "nic",
    "zero_loss",
    "rate",
    "port",
    "key",
    "repeats",
    "out",
    "format",
    "json",
    "verbose",
    "rr",
    "verb",
    "latency",
    "seconds",
    "length",
    "size",
    "parallel",
    "window",
    "bitrate",
    "congestion",
    "reverse",
    "bidirectional",
    "affinity",
    "device",
    "list",
];

/// Commands with more options than a screen has lines.
const LONG: [&str; 4] = ["packets", "rdma", "tcp", "udp"];

/// Examples, each a command line and what it does.
const EXAMPLES: [(&str, &[(&str, &str)]); 25] = [
    (
        "narrows",
        &[
            ("narrows check", "this host, in about a minute"),
            ("narrows host", "its memory, sockets, links and NICs as a drawing"),
            ("narrows serve", "the other end, on another host"),
            ("narrows tcp HOST -P 4", "TCP to it with four flows"),
        ],
    ),
    (
        "app",
        &[
            ("narrows app studies/lammps.toml --svg lammps.svg", "LAMMPS by ranks and fabric"),
            ("narrows app lammps-20261123-194500.narrows", "what came of it, again"),
        ],
    ),
    (
        "check",
        &[
            ("narrows check", "measure, and write a study file and report.html"),
            ("narrows check -v", "the same with all details"),
            ("narrows check --memory-load copy:2", "with a background load of two threads"),
            ("narrows check --peer HOST", "with a second host: both ways, in five lines"),
        ],
    ),
    (
        "compare",
        &[("narrows compare before.narrows after.narrows", "exit code 1 when one is worse")],
    ),
    (
        "diagnose",
        &[
            ("narrows diagnose HOST", "what holds TCP to it, and which change moves it"),
            ("narrows diagnose HOST -R", "the same of TCP from it"),
            ("narrows diagnose HOST --apply", "settings of this host too, put back"),
        ],
    ),
    ("explain", &[("narrows explain check.narrows", "why each figure is what it is")]),
    (
        "fabric",
        &[
            ("narrows fabric --hosts 480 --speed 25G", "of the switches that are known"),
            (
                "narrows fabric --hosts 385 --speed 10G --switch 7148SX --switch 7508",
                "of two models",
            ),
            ("narrows fabric --hosts 2000 --speed 100G --radix 64 --svg f.svg", "with a picture"),
        ],
    ),
    (
        "host",
        &[
            ("narrows host", "this host as a drawing"),
            ("narrows host --from dmidecode.txt", "another's, from a report"),
            ("narrows host --diff before.json after.json", "what differs between two captures"),
        ],
    ),
    ("man", &[("narrows man tcp", "one page"), ("narrows man --dir man1", "all pages, as files")]),
    (
        "mem",
        &[
            ("narrows mem -k copy", "one kernel, on one thread and on all"),
            ("narrows mem --latency", "latency by size"),
        ],
    ),
    (
        "latency",
        &[
            ("narrows latency HOST", "four TCP streams each way, and UDP round trips beside them"),
            ("narrows latency HOST -t 10 --repeats 6", "longer phases, with intervals over runs"),
            ("narrows latency", "the stack of this host alone"),
        ],
    ),
    (
        "mesh",
        &[
            ("narrows mesh n[1-32]", "all pairs, both ways, TCP"),
            ("narrows mesh n[1-512] --pairs quick -t 1", "one look at every host"),
            ("narrows mesh n[1-32] --rr", "round trips"),
            (
                "narrows mesh --start srun",
                "all nodes of a Slurm job, whose agents it starts and ends",
            ),
            ("narrows mesh n[1-32] --mpi --fabric ucx:mlx5_0:1", "ranks of MPI, no agents"),
        ],
    ),
    (
        "mpi",
        &[
            ("narrows mpi", "ping-pong of two ranks on this host"),
            ("narrows mpi pingpong bandwidth --fabric tcp:eth0 --hosts n1,n2", "over an interface"),
            ("narrows mpi alltoall -n 4", "four ranks, each to each"),
        ],
    ),
    (
        "neighbours",
        &[
            ("narrows neighbours HOST", "TCP while cores copy memory"),
            ("narrows neighbours HOST --job read,copy-nt", "two jobs, one after the other"),
            ("narrows neighbours HOST --traffic rdma-read", "while a NIC writes memory"),
        ],
    ),
    (
        "paths",
        &[
            ("narrows paths", "each RDMA device to each node's memory, and to each other"),
            ("narrows paths -d mlx5_0,mlx5_1 --buffer cold", "two devices, past the caches"),
            ("narrows paths --cable eth0,eth1", "packets between two ports as well"),
        ],
    ),
    (
        "placement",
        &[
            ("narrows placement HOST", "what each node costs, in ten minutes"),
            ("narrows placement HOST --memory-load link:5", "while five threads load the link"),
            ("narrows placement HOST --nic eth0,eth1", "one NIC of this host and another"),
        ],
    ),
    ("predict", &[("narrows predict", "what each NIC of this host should reach")]),
    (
        "rdma",
        &[
            ("narrows rdma --list", "devices and ports of this host"),
            ("narrows rdma HOST -a", "all sizes"),
            ("narrows rdma HOST --latency", "round trips"),
        ],
    ),
    (
        "report",
        &[
            ("narrows report check.narrows", "all that a study says"),
            ("narrows report check.narrows --figures figures", "its figures as SVG"),
            (
                "narrows report --servers a.narrows b.narrows",
                "which server does the wire's rate in packets",
            ),
        ],
    ),
    (
        "search",
        &[
            ("narrows search HOST", "what makes TCP and UDP to it slow, in ten minutes"),
            ("narrows search HOST --minutes 60 --traffic rdma", "among the options of RDMA"),
        ],
    ),
    ("serve", &[("narrows serve", "prints the command for the other host, key included")]),
    (
        "tcp",
        &[
            ("narrows tcp HOST", "one flow, six runs"),
            ("narrows tcp HOST -P 8 -t 10 --reverse", "eight flows for ten seconds, towards here"),
            ("narrows tcp HOST --rr -l 64", "round trips of 64 bytes"),
            ("narrows tcp HOST --iperf3", "against an iperf3 server"),
        ],
    ),
    (
        "packets",
        &[
            ("narrows packets", "the smallest frames between two namespaces, raw"),
            ("narrows packets --size 1518 --rate 100k", "large ones at a rate"),
            (
                "narrows packets --imix --rate 100k --bidirectional",
                "a mix of sizes, both ways at once",
            ),
            ("narrows packets --zero-loss --rate 1M", "the highest rate at which nothing is lost"),
            (
                "narrows packets HOST --nic eth0 --sender xdp --rate max",
                "raw frames to a host on the same link",
            ),
        ],
    ),
    ("tune", &[("narrows tune", "what to change, and why")]),
    (
        "udp",
        &[
            ("narrows udp HOST -b 1G -l 1400", "paced at 1 Gb/s"),
            ("narrows udp HOST --rr", "round trips"),
        ],
    ),
];

/// The command line with its help in groups.
pub fn command() -> Command {
    let command = Args::command();
    let template = root_template(&command);
    let mut command = command.help_template(template).mut_subcommands(of_subcommand);
    command = with_examples(command, "narrows");
    let examples = examples("narrows").unwrap_or_default();
    command.after_long_help(format!("{examples}\n{}", exit_codes()))
}

/// A command's options in groups, with its examples.
fn of_subcommand(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let is_long = LONG.contains(&name.as_str());
    let command = command.mut_args(|argument| grouped(argument, is_long));
    with_examples(command, &name)
}

fn with_examples(command: Command, name: &str) -> Command {
    match examples(name) {
        Some(examples) => command.after_help(examples),
        None => command,
    }
}

fn grouped(argument: Arg, is_long: bool) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let is_common = COMMON.contains(&id.as_str());
    let argument = match heading(&id) {
        Some(heading) if is_long && !argument.is_positional() => argument.help_heading(heading),
        _ => argument,
    };
    let hidden = is_long && !is_common && !argument.is_positional();
    argument.hide_short_help(hidden)
}

/// The heading of an option.
fn heading(id: &str) -> Option<&'static str> {
    let own = THEMES.iter().find(|(_, ids)| ids.contains(&id)).map(|(heading, _)| *heading);
    own.or_else(|| {
        let mut all = narrows_model::options::ALL.iter();
        let option = all.find(|option| option.flags.iter().any(|flag| flag.long == id))?;
        Some(theme(option))
    })
}

/// The theme of an option of the table.
fn theme(option: &'static Declared) -> &'static str {
    let is = |list: &[&'static Declared]| list.iter().any(|one| ptr::eq(*one, option));
    let of_runs = [&runs::SECONDS.declared, &runs::WARMUP_SECONDS.declared];
    let of_places = [
        &places::AFFINITY.declared,
        &places::MEMORY_NODE.declared,
        &places::IRQ.declared,
        &places::MEMORY_LOAD.declared,
    ];
    let of_trips = [&trips::RESPONSE.declared, &trips::PER_SECOND.declared];
    match () {
        () if is(&of_runs) => "Runs",
        () if is(&of_places) => "Placement",
        () if is(&of_trips) => "Workload",
        () if ptr::eq(option, &places::PATTERN.declared) => "Other end",
        () if ptr::eq(option, &rdma::VIA.declared) => "RDMA",
        () if option.section == narrows_model::options::Section::Rdma => "RDMA",
        () => "Traffic",
    }
}

/// `Examples:` and a line each.
fn examples(name: &str) -> Option<String> {
    let (_, all) = EXAMPLES.iter().find(|(command, _)| *command == name)?;
    let width = all.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let lines = all.iter().map(|(line, does)| format!("  {line:<width$}  {does}\n"));
    Some(format!("Examples:\n{}", lines.collect::<String>()))
}

/// The root's help with its commands in groups.
fn root_template(command: &Command) -> String {
    const NAME_COLUMNS: usize = 13;
    let columns = screen::of_output().width().min(100);
    let screen = Screen { columns: Some(columns), unicode: true };
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in COMMANDS {
        text += &format!("\n{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or(String::new(), ToString::to_string);
            let line = format!("  {name:<NAME_COLUMNS$}{about}");
            text += &screen.prose(&line, &" ".repeat(NAME_COLUMNS + 2));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that is shown is in one group, and no other is.
    #[test]
    fn commands_are_in_one_group_each() {
        let command = Args::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> =
            COMMANDS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    #[test]
    fn examples_are_commands_that_parse() {
        for (_, all) in EXAMPLES {
            for (line, _) in all {
                let words = line.split(' ');
                command().try_get_matches_from(words).unwrap_or_else(|why| panic!("{line}: {why}"));
            }
        }
    }

    /// A new option of a long command has a theme, and `-h` is a screen.
    #[test]
    fn long_commands_have_their_options_under_themes() {
        for name in LONG {
            let mut whole = command();
            whole.build();
            let sub = whole.find_subcommand_mut(name).expect(name);
            for argument in sub.get_arguments().filter(|argument| !argument.is_positional()) {
                let id = argument.get_id().as_str();
                let themed =
                    argument.get_help_heading().is_some() || ["help", "list"].contains(&id);
                assert!(themed, "{name}: {id} has no theme");
            }
            let short = sub.render_help().to_string();
            let long = sub.render_long_help().to_string();
            assert!(short.lines().count() * 2 < long.lines().count(), "{name}\n{short}");
            assert!(long.contains("--dscp") || ["rdma", "packets"].contains(&name), "{long}");
            assert!(!short.contains("--dscp") && short.contains("Examples:"), "{short}");
        }
    }
}
