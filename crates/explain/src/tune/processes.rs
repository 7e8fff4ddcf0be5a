//! Advice on memory and on what processes may do.

use super::{Desk, Profile, Wish};
use narrows_model::Fact;

const PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Enough pinned memory for a few dozen queue pairs.
const PINNED_BYTES: u64 = 64 << 20;

pub(super) fn look(desk: &mut Desk<'_>, profile: Profile) {
    pages(desk);
    let because = "memory of the other node is nearer than the disk";
    desk.sysctl_is("vm.zone_reclaim_mode", "0", because, None);
    if desk.host.nodes.len() > 1 && profile != Profile::Throughput {
        let because = "the kernel then leaves pages where a placed program put them";
        desk.sysctl_is("kernel.numa_balancing", "0", because, None);
    }
    if matches!(profile, Profile::Rdma | Profile::Mpi) {
        memlock(desk);
    }
}

fn pages(desk: &mut Desk<'_>) {
    let name = "mm.transparent_hugepage";
    let fact = desk.host.tuning.get(name).cloned().unwrap_or_else(|| Fact::absent(PAGES));
    // The chosen word stands in brackets.
    let chosen = fact.and_then(|text| {
        let chosen = text.split(['[', ']']).nth(1);
        chosen.map(str::to_owned).ok_or(text)
    });
    let never = chosen.value().is_some_and(|now| now == "never");
    desk.weigh(
        &chosen,
        Wish {
            setting: name,
            wanted: never.then(|| "madvise".to_owned()),
            because: "programs that ask for large pages get them, and no other",
            worth: None,
            files: vec![PAGES.to_owned()],
            commands: vec![format!("echo madvise > {PAGES}")],
        },
    );
}

fn memlock(desk: &mut Desk<'_>) {
    let name = "process.memlock";
    let fact = desk.host.tuning.get(name).cloned().unwrap_or_else(|| Fact::absent(name));
    let small =
        fact.value().is_some_and(|now| now.parse::<u64>().is_ok_and(|bytes| bytes < PINNED_BYTES));
    desk.weigh(
        &fact,
        Wish {
            setting: name,
            wanted: small.then(|| "unlimited".to_owned()),
            because: "verbs pin what a card reads and writes",
            worth: None,
            // The limit of a login, not of the host.
            files: Vec::new(),
            commands: vec!["echo '* - memlock unlimited' >> /etc/security/limits.conf".to_owned()],
        },
    );
}
