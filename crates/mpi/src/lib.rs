//! MPI through a library that is loaded when it is needed: the same program runs under Open MPI and
//! under MPICH and what shares its ABI, and a host without either runs all else of narrows.
//!
//! They differ in what a handle is: a pointer to a symbol of the library in [`openmpi`], a number
//! in [`mpich`], a number as a pointer in [`standard`], which either has too from MPI 5.0 on. What
//! is above them is one.

mod calls;
pub mod carried;
pub mod fabric;
mod library;
mod mpich;
mod openmpi;
pub mod pattern;
pub mod samples;
mod standard;
mod symbols;

pub use library::{Flavour, Loaded, load, ready};

use thiserror::Error;

/// Why there is no MPI to be had.
#[derive(Debug, Error)]
pub enum MpiError {
    /// No library of any name that is known.
    #[error("no MPI library can be loaded: {why}")]
    Missing {
        /// The loader's words about the last that was tried.
        why: String,
    },
    /// A library that is none of MPI's, or has an ABI that is not known.
    #[error("{library} is not an MPI library that narrows knows: it has no {symbol}")]
    Strange {
        /// The file that was loaded.
        library: String,
        symbol: String,
    },
    /// A library with an ABI of the standard that is later than the one that is known.
    #[error("{library} has the standard's ABI {major}.{minor}, and narrows knows 1")]
    NewerAbi {
        /// The file that was loaded.
        library: String,
        /// Version of the ABI, before the point.
        major: i32,
        /// Version of the ABI, after the point.
        minor: i32,
    },
    /// A launcher of one implementation, and the library of another: each rank is alone.
    #[error("the launcher is {launcher}'s and the library {library}: each rank would be alone")]
    Mixed {
        /// Whose variables the launcher has set.
        launcher: String,
        /// What the library says that it is.
        library: String,
    },
    /// The library found another number of ranks than the launcher said.
    #[error("the launcher started {launched} ranks and {library} found {found}")]
    Alone {
        /// Ranks, by the launcher's variable.
        launched: usize,
        /// Ranks, by the library.
        found: usize,
        /// What the library says that it is.
        library: String,
    },
    #[error("{library} did not start: MPI_Init gave {code}")]
    NotStarted {
        /// What the library says that it is.
        library: String,
        code: i32,
    },
}

/// One rank among the others of `MPI_COMM_WORLD`.
///
/// A call that fails ends all ranks, as MPI's own handler of errors does: none gives an error back.
pub trait Mpi {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;
    /// How many ranks there are.
    fn size(&self) -> usize;
    /// What the library says that it is, one line.
    fn version(&self) -> &str;
    /// Name of this rank's host, by the library.
    fn host(&self) -> String;
    /// Waits for all ranks.
    fn barrier(&self);
    /// Sends a message and waits until its buffer is free.
    fn send(&self, bytes: &[u8], to: usize);
    /// Waits for a message of exactly that length.
    fn receive(&self, into: &mut [u8], from: usize);
    /// Has messages of `each` bytes under way from places in `out`, and as many as are told coming
    /// to places in `into`, and waits for all of them.
    fn exchange(&self, window: Window<'_>, with: usize);
    /// The sums over all ranks, at all ranks.
    fn sum(&self, of: &[f64], into: &mut [f64]);
    /// Sends the n-th slice of `each` bytes to rank n; `into` has the n-th from rank n.
    fn to_all(&self, out: &[u8], into: &mut [u8], each: usize);
    /// All ranks' bytes at rank 0, in order of ranks; `into` is empty elsewhere.
    fn gather(&self, bytes: &[u8], into: &mut [u8]);
    /// Rank 0's bytes at all ranks.
    fn share(&self, bytes: &mut [u8]);
    /// Leaves MPI, when all ranks do.
    fn finish(&self);
}

/// Messages that are under way at once between two ranks.
pub struct Window<'a> {
    /// What is sent; empty where nothing is but a count of messages of no bytes.
    pub out: &'a [u8],
    /// Where what comes is put.
    pub into: &'a mut [u8],
    /// Bytes of a message.
    pub each: usize,
    /// Bytes from the beginning of one message to that of the next: `each`, or 0 where all are in
    /// one place.
    pub stride: usize,
    /// Messages that are sent.
    pub sends: usize,
    /// Messages that come.
    pub receives: usize,
}

impl Window<'_> {
    /// Bytes that so many messages take, the last one whole.
    fn span(&self, messages: usize) -> usize {
        messages.checked_sub(1).map_or(0, |before| before * self.stride + self.each)
    }
}
