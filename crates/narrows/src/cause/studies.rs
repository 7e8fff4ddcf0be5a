//! Studies: their definitions, their machines, their files.

use super::Cause;

impl Cause {
    /// A study's file that says what cannot be.
    pub const DEFINITION: Self = Self::usage("docs/plan.md has the words of a study's file");
    /// A condition on a cell that a study does not have.
    pub const NO_SUCH_CELL: Self = Self::usage(
        "name a cell by its label, its workload (tcp-stream) or the first part of that (tcp): \
         `narrows report FILE` lists them; what a search for a rate found is packets.throughput",
    );
    /// A condition in another unit than its figure's.
    pub const OTHER_UNIT: Self = Self::usage(
        "rates of networks are in Gbit/s, of memory in GB/s, of packets in packet/s or Mpps, \
             round trips in us",
    );
    /// Words for a tool that a study may not give.
    pub const TOOL_WORDS: Self =
        Self::usage("docs/plan.md says which words a study may give a tool");
    /// A file that holds runs, and not of `narrows study`.
    pub const NOT_OF_A_STUDY: Self = Self::usage("give a file that `narrows study run` has made");
    /// A study that has begun already.
    pub const STUDY_BEGUN: Self =
        Self::usage("go on with it: narrows study resume FILE, or name another folder with --out");
    /// Files that are not of one study.
    pub const NOT_ONE_STUDY: Self = Self::usage(
        "files are of one study when `narrows study run` made them from the same file over the \
         same kind of path",
    );
    /// A resumed study on another machine.
    pub const OTHER_MACHINE: Self =
        Self::usage("go on there, begin a study of its own here, or mean it with --changed");
    /// A resumed study that would go over another path.
    pub const OTHER_PATH: Self = Self::usage("start it as before: as root, or with --peer");
    /// A machine that has none of a factor's levels.
    pub const NO_LEVEL: Self = Self::usage(
        "with --dry-run it tells what would run at which level, and runs nothing; `narrows host` \
         shows the machine as narrows sees it",
    );
    /// A factor that the study does not have.
    pub const NO_FACTOR: Self = Self::usage("the study's file has its factors");
    /// A machine on which no cell of the study can run.
    pub const NO_CELL_RUNS: Self =
        Self::machine("`narrows study run FILE --dry-run` says what each cell needs");
    /// The files of a head that was noted.
    pub const ONE_HEAD: Self = Self::usage("verify the files one by one with --head");
}
