//! Binding the calling thread to one CPU.

use crate::LoadError;

/// Binds the calling thread to `cpu`.
pub fn to_cpu(cpu: u32) -> Result<(), LoadError> {
    if cpu >= libc::CPU_SETSIZE as u32 {
        return Err(LoadError::Order(format!("CPU {cpu} is beyond {}", libc::CPU_SETSIZE)));
    }
    // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET writes inside it, as `cpu` is below
    // CPU_SETSIZE; the kernel only reads the set, whose size is given.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 {
        return Ok(());
    }
    Err(
        LoadError::system(format!("binding a thread to CPU {cpu}"))(std::io::Error::last_os_error()),
    )
}
