//! The system calls of an agent's processes: those that each needs for its work, and no others. A
//! call that is not among them fails with EPERM, which its caller tells like any error.
//!
//! What speaks with strangers ([`listener`], [`iperf3`]) has the connections that come to it: it
//! opens no file, starts no program, signals and reads no other process. The [`starter`] keeps what
//! starts workers; a [`worker`] cannot start anything. None of them can change who it is, what
//! namespaces it is in, what is mounted, or trace other processes. The starter and workers can copy
//! memory from and to a process of the same user that has no more capabilities than they have.

use crate::HostError;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};
use std::collections::BTreeMap;

/// Numbers of calls by their names.
macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Calls of every architecture: those of an ordinary service, and what loads use beside them
/// (io_uring, memory policies, performance counters, files in memory, copies between processes).
///
/// The copies (process_vm_readv and process_vm_writev) are how libfabric's shm provider moves all
/// that is longer than a few KiB; refused at one end alone, its requests fail or never complete.
/// They open nothing: the kernel asks for what it asks for /proc/PID/mem, by the same check, and
/// that file is in reach of open(2). Programs of other users and with more capabilities stay shut.
const CALLS: &[libc::c_long] = numbers![
        SYS_accept SYS_accept4 SYS_bind SYS_brk SYS_capget SYS_chdir SYS_clock_getres
        SYS_clock_gettime SYS_clock_nanosleep SYS_close SYS_close_range SYS_connect
        SYS_copy_file_range SYS_dup SYS_dup3 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait
        SYS_epoll_pwait2 SYS_eventfd2 SYS_execve SYS_execveat SYS_exit SYS_exit_group
        SYS_faccessat SYS_faccessat2 SYS_fadvise64 SYS_fallocate SYS_fchdir SYS_fchmod
        SYS_fchmodat SYS_fcntl SYS_fdatasync SYS_fgetxattr SYS_flistxattr SYS_flock
        SYS_fremovexattr SYS_fsetxattr SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate
        SYS_futex SYS_futex_waitv SYS_get_mempolicy SYS_get_robust_list SYS_getcpu
        SYS_getcwd SYS_getdents64 SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups
        SYS_getitimer SYS_getpeername SYS_getpgid SYS_getpid SYS_getppid SYS_getpriority
        SYS_getrandom SYS_getresgid SYS_getresuid SYS_getrusage SYS_getsid SYS_getsockname
        SYS_getsockopt SYS_gettid SYS_gettimeofday SYS_getuid SYS_getxattr
        SYS_inotify_add_watch SYS_inotify_init1 SYS_inotify_rm_watch SYS_io_cancel
        SYS_io_destroy SYS_io_getevents SYS_io_setup SYS_io_submit SYS_io_uring_enter
        SYS_io_uring_register SYS_io_uring_setup SYS_ioctl SYS_ioprio_get SYS_ioprio_set
        SYS_kill SYS_lgetxattr SYS_linkat SYS_listen SYS_listxattr SYS_llistxattr
        SYS_lremovexattr SYS_lseek SYS_lsetxattr SYS_madvise SYS_mbind SYS_membarrier
        SYS_memfd_create SYS_mkdirat SYS_mknodat SYS_mlock SYS_mlock2 SYS_mlockall SYS_mmap
        SYS_mprotect SYS_mq_getsetattr SYS_mq_notify SYS_mq_open SYS_mq_timedreceive
        SYS_mq_timedsend SYS_mq_unlink SYS_mremap SYS_msgctl SYS_msgget SYS_msgrcv
        SYS_msgsnd SYS_msync SYS_munlock SYS_munlockall SYS_munmap SYS_name_to_handle_at
        SYS_nanosleep SYS_newfstatat SYS_openat SYS_openat2 SYS_perf_event_open
        SYS_pidfd_open SYS_pidfd_send_signal SYS_pipe2 SYS_ppoll SYS_prctl SYS_pread64
        SYS_preadv SYS_preadv2 SYS_prlimit64 SYS_process_madvise
        SYS_process_vm_readv SYS_process_vm_writev SYS_pselect6 SYS_pwrite64
        SYS_pwritev SYS_pwritev2 SYS_read SYS_readahead SYS_readlinkat SYS_readv
        SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_removexattr SYS_renameat2
        SYS_restart_syscall SYS_rseq SYS_rt_sigaction SYS_rt_sigpending SYS_rt_sigprocmask
        SYS_rt_sigqueueinfo SYS_rt_sigreturn SYS_rt_sigsuspend SYS_rt_sigtimedwait
        SYS_rt_tgsigqueueinfo SYS_sched_get_priority_max SYS_sched_get_priority_min
        SYS_sched_getaffinity SYS_sched_getattr SYS_sched_getparam SYS_sched_getscheduler
        SYS_sched_rr_get_interval SYS_sched_setaffinity SYS_sched_setattr SYS_sched_setparam
        SYS_sched_setscheduler SYS_sched_yield SYS_seccomp SYS_semctl SYS_semget SYS_semop
        SYS_semtimedop SYS_sendfile SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_set_mempolicy
        SYS_set_mempolicy_home_node SYS_set_robust_list SYS_set_tid_address SYS_setfsgid
        SYS_setfsuid SYS_setitimer SYS_setpgid SYS_setpriority SYS_setsid SYS_setsockopt
        SYS_setxattr SYS_shmat SYS_shmctl SYS_shmdt SYS_shmget SYS_shutdown SYS_sigaltstack
        SYS_signalfd4 SYS_socketpair SYS_splice SYS_statfs SYS_statx SYS_symlinkat SYS_sync
        SYS_syncfs SYS_sysinfo SYS_tee SYS_tgkill SYS_timer_create SYS_timer_delete
        SYS_timer_getoverrun SYS_timer_gettime SYS_timer_settime SYS_timerfd_create
        SYS_timerfd_gettime SYS_timerfd_settime SYS_times SYS_tkill SYS_truncate SYS_umask
        SYS_uname SYS_unlinkat SYS_utimensat SYS_vmsplice SYS_wait4 SYS_waitid SYS_write
        SYS_writev
];

