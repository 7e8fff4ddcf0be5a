//! Why nothing at a path describes a host.

use crate::bundle::BadArchive;
use crate::capture::BadCapture;
use crate::hwloc::BadTopology;
use crate::memory::{BadTable, sections};
use crate::parts::TwoHosts;
use crate::readers::BadText;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a path could not be opened as a host; its text names the path.
#[derive(Debug, Error)]
pub enum NoHost {
    /// A folder that is no tree of a machine.
    #[error(
        "{} holds neither sys nor proc nor a table DMI nor an output that narrows reads",
        .0.display()
    )]
    Folder(PathBuf),
    /// A file without a byte.
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    /// A file that can be read and describes nothing.
    #[error("{} describes no system, processor or memory", .0.display())]
    Nothing(PathBuf),
    /// A file in none of the formats.
    #[error(
        "{} is not an SMBIOS table, dmidecode text, a capture, hwloc XML or the output of {}: \
         {why}",
        path.display(),
        crate::readers::names()
    )]
    OtherKind {
        /// Path of the file, as the user named it.
        path: PathBuf,
        /// What it is not, as the format that is tried last.
        why: NotATable,
    },
    /// Files that are of several hosts.
    #[error(transparent)]
    SeveralHosts(TwoHosts),
    /// A file in one of the formats, which is not whole.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// Path of the file, as the user named it.
        path: PathBuf,
        /// What is wrong with it.
        why: Malformed,
    },
}

/// Why a file that is no text is not an SMBIOS table either.
#[derive(Debug, Error)]
pub enum NotATable {
    /// It is text, and of no kind that is known.
    #[error("it is text of another kind")]
    Text,
    /// It begins as `dmidecode --dump-bin` writes, and ends before it says where the table is.
    #[error("its entry point is cut short")]
    EntryCutShort,
    /// It ends where the table would begin.
    #[error("it is an entry point without its table")]
    NoTable,
    /// It ends inside the table.
    #[error("its table is cut short: {there} of {length} bytes")]
    CutShort {
        /// Bytes of the table that are there.
        there: usize,
        /// Bytes of the whole table, by its entry point.
        length: usize,
    },
    /// Its structures do not follow one another.
    #[error(transparent)]
    Structure(#[from] BadTable),
}

/// What is wrong with a file in a known format.
#[derive(Debug, Error)]
pub enum Malformed {
    /// The system does not let us read it.
    #[error(transparent)]
    Unread(#[from] io::Error),
    /// A device or a pipe, which might never end.
    #[error("is not a regular file")]
    Irregular,
    /// Larger than any description of a host, in bytes.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// A capture of another version, or no capture.
    #[error(transparent)]
    Capture(#[from] BadCapture),
    /// XML that is no topology.
    #[error(transparent)]
    Topology(#[from] BadTopology),
    /// An archive that cannot be unpacked.
    #[error(transparent)]
    Archive(#[from] BadArchive),
    /// The output of a program that cannot be read surely.
    #[error(transparent)]
    Output(#[from] BadText),
    /// A report of `dmidecode` that cannot be read surely.
    #[error(transparent)]
    Report(#[from] sections::Unreadable),
}
