//! Messages between MPI ranks, half of them here and half at the peer: `narrows mpi`, which the
//! launcher of the installed MPI starts on both hosts. It reaches the other as it is set up to, by
//! ssh as a rule; an agent is not asked.

use super::words::Takes;
use super::{Engine, Runs};
use narrows_model::of_ranks::{PATTERNS, pattern_of};
use narrows_model::options::runs;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use std::borrow::Cow::Borrowed;
use std::net::IpAddr;
use std::time::Duration;

/// How long the launcher has to start ranks on both hosts, by ssh to one that may be slow.
pub const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// How long two ranks have to meet before any run is made: ssh gives up on a host that does not
/// answer in no less, and a host that answers takes a second or two.
pub const MEETS_WITHIN: Duration = Duration::from_secs(20);

/// What ranks can do.
const KINDS: &[Workload] = &[kind(0), kind(1), kind(2), kind(3), kind(4), kind(5)];

const fn kind(at: usize) -> Workload {
    Workload::Other(Borrowed(PATTERNS[at].1))
}

/// How the ranks are started, and what they tell.
pub static ENGINE: Engine = Engine {
    name: "mpi",
    program: |_| "mpirun",
    server_program: None,
    runs: Runs::Ranks,
    package: "openmpi-bin",
    kinds: KINDS,
    takes: &["length", "ranks"],
    port: 0,
    server: |_, _| Vec::new(),
    client: |trial, address, _| words(trial, &with_here(address)),
    client_words: &[
        (Takes::Fabric, &["--fabric"]),
        (Takes::Number, &["--messages"]),
        (Takes::Nothing, &["--one-buffer"]),
    ],
    server_words: &[],
    reach: |address, _| reach(&with_here(address)),
};

/// This host and another, as the launcher is told them.
pub fn with_here(address: IpAddr) -> String {
    format!("localhost,{address}")
}

fn reach(hosts: &str) -> Vec<String> {
    ["--hosts", hosts, "--repeats", "1", "--passing"].map(str::to_owned).to_vec()
}

/// The words of this program for a trial between these hosts.
pub fn words(trial: &Trial, hosts: &str) -> Vec<String> {
    let pattern = pattern_of(&trial.kind).unwrap_or_default();
    let window = trial.timeline.window_ns.seconds();
    let mut all = vec!["mpi".to_owned(), pattern.to_owned()];
    all.extend(["--sizes".to_owned(), trial.params.message_bytes.0.to_string()]);
    all.extend(["-t".to_owned(), window.to_string()]);
    let ranks = runs::RANKS.of(&trial.params);
    all.extend(ranks.into_iter().flat_map(|ranks| ["-n".to_owned(), ranks.to_string()]));
    let limit = (2.0 * window).ceil() + STARTS_WITHIN.as_secs_f64();
    all.extend(["--limit".to_owned(), limit.to_string()]);
    all.extend(reach(hosts));
    all.extend(trial.engine.iter().flat_map(|engine| engine.client.clone()));
    all
}

/// The words that say whether two ranks on these hosts meet.
pub fn words_to_meet(hosts: &str) -> Vec<String> {
    let seconds = MEETS_WITHIN.as_secs().to_string();
    let words = ["mpi", "pingpong", "--sizes", "8", "-t", "0.05", "--limit", &seconds];
    [words.map(str::to_owned).to_vec(), reach(hosts)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_offered_every_pattern() {
        let words: Vec<&str> = KINDS.iter().map(Workload::as_str).collect();
        assert_eq!(words, PATTERNS.map(|(_, word)| word));
    }

    /// `narrows mpi` with these words must be let through by its own command line.
    #[test]
    fn two_ranks_meet_by_one_short_exchange_between_both_hosts() {
        let hosts = with_here(IpAddr::from([192, 0, 2, 7]));
        assert_eq!(
            words_to_meet(&hosts).join(" "),
            "mpi pingpong --sizes 8 -t 0.05 --limit 20 --hosts localhost,192.0.2.7 --repeats 1 \
             --passing"
        );
    }
}
