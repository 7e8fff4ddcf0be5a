//! Options of iperf, iperf3 and nuttcp that narrows has under another name, or not at all: who
//! types one is told what to type here.

use crate::said;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// An option as those tools have it, in its short and long form, and what does that here.
struct Habit {
    names: &'static [&'static str],
    hint: &'static str,
}

/// Of all commands, since the two ends are commands of their own here.
const HABITS: [Habit; 24] = [
    Habit {
        names: &["-1", "--one-off"],
        hint: "`narrows tcp ssh:HOST` brings an agent for one \
        measurement and takes it away",
    },
    Habit {
        names: &["-c", "--client"],
        hint: "`narrows tcp HOST` (or udp, rdma) measures to the agent \
        that `narrows serve` started there",
    },
    Habit {
        names: &["--ssh"],
        hint: "--ssh [USER@]HOST names the host that ssh reaches; ssh:HOST is the same",
    },
    Habit {
        names: &["-D", "--daemon"],
        hint: "run `narrows serve` under systemd: docs/narrows.service \
        is a unit",
    },
    Habit { names: &["-d", "--dualtest"], hint: "--bidirectional sends both ways at once" },
    Habit {
        names: &["-F", "--file"],
        hint: "bytes come from memory; --verify compares them at the \
        receiver",
    },
    Habit { names: &["-f"], hint: "units follow the size of a figure; --json has bits a second" },
    Habit {
        names: &["-N", "--no-delay", "--nodelay"],
        hint: "--nagle off switches Nagle's algorithm off",
    },
    Habit {
        names: &["-n", "--bytes", "--num", "-k", "--blockcount"],
        hint: "a run is so many seconds: \
        -t; its window is where all flows run",
    },
    Habit {
        names: &["-O", "--omit"],
        hint: "--warm-up SECONDS comes before the window and is not counted",
    },
    Habit {
        names: &["-S", "--tos"],
        hint: "--dscp marks packets, by name (EF, AF41, CS1) or by number: a type of service divided by 4",
    },
    Habit { names: &["-s", "--server"], hint: "`narrows serve` is the end that waits" },
    Habit { names: &["-u", "--udp"], hint: "`narrows udp HOST` measures UDP" },
    Habit {
        names: &["-Z", "--zerocopy"],
        hint: "--sender sendfile, vmsplice or zerocopy sends without a \
        copy",
    },
    Habit {
        names: &["--cport"],
        hint: "the own port is the kernel's choice; serve --data-ports FIRST-LAST is for the other end's",
    },
    Habit {
        names: &["--dont-fragment"],
        hint: "--explain finds the largest packet that passes, each way",
    },
    Habit {
        names: &["--get-server-output"],
        hint: "the other end's figures are always there: -v, or --json",
    },
    Habit { names: &["-L", "--flowlabel"], hint: "the flow label of IPv6 is the kernel's choice" },
    Habit {
        names: &["--logfile"],
        hint: "results go to standard output: `> FILE`; --out DIR is for the study file",
    },
    Habit {
        names: &["-T", "--title"],
        hint: "--out DIR is for the study file; a file of `narrows study` has names for its cells",
    },
    Habit { names: &["--forceflush"], hint: "each line is written at once" },
    Habit { names: &["--timestamps"], hint: "--json-stream has times; each run's is in --json" },
    Habit { names: &["-V"], hint: "-v prints everything; `narrows --version` has the version" },
    Habit { names: &["-X", "--sctp"], hint: "SCTP is not measured: tcp, udp, rdma, packets" },
];

/// Of `udp`, whose protocol has no such thing, or is asked for already.
const UDP_HABITS: [Habit; 5] = [
    Habit {
        names: &["-C", "--congestion"],
        hint: "congestion control is TCP's: `narrows tcp HOST`",
    },
    Habit {
        names: &["-M", "--mss", "--set-mss"],
        hint: "segments are TCP's; -l is the payload of a datagram",
    },
    Habit {
        names: &["-N", "--no-delay", "--nodelay"],
        hint: "leave it out: a datagram leaves at once",
    },
    Habit { names: &["-u", "--udp"], hint: "leave it out: `narrows udp` is UDP" },
    Habit {
        names: &["-Z", "--zerocopy"],
        hint: "--sender zerocopy is TCP's; --sender gso sends many in a call",
    },
];

/// What to type in place of an argument that a command does not know.
fn hint(argument: &str, is_udp: bool) -> Option<&'static str> {
    let name = argument.split('=').next().unwrap_or(argument);
    let of_udp = UDP_HABITS.iter().filter(|_| is_udp);
    of_udp.chain(&HABITS).find(|habit| habit.names.contains(&name)).map(|habit| habit.hint)
}

