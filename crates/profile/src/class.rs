//! Classes of functions, by a table that is data (`classes.toml`).

use narrows_model::profile::{Function, Mode, Profile, Stack};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

/// What CPU time is spent on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Payload between programs and the kernel.
    Copy,
    /// Protocols from the socket down to the device.
    TcpUdpIp,
    /// Packet buffers and the pages and slabs that they are made of.
    Buffers,
    /// Calls of sockets and what waits on them.
    Socket,
    /// Drivers, NAPI, receive backlog, offloads, bridges.
    Driver,
    /// Queue pairs and their drivers in the kernel.
    Rdma,
    /// Handlers of interrupts and soft interrupts themselves.
    Interrupts,
    /// Timers, clocks and what their ticks do.
    Timers,
    /// Switching between tasks and waking them.
    Scheduler,
    /// Taking locks, and waiting for them.
    Locks,
    /// Into the kernel and out of it.
    Entry,
    /// What the kernel does against speculation.
    Mitigations,
    /// Packet filters, connection tracking, queueing disciplines.
    FilterAndQueueing,
    /// Page faults, maps, pinning of pages.
    MemoryMaps,
    /// Files, splices, io_uring, checks of rights.
    Files,
    /// The program and its libraries.
    User,
    /// A CPU with nothing to do.
    Idle,
    /// What sampling and tracing cost.
    Profiling,
    /// Functions that the table does not know, and whose callers it does not know either.
    Unclassified,
}

impl Class {
    /// As tables of a report have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::TcpUdpIp => "TCP/UDP/IP",
            Self::Buffers => "packet buffers and pages",
            Self::Socket => "socket layer",
            Self::Driver => "driver and NAPI",
            Self::Rdma => "RDMA in the kernel",
            Self::Interrupts => "interrupts",
            Self::Timers => "timers and clocks",
            Self::Scheduler => "scheduler and wake-up",
            Self::Locks => "locks",
            Self::Entry => "system-call entry",
            Self::Mitigations => "mitigations",
            Self::FilterAndQueueing => "packet filter and queueing",
            Self::MemoryMaps => "page faults and maps",
            Self::Files => "files and rights",
            Self::User => "user",
            Self::Idle => "idle",
            Self::Profiling => "profiling",
            Self::Unclassified => "unclassified",
        }
    }

    /// As keys and style sheets have it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::TcpUdpIp => "tcp-udp-ip",
            Self::Buffers => "buffers",
            Self::Socket => "socket",
            Self::Driver => "driver",
            Self::Rdma => "rdma",
            Self::Interrupts => "interrupts",
            Self::Timers => "timers",
            Self::Scheduler => "scheduler",
            Self::Locks => "locks",
            Self::Entry => "entry",
            Self::Mitigations => "mitigations",
            Self::FilterAndQueueing => "filter-and-queueing",
            Self::MemoryMaps => "memory-maps",
            Self::Files => "files",
            Self::User => "user",
            Self::Idle => "idle",
            Self::Profiling => "profiling",
            Self::Unclassified => "unclassified",
        }
    }

    /// Whether packets pass through what it holds.
    pub fn is_network(self) -> bool {
        matches!(self, Self::TcpUdpIp | Self::Driver | Self::FilterAndQueueing | Self::Rdma)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The table as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    through: Through,
    class: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Through {
    #[serde(rename = "source")]
    _source: String,
    functions: Vec<String>,
    prefixes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    class: Class,
    #[serde(rename = "source")]
    _source: String,
    functions: Vec<String>,
    prefixes: Vec<String>,
    #[serde(default)]
    modules: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// It is of this class.
    Is(Class),
    /// Nothing: its caller decides.
    Through,
}

#[derive(Debug, Default)]
pub struct Table {
    exact: HashMap<String, Says>,
    prefixes: BTreeMap<String, Says>,
    modules: HashMap<String, Class>,
}

impl Table {
    /// The table of this version.
    pub fn own() -> &'static Self {
        static OWN: OnceLock<Table> = OnceLock::new();
        // A test reads the file; were it damaged, everything would be unclassified.
        OWN.get_or_init(|| Self::read(include_str!("../classes.toml")).unwrap_or_default())
    }

    /// Reads a table; of an error, its place.
    fn read(text: &str) -> Result<Self, toml::de::Error> {
        let written: Written = toml::from_str(text)?;
        let mut table = Self::default();
        table.add(&written.through.functions, &written.through.prefixes, Says::Through);
        for entry in written.class {
            table.add(&entry.functions, &entry.prefixes, Says::Is(entry.class));
            table.modules.extend(entry.modules.into_iter().map(|name| (name, entry.class)));
        }
        Ok(table)
    }

    fn add(&mut self, functions: &[String], prefixes: &[String], says: Says) {
        self.exact.extend(functions.iter().map(|name| (name.clone(), says)));
        self.prefixes.extend(prefixes.iter().map(|name| (name.clone(), says)));
    }

    /// What a function of the kernel is for; `None` where the table does not know it.
    fn says(&self, function: &Function) -> Option<Says> {
        let name = bare(&function.name);
        let module = || function.of.as_ref().and_then(|module| self.modules.get(module));
        let exact = self.exact.get(name).copied();
        exact
            .or_else(|| module().map(|class| Says::Is(*class)))
            .or_else(|| self.longest_prefix(name))
    }

    fn longest_prefix(&self, name: &str) -> Option<Says> {
        let lengths = (1..=name.len()).rev().filter(|length| name.is_char_boundary(*length));
        lengths.filter_map(|length| self.prefixes.get(&name[..length])).next().copied()
    }

    /// The class of a stack: that of the innermost function that the table knows. A thread that
    /// runs does not idle: what it shares with a CPU that does is of the scheduler.
    pub fn class_of(&self, profile: &Profile, stack: &Stack) -> Class {
        for function in profile.frames(stack) {
            if function.mode == Mode::User {
                return Class::User;
            }
            match self.says(function) {
                Some(Says::Is(Class::Idle)) if !stack.task.may_idle() => return Class::Scheduler,
                Some(Says::Is(class)) => return class,
                Some(Says::Through) | None => {}
            }
        }
        Class::Unclassified
    }

    /// The class of one function of the kernel by itself.
    pub(crate) fn class_of_function(&self, function: &Function) -> Option<Class> {
        match self.says(function)? {
            Says::Is(class) => Some(class),
            Says::Through => None,
        }
    }

    /// Whether a stack passes a function of the network.
    pub fn is_network(&self, profile: &Profile, stack: &Stack) -> bool {
        let mut says = profile.frames(stack).filter_map(|function| self.says(function));
        says.any(|says| matches!(says, Says::Is(class) if class.is_network()))
    }
}

