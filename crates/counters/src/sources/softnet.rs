//! `softnet`: packets that the kernel took from devices and could not queue, over all CPUs, from
//! `/proc/net/softnet_stat` (kernel, net/core/net-procfs.c, `softnet_seq_show`).

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Counter, Scope, Source, Unit, keys};

pub static SOURCE: Registered = Registered {
    source: Source::Softnet,
    says: "packets dropped because a CPU's backlog was full, and polls cut short",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    parse(&std::fs::read_to_string("/proc/net/softnet_stat").ok()?, &mut look);
    look.seen()
}

fn parse(text: &str, look: &mut Look) {
    for line in text.lines() {
        let mut columns = line.split_whitespace().map(|word| u64::from_str_radix(word, 16).ok());
        let Some((Some(packets), Some(dropped), Some(squeezed))) =
            columns.next().zip(columns.next()).zip(columns.next()).map(|((a, b), c)| (a, b, c))
        else {
            continue;
        };
        for (counter, count) in [
            (keys::PROCESSED, packets),
            (keys::BACKLOG_DROPPED, dropped),
            (Counter::of(Source::Softnet, "squeezed", Unit::Polls), squeezed),
        ] {
            look.total(counter.key(Scope::Host), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_hexadecimal_and_summed_over_cpus() {
        let mut look = Look::default();
        parse(
            "0000000a 00000002 00000001 0 0\n00000010 00000001 00000000 0\nnonsense\n1\n",
            &mut look,
        );
        assert_eq!(look.of("softnet", "processed_packets"), Some(26));
        assert_eq!(look.of("softnet", "dropped_packets"), Some(3));
        assert_eq!(look.of("softnet", "squeezed_polls"), Some(1));
    }
}
