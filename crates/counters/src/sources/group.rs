//! `group`: how often the control groups of this process had used up their CPU time, from their
//! `cpu.stat` (kernel, Documentation/scheduler/sched-bwc.rst). A group without a quota has no
//! periods.

use crate::{Look, Registered, Scene, watch};
use narrows_host::Root;
use narrows_model::reading::{Scope, Source, keys};

pub static SOURCE: Registered = Registered {
    source: Source::Group,
    says: "periods of the control group's CPU quota, and those in which it was used up",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    for path in narrows_host::cpu_stats(&Root::live()) {
        parse(&std::fs::read_to_string(path).unwrap_or_default(), &mut look);
    }
    look.seen()
}

/// Of a group and its parents the counts add up: each of them may hold the process back.
fn parse(text: &str, look: &mut Look) {
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ') else { continue };
        let counter = match name {
            "nr_periods" => keys::QUOTA_PERIODS,
            "nr_throttled" => keys::THROTTLED,
            _ => continue,
        };
        if let Ok(value) = value.parse() {
            look.total(counter.key(Scope::Host), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_a_group_and_its_parents_add_up() {
        let mut look = Look::default();
        parse("usage_usec 5\nnr_periods 10\nnr_throttled 7\nthrottled_usec 900\n", &mut look);
        parse("nr_periods 3\nnr_throttled 1\nthrottled_time 5\n", &mut look);
        assert_eq!(look.of("group", "periods_events"), Some(13));
        assert_eq!(look.of("group", "throttled_events"), Some(8));
        assert_eq!(look.len(), 2);
    }
}
