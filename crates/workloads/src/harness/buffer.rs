//! Page-aligned buffers, on a node and in pages of a size when asked for.

use crate::LoadError;
use std::io;
use std::ptr::NonNull;

/// Size of a small page.
const PAGE: usize = 4096;
/// Bytes of the mask of nodes for `mbind`: 1024 nodes.
const NODE_WORDS: usize = 16;
/// `MPOL_BIND`: pages come from these nodes or not at all (linux/mempolicy.h).
const MPOL_BIND: libc::c_int = 2;
/// `MPOL_INTERLEAVE`: pages come from these nodes in turn.
const MPOL_INTERLEAVE: libc::c_int = 3;
/// `MPOL_F_MEMS_ALLOWED`: the nodes that this thread may take memory from.
const MPOL_F_MEMS_ALLOWED: libc::c_ulong = 4;

/// Pages that back a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Pages of the base size, 4 KiB on most machines.
    Small,
    /// Small ones that the kernel may make huge, if it can.
    #[default]
    Transparent,
    /// 2 MiB, set aside beforehand.
    Huge2M,
    /// 1 GiB, set aside beforehand.
    Huge1G,
}

impl Pages {
    /// Name, as in a study and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "4K",
            Self::Transparent => "transparent",
            Self::Huge2M => "2M",
            Self::Huge1G => "1G",
        }
    }

    /// By name; none is transparent.
    pub fn named(name: Option<&str>) -> Result<Self, LoadError> {
        let all = [Self::Small, Self::Transparent, Self::Huge2M, Self::Huge1G];
        let Some(name) = name else { return Ok(Self::Transparent) };
        let found = all.into_iter().find(|pages| pages.name() == name);
        found.ok_or_else(|| {
            LoadError::Order(format!("no pages '{name}'; there are 4K, transparent, 2M, 1G"))
        })
    }

    /// Whether buffers of so many bytes each can be had of such pages now, all at once; of those
    /// that the kernel finds by itself always.
    pub fn can_hold(self, buffers: &[u64]) -> Result<(), LoadError> {
        match self {
            Self::Small | Self::Transparent => Ok(()),
            Self::Huge2M | Self::Huge1G => {
                let lengths = buffers.iter().map(|bytes| usize::try_from(*bytes));
                let lengths = lengths.map(|length| length.unwrap_or(usize::MAX / 2));
                let held = lengths.map(|length| Buffer::with(length, self, None));
                held.collect::<Result<Vec<Buffer>, LoadError>>().map(drop)
            }
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Small | Self::Transparent => PAGE,
            Self::Huge2M => 2 << 20,
            Self::Huge1G => 1 << 30,
        }
    }

    fn flags(self) -> libc::c_int {
        match self {
            Self::Small | Self::Transparent => 0,
            Self::Huge2M => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
            Self::Huge1G => libc::MAP_HUGETLB | libc::MAP_HUGE_1GB,
        }
    }
}

/// An anonymous mapping, zeroed by the kernel; pages come from the node of whoever touches first,
/// unless a node was given.
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    mapped: usize,
}

