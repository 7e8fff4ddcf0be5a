//! Words that a study may add to an outside tool's command line. A study can be anybody's, and runs
//! as root: what is not listed here is refused, so that no word names a file, a host, a port, a
//! command or a daemon, now or in a later version of a tool.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is a switch.
    Nothing,
    /// A number, also with a fraction.
    Number,
    /// A number that may end in a prefix: `50M`, `1.5G`; a rate also in a burst: `10M/5`.
    Size,
    /// A short name of letters, digits, `_`, `-` and `.`, which does not begin with `-`.
    Name,
    /// What carries messages of MPI: names with `:`, `@` and `;` between.
    Fabric,
}

impl Takes {
    fn fits(self, value: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Number => number(value),
            Self::Size => {
                let (size, burst) =
                    value.split_once('/').map_or((value, None), |(a, b)| (a, Some(b)));
                let bare = size.strip_suffix(|c: char| "KMGTkmgt".contains(c)).unwrap_or(size);
                number(bare) && burst.is_none_or(number)
            }
            Self::Name => {
                value.len() <= 32
                    && value.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
                    && !value.contains("..")
            }
            Self::Fabric => {
                value.len() <= 64 && value.split([':', '@', ';']).all(|name| Self::Name.fits(name))
            }
        }
    }
}

fn number(text: &str) -> bool {
    text.len() <= 20
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

impl fmt::Display for Takes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Nothing => "no value",
            Self::Number => "a number",
            Self::Size => "a number such as 50M",
            Self::Name => "a name of letters, digits, _, - and .",
            Self::Fabric => "a fabric such as tcp:eth0",
        })
    }
}

/// Options of one sort. A name without a dash is a word by itself.
pub type Allowed = (Takes, &'static [&'static str]);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not among the words that a study may give.
    Unknown {
        /// Name of the tool, as a study gives it.
        tool: &'static str,
        /// The argument that is not on its list.
        word: String,
    },
    /// Its value is missing or of another sort.
    Value {
        /// Name of the tool, as a study gives it.
        tool: &'static str,
        /// The option whose value does not fit.
        word: String,
        wants: Takes,
    },
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { tool, word } => write!(
                to,
                "'{}' is not among the words that a study may give to {tool}",
                word.escape_debug()
            ),
            Self::Value { tool, word, wants } => {
                write!(to, "'{}' of {tool} takes {wants}", word.escape_debug())
            }
        }
    }
}

/// Checks the words of a study for one end of a tool. `-b 50M`, `-b50M`, `--bitrate 50M` and
/// `--bitrate=50M` are one; shortened names and several letters behind one dash are refused.
pub fn check(tool: &'static str, allowed: &[Allowed], words: &[String]) -> Result<(), Refused> {
    let find = |name: &str| {
        allowed.iter().find(|(_, names)| names.contains(&name)).map(|(takes, _)| *takes)
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let wrong = |wants| Err(Refused::Value { tool, word: word.clone(), wants });
        if let Some(takes) = find(word) {
            let fits = takes == Takes::Nothing || words.next().is_some_and(|next| takes.fits(next));
            if !fits {
                return wrong(takes);
            }
            continue;
        }
        let joined = match word.strip_prefix("--") {
            Some(_) => word.split_once('='),
            None if word.starts_with('-') && word.is_char_boundary(2) && word.len() > 2 => {
                Some(word.split_at(2))
            }
            None => None,
        };
        match joined.and_then(|(name, value)| Some((find(name)?, value))) {
            Some((takes, value)) if takes.fits(value) => {}
            Some((takes, _)) if takes != Takes::Nothing => return wrong(takes),
            _ => return Err(Refused::Unknown { tool, word: word.clone() }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::ENGINES;

    fn says(tool: &str, words: &str) -> Option<String> {
        let engine = ENGINES.iter().find(|engine| engine.name == tool).expect("a tool");
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        check(engine.name, engine.client_words, &words).err().map(|why| why.to_string())
    }

    #[test]
    fn what_loads_are_made_of_is_let_through() {
        for (tool, words) in [
            ("iperf3", "-u -b 50M -l 1400 -t 1"),
            ("iperf3", "--bitrate=10M/5 -P4 --congestion bbr -w 1.5M -R --bidir -Z"),
            ("iperf", "-u -b 50M -P 2 -Z cubic"),
            ("nuttcp", "-T1 -l8192 -R50m -N4 -u"),
            ("perftest", "-d mlx5_0 -x 3 -s 65536 -q 4 -D 2 -R --report_gbits"),
            ("qperf", "-t 1 -m 64K tcp_bw"),
            ("sockperf", "-t 1 -m 64 --tcp"),
            ("mpi", "--fabric ofi:tcp;ofi_rxm@eth0 --messages 16 --one-buffer"),
        ] {
            assert_eq!(says(tool, words), None, "{tool} {words}");
        }
    }

    #[test]
    fn files_hosts_ports_commands_daemons_and_what_is_new_are_refused() {
        for (tool, words) in [
            ("iperf3", "--logfile /etc/cron.d/x"),
            ("iperf3", "--logfile=/etc/cron.d/x"),
            ("iperf3", "--logf /tmp/x"),
            ("iperf3", "-F /etc/shadow"),
            ("iperf3", "-F/etc/shadow"),
            ("iperf3", "-uF /etc/shadow"),
            ("iperf3", "-c 203.0.113.9"),
            ("iperf3", "-D -I /etc/x"),
            ("iperf3", "--pidfile /etc/x"),
            ("iperf3", "-p 22"),
            ("iperf3", "-B 192.0.2.1"),
            ("iperf3", "-C ../../x"),
            ("iperf3", "-C --logfile"),
            ("iperf3", "-b /etc/x"),
            ("iperf3", "-b"),
            ("iperf3", "-t 1;reboot"),
            ("iperf3", "203.0.113.9"),
            ("iperf3", "--"),
            ("iperf3", "-"),
            ("iperf", "-o /etc/x"),
            ("iperf", "--output /etc/x"),
            ("iperf", "-F /etc/x"),
            ("nuttcp", "-x"),
            ("nuttcp", "-I/etc/x"),
            ("nuttcp", "-s"),
            ("perftest", "--out_json --out_json_file=/etc/x"),
            ("perftest", "-d /etc/x"),
            ("perftest", "--use_hugepages"),
            ("qperf", "quit"),
            ("qperf", "-lp 22"),
            ("sockperf", "--full-log /etc/x"),
            ("sockperf", "-f /etc/x"),
            ("sockperf", "--full-rtt"),
            ("sockperf", "-é"),
            ("mpi", "--hosts 203.0.113.9"),
            ("mpi", "--launcher /bin/sh"),
            ("mpi", "--launcher-arg=--mca"),
            ("mpi", "--fabric tcp:../x"),
            ("mpi", "--fabric -o"),
        ] {
            assert!(says(tool, words).is_some(), "{tool} {words}");
        }
    }

    #[test]
    fn servers_are_told_less_than_clients() {
        for engine in ENGINES {
            for words in ["-D", "--logfile /x", "-p 1", "--daemon", "x"] {
                let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                assert!(check(engine.name, engine.server_words, &words).is_err());
            }
        }
    }
}
