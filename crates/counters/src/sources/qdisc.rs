//! `qdisc`: what the queueing discipline of each interface of the own network namespace dropped,
//! held back and had handed back, and what waits in it, as `tc -s qdisc` prints it. A shaper's
//! `overlimits` grow while it shapes.

use crate::{Look, Registered, Scene, watch};
use narrows_host::ask::qdiscs::{self, Qdisc};
use narrows_model::reading::{Scope, Source, keys};

pub static SOURCE: Registered = Registered {
    source: Source::Qdisc,
    says: "packets that the queueing discipline of each interface dropped, held back or requeued, and those that wait",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    of(&qdiscs::ask().ok()?).seen()
}

fn of(all: &[Qdisc]) -> Look {
    let mut look = Look::default();
    for qdisc in all {
        let of = || Scope::Nic(qdisc.interface.clone());
        if qdisc.is_ingress {
            look.total(keys::INGRESS_DROPPED.key(of()), qdisc.dropped);
            continue;
        }
        for (counter, count) in [
            (keys::QDISC_DROPPED, qdisc.dropped),
            (keys::QDISC_OVERLIMITS, qdisc.overlimits),
            (keys::QDISC_REQUEUED, qdisc.requeued),
        ] {
            look.total(counter.key(of()), count);
        }
        look.state(keys::QDISC_WAITING, of(), qdisc.waiting);
        if let Some(bucket) = qdisc.bucket {
            look.state(keys::BUCKET, of(), bucket.bytes);
            look.state(keys::BUCKET_FILLED, of(), bucket.bytes_per_second);
        }
    }
    look
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_host::ask::qdiscs::Bucket;

    #[test]
    fn each_interface_has_its_own_counts() {
        let qdisc = |interface: &str, dropped: u64| Qdisc {
            interface: interface.into(),
            dropped,
            overlimits: 7,
            requeued: 1,
            waiting: dropped + 40,
            is_ingress: interface == "i0",
            bucket: (interface == "e0").then_some(Bucket { bytes_per_second: 8000, bytes: 20 }),
        };
        let look = of(&[qdisc("e0", 3), qdisc("e0.7", 4), qdisc("i0", 9)]);
        assert_eq!(look.of("qdisc", "i0.ingress_dropped_packets"), Some(9));
        assert_eq!(look.of("qdisc", "i0.dropped_packets"), None);
        assert_eq!(look.of("qdisc", "e0.dropped_packets"), Some(3));
        assert_eq!(look.of("qdisc", "e0.7.dropped_packets"), Some(4));
        assert_eq!(look.of("qdisc", "e0.overlimits_events"), Some(7));
        assert_eq!(look.of("qdisc", "e0.requeued_packets"), Some(1));
        assert_eq!(look.of("qdisc", "e0.waiting_packets"), Some(43));
        assert_eq!(look.of("qdisc", "i0.waiting_packets"), None);
        assert_eq!(look.of("qdisc", "e0.bucket_bytes"), Some(20));
        assert_eq!(look.of("qdisc", "e0.bucket_filled_a_second_bytes"), Some(8000));
        assert_eq!(look.of("qdisc", "e0.7.bucket_bytes"), None);
    }
}
