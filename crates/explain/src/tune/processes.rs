//! Advice on memory and on what processes may do.

use super::{Advisor, Profile, Reason, Recommendation, sources};

const PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Enough pinned memory for a few dozen queue pairs.
const PINNED_BYTES: u64 = 64 << 20;

pub(super) fn look(advisor: &mut Advisor<'_>) {
    pages(advisor);
    let because = "memory of the other node is nearer than the disk";
    let source = sources::KERNEL_VM;
    advisor.sysctl_is("vm.zone_reclaim_mode", "0", Reason { because, source });
    if advisor.host.nodes.len() > 1 && advisor.profile != Profile::Throughput {
        let because = "the kernel then leaves pages where a placed program put them";
        let source = sources::KERNEL_KERNEL;
        advisor.sysctl_is("kernel.numa_balancing", "0", Reason { because, source });
    }
    if advisor.is_for(&[Profile::Rdma, Profile::Mpi]) {
        memlock(advisor);
    }
}

fn pages(advisor: &mut Advisor<'_>) {
    let name = "mm.transparent_hugepage";
    let fact = advisor.fact(name);
    // The chosen word stands in brackets.
    let chosen = fact.and_then(|text| {
        let chosen = text.split(['[', ']']).nth(1);
        chosen.map(str::to_owned).ok_or(text)
    });
    let never = chosen.value().is_some_and(|now| now == "never");
    advisor.weigh(
        &chosen,
        Recommendation {
            setting: name,
            wanted: never.then(|| "madvise".to_owned()),
            because: "programs that ask for large pages get them, and no other",
            source: sources::KERNEL_PAGES,
            worth: None,
            files: vec![PAGES.to_owned()],
            commands: vec![format!("echo madvise > {PAGES}")],
        },
    );
}

fn memlock(advisor: &mut Advisor<'_>) {
    let name = "process.memlock";
    let fact = advisor.fact(name);
    let small =
        fact.value().is_some_and(|now| now.parse::<u64>().is_ok_and(|bytes| bytes < PINNED_BYTES));
    advisor.weigh(
        &fact,
        Recommendation {
            setting: name,
            wanted: small.then(|| "unlimited".to_owned()),
            because: "verbs pin what a card reads and writes",
            source: sources::GETRLIMIT,
            worth: None,
            // The limit of a login, not of the host.
            files: Vec::new(),
            commands: vec!["echo '* - memlock unlimited' >> /etc/security/limits.conf".to_owned()],
        },
    );
}
