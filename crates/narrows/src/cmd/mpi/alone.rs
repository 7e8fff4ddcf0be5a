//! An MPI that tests pretend: every rank is this one, and says what it says.

use crate::args::{Args, Command, MpiArgs, help};
use clap::FromArgMatches;
use narrows_mpi::{Mpi, Window};

/// Rank 0 of so many.
pub struct Alone {
    pub ranks: usize,
}

impl Mpi for Alone {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        self.ranks
    }
    fn version(&self) -> &str {
        "pretended MPI 1.0"
    }
    fn host(&self) -> String {
        "alone".to_owned()
    }
    fn barrier(&self) {}
    fn send(&self, _: &[u8], _: usize) {}
    fn receive(&self, _: &mut [u8], _: usize) {}
    fn exchange(&self, _: Window<'_>, _: usize) {}
    fn sum(&self, of: &[f64], into: &mut [f64]) {
        into.iter_mut().zip(of).for_each(|(into, of)| *into = of * self.ranks as f64);
    }
    fn to_all(&self, out: &[u8], into: &mut [u8], _: usize) {
        into.iter_mut().zip(out).for_each(|(into, out)| *into = *out);
    }
    fn gather(&self, bytes: &[u8], into: &mut [u8]) {
        into.chunks_exact_mut(bytes.len()).for_each(|rank| rank.copy_from_slice(bytes));
    }
    fn share(&self, _: &mut [u8]) {}
    fn finish(&self) {}
}

/// The arguments of a command line.
pub fn args(line: &str) -> MpiArgs {
    let words = std::iter::once("narrows").chain(line.split(' '));
    let matches = help::command().try_get_matches_from(words).unwrap_or_else(|why| panic!("{why}"));
    match Args::from_arg_matches(&matches).expect("arguments").command {
        Command::Mpi(args) => args,
        _ => panic!("{line}"),
    }
}
