//! MPI: libraries, launchers, ranks and fabrics.

use super::Cause;

impl Cause {
    /// No library of MPI.
    pub const NO_MPI: Self =
        Self::machine("install one: libopenmpi3 or libmpich12, or name its file with --libmpi");
    /// A library whose ABI is not known.
    pub const STRANGE_MPI: Self = Self::machine(
        "Open MPI 3 to 5, what has MPICH's ABI and libmpi_abi of version 1 are known: name one with \
         --libmpi",
    );
    /// The launcher of one implementation and the library of another.
    pub const MIXED_MPI: Self = Self::machine(
        "take launcher and library of one implementation: --launcher, --libmpi, `mpirun --version`",
    );
    /// No launcher that is known.
    pub const NO_MPI_LAUNCHER: Self =
        Self::machine("install openmpi-bin or mpich, or name the launcher with --launcher");
    /// Several that srun started without MPI.
    pub const MPI_SRUN: Self =
        Self::usage("srun --mpi=pmix, or --mpi=pmi2; `srun --mpi=list` shows what there is");
    /// Fewer ranks than a pattern needs.
    pub const MPI_RANKS: Self = Self::usage("start two ranks or more: -n 2");
    /// A fabric that is not there, or that the library cannot use.
    pub const MPI_FABRIC: Self = Self::machine(
        "is the interface there on every host, and was the library built for it? `ompi_info`, \
         `ucx_info -d` and `fi_info` show what there is",
    );
    /// A rank that failed, and said why.
    pub const MPI_RANK: Self =
        Self::machine("that message is from a rank or its launcher; try `-n 2` without --fabric");
    /// A rank that died.
    pub const MPI_DIED: Self =
        Self::machine("look in the kernel's log (dmesg) of its host for what ended it");
    /// Ranks that did not come to their end in time.
    pub const MPI_LATE: Self = Self::machine(
        "all were ended; is a host down, or an interface without a route to the others? \
         --limit SECONDS waits longer",
    );
    /// Hosts that the launcher does not reach.
    pub const MPI_HOSTS: Self = Self::connect(narrows_interop::engines::NO_RANKS_HINT);
    /// A study of an application that says what cannot be.
    pub const APP_STUDY: Self = Self::usage("docs/app.md has the words of an application's study");
    /// A program of an application's study that is not on this host.
    pub const APP_PROGRAM: Self =
        Self::machine("install it, or name it with its path in the study");
    /// No run of an application has a figure that counts.
    pub const APP_RUNS: Self = Self::machine(
        "try the study's command by hand; one that takes longer has a longer `limit_seconds` there",
    );
    /// A file of results that are no application's.
    pub const NO_APP: Self = Self::usage("give a file that `narrows app STUDY` has made");
    /// Files that no one figure can have.
    pub const NOT_TOGETHER: Self = Self::usage(
        "one figure has files of `narrows app`, or of studies with one factor along the axis: report \
         others one by one, or `narrows compare` two",
    );
    /// A reference for a file that the report does not have.
    pub const NO_PART: Self =
        Self::usage("NAME in --reference NAME=FILE is a file of the report, without its ending");
    /// A published table, or a study, of another application or of none.
    pub const FOREIGN_TABLE: Self = Self::usage(
        "`application` is among the factors of such a table, and in a row the name of the study that \
         it stands beside: docs/app.md",
    );
}