// SAFETY: the mapping is private to its owner, like a Box<[u8]>.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps `length` bytes (at least one page) and asks for huge pages.
    pub fn new(length: usize) -> Result<Self, LoadError> {
        Self::with(length, Pages::Transparent, None)
    }

    /// Maps `length` bytes in such pages, from this node.
    pub fn with(length: usize, pages: Pages, node: Option<u32>) -> Result<Self, LoadError> {
        let length = length.max(PAGE);
        let mapped = length.next_multiple_of(pages.size());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | pages.flags();
        // SAFETY: a fresh anonymous mapping touches no memory that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        let start = if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast::<u8>()) };
        let Some(start) = start else {
            let doing = format!("reserving a buffer of {mapped} bytes in {} pages", pages.name());
            return Err(LoadError::system(doing)(io::Error::last_os_error()));
        };
        let buffer = Self { start, length, mapped };
        let advice = match pages {
            Pages::Small => libc::MADV_NOHUGEPAGE,
            _ => libc::MADV_HUGEPAGE,
        };
        // Miri has no madvise; without it the pages are ordinary ones.
        if !cfg!(miri) {
            // SAFETY: the range is the mapping just made. Refusal is harmless: small pages then.
            unsafe { libc::madvise(start.as_ptr().cast(), mapped, advice) };
        }
        if let Some(node) = node {
            buffer.bind(node)?;
        }
        Ok(buffer)
    }

    fn bind(&self, node: u32) -> Result<(), LoadError> {
        let mut mask = [0u64; NODE_WORDS];
        let word = mask.get_mut(node as usize / 64);
        *word.ok_or_else(|| LoadError::Order(format!("node {node} is beyond 1023")))? |=
            1 << (node % 64);
        self.placed(MPOL_BIND, &mask, format!("binding a buffer to node {node}"))
    }

    /// Has its pages taken from all nodes in turn that this thread may take memory from. None may
    /// have been touched yet.
    pub fn interleave(&self) -> Result<(), LoadError> {
        let mut mask = [0u64; NODE_WORDS];
        // SAFETY: the mask has as many bits as are named; the policy and the address are not asked
        // for.
        let asked = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                std::ptr::null_mut::<libc::c_int>(),
                mask.as_mut_ptr(),
                NODE_WORDS * 64,
                std::ptr::null_mut::<libc::c_void>(),
                MPOL_F_MEMS_ALLOWED,
            )
        };
        if asked != 0 {
            let doing = "asking which nodes memory may be taken from";
            return Err(LoadError::system(doing)(io::Error::last_os_error()));
        }
        self.placed(MPOL_INTERLEAVE, &mask, "spreading a buffer over all nodes".to_owned())
    }

    fn placed(
        &self,
        policy: libc::c_int,
        mask: &[u64; NODE_WORDS],
        doing: String,
    ) -> Result<(), LoadError> {
        // SAFETY: the range is this mapping, the mask has as many bits as are named, and no page
        // was touched yet.
        let done = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.mapped,
                policy,
                mask.as_ptr(),
                NODE_WORDS * 64,
                0,
            )
        };
        if done == 0 { Ok(()) } else { Err(LoadError::system(doing)(io::Error::last_os_error())) }
    }

    /// All bytes of the buffer, to be read.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for its whole length and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and &mut self makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Writes one byte of every page, so that the pages are there.
    pub fn touch(&mut self) {
        for (page, byte) in self.bytes_mut().iter_mut().step_by(PAGE).enumerate() {
            *byte = page as u8 | 1;
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `with`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_their_name_and_size() {
        let all = [
            ("4K", Pages::Small, 4096, 0),
            ("transparent", Pages::Transparent, 4096, 0),
            ("2M", Pages::Huge2M, 2_097_152, libc::MAP_HUGETLB | (21 << 26)),
            ("1G", Pages::Huge1G, 1_073_741_824, libc::MAP_HUGETLB | (30 << 26)),
        ];
        for (name, pages, size, flags) in all {
            assert_eq!((pages.name(), pages.size(), pages.flags()), (name, size, flags));
            assert_eq!(Pages::named(Some(name)).expect(name), pages);
        }
        assert_eq!(Pages::named(None).expect("the default"), Pages::Transparent);
    }

    #[test]
    fn every_page_is_touched_and_the_rest_is_zero() {
        let mut buffer = Buffer::new(3 * PAGE).expect("buffer");
        buffer.touch();
        let set: Vec<usize> = (0..3 * PAGE).filter(|at| buffer.bytes()[*at] != 0).collect();
        assert_eq!(set, [0, PAGE, 2 * PAGE]);
        assert_eq!(Buffer::new(1).expect("buffer").bytes().len(), PAGE);
    }

    /// The policy that the kernel says a buffer has.
    fn policy_of(buffer: &Buffer) -> libc::c_int {
        const MPOL_F_ADDR: libc::c_ulong = 2;
        let mut policy = -1;
        // SAFETY: no mask is asked for; the address is within the buffer.
        let asked = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &mut policy,
                std::ptr::null_mut::<u64>(),
                0,
                buffer.start.as_ptr(),
                MPOL_F_ADDR,
            )
        };
        assert_eq!(asked, 0, "{}", io::Error::last_os_error());
        policy
    }

    #[test]
    fn a_buffer_is_on_its_node_or_says_why_not() {
        let mut buffer = Buffer::with(10_000, Pages::Small, Some(0)).expect("node 0");
        buffer.touch();
        assert_eq!(buffer.bytes().len(), 10_000);
        for (node, says) in [(5000, "beyond 1023"), (1023, "binding a buffer to node 1023")] {
            let Err(error) = Buffer::with(PAGE, Pages::Small, Some(node)) else {
                panic!("node {node}")
            };
            assert!(error.to_string().contains(says), "{error}");
        }
        let mut spread = Buffer::with(10_000, Pages::Small, None).expect("a buffer");
        spread.interleave().expect("all nodes");
        assert_eq!(policy_of(&spread), MPOL_INTERLEAVE);
        spread.touch();
        assert_eq!(
            policy_of(&Buffer::with(PAGE, Pages::Small, Some(0)).expect("node 0")),
            MPOL_BIND
        );
        assert_eq!(policy_of(&Buffer::new(PAGE).expect("a buffer")), 0, "the kernel's own");
        assert!(Pages::named(Some("3M")).is_err());
        // Mapped and not touched: only what is set aside beforehand is counted.
        for pages in [Pages::Small, Pages::Transparent] {
            assert!(pages.can_hold(&[u64::MAX]).is_ok(), "{pages:?}");
        }
        for pages in [Pages::Huge2M, Pages::Huge1G] {
            let why = pages.can_hold(&[1 << 20, 1 << 46]).expect_err("64 TiB").to_string();
            assert!(why.contains(&format!("in {} pages", pages.name())), "{why}");
        }
    }
}
