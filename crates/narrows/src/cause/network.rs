//! The other side, the way there, and RDMA.

use super::{Cause, Exit};

impl Cause {
    /// A name without an address.
    pub const UNKNOWN_HOST: Self = Self::connect(
        "is the name spelt right, and has it an address of that family? \
         `getent ahosts NAME` shows what this host knows",
    );
    /// No agent answers.
    pub const UNREACHABLE: Self = Self::connect(
        "is `narrows serve` running there, and does the firewall let its port through?",
    );
    /// A host answers at that address, and that nothing listens on the port.
    pub const NOTHING_LISTENS: Self = Self::connect(
        "start `narrows serve` there, or give its port with -p; if it runs, another host may have that \
         address (`ip neigh`, `arping -D`), or a firewall refuses the port",
    );
    /// Nothing comes back.
    pub const NOTHING_BACK: Self = Self::connect(
        "does `ping` reach it, and `ip route get` there name the way back? If so, a firewall drops the \
         port: open it, or give another with -p",
    );
    /// No neighbour has the address, or a router says that it cannot be reached.
    pub const NO_NEIGHBOUR: Self = Self::connect(
        "is it up, and on this network (`ip neigh`: FAILED means that nobody has the address; VLAN, \
         cable, netmask)? A router or firewall may also say so, or a hop where packets ran out of \
         hops (net.ipv4.ip_default_ttl is 64): `tracepath` shows which",
    );
    /// This host knows no way there.
    pub const NO_ROUTE: Self =
        Self::connect("`ip route get ADDRESS` shows that this host has no route there: add one");
    /// No iperf3 server answers.
    pub const NO_IPERF3: Self =
        Self::connect("is `iperf3 -s` running there, and does the firewall let its port through?");
    /// What answers is no iperf3 server, or one of another kind.
    pub const ODD_IPERF3: Self =
        Self::connect("see what listens on that port there, and what `iperf3 --version` says");
    /// The agent is not heard any more.
    pub const VANISHED: Self = Self::connect(
        "is that host still up, and what does `ping` to it lose? What was measured is kept",
    );
    /// The other side is no agent, or has another key or version.
    pub const REFUSED: Self =
        Self::connect("paste the command that `narrows serve` printed there; it holds the key");
    /// What answers closed the connection and did not say why.
    pub const TURNED_AWAY: Self = Self::connect(
        "what `narrows serve` printed there (journalctl -u narrows) says whom it turned away and why: \
         --allow, its limits of tasks, files or CPU; nothing there means that something else answers",
    );
    /// The agent's connection ended between runs.
    pub const CUT_OFF: Self = Self::connect(
        "either the agent ended, and what it printed there says why (journalctl -u narrows), or the \
         path was cut for longer than TCP tries again: see what `ping` to it loses, and \
         net.ipv4.tcp_retries2 at both ends (15)",
    );
    /// The agent will not measure now.
    pub const DECLINED: Self =
        Self::connect("try again when it is free, or look at what it printed");
    /// The agent's owner lets none of its ends meet another agent's.
    pub const MEETS_NOBODY: Self = Self::connect(
        "start it with `narrows serve --peers NET`: the network or addresses of the other agents",
    );
    /// The agent's owner does not lend the interface that raw frames are to go by.
    pub const NOT_LENT: Self =
        Self::connect("have its owner lend it: `narrows serve --packets IF` there, as root");
    /// Something else listens on the port.
    pub const PORT_TAKEN: Self =
        Self::connect("`ss -lptn` shows what listens there: end it, or take another port with -p");
    /// A port that only root may listen on.
    pub const PORT_RESERVED: Self =
        Self::machine("take a port from 1024 on with -p, or run as root");
    /// An address that this host does not have.
    pub const NO_SUCH_ADDRESS: Self =
        Self::connect("name an address of this host; `ip address` lists them");
    /// The two ends of every run did not find each other.
    pub const APART: Self = Self::connect(
        "data takes ports of its own: let some through at every firewall (`narrows serve --data-ports \
         7500-7531` there), for TCP and UDP; see whether one flow of `narrows tcp HOST` passes",
    );
    /// A key that is none.
    pub const BAD_KEY: Self = Self::usage(
        "`narrows serve` prints the key; a file that holds it is for its owner alone (chmod 600)",
    );
    /// An agent without whose key nothing is measured.
    pub const NO_KEY: Self =
        Self::usage("`narrows serve` there prints it: set NARROWS_KEY, or name --key-file");

