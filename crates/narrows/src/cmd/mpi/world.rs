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
    if cpus.len() == 1 {
        return true;
    }
    let Some(cpu) = cpus.get(before).filter(|_| cpus.len() >= beside) else { return false };
    let mut one = CpuSet::new();
    // What cannot be set is left to the scheduler.
    let _ = one.set(*cpu).and_then(|()| sched_setaffinity(own, &one));
    true
}
