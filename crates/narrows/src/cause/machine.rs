//! What this machine lacks, or does not allow.

use super::Cause;
use narrows_model::container::{Container, Tool};
use narrows_model::record::Fault;

impl Cause {
    /// The machine does not allow it.
    pub const MACHINE: Self = Self::machine("try as root, or without what limits this process");
    /// Another narrows loads this host's memory.
    pub const NOT_ALONE: Self =
        Self::machine("wait until it is done, or stop it: `pgrep -a narrows` lists both");
    /// Frames of its own making, which the kernel takes from a process with CAP_NET_RAW alone.
    pub const NO_RAW_FRAMES: Self = Self::machine(
        "run as root, or give the program the capability: setcap cap_net_raw+ep on its file",
    );
    /// Every run failed on one of the hosts.
    pub const RUNS_FAILED: Self =
        Self::machine("leave out the option that this names, or try as root");
    /// The kernel killed every run for want of memory.
    pub const RUNS_OUT_OF_MEMORY: Self = Self::machine(Fault::OutOfMemory.remedy(""));
    /// An end may not have as many files open as it has flows.
    pub const OUT_OF_FILES: Self = Self::machine(Fault::OutOfFiles.remedy(""));
    /// No port is left for another connection to the same address.
    pub const OUT_OF_PORTS: Self = Self::machine(Fault::OutOfPorts.remedy(""));
    /// Every run's process ended early, or did not answer any more.
    pub const RUNS_LOST: Self =
        Self::machine("look in the kernel's log (dmesg) on both hosts for what ended it");
    /// The owner of the agent does not lend it for so much.
    pub const BEYOND: Self = Self::machine(
        "request less, or have the agent's owner allow more: `narrows help serve` has its limits",
    );
    /// A packet filter of this host, or of the other, let nothing out.
    pub const FILTERED: Self = Self::machine(Fault::Filtered.remedy(""));
    /// Buffers on a node that their host does not have.
    pub const NO_NODE: Self = Self::machine(
        "`narrows host` on that host lists its nodes; without --memory-node the kernel chooses",
    );
    /// An interface or an address to leave from that is not of this host.
    pub const NO_WAY_OUT: Self = Self::machine(
        "`ip -brief address` lists this host's; without -B packets leave as the kernel routes them",
    );
    /// Buffers in huge pages that nobody set aside.
    pub const NO_HUGE_PAGES: Self = Self::machine(
        "set pages aside: `sysctl vm.nr_hugepages=N` for 2M, `hugepagesz=1G hugepages=N` on the \
         kernel's command line for 1G",
    );
    /// The program that starts containers is not there.
    pub const NO_CONTAINER_PROGRAM: Self =
        Self::machine("install it, or measure on the host itself: without --in");
    /// bubblewrap does not start.
    pub const NO_BWRAP: Self = Self::machine(
        "try it by hand: `bwrap --ro-bind / / true`; unprivileged user namespaces may be off",
    );
    /// A container of podman that does not start, or in which this program does not.
    pub const NO_PODMAN_IMAGE: Self = Self::machine(
        "try it by hand (`podman run --rm IMAGE true`): the image must be there and hold a C \
         library",
    );
    /// The same of docker.
    pub const NO_DOCKER_IMAGE: Self = Self::machine(
        "try it by hand (`docker run --rm IMAGE true`): its daemon must run, and the image be \
         there and hold a C library",
    );
    /// Signals cannot be caught.
    pub const NO_SIGNALS: Self = Self::machine("is this a sandbox? Allow rt_sigaction in it");
    /// The host is not to be seen.
    pub const NO_PROC: Self = Self::machine("mount /proc: narrows reads the host there");
    /// A library is wanted, and this build is one that can load none.
    pub const STATIC: Self = Self::machine(
        "this is the static build, which loads no library: RDMA and MPI need the one for glibc",
    );
    /// A setting that cannot be written.
    pub const NOT_APPLIED: Self =
        Self::machine("run as root; `narrows tune --undo` puts back what was changed until now");
    /// A setting that cannot be put back.
    pub const NOT_UNDONE: Self = Self::machine("run as root; nothing that was noted is lost");
    /// Something that only a fault of this program explains.
    pub const FAULT: Self =
        Self::machine("this is a fault of narrows: please report it with this command line");

    /// Why what a worker is to run in does not start, by the command that was tried.
    pub fn of_container(inside: &Container) -> Self {
        match inside {
            Container::Bwrap => Self::NO_BWRAP,
            Container::Image { tool: Tool::Podman, .. } => Self::NO_PODMAN_IMAGE,
            Container::Image { tool: Tool::Docker, .. } => Self::NO_DOCKER_IMAGE,
        }
    }

    /// Whether this program was linked statically against musl, which has no loader.
    pub const IS_STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

    /// Why a library cannot be loaded: to install it, as this cause says, helps no static build.
    pub fn of_library(self, is_static: bool) -> Self {
        if is_static { Self::STATIC } else { self }
    }
}