/// Calls of a process that has its connections and its memory, and nothing else.
const TALKING: &[libc::c_long] = numbers![
        SYS_accept SYS_accept4 SYS_brk SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep
        SYS_close SYS_exit SYS_exit_group SYS_futex SYS_get_robust_list SYS_getcpu
        SYS_getpeername SYS_getpid SYS_getrandom SYS_getrusage SYS_getsockname SYS_getsockopt
        SYS_gettid SYS_gettimeofday SYS_madvise SYS_membarrier SYS_mremap SYS_munmap
        SYS_nanosleep SYS_ppoll SYS_read SYS_readv SYS_recvfrom SYS_restart_syscall SYS_rseq
        SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sched_getaffinity
        SYS_sched_yield SYS_sendto SYS_set_robust_list SYS_setsockopt SYS_shutdown
        SYS_sigaltstack SYS_write SYS_writev
];
/// Among them what only x86-64 has.
#[cfg(target_arch = "x86_64")]
const OLD_TALKING: &[libc::c_long] = numbers![SYS_poll SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const OLD_TALKING: &[libc::c_long] = &[];

/// Calls that only x86-64 has, from before their successors.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[libc::c_long] = numbers![
        SYS_access SYS_alarm SYS_arch_prctl SYS_chmod SYS_creat SYS_dup2 SYS_epoll_create
        SYS_epoll_ctl_old SYS_epoll_wait SYS_epoll_wait_old SYS_eventfd SYS_fchmodat2
        SYS_fork SYS_futimesat SYS_get_thread_area SYS_getdents SYS_getpgrp SYS_getrlimit
        SYS_inotify_init SYS_link SYS_lstat SYS_mkdir SYS_mknod SYS_open SYS_pause SYS_pipe
        SYS_poll SYS_readlink SYS_rename SYS_renameat SYS_rmdir SYS_select
        SYS_set_thread_area SYS_setrlimit SYS_signalfd SYS_stat SYS_symlink
        SYS_sync_file_range SYS_time SYS_unlink SYS_utime SYS_utimes SYS_vfork
];
/// What aarch64 has of them.
#[cfg(target_arch = "aarch64")]
const OLD_CALLS: &[libc::c_long] = numbers![SYS_renameat SYS_sync_file_range];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD_CALLS: &[libc::c_long] = &[];

