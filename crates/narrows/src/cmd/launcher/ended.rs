//! A launcher from its start to its end: by itself, at its limit, or because the user wished so.
//! Nothing of it is left running.

use super::had::{self, CpuHad, Had};
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::study::Ended;
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::time::TimeValLike;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long a launcher has to end its ranks before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often is looked whether it has ended.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// The most that is kept of each of its outputs, in bytes.
pub const KEPT_BYTES: usize = 16 << 20;

/// How a launcher came to its end.
pub enum How {
    /// By itself, with this status.
    Ended(ExitStatus),
    /// It was ended at its limit.
    Late,
    /// It was ended because the user wished so.
    Stopped,
}

/// A launcher that has ended.
pub struct Done {
    pub how: How,
    /// What it and its ranks wrote to standard output.
    pub out: String,
    /// What they wrote to standard error.
    pub err: String,
    /// More was written to standard output than is kept.
    pub is_cut: bool,
    /// CPU time of it and of all that it started on this host.
    pub cpu: CpuTime,
    /// What share of the time for which these asked for a CPU they had one; `None` where the kernel
    /// does not tell, they did next to nothing, or most of what they did was not seen.
    pub had: Option<CpuHad>,
}

/// CPU time of processes that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// Seconds in programs.
    pub user_s: f64,
    /// Seconds in the kernel on their behalf.
    pub system_s: f64,
}

impl CpuTime {
    /// Of the children of this process that were waited for, with those that these waited for.
    fn of_children() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Self::default() };
        let [user_s, system_s] = [usage.user_time(), usage.system_time()]
            .map(|time| time.num_microseconds() as f64 / 1e6);
        Self { user_s, system_s }
    }

    fn since(self, before: Self) -> Self {
        Self { user_s: self.user_s - before.user_s, system_s: self.system_s - before.system_s }
    }

    /// The kernel's share; `None` where there was no CPU time that the clock shows.
    pub fn system_share(self) -> Option<f64> {
        let all = self.user_s + self.system_s;
        (all > 0.0).then(|| self.system_s / all)
    }
}

impl Done {
    /// What it said, on both outputs.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// Held while a launcher runs: what another one started meanwhile would be taken for what this one
/// left, and ended.
pub(super) static ALONE: Mutex<()> = Mutex::new(());

/// Runs a command to its end, or to its limit; one after the other.
pub fn ended(command: &mut Command, limit: Duration, stop: &AtomicBool) -> Result<Done, Failure> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Ctrl-C at the terminal is for this process, which ends the others in order.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // What outlives its launcher becomes a child of this process, which ends it.
    let _ = prctl::set_child_subreaper(true);
    let (before, cpu_before) = (children(), CpuTime::of_children());
    let mut child = command.spawn().map_err(|error| {
        let says = format!("{}: {error}", command.get_program().to_string_lossy());
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })?;
    let out = child.stdout.take().map(Reader::begin);
    let err = child.stderr.take().map(Reader::begin);
    let mut had = Had::default();
    let how = wait(&mut child, (limit, stop), &mut || {
        had.look(|| children().difference(&before).copied().collect());
    })?;
    end_left(&before);
    let cpu = CpuTime::of_children().since(cpu_before);
    let out = out.map(Reader::end).unwrap_or_default();
    let err = err.map(Reader::end).unwrap_or_default();
    let had = had.had(cpu.user_s + cpu.system_s);
    Ok(Done { how, out: out.text(), err: err.text(), is_cut: out.is_cut, cpu, had })
}

/// What is kept of a pipe.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Kept {
    /// Keeps the beginning of all that comes.
    fn take(&mut self, more: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&more[..more.len().min(room)]);
        self.is_cut |= more.len() > room;
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Reads a pipe to its end in a thread of its own.
struct Reader {
    kept: Arc<Mutex<Kept>>,
    ended: mpsc::Receiver<()>,
}

impl Reader {
    fn begin(mut pipe: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (says, ended) = mpsc::channel();
        let own = Arc::clone(&kept);
        thread::spawn(move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                let Ok(mut kept) = own.lock() else { break };
                kept.take(&piece[..read]);
            }
            let _ = says.send(());
        });
        Self { kept, ended }
    }

    /// What came; the wait is limited, since somebody else may hold the pipe open.
    fn end(self) -> Kept {
        let _ = self.ended.recv_timeout(GRACE);
        self.kept.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }
}

/// Children of this process.
fn children() -> BTreeSet<i32> {
    had::children("self")
}

/// Ends what a launcher left behind: each that is killed may leave children of its own.
fn end_left(before: &BTreeSet<i32>) {
    let began = Instant::now();
    while began.elapsed() < GRACE {
        let left: Vec<i32> = children().difference(before).copied().collect();
        if left.is_empty() {
            return;
        }
        for pid in left.into_iter().map(Pid::from_raw) {
            let _ = kill(pid, Signal::SIGKILL);
            let _ = waitpid(pid, None);
        }
    }
}

