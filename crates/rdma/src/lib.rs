//! Libraries that are loaded when they are needed, and not before: a host without them runs all of
//! narrows but what they are for. The bindings are made from the libraries' headers by `xtask` and
//! committed; what is above them is safe to use, and frees what it made in the order that the
//! libraries ask for.

pub mod fabric;
mod failed;
mod memory;
mod signals;
pub mod ticker;
pub mod verbs;
mod work;

pub use memory::{Memory, Watched};
pub use work::{Completion, Remote, Verb, Work};

use std::io;
use thiserror::Error;

/// What helps where the kernel's files are missing.
const KERNEL_SIDE: &str = "load the kernel's side: modprobe -a ib_uverbs rdma_ucm";
/// What libibverbs answers where /sys/class/infiniband_verbs is not there.
const NO_KERNEL_SIDE: &str =
    "this kernel has no RDMA, or its modules (ib_uverbs, rdma_ucm) are not loaded";

/// Why a library could not be used, or what it answered.
#[derive(Debug, Error)]
pub enum NativeError {
    /// The library is not there.
    #[error("{library} cannot be loaded: {why}")]
    Missing {
        /// File name of the library.
        library: &'static str,
        /// Debian packages that have it.
        packages: &'static str,
        /// The loader's words.
        why: String,
    },
    /// A call failed.
    #[error("{doing}: {source}")]
    Call { doing: String, source: io::Error },
    /// The kernel's side is missing.
    #[error("{NO_KERNEL_SIDE}")]
    Kernel,
    /// Nothing failed, but it cannot be done.
    #[error("{0}")]
    Cannot(String),
}

impl NativeError {
    /// The last error of the system, with what was being done.
    pub(crate) fn last(doing: impl Into<String>) -> Self {
        Self::Call { doing: doing.into(), source: io::Error::last_os_error() }
    }

    /// Why there is no list of devices.
    pub(crate) fn listing() -> Self {
        let source = io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::ENOSYS) => Self::Kernel,
            _ => Self::Call { doing: "listing RDMA devices".into(), source },
        }
    }

    /// An error number that a call gave back, with what was being done.
    pub(crate) fn number(doing: impl Into<String>, number: i32) -> Self {
        // Some calls give -1 and set errno, some the number, some its negative.
        let source = match number {
            -1 => io::Error::last_os_error(),
            number => io::Error::from_raw_os_error(number.abs()),
        };
        Self::Call { doing: doing.into(), source }
    }

    /// What would help, where that is known.
    pub fn hint(&self) -> Option<String> {
        use io::ErrorKind::{NotFound, OutOfMemory, PermissionDenied};
        Some(match self {
            Self::Missing { packages, .. } => format!("install it: apt-get install {packages}"),
            Self::Call { source, .. } => match source.kind() {
                PermissionDenied => "the files in /dev/infiniband need read and write permission \
                                     for this user"
                    .to_owned(),
                OutOfMemory => "memory that a NIC reads and writes is locked: raise the limit \
                                (ulimit -l, LimitMEMLOCK of a unit)"
                    .to_owned(),
                NotFound => KERNEL_SIDE.to_owned(),
                _ => return None,
            },
            Self::Kernel => KERNEL_SIDE.to_owned(),
            Self::Cannot(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_what_helps() {
        let call = |number| NativeError::number("opening", number).hint();
        let starts = |hint: Option<String>, with: &str| {
            assert!(hint.as_deref().is_some_and(|hint| hint.contains(with)), "{hint:?}");
        };
        // Numbers come as they are or negated.
        for number in [libc::EACCES, -libc::EACCES, libc::EPERM] {
            starts(call(number), "/dev/infiniband");
        }
        starts(call(libc::ENOMEM), "ulimit -l");
        starts(call(-libc::ENOENT), "modprobe -a ib_uverbs rdma_ucm");
        assert_eq!(call(libc::EINVAL), None);
        starts(NativeError::Kernel.hint(), "modprobe -a ib_uverbs rdma_ucm");
        assert_eq!(NativeError::Cannot("no".to_owned()).hint(), None);
        let (library, packages) = ("libibverbs.so.1", "libibverbs1");
        let missing = NativeError::Missing { library, packages, why: "no file".to_owned() };
        assert_eq!(missing.hint().as_deref(), Some("install it: apt-get install libibverbs1"));
        assert_eq!(missing.to_string(), "libibverbs.so.1 cannot be loaded: no file");
        let told = NativeError::number("opening", -libc::ENOENT).to_string();
        assert!(told.starts_with("opening: No such file"), "{told}");
    }
}
