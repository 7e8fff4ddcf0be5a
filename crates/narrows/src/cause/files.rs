//! Files that are read or written.

use super::Cause;

impl Cause {
    /// A path at which there is nothing.
    pub const NOT_THERE: Self =
        Self::usage("is the path spelt right? A relative one begins in this folder");
    /// A folder or a device where a file is wanted.
    pub const NOT_A_FILE: Self =
        Self::usage("name a file; `narrows list FOLDER` shows the studies in a folder");
    /// A file of bytes where text is wanted.
    pub const NOT_TEXT: Self =
        Self::usage("name a text file in UTF-8: what is wanted here is TOML");
    /// A file that this user may not read.
    pub const FORBIDDEN: Self =
        Self::machine("run as a user who may read it, or give yourself the right to");
    /// A file that is no study.
    pub const NO_STUDY: Self =
        Self::usage("give a .narrows file that `narrows check`, `tcp` or `udp` has written");
    /// A file that holds no mesh, or none of the hosts that are planned.
    pub const NO_MESH: Self = Self::usage(
        "give a file of `narrows mesh` (without --rr) over the hosts of the plan, or fewer",
    );
    /// A study that is damaged, or that a later version wrote.
    pub const DAMAGED: Self =
        Self::usage("restore the file from a copy, or read it with the narrows that wrote it");
    /// Something that is no description of a host.
    pub const NO_HOST: Self = Self::usage(
        "docs/host.md says what can be given, alone or together: a capture, a folder with sys and \
         proc, a table DMI, what dmidecode, lspci, lscpu, ip, ethtool and hwloc write",
    );
    /// Something that is no map of memory slots.
    pub const NO_SLOT_MAP: Self =
        Self::usage("docs/dimm.md has the format of a slot map, with an example");
    /// A new file whose name is taken.
    pub const EXISTS: Self = Self::usage("name another file, or move that one away");
    /// A study that another narrows writes.
    pub const BEING_WRITTEN: Self =
        Self::usage("wait for it, or stop it: what it measured is kept");
    /// A folder to write to that is none.
    pub const NO_FOLDER: Self = Self::usage("make the folder first, or name another");
    /// A file or folder that cannot be written.
    pub const UNWRITABLE: Self =
        Self::machine("name a folder with room that you may write to; finished runs are kept");
    /// Standard output that cannot be written.
    pub const OUTPUT_LOST: Self = Self::machine("is the disk it is redirected to full?");
    /// A folder with a thousand studies of `narrows tune`.
    pub const FOLDER_FULL: Self = Self::machine("name another folder with --out, or clear it out");

    /// A file that no tool wrote: too long, broken off, or packed in another way.
    pub const NO_TOOL_OUTPUT: Self = Self::usage("name a file with the output of a tool");
    /// The output of a tool that is not recognised.
    pub const UNKNOWN_TOOL: Self = Self::usage("name its tool with --tool");
    /// A published table that has no cells of a study.
    pub const OTHER_TABLE: Self =
        Self::usage("`narrows predict --published` reads tables of single figures and of servers");
    /// The output of a tool that lacks its figures.
    pub const BROKEN_TOOL_OUTPUT: Self =
        Self::usage("run the tool again, or name another with --tool");
    /// A measured study, to which nothing is imported.
    pub const NOT_IMPORTED: Self = Self::usage("name a file that `narrows import` has made");
}
