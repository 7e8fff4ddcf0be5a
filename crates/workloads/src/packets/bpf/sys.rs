//! bpf(2) by its number: maps, programs, links and test runs, each an open file that the kernel
//! takes away with the process that held it.

use super::Insn;
use crate::LoadError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Commands of bpf(2), of linux/bpf.h as all below.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const TEST_RUN: libc::c_long = 10;
const LINK_CREATE: libc::c_long = 28;
const ARRAY: u32 = 2;
const SOCKETS: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// The values can be mapped into this process.
const MAPPABLE: u32 = 1 << 10;
/// Frames of a test run leave for real.
const LIVE_FRAMES: u32 = 1 << 1;
/// Bytes of what the kernel's verifier says.
const LOG_BYTES: usize = 1 << 16;

/// What a program returns for a packet.
pub mod verdict {
    /// The packet is over.
    pub const DROP: i32 = 1;
    /// It goes on as if no program were there.
    pub const PASS: i32 = 2;
}

/// Numbers of helpers.
pub mod helper {
    /// `R0 = value of the key that R2 points to, in the map R1, or 0`.
    pub const MAP_LOOKUP: i32 = 1;
    /// `R0 = CLOCK_MONOTONIC` in nanoseconds.
    pub const KTIME: i32 = 5;
    /// Sends the packet out of the interface of the index in R1.
    pub const REDIRECT: i32 = 23;
    /// Gives the packet to what is at the key R2 of the map R1; where nothing is, the verdict R3.
    pub const REDIRECT_MAP: i32 = 51;
}

/// Calls bpf(2) with the attributes of a command.
fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: the kernel reads and writes the attributes within their size; what they point to
    // outlives the call, as each caller says.
    let answer = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
}

/// An answer that is an open file.
fn open<T>(command: libc::c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    let file = bpf(command, attributes)?;
    // SAFETY: the kernel has just opened it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// An array of values that the kernel and this process share.
pub struct Array {
    file: OwnedFd,
    words: NonNull<AtomicU64>,
    count: usize,
    mapped: usize,
}

// SAFETY: the mapping holds atomics alone, is valid as long as self, and is unmapped once.
unsafe impl Send for Array {}
// SAFETY: as above: atomics may be reached from all threads.
unsafe impl Sync for Array {}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapUpdate {
    map: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

fn create(kind: u32, value_bytes: u32, entries: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut wanted = MapCreate { kind, key_bytes: 4, value_bytes, entries, flags };
    open(MAP_CREATE, &mut wanted)
}

/// Sets an entry of a map whose values have as many bytes as this one.
fn update<T>(map: &OwnedFd, key: u32, value: &T) -> io::Result<()> {
    let mut update = MapUpdate {
        map: map.as_raw_fd() as u32,
        key: (&raw const key) as u64,
        value: std::ptr::from_ref(value) as u64,
        ..MapUpdate::default()
    };
    // The key and the value live until the call is over.
    bpf(MAP_UPDATE, &mut update).map(drop)
}

impl Array {
    /// Makes one of `entries` values of so many words of eight bytes, all zero.
    pub fn make(words: usize, entries: usize) -> Result<Self, LoadError> {
        let count = words * entries;
        let make = || {
            let file = create(ARRAY, (words * 8) as u32, entries as u32, MAPPABLE)?;
            let mapped = (count * 8).next_multiple_of(page_bytes());
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping of a map that the kernel has made with as many bytes.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    mapped,
                    access,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    0,
                )
            };
            match NonNull::new(start.cast::<AtomicU64>()) {
                Some(words) if start != libc::MAP_FAILED => Ok(Self { file, words, count, mapped }),
                _ => Err(io::Error::last_os_error()),
            }
        };
        make().map_err(LoadError::system("making a BPF array (CAP_BPF or root)"))
    }

    /// The number by which programs name it.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Its words, those of all values one after the other.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `count` words, zeroed by the kernel, and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }

    /// One of its words.
    pub fn get(&self, word: usize) -> u64 {
        self.words()[word].load(Relaxed)
    }

    /// Sets one of its words.
    pub fn set(&self, word: usize, value: u64) {
        self.words()[word].store(value, Relaxed);
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `make`, unmapped once.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.mapped) };
    }
}

