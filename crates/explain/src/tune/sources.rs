//! Who advises what: titles of the documents, as advice names them.

/// ESnet's guide to hosts with NICs of 100 Gb/s.
pub(super) const ESNET_100G: &str = "ESnet fasterdata, 100G network tuning";
/// ESnet's guide to every Linux host.
pub(super) const ESNET_LINUX: &str = "ESnet fasterdata, Linux tuning";
/// AMD's guide to networks, publication 56739.
pub(super) const AMD_NETWORK: &str = "AMD, Linux network tuning guide for EPYC 7002 (56739)";
/// What Mellanox's adapters reach behind EPYC, and with which firmware settings.
pub(super) const HPC_EPYC: &str = "HPC Advisory Council, EPYC 7002 tuning guide for InfiniBand";
/// The kernel on steering packets: RSS, RPS, RFS, XPS.
pub(super) const KERNEL_SCALING: &str = "kernel, Documentation/networking/scaling.rst";
/// The kernel on the network's sysctls.
pub(super) const KERNEL_IP: &str = "kernel, Documentation/networking/ip-sysctl.rst";
/// The kernel on the sysctls of every protocol.
pub(super) const KERNEL_NET: &str = "kernel, Documentation/admin-guide/sysctl/net.rst";
/// The kernel on its memory's sysctls.
pub(super) const KERNEL_VM: &str = "kernel, Documentation/admin-guide/sysctl/vm.rst";
/// The kernel on its own sysctls.
pub(super) const KERNEL_KERNEL: &str = "kernel, Documentation/admin-guide/sysctl/kernel.rst";
/// The kernel on words of its command line.
pub(super) const KERNEL_LINE: &str = "kernel, Documentation/admin-guide/kernel-parameters.rst";
/// The kernel on what an idle CPU does.
pub(super) const KERNEL_IDLE: &str = "kernel, Documentation/admin-guide/pm/cpuidle.rst";
/// The kernel on the clock of CPUs.
pub(super) const KERNEL_CLOCK: &str = "kernel, Documentation/admin-guide/pm/cpufreq.rst";
/// The kernel on large pages.
pub(super) const KERNEL_PAGES: &str = "kernel, Documentation/admin-guide/mm/transhuge.rst";
/// How pinned memory is limited.
pub(super) const GETRLIMIT: &str = "getrlimit(2), RLIMIT_MEMLOCK";
/// How much of one core each step of the stack takes, measured on a Xeon Gold 6128.
pub(super) const STACK_STUDY: &str =
    "Cai et al., Understanding Host Network Stack Overheads, SIGCOMM 2021";