/// Waits for its end, and looks at what runs meanwhile.
fn wait(
    child: &mut Child,
    (limit, stop): (Duration, &AtomicBool),
    look: &mut dyn FnMut(),
) -> Result<How, Failure> {
    let began = Instant::now();
    loop {
        let ended = child.try_wait();
        if let Some(status) =
            ended.map_err(|error| Failure::of(Cause::MACHINE, error.to_string()))?
        {
            return Ok(How::Ended(status));
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || began.elapsed() > limit {
            end(child);
            return Ok(if stopped { How::Stopped } else { How::Late });
        }
        look();
        thread::sleep(LOOK_EACH);
    }
}

/// Asks a launcher to end its ranks, and kills what is left of its group.
fn end(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGTERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(LOOK_EACH);
    }
    // The ranks have groups of their own, and end with their parent.
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Names why a launcher gave no result.
pub fn why(done: &Done, launcher: &Path, limit: Duration) -> Failure {
    let name = launcher.display();
    match done.how {
        How::Stopped => Failure::of(Cause::STOPPED, Ended::BY_SIGNAL),
        How::Late => {
            // Of a limit that something before it used up in part, tenths too.
            let seconds = (limit.as_secs_f64() * 10.0).round() / 10.0;
            let says = format!("{name} and its ranks were not done after {seconds} s");
            Failure::of(Cause::MPI_LATE, says)
        }
        How::Ended(status) => {
            let (cause, line) = judged(&done.said());
            let line = line.unwrap_or_else(|| "it said nothing".to_owned());
            Failure::of(cause, format!("{name} ended with {status}: {line}"))
        }
    }
}

/// The line of a launcher's words that says most, and what that means.
fn judged(said: &str) -> (Cause, Option<String>) {
    let line = |words: &[&str]| {
        let found = said.lines().find(|line| words.iter().any(|word| line.contains(word)));
        found.map(|line| line.trim().to_owned())
    };
    if let Some(own) = line(&["error: "]) {
        let own = own.split("error: ").last().unwrap_or_default().to_owned();
        return (Cause::MPI_RANK, Some(own));
    }
    if let Some(died) = line(&["exited on signal", "KILLED BY SIGNAL", "EXIT STRING"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    let absent = ["attempted:", "No components were able to be opened", "unable to be opened"];
    let absent_too = ["UCX  ERROR", "none of the available", "no usable transports", "OFI call"];
    if let Some(fabric) = line(&absent).or_else(|| line(&absent_too)) {
        return (Cause::MPI_FABRIC, Some(fabric));
    }
    if let Some(died) = line(&["BAD TERMINATION", "exited with non-zero status", "MPI_ABORT"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    if let Some(host) = line(&["resolve", "ssh", "ORTE daemon", "not enough slots"]) {
        return (Cause::MPI_HOSTS, Some(host));
    }
    let blank = |line: &&str| line.trim().chars().all(|c| "-=|".contains(c));
    let first = said.lines().find(|line| !blank(line)).map(|line| line.trim().to_owned());
    (Cause::MPI_RANK, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grandchild's time in the kernel counts, and what ended before does not.
    #[test]
    fn cpu_time_is_of_what_was_started_and_all_below_it() {
        let stop = AtomicBool::new(false);
        let limit = Duration::from_secs(60);
        let run = |script: &str| {
            let mut command = Command::new("sh");
            ended(command.args(["-c", script]), limit, &stop).expect("it ran").cpu
        };
        // Two levels below; /dev/zero is cleared by the kernel.
        let copies = run("sh -c 'dd if=/dev/zero of=/dev/null bs=1M count=4000 2>&1; true'");
        let share = copies.system_share().expect("CPU time");
        assert!(copies.system_s > 0.02 && share > 0.6, "{copies:?}");
        let counts = run("sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; true'");
        assert!(counts.user_s > 0.02, "{counts:?}");
        assert!(counts.system_share().is_some_and(|own| own < share), "{counts:?}, {copies:?}");
        assert_eq!(CpuTime::default().system_share(), None);
    }

    #[test]
    fn the_beginning_is_kept_and_that_more_came_is_known() {
        let mut kept = Kept::default();
        kept.take(&vec![b'a'; KEPT_BYTES - 1]);
        kept.take(b"b");
        assert!(!kept.is_cut && kept.bytes.ends_with(b"ab"));
        kept.take(b"");
        assert!(!kept.is_cut);
        kept.take(b"c");
        assert!(kept.is_cut && kept.bytes.len() == KEPT_BYTES && kept.bytes.ends_with(b"b"));
    }

    #[test]
    fn what_holds_the_pipes_after_its_parent_is_ended_with_it() {
        let began = Instant::now();
        // The one that stays has a session of its own, and the pipes of its parent.
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 60 & echo $!"]);
        let done = ended(&mut command, Duration::from_secs(30), &AtomicBool::new(false));
        let done = done.unwrap_or_else(|failure| panic!("{}", failure.says()));
        let pid = done.out.trim().to_owned();
        assert!(began.elapsed() < Duration::from_secs(30), "it was waited for");
        assert!(!pid.is_empty() && !Path::new(&format!("/proc/{pid}")).exists(), "{pid} is there");
    }

    #[test]
    fn what_a_launcher_says_names_the_cause() {
        let died =
            "----\nmpirun noticed that process rank 1 with PID 0 on node a exited on signal 9";
        assert_eq!(judged(died).0, Cause::MPI_DIED);
        let fabric = "  Process 1 is unable to reach\n  BTLs attempted: self\n";
        assert_eq!(judged(fabric), (Cause::MPI_FABRIC, Some("BTLs attempted: self".to_owned())));
        let provider = "Abort(6): Fatal error in internal_Init: Other MPI error, error stack:\n\
                        find_provider(132): OFI call getinfo failed (No data available)\n\
                        =   EXIT CODE: 143\n";
        let line = "find_provider(132): OFI call getinfo failed (No data available)".to_owned();
        assert_eq!(judged(provider), (Cause::MPI_FABRIC, Some(line)));
        let own = "error: no MPI library can be loaded: gone\nhint: install\n";
        let (cause, line) = judged(own);
        assert_eq!(
            (cause, line.as_deref()),
            (Cause::MPI_RANK, Some("no MPI library can be loaded: gone"))
        );
        assert_eq!(judged("").1, None);
    }
}