fn page_bytes() -> usize {
    // SAFETY: it only asks.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A table of one word a key, from 0.
pub struct Table {
    file: OwnedFd,
}

impl Table {
    /// Makes one of so many entries, all zero.
    pub fn make(entries: u32) -> Result<Self, LoadError> {
        let file = create(ARRAY, 8, entries, 0);
        file.map(|file| Self { file })
            .map_err(LoadError::system("making a BPF table (CAP_BPF or root)"))
    }

    /// The number by which programs name it.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Sets an entry.
    pub fn set(&self, key: u32, value: u64) -> Result<(), LoadError> {
        update(&self.file, key, &value)
            .map_err(LoadError::system("setting an entry of a BPF table"))
    }
}

/// AF_XDP sockets by the receive queue whose packets each gets.
pub struct SocketMap {
    file: OwnedFd,
}

impl SocketMap {
    /// Makes one for so many queues, none with a socket yet.
    pub fn make(queues: u32) -> Result<Self, LoadError> {
        let file = create(SOCKETS, 4, queues, 0);
        file.map(|file| Self { file })
            .map_err(LoadError::system("making a BPF map of sockets (CAP_BPF or root)"))
    }

    /// The number by which programs name it.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Gives a queue's packets to a bound socket.
    pub fn set(&self, queue: u32, socket: &OwnedFd) -> Result<(), LoadError> {
        update(&self.file, queue, &socket.as_raw_fd())
            .map_err(LoadError::system(format!("giving queue {queue} to an AF_XDP socket")))
    }
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    kind: u32,
    count: u32,
    code: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

/// A program for packets that the kernel has verified.
pub struct Program {
    file: OwnedFd,
}

impl Program {
    /// Has the kernel verify and load a program; where it refuses, the error has its last words.
    pub fn load(code: &[Insn], name: &str) -> Result<Self, LoadError> {
        match Self::try_load(code, name, &mut []) {
            Ok(file) => Ok(Self { file }),
            Err(first) => {
                let mut log = vec![0; LOG_BYTES];
                let _ = Self::try_load(code, name, &mut log);
                // Behind the first zero is what the kernel has taken back.
                let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
                let text = String::from_utf8_lossy(text);
                let last = text.lines().rev().take(2).collect::<Vec<_>>().join(" / ");
                let doing = if last.is_empty() {
                    format!("loading the XDP program {name} (CAP_BPF, or root)")
                } else {
                    format!("loading the XDP program {name}: {last}")
                };
                Err(LoadError::system(doing)(first))
            }
        }
    }

    fn try_load(code: &[Insn], name: &str, log: &mut [u8]) -> io::Result<OwnedFd> {
        // The helpers used need no particular licence.
        let licence = c"MIT";
        let mut wanted = ProgLoad {
            kind: PROG_TYPE_XDP,
            count: code.len() as u32,
            code: code.as_ptr() as u64,
            licence: licence.as_ptr() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: log.len() as u32,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            attach: ATTACH_XDP,
            ..ProgLoad::default()
        };
        let length = name.len().min(wanted.name.len() - 1);
        wanted.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        // Code, licence and log live until the call is over.
        open(PROG_LOAD, &mut wanted)
    }

    /// Puts it before the packets of an interface, in its driver or, where that cannot, in front of
    /// the stack. It is there as long as the link is open, and no longer than this process.
    pub fn attach(&self, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
        let mut wanted = LinkCreate {
            program: self.file.as_raw_fd() as u32,
            interface,
            attach: ATTACH_XDP,
            flags: mode as u32,
        };
        open(LINK_CREATE, &mut wanted)
    }

    /// Runs it once on a copy of a frame, of which nothing leaves: its verdict, and the frame
    /// after it.
    pub fn run_once(&self, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let mut after = vec![0; frame.len()];
        let mut wanted = TestRun {
            program: self.file.as_raw_fd() as u32,
            data_bytes: frame.len() as u32,
            data_out_bytes: after.len() as u32,
            data: frame.as_ptr() as u64,
            data_out: after.as_mut_ptr() as u64,
            repeat: 1,
            ..TestRun::default()
        };
        // Both frames live until the call is over; the kernel writes within the second.
        bpf(TEST_RUN, &mut wanted)?;
        after.truncate(wanted.data_out_bytes as usize);
        Ok((wanted.answer, after))
    }

    /// Runs it on copies of a frame, which leave by what it returns, `repeat` times. A signal
    /// breaks it off (`Interrupted`).
    pub fn run_live(&self, frame: &[u8], repeat: u32) -> io::Result<()> {
        let mut wanted = TestRun {
            program: self.file.as_raw_fd() as u32,
            data_bytes: frame.len() as u32,
            data: frame.as_ptr() as u64,
            repeat,
            flags: LIVE_FRAMES,
            ..TestRun::default()
        };
        // The frame lives until the call is over, and is only read.
        bpf(TEST_RUN, &mut wanted).map(drop)
    }
}

/// Where a program sees packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In front of the stack, after a buffer was made for each packet (generic).
    Stack = 1 << 1,
    /// In the driver, before there is a buffer.
    Driver = 1 << 2,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    answer: u32,
    data_bytes: u32,
    data_out_bytes: u32,
    data: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_bytes: u32,
    context_out_bytes: u32,
    context: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    _gap: u32,
}

/// Whether this process may load programs; where it may not, a test says so and is left out.
#[cfg(test)]
pub fn may_load() -> bool {
    match super::counter::passing() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}