/// Families of sockets: what loads and the host's facts use.
const FAMILIES: [libc::c_int; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_UNIX];

/// The same of raw frames, where an owner lends interfaces for them.
const FRAMES: [libc::c_int; 2] = [libc::AF_PACKET, libc::AF_XDP];

/// Commands of bpf(2) that raw frames take (linux/bpf.h): maps of a program, the program, a run of
/// it, and its place before an interface.
const FRAMES_BPF: [libc::c_int; 5] = [
    0,  // BPF_MAP_CREATE
    2,  // BPF_MAP_UPDATE_ELEM
    5,  // BPF_PROG_LOAD
    10, // BPF_PROG_TEST_RUN
    28, // BPF_LINK_CREATE
];

/// Flags of clone(2) that make namespaces.
const NEW_NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

fn failed(error: impl std::fmt::Display) -> HostError {
    HostError::Machine(format!("filtering system calls: {error}"))
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, HostError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(failed)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, HostError> {
    SeccompRule::new(conditions).map_err(failed)
}

/// A rule for each value that an argument may have.
fn one_of(
    argument: u8,
    values: impl IntoIterator<Item = libc::c_int>,
) -> Result<Vec<SeccompRule>, HostError> {
    values
        .into_iter()
        .map(|value| rule(vec![condition(argument, SeccompCmpOp::Eq, u64::from(value as u32))?]))
        .collect()
}

/// A rule for what an argument is where a mask is set.
fn masked(argument: u8, mask: libc::c_int, value: libc::c_int) -> Result<SeccompRule, HostError> {
    let mask = SeccompCmpOp::MaskedEq(u64::from(mask as u32));
    rule(vec![condition(argument, mask, u64::from(value as u32))?])
}

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, HostError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(failed)?;
    let filter = SeccompFilter::new(rules, otherwise, listed, arch).map_err(failed)?;
    filter.try_into().map_err(failed)
}

fn denied() -> SeccompAction {
    SeccompAction::Errno(libc::EPERM as u32)
}

/// These and no others, for all threads from now on. The flags of clone3(2) lie behind a pointer,
/// which no filter sees: it is as if the kernel had none, and the C library takes clone(2).
fn allow_only(mut rules: Rules) -> Result<(), HostError> {
    let unknown = [(libc::SYS_clone3, Vec::new())].into();
    let unknown = filter(unknown, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))?;
    rules.insert(libc::SYS_clone3, Vec::new());
    let allowed = filter(rules, denied(), SeccompAction::Allow)?;
    apply_filter_all_threads(&unknown).map_err(failed)?;
    apply_filter_all_threads(&allowed).map_err(failed)
}

/// What the starter of workers may call: all threads from now on, and all its children. With
/// `lends_frames` its workers send raw frames and count them.
pub fn starter(lends_frames: bool) -> Result<(), HostError> {
    let mut rules: Rules = CALLS.iter().chain(OLD_CALLS).map(|call| (*call, Vec::new())).collect();
    let frames = FRAMES.into_iter().filter(|_| lends_frames);
    rules.insert(libc::SYS_socket, one_of(0, FAMILIES.into_iter().chain(frames))?);
    if lends_frames {
        rules.insert(libc::SYS_bpf, one_of(0, FRAMES_BPF)?);
    }
    rules.insert(libc::SYS_clone, vec![masked(0, NEW_NAMESPACES, 0)?]);
    allow_only(rules)
}

/// What a listener may call: it talks over the sockets it has and those that come to it.
pub fn listener() -> Result<(), HostError> {
    allow_only(talking()?)
}