    /// Words after `ssh:` that ssh takes for no destination.
    pub const SSH_DESTINATION: Self =
        Self::usage("ssh:[USER@]HOST, ssh://[USER@]HOST:PORT, or a name of ~/.ssh/config");
    /// The system's ssh is not there.
    pub const NO_SSH: Self = Self::machine(
        "install the OpenSSH client, or start `narrows serve` there by hand and name the host alone",
    );
    /// No agent could be brought to the host.
    pub const SSH_ENDED: Self = Self::connect(
        "the lines above are from ssh and the agent there; does `ssh HOST true` work? `ssh -v HOST` \
        has this side's log, `journalctl -u ssh -u sshd` (as root there) the other's; -p takes \
        another port",
    );
    /// The host has another processor, and there is no program for it here.
    pub const NO_PROGRAM: Self = Self::machine(
        "put a narrows for that processor there under that name, or start `narrows serve` by hand",
    );

    /// Agents that are to be started on the nodes of a Slurm job, outside one or elsewhere.
    pub const SLURM_JOB: Self = Self::usage(
        "run it inside `salloc -N 8` or a script of `sbatch`; without hosts it takes all nodes of the \
        job, or name some of them as SLURM_JOB_NODELIST does",
    );
    /// Slurm's srun is not there.
    pub const NO_SRUN: Self = Self::machine(
        "Slurm's srun has to be on the PATH; or start `narrows serve` on each host by hand",
    );
    /// No agent could be started on a node of the job.
    pub const SRUN_ENDED: Self = Self::connect(
        "lines above may be from srun; does `srun hostname` work in this job? narrows has to be in the \
        same place on every node; -p takes another port",
    );

    /// A generator that is not installed, or that this kernel lacks.
    pub const NO_GENERATOR: Self = Self::machine(
        "trafgen is in netsniff-ng, testpmd in dpdk-dev with librte-net-af-packet23, librte-net-af-xdp23 \
         and librte-mempool-ring23; pktgen is a module of the kernel",
    );
    /// Words about RDMA that do not go together, or that no device of this host fits.
    pub const RDMA_WORDS: Self = Self::usage("`narrows rdma --list` shows what a host has");
    /// No RDMA device, or none that can do what is asked.
    pub const NO_RDMA: Self =
        Self::machine("see `narrows rdma --list`; over TCP: `narrows tcp HOST`");
    /// No path inside this host that can be measured.
    pub const NO_PATH: Self = Self::machine(
        "an RDMA device that is up, or two ports with a cable (--cable eth0,eth1), make a path",
    );
    /// A library that RDMA needs is not installed.
    pub const NO_RDMA_LIBRARY: Self = Self::machine(
        "install the packages that are named, or what your distribution has for them",
    );
    /// A device of RDMA that this user may not open.
    pub const RDMA_FORBIDDEN: Self =
        Self::machine("the files in /dev/infiniband need read and write permission for this user");
    /// More memory would be locked than this user may.
    pub const RDMA_MEMORY: Self = Self::machine(
        "memory that a NIC reads and writes is locked: raise the limit (ulimit -l, LimitMEMLOCK \
         of a unit)",
    );
    /// The kernel's half of RDMA is not loaded.
    pub const RDMA_KERNEL: Self =
        Self::machine("load the kernel's side: modprobe -a ib_uverbs rdma_ucm");

    /// A text that is no address of a management controller.
    pub const BMC_ADDRESS: Self = Self::usage(
        "redfish://HOST, or https://HOST/redfish/v1/Systems/ID for one system of several",
    );
    /// A management controller that does not answer.
    pub const BMC_SILENT: Self = Self::connect(
        "is it the controller's own address, and not the host's? Does HTTPS pass to it from here?",
    );
    /// A management controller whose certificate nobody vouches for.
    pub const BMC_CERTIFICATE: Self = Self::connect(
        "if that is the fingerprint which the controller's own page or console shows, say it with \
         --tls-fingerprint",
    );
    /// An account that a management controller does not let in.
    pub const BMC_DENIED: Self =
        Self::connect("name an account that may read with --bmc-user; is its password right?");
    /// A password that is nowhere.
    pub const BMC_PASSWORD: Self = Self::usage(
        "set NARROWS_BMC_PASSWORD, name --bmc-password-file (- is standard input), or run it at a \
         terminal",
    );
    /// A management controller that answers in a way that Redfish does not.
    pub const BMC_ODD: Self =
        Self::connect("docs/host.md says what narrows asks a controller for, and its limits");
    /// Stopped by a signal before there was anything to show.
    pub const STOPPED: Self =
        Self { exit: Exit::Stopped, hint: "run it again: nothing was changed" };
}