/// Ends with what is wrong with the command line and one hint: usage errors with 2, help with 0.
pub fn exit(mut error: clap::Error) -> ! {
    // Help is no error, also where it stands for a command that is missing.
    if error.exit_code() == 0 || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        error.exit();
    }
    let command = std::env::args().nth(1);
    let known = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => {
            match value_of_option(argument) {
                true => Some("a value that begins with a hyphen follows an equals sign: --seed=-1"),
                false => hint(argument, command.as_deref() == Some("udp")),
            }
        }
        _ => None,
    };
    // That it could be a value leads away from what was meant.
    error.remove(ContextKind::Suggested);
    let (says, hint) = with_hint(&error.to_string(), known, command.as_deref());
    // Where standard error is gone the exit code still says it.
    said::say_usage(&says, &hint);
    std::process::exit(error.exit_code())
}

/// Whether a number below zero stands where an option's value is due, as in `--minutes -1`.
fn value_of_option(argument: &str) -> bool {
    let is_number = argument.parse::<f64>().is_ok();
    let all: Vec<String> = std::env::args().collect();
    let option = all.windows(2).find(|pair| pair[1] == argument).map(|pair| &pair[0]);
    is_number && option.is_some_and(|option| option.starts_with("--"))
}

/// How the parser begins a line that suggests something.
const TIP: &str = "tip: ";
/// How its last line begins.
const MORE: &str = "For more information, try";

/// The words of a command line, with `--ssh [USER@]HOST` as `ssh:[USER@]HOST`, which every command
/// that measures to a host takes.
pub fn told(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let host = match word.to_str() {
            // What follows is another program's.
            Some("--") => {
                all.push(word);
                all.extend(words);
                break;
            }
            Some("--ssh") => words.next(),
            Some(word) => word.strip_prefix("--ssh=").map(OsString::from),
            None => None,
        };
        all.push(host.map_or(word, |host| {
            let mut brought = OsString::from(SSH);
            brought.push(host);
            brought
        }));
    }
    all
}

/// What is wrong without its first word, and the hint: what is known of the argument, else what
/// the parser suggests, else where the options are told.
fn with_hint(error: &str, known: Option<&str>, command: Option<&str>) -> (String, String) {
    let (mut says, mut hint) = (Vec::new(), known);
    for line in error.trim_end().lines() {
        match line.trim_start().strip_prefix(TIP) {
            Some(tip) => hint = hint.or(Some(tip)),
            None if line.starts_with(MORE) => {}
            None => says.push(line),
        }
    }
    // What its tips leave are empty lines.
    let says = says.join("\n").trim_end().replace("\n\n\n", "\n\n");
    let says = says.trim_start_matches("error: ").to_owned();
    let hint = hint.map_or_else(|| options_of(command, &says), str::to_owned);
    (says, hint)
}

/// Where the options of a command are told, or the commands where there is none of its name.
fn options_of(command: Option<&str>, error: &str) -> String {
    match command.filter(|word| !word.starts_with('-') && !error.contains("subcommand")) {
        Some(command) => format!("`narrows {command} --help` shows its options"),
        None => "`narrows --help` lists the commands".to_owned(),
    }
}

/// How a host begins to which ssh brings an agent.
const SSH: &str = "ssh:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_for_ssh_is_a_host_that_it_reaches() {
        let of = |line: &str| {
            let words = told(line.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("narrows tcp --ssh me@n1 -t 1"), "narrows tcp ssh:me@n1 -t 1");
        assert_eq!(of("narrows tcp -t 1 --ssh=n1"), "narrows tcp -t 1 ssh:n1");
        assert_eq!(of("narrows tcp n1 -- --ssh n2"), "narrows tcp n1 -- --ssh n2");
        assert_eq!(of("narrows tcp --ssh"), "narrows tcp --ssh", "without a host it is none");
    }

    #[test]
    fn an_error_has_one_hint() {
        let unknown = "error: unexpected argument '--nonsense' found\n\n  tip: a similar argument \
                       exists: '--response'\n\nUsage: narrows tcp <HOST>...\n\nFor more \
                       information, try '--help'.\n";
        let told = "unexpected argument '--nonsense' found\n\nUsage: narrows tcp <HOST>...";
        let similar = "a similar argument exists: '--response'".to_owned();
        assert_eq!(with_hint(unknown, None, Some("tcp")), (told.to_owned(), similar));
        assert_eq!(with_hint(unknown, Some("type -t"), Some("tcp")).1, "type -t");
        let value = "error: invalid value 'x' for '--size <SIZE>': not a number\n\nFor more \
                     information, try '--help'.\n";
        let says = "invalid value 'x' for '--size <SIZE>': not a number".to_owned();
        let tcp = "`narrows tcp --help` shows its options".to_owned();
        assert_eq!(with_hint(value, None, Some("tcp")), (says, tcp));
        let none = with_hint(value, None, Some("--size")).1;
        assert_eq!(none, "`narrows --help` lists the commands");
        let command = "error: unrecognized subcommand 'nonsense'\n";
        let hint = with_hint(command, None, Some("nonsense")).1;
        assert_eq!(hint, "`narrows --help` lists the commands");
    }
}