/// What a server for iperf3 clients may call: a listener's calls, and sockets for datagrams.
pub fn iperf3() -> Result<(), HostError> {
    let mut rules = talking()?;
    rules.insert(libc::SYS_socket, vec![datagrams(libc::AF_INET)?, datagrams(libc::AF_INET6)?]);
    rules.extend([libc::SYS_bind, libc::SYS_connect].map(|call| (call, Vec::new())));
    allow_only(rules)
}

fn datagrams(family: libc::c_int) -> Result<SeccompRule, HostError> {
    let family = condition(0, SeccompCmpOp::Eq, u64::from(family as u32))?;
    let kind = SeccompCmpOp::MaskedEq(0xf);
    rule(vec![family, condition(1, kind, libc::SOCK_DGRAM as u64)?])
}

/// Talking, in threads; no memory that can be executed, no signal to another process, and of the
/// calls that do many things those that the standard library makes of a socket and a thread.
fn talking() -> Result<Rules, HostError> {
    let all = TALKING.iter().chain(OLD_TALKING);
    let mut rules: Rules = all.map(|call| (*call, Vec::new())).collect();
    let descriptors =
        [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];
    rules.insert(libc::SYS_fcntl, one_of(1, descriptors)?);
    rules.insert(libc::SYS_ioctl, one_of(1, [libc::FIONBIO as libc::c_int])?);
    rules.insert(libc::SYS_prctl, one_of(0, [libc::PR_SET_NAME])?);
    rules.insert(libc::SYS_tgkill, one_of(0, [std::process::id() as libc::c_int])?);
    rules.insert(libc::SYS_clone, vec![masked(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?]);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![masked(2, libc::PROT_EXEC, 0)?]);
    }
    Ok(rules)
}