/// A name without what a compiler adds to it.
fn bare(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::profile::{SampledBy, SampledWhat, Task};

    fn kernel(name: &str) -> Function {
        Function { name: name.to_owned(), mode: Mode::Kernel, of: None }
    }

    fn class(stack: &[Function]) -> Class {
        class_for(Task::Own, stack)
    }

    fn class_for(task: Task, stack: &[Function]) -> Class {
        let profile = of_stack(task, stack);
        Table::own().class_of(&profile, &profile.stacks[0])
    }

    fn of_stack(task: Task, stack: &[Function]) -> Profile {
        let frames: Vec<u32> = (0..stack.len() as u32).collect();
        Profile {
            by: SampledBy::CpuClock,
            what: SampledWhat::Threads,
            targets: 1,
            per_second: 997,
            functions: stack.to_vec(),
            stacks: vec![Stack { task, frames, samples: 1, weight: 1 }],
            lost: 0,
            outside: 0,
            reading_ns: Nanos(0),
            gaps: Vec::new(),
        }
    }

    fn of(names: &[&str]) -> Class {
        class(&names.iter().map(|name| kernel(name)).collect::<Vec<_>>())
    }

    #[test]
    fn the_table_is_read_and_no_name_is_twice_in_it() {
        let text = include_str!("../classes.toml");
        let written: Written = toml::from_str(text).expect("the table");
        let mut lists = vec![(&written.through.functions, &written.through.prefixes)];
        lists.extend(written.class.iter().map(|entry| (&entry.functions, &entry.prefixes)));
        let (mut names, mut prefixes) = (Vec::new(), Vec::new());
        for (functions, begins) in lists {
            names.extend(functions);
            prefixes.extend(begins);
        }
        for all in [&mut names, &mut prefixes] {
            let count = all.len();
            all.sort();
            let twice: Vec<_> = all.windows(2).filter(|two| two[0] == two[1]).collect();
            assert!(twice.is_empty() && count > 100, "{twice:?}");
        }
        assert!(names.iter().all(|name| !name.is_empty() && bare(name) == **name));
    }

    #[test]
    fn a_stack_is_what_its_innermost_known_function_is_for() {
        assert_eq!(of(&["rep_movs_alternative", "_copy_to_iter", "tcp_recvmsg"]), Class::Copy);
        assert_eq!(of(&["tcp_ack", "tcp_rcv_established", "net_rx_action"]), Class::TcpUdpIp);
        assert_eq!(of(&["an_unknown_one", "tcp_ack"]), Class::TcpUdpIp);
        assert_eq!(of(&["tcp_gro_receive.constprop.0", "napi_gro_receive"]), Class::Driver);
        assert_eq!(of(&["an_unknown_one", "another"]), Class::Unclassified);
        assert_eq!(of(&[]), Class::Unclassified);
    }

    #[test]
    fn small_functions_and_unlocking_are_what_their_caller_is_for() {
        assert_eq!(of(&["_raw_spin_unlock_irqrestore", "sock_def_readable"]), Class::Scheduler);
        assert_eq!(of(&["_raw_spin_unlock_irqrestore", "tcp_write_xmit"]), Class::TcpUdpIp);
        assert_eq!(of(&["memset", "__alloc_skb", "tcp_sendmsg"]), Class::Buffers);
        assert_eq!(of(&["memcpy", "skb_copy_bits", "tcp_retransmit_skb"]), Class::Copy);
        assert_eq!(
            of(&["native_queued_spin_lock_slowpath", "_raw_spin_lock", "tcp_v4_rcv"]),
            Class::Locks
        );
    }

    #[test]
    fn programs_and_modules_are_told() {
        let user = Function { name: "main".into(), mode: Mode::User, of: Some("narrows".into()) };
        assert_eq!(class(&[user.clone(), kernel("tcp_ack")]), Class::User);
        assert_eq!(class(&[kernel("do_syscall_64"), user]), Class::Entry);
        let module =
            |name: &str| Function { of: Some(name.to_owned()), ..kernel("one_of_its_own") };
        assert_eq!(class(&[module("mlx5_core")]), Class::Driver);
        assert_eq!(class(&[module("nf_conntrack")]), Class::FilterAndQueueing);
        assert_eq!(class_for(Task::Idle, &[module("some_gpu"), kernel("do_idle")]), Class::Idle);
    }

    #[test]
    fn what_a_running_thread_shares_with_an_idle_cpu_is_of_the_scheduler() {
        let stack = [kernel("need_resched"), kernel("tcp_recvmsg")];
        for (task, class) in [
            (Task::Idle, Class::Idle),
            (Task::Kernel, Class::Idle),
            (Task::Own, Class::Scheduler),
            (Task::Keeper, Class::Scheduler),
            (Task::Other, Class::Scheduler),
        ] {
            assert_eq!(class_for(task, &stack), class, "{task:?}");
        }
    }

    #[test]
    fn a_class_has_its_key_its_name_and_whether_packets_pass() {
        use Class::*;
        for (class, key, name, is_network) in [
            (Copy, "copy", "copy", false),
            (TcpUdpIp, "tcp-udp-ip", "TCP/UDP/IP", true),
            (Buffers, "buffers", "packet buffers and pages", false),
            (Socket, "socket", "socket layer", false),
            (Driver, "driver", "driver and NAPI", true),
            (Rdma, "rdma", "RDMA in the kernel", true),
            (Interrupts, "interrupts", "interrupts", false),
            (Timers, "timers", "timers and clocks", false),
            (Scheduler, "scheduler", "scheduler and wake-up", false),
            (Locks, "locks", "locks", false),
            (Entry, "entry", "system-call entry", false),
            (Mitigations, "mitigations", "mitigations", false),
            (FilterAndQueueing, "filter-and-queueing", "packet filter and queueing", true),
            (MemoryMaps, "memory-maps", "page faults and maps", false),
            (Files, "files", "files and rights", false),
            (User, "user", "user", false),
            (Idle, "idle", "idle", false),
            (Profiling, "profiling", "profiling", false),
            (Unclassified, "unclassified", "unclassified", false),
        ] {
            assert_eq!((class.key(), class.name(), class.is_network()), (key, name, is_network));
            assert_eq!(class.to_string(), name);
        }
    }

    #[test]
    fn packets_pass_where_any_function_is_of_the_network() {
        for (names, is_network) in [
            (&["tcp_ack"][..], true),
            (&["memset", "__alloc_skb", "tcp_sendmsg"], true),
            (&["schedule", "tcp_recvmsg"], true),
            (&["memset", "__alloc_skb"], false),
            (&["schedule", "do_idle"], false),
            (&["nobody_knows"], false),
            (&[], false),
        ] {
            let functions: Vec<Function> = names.iter().map(|name| kernel(name)).collect();
            let profile = of_stack(Task::Kernel, &functions);
            let told = Table::own().is_network(&profile, &profile.stacks[0]);
            assert_eq!(told, is_network, "{names:?}");
        }
    }
}
