//! Ranks that know where the others are, each on a CPU of its own where there are enough.

use narrows_mpi::Mpi;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::fs;

/// Bytes that a rank tells of where it is.
const TOLD_BYTES: usize = 384;
/// Between the parts of what it tells.
const BETWEEN: char = '\n';

/// A rank, and where all of them are.
pub struct World {
    pub mpi: Box<dyn Mpi>,
    /// Number of each rank's host, from 0 in order of ranks. A network namespace is one by itself.
    pub hosts: Vec<usize>,
    /// Names of the hosts, by number; only rank 0 has them.
    pub names: Vec<String>,
    /// Whether a kernel runs more ranks than it has CPUs for them.
    pub oversubscribed: bool,
}

impl World {
    /// Meets the others. All ranks call it.
    pub fn meet(mpi: Box<dyn Mpi>) -> Self {
        let (rank, size) = (mpi.rank(), mpi.size());
        let space = fs::read_link("/proc/self/ns/net").unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let host = mpi.host();
        let told = format!("{host}{BETWEEN}{}{BETWEEN}{}", space.display(), boot.trim());
        let all = gathered(&*mpi, &told);
        let names: Vec<String> = distinct(&all, |told| told.to_owned());
        let kernels = distinct(&all, kernel_of);
        // Of each rank: its host, its kernel.
        let mut places: Vec<u8> = vec![0; 2 * size * size_of::<u64>()];
        if rank == 0 {
            let each = all.iter().flat_map(|told| {
                [place_of(&names, told), place_of(&kernels, &kernel_of(told))]
                    .map(Option::unwrap_or_default)
            });
            places = each.flat_map(|place| (place as u64).to_ne_bytes()).collect();
        }
        mpi.share(&mut places);
        let words: Vec<usize> = places.chunks_exact(size_of::<u64>()).map(word).collect();
        let hosts = words.iter().copied().step_by(2).collect();
        let kernels: Vec<usize> = words.iter().copied().skip(1).step_by(2).collect();
        let own = kernels.get(rank).copied();
        let beside = kernels.iter().filter(|kernel| Some(**kernel) == own).count();
        let before = kernels.iter().take(rank).filter(|kernel| Some(**kernel) == own).count();
        let fits = pin(before, beside);
        // One word a rank, from 0 to its size: any that does not fit.
        let mut sums = [0.0];
        mpi.sum(&[f64::from(u8::from(!fits))], &mut sums);
        let names = names.iter().map(|told| host_name(told)).collect();
        Self { mpi, hosts, names, oversubscribed: sums[0] > 0.0 }
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> usize {
        self.hosts.iter().max().map_or(1, |most| most + 1)
    }
}

fn host_name(told: &str) -> String {
    told.split(BETWEEN).next().unwrap_or_default().to_owned()
}

fn kernel_of(told: &str) -> String {
    told.split(BETWEEN).nth(2).unwrap_or_default().to_owned()
}

fn place_of(list: &[String], of: &str) -> Option<usize> {
    list.iter().position(|one| one == of)
}

fn word(bytes: &[u8]) -> usize {
    bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default() as usize
}

/// All ranks' texts at rank 0; none elsewhere.
pub fn gathered(mpi: &dyn Mpi, told: &str) -> Vec<String> {
    let mut own = vec![0_u8; TOLD_BYTES];
    own.iter_mut().zip(told.bytes()).for_each(|(to, from)| *to = from);
    let mut all = if mpi.rank() == 0 { vec![0; TOLD_BYTES * mpi.size()] } else { Vec::new() };
    mpi.gather(&own, &mut all);
    all.chunks_exact(TOLD_BYTES)
        .map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
        .collect()
}

fn distinct(all: &[String], of: impl Fn(&str) -> String) -> Vec<String> {
    let mut found = Vec::new();
    for one in all.iter().map(|told| of(told)) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Holds this rank to a CPU of its own among so many ranks of one kernel, where its launcher has
/// not done so. Two that spin on one CPU wait for the scheduler's slices and for nothing else.
///
/// False where there are fewer CPUs than ranks.
fn pin(before: usize, beside: usize) -> bool {
    let own = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(own) else { return true };
    let cpus: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
    match share(&cpus, before, beside) {
        Share::Held => true,
        Share::Short => false,
        Share::One(cpu) => {
            let mut one = CpuSet::new();
            // What cannot be set is left to the scheduler.
            let _ = one.set(cpu).and_then(|()| sched_setaffinity(own, &one));
            true
        }
    }
}

/// What a rank has of the CPUs that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// Its launcher has held it to one.
    Held,
    /// This one, and no other rank has it.
    One(usize),
    /// There are fewer CPUs than ranks.
    Short,
}

fn share(cpus: &[usize], before: usize, beside: usize) -> Share {
    match cpus {
        [_] => Share::Held,
        cpus if cpus.len() < beside => Share::Short,
        cpus => cpus.get(before).map_or(Share::Short, |cpu| Share::One(*cpu)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone::Alone;
    use super::*;

    #[test]
    fn each_rank_has_a_cpu_of_its_own_or_all_are_short() {
        assert_eq!(share(&[5], 0, 9), Share::Held);
        assert_eq!([0, 1, 2].map(|before| share(&[2, 4, 6], before, 3)), [2, 4, 6].map(Share::One));
        assert_eq!(share(&[2, 4, 6], 0, 2), Share::One(2));
        assert_eq!(share(&[2, 4, 6], 0, 4), Share::Short);
        assert_eq!(share(&[], 0, 1), Share::Short);
        assert_eq!(share(&[2, 4], 2, 2), Share::Short);
    }

    #[test]
    fn what_ranks_tell_comes_whole_and_in_their_order() {
        assert_eq!(gathered(&Alone { ranks: 3 }, "a host"), vec!["a host"; 3]);
        let long = "x".repeat(500);
        assert_eq!(gathered(&Alone { ranks: 1 }, &long), vec!["x".repeat(TOLD_BYTES)]);
        let told = ["n1\nnet:1\nboot-a", "n2\nnet:1\nboot-b", "n1\nnet:2\nboot-a"];
        let all: Vec<String> = told.iter().map(|told| (*told).to_owned()).collect();
        assert_eq!(all.iter().map(|told| host_name(told)).collect::<Vec<_>>(), ["n1", "n2", "n1"]);
        assert_eq!(distinct(&all, kernel_of), ["boot-a", "boot-b"]);
        assert_eq!(distinct(&all, |told| told.to_owned()), told);
        assert_eq!(place_of(&all, told[2]), Some(2));
        assert_eq!(place_of(&all, "n1"), None);
        assert_eq!(word(&7_u64.to_ne_bytes()), 7);
    }

    #[test]
    fn ranks_of_one_kernel_are_one_host() {
        let world = World::meet(Box::new(Alone { ranks: 2 }));
        assert_eq!((world.hosts.clone(), world.names.clone()), (vec![0, 0], vec!["alone".into()]));
        assert_eq!(world.host_count(), 1);
        let many = World::meet(Box::new(Alone { ranks: 9000 }));
        let pinned = sched_getaffinity(Pid::from_raw(0)).is_ok_and(|set| {
            (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true)).count() == 1
        });
        assert!(many.oversubscribed || pinned);
        let world = World { hosts: vec![0, 2, 1, 2], ..world };
        assert_eq!(world.host_count(), 3);
    }
}