/// What a worker may not call beside that: it makes threads, and no processes.
pub fn worker() -> Result<(), HostError> {
    let mut rules: Rules =
        [libc::SYS_execve, libc::SYS_execveat, libc::SYS_kill, libc::SYS_pidfd_open]
            .map(|call| (call, Vec::new()))
            .into();
    #[cfg(target_arch = "x86_64")]
    rules.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, Vec::new())));
    rules.insert(libc::SYS_clone, vec![masked(0, libc::CLONE_THREAD, 0)?]);
    let program = filter(rules, SeccompAction::Allow, denied())?;
    apply_filter_all_threads(&program).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::prctl;
    use nix::sys::signal::{Signal, kill, raise};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    use nix::unistd::{Pid, getuid, setresuid};
    use std::fs::File;
    use std::io;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    fn word<T, E: Into<io::Error>>(came: Result<T, E>) -> String {
        match came.map_err(Into::into) {
            Ok(_) => "may".to_owned(),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => "no".to_owned(),
            Err(why) => why.to_string(),
        }
    }

    fn open(family: AddressFamily, kind: SockType) -> String {
        word(socket(family, kind, SockFlag::empty(), None))
    }

    fn plain() -> Result<(), HostError> {
        starter(false)
    }

    fn lender() -> Result<(), HostError> {
        starter(true)
    }

    /// Not a test: a process that confines itself and says what it then may.
    #[test]
    fn part() {
        let confine = match scratch::part().as_deref() {
            Some("starter") => plain,
            Some("framer") => lender,
            Some("listener") => listener,
            Some("iperf3") => iperf3,
            Some("worker") => worker,
            _ => return,
        };
        let listening = TcpListener::bind("127.0.0.1:0").expect("listens");
        let (pipe, _end) = io::pipe().expect("a pipe");
        let (own, me) = (File::open("/dev/null").expect("a file"), getuid());
        confine().expect("confined");
        listening.set_nonblocking(true).expect("a flag of a socket");
        let waits = listening.accept().is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock);
        let made = std::env::temp_dir().join(format!("narrows-made-{}", std::process::id()));
        let made_one = word(File::create(&made));
        let _ = std::fs::remove_file(made);
        for (call, came) in [
            ("exec", word(Command::new("true").status())),
            ("open", word(File::open("/etc/passwd"))),
            ("make", made_one),
            ("tcp", word(TcpListener::bind("127.0.0.1:0"))),
            (
                "udp",
                word(UdpSocket::bind("127.0.0.1:0").and_then(|on| on.connect(("127.0.0.1", 9)))),
            ),
            ("udp6", open(AddressFamily::Inet6, SockType::Datagram)),
            ("stream6", open(AddressFamily::Inet6, SockType::Stream)),
            ("unix", word(UnixStream::pair())),
            ("netlink", open(AddressFamily::Netlink, SockType::Raw)),
            ("packet", open(AddressFamily::Packet, SockType::Datagram)),
            ("kill", word(kill(Pid::parent(), None))),
            ("raise", word(raise(Signal::SIGCONT))),
            ("user", word(setresuid(me, me, me))),
            ("unshare", word(unshare(CloneFlags::CLONE_NEWNS))),
            ("name", word(prctl::set_name(c"confined"))),
            ("dump", word(prctl::set_dumpable(true))),
            ("flags", word(fcntl(&own, FcntlArg::F_GETFL))),
            ("room", word(fcntl(&pipe, FcntlArg::F_GETPIPE_SZ))),
            ("thread", word(thread::Builder::new().spawn(|| ()))),
            ("accept", if waits { "may" } else { "no" }.to_owned()),
        ] {
            println!("{call}: {came}");
        }
    }

    /// What the starter of an agent that lends interfaces may besides: frames, where the kernel
    /// lets it, and nothing else.
    #[test]
    fn frames_are_for_an_agent_that_lends_an_interface() {
        let of = |who: &str| scratch::said(&mut scratch::itself("confine::tests::part", who));
        let (plain, lender) = (of("starter"), of("framer"));
        assert!(plain.contains("packet: no\n"), "{plain}");
        if getuid().is_root() {
            assert!(lender.contains("packet: may\n"), "{lender}");
        } else {
            eprintln!("skipped: frames_are_for_an_agent: needs root for a packet socket");
        }
        let others = |said: &str| {
            let calls =
                said.lines().filter(|line| line.ends_with(": may") || line.ends_with(": no"));
            let others = calls.filter(|line| !line.starts_with("packet: "));
            others.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(others(&plain).len() > 10, "{plain}");
        assert_eq!(others(&lender), others(&plain));
    }

    #[test]
    fn each_process_of_an_agent_may_do_what_it_is_for_and_no_more() {
        // A worker's other calls are left to what its starter may.
        let may = [
            ("exec", ["may", "no", "no", "no"]),
            ("open", ["may", "no", "no", "may"]),
            ("make", ["may", "no", "no", "may"]),
            ("tcp", ["may", "no", "no", "may"]),
            ("udp", ["may", "no", "may", "may"]),
            ("udp6", ["may", "no", "may", "may"]),
            ("stream6", ["may", "no", "no", "may"]),
            ("unix", ["may", "no", "no", "may"]),
            ("netlink", ["may", "no", "no", "may"]),
            ("packet", ["no", "no", "no", ""]),
            ("kill", ["may", "no", "no", "no"]),
            ("raise", ["may", "may", "may", "may"]),
            ("user", ["no", "no", "no", "may"]),
            ("unshare", ["no", "no", "no", ""]),
            ("name", ["may", "may", "may", "may"]),
            ("dump", ["may", "no", "no", "may"]),
            ("flags", ["may", "may", "may", "may"]),
            ("room", ["may", "no", "no", "may"]),
            ("thread", ["may", "may", "may", "may"]),
            ("accept", ["may", "may", "may", "may"]),
        ];
        for (at, who) in ["starter", "listener", "iperf3", "worker"].into_iter().enumerate() {
            let said = scratch::said(&mut scratch::itself("confine::tests::part", who));
            for (call, may) in may.iter().map(|(call, may)| (call, may[at])) {
                let line = format!("{call}: {may}\n");
                // Told last: without IPv6 nobody has such a socket.
                let none = format!("{call}: Address family not supported");
                let is_so = may.is_empty() || said.contains(&line) || said.contains(&none);
                assert!(is_so, "{who}: {line}{said}");
            }
        }
    }
}
