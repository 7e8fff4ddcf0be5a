//! `user-queue`: packets of the own network namespace that a firewall's rule handed to a program
//! (NFQUEUE), from `/proc/net/netfilter/nfnetlink_queue` (kernel, net/netfilter/nfnetlink_queue.c,
//! `seq_show`), which root alone may read.

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Scope, Source, keys};

pub static SOURCE: Registered = Registered {
    source: Source::UserQueue,
    says: "packets that wait for a program's verdict (NFQUEUE), and those that found its queue full",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let text = std::fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").ok()?;
    parse(&text).seen()
}

/// A line a queue: its number, the program's port, how many wait, how and how much is copied, how
/// many found it full, how many could not be told to the program, and how many were queued so far.
fn parse(text: &str) -> Look {
    let mut look = Look::default();
    let (mut queued, mut dropped) = (0, 0);
    for line in text.lines() {
        let columns: Vec<u64> =
            line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if let [_, _, _, _, _, full, untold, so_far, ..] = columns[..] {
            queued += so_far;
            dropped += full + untold;
        }
    }
    look.total(keys::USER_QUEUED.key(Scope::Host), queued);
    look.total(keys::USER_QUEUE_DROPPED.key(Scope::Host), dropped);
    look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_add_up_and_none_is_nothing_queued() {
        let look = parse(
            "    0   4242     3 2 65531     7     1     5000  1\n   12 4243 0 1 0 0 0 40 1\ncut 1\n",
        );
        assert_eq!(look.of("user-queue", "queued_packets"), Some(5040));
        assert_eq!(look.of("user-queue", "dropped_packets"), Some(8));
        assert_eq!(parse("").of("user-queue", "queued_packets"), Some(0));
    }
}
