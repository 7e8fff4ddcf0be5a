//! Binding the calling thread to CPUs.

use crate::LoadError;
use std::io::Error;

/// Binds the calling thread to these CPUs, and reads back what the kernel made of it.
pub fn to_cpus(cpus: &[u32]) -> Result<Vec<u32>, LoadError> {
    if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= libc::CPU_SETSIZE as u32) {
        return Err(LoadError::Order(format!("CPU {cpu} is beyond {}", libc::CPU_SETSIZE)));
    }
    let failed = || LoadError::system(format!("binding a thread to {}", named(cpus)));
    // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET writes inside it, as every number is
    // below CPU_SETSIZE; the kernel only reads the set, whose size is given.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu as usize, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result != 0 {
        return Err(failed()(Error::last_os_error()));
    }
    let allowed = allowed().map_err(failed())?;
    let mut asked = cpus.to_vec();
    asked.sort_unstable();
    asked.dedup();
    // The kernel leaves out what a cpuset or a CPU that went offline takes away, and says nothing.
    if allowed == asked {
        Ok(allowed)
    } else {
        Err(LoadError::Order(format!(
            "a thread that was to be bound to {} was bound to {}",
            named(&asked),
            named(&allowed)
        )))
    }
}

/// CPUs that the calling thread may run on, ascending.
fn allowed() -> Result<Vec<u32>, Error> {
    // SAFETY: an all-zero cpu_set_t is the empty set; the kernel writes no more than the size that
    // is given; CPU_ISSET reads inside the set, as every number is below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Err(Error::last_os_error());
        }
        let all = 0..libc::CPU_SETSIZE as u32;
        Ok(all.filter(|cpu| libc::CPU_ISSET(*cpu as usize, &set)).collect())
    }
}

fn named(cpus: &[u32]) -> String {
    match cpus {
        [one] => format!("CPU {one}"),
        many => format!("CPUs {many:?}"),
    }
}
