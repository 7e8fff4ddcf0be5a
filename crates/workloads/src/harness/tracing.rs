//! Whether another program traces this one (ptrace(2)), by `TracerPid` of each of its threads.

use narrows_model::load::Tracing;
use std::fs;

/// The folder of this process's threads.
const THREADS: &str = "/proc/self/task";

/// What is so of the threads now; `None` where none could be read.
pub fn now() -> Option<Tracing> {
    let mut all = Tracing::default();
    for thread in fs::read_dir(THREADS).ok()?.flatten() {
        // A thread that has ended meanwhile has no file.
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let Some(by) = tracer(&status) else { continue };
        all.threads += 1;
        if by != 0 {
            all.traced += 1;
            all.by = all.by.or_else(|| name(by));
        }
    }
    (all.threads > 0).then_some(all)
}

/// The one of two looks that found more.
pub fn most(first: Option<Tracing>, last: Option<Tracing>) -> Option<Tracing> {
    first.into_iter().chain(last).max_by_key(|look| look.traced)
}

/// The process that traces a thread, 0 if none does.
fn tracer(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok())
}

fn name(of: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{of}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{most, now, tracer};
    use narrows_model::load::Tracing;
    use std::process::Command;

    #[test]
    fn a_status_names_who_traces() {
        assert_eq!(tracer("Name:\tlane 0\nTracerPid:\t0\nUid:\t0"), Some(0));
        assert_eq!(tracer("Name:\tlane 0\nTracerPid:\t4711\n"), Some(4711));
        assert_eq!(tracer("Name:\tlane 0\n"), None);
    }

    #[test]
    fn the_look_counts_that_found_more() {
        let of = |traced: u32| Some(Tracing { threads: 3, traced, by: None });
        assert_eq!(most(of(0), of(2)), of(2));
        assert_eq!(most(of(2), None), of(2));
        assert_eq!(most(None, None), None);
    }

    /// Set for the copy of this test that runs under strace.
    const CHILD: &str = "NARROWS_TEST_TRACED";

    #[test]
    fn a_debugger_is_seen_while_it_is_attached() {
        let told = now().expect("this process's own threads");
        if std::env::var_os(CHILD).is_some() {
            println!("told {told:?}");
            return;
        }
        assert_eq!((told.traced, told.by), (0, None), "tests run without a tracer");
        let this = std::env::current_exe().expect("this program");
        let test = "harness::tracing::tests::a_debugger_is_seen_while_it_is_attached";
        let mut strace = Command::new("strace");
        strace.args(["-f", "-q", "-o", "/dev/null"]).arg(this);
        strace.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
        let Ok(done) = strace.output() else {
            eprintln!("skipped: a_debugger_is_seen_while_it_is_attached: no strace");
            return;
        };
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        if !said.contains("told ") {
            let why = String::from_utf8_lossy(&done.stderr).into_owned();
            eprintln!("skipped: a_debugger_is_seen_while_it_is_attached: {why}");
            return;
        }
        assert!(said.contains("by: Some(\"strace\")"), "{said}");
        assert!(!said.contains("traced: 0"), "{said}");
    }
}
