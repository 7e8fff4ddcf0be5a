//! A worker that the kernel kills because its control group is out of memory: its end names that.
//! Needs root, to make a group with a limit.

use narrows_control::{ControlError, End, WorkerProcess};
use narrows_hostctl::container::Launcher;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The environment variable by which this test starts itself inside the group.
const PART: &str = "NARROWS_TEST_PART";
const LIMIT: &str = "67108864";

/// A group of its own; it is removed at the end.
struct Group(PathBuf);

impl Group {
    /// In version 1, or in version 2 where its root delegates memory.
    fn make() -> Option<Self> {
        let name = format!("narrows-test-{}", std::process::id());
        let mounts =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        mounts.iter().find_map(|(mount, file)| {
            let group = Self(Path::new(mount).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            std::fs::write(group.0.join(file), LIMIT).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Not a test: inside the group, starts a "worker" that takes all memory, and says how it ended.
#[test]
fn part() {
    let Some(binary) = std::env::var_os(PART) else { return };
    let mut worker = WorkerProcess::start(&Launcher::plain(binary.into())).expect("started");
    let ended = (0..600).find_map(|_| worker.answer(Duration::from_millis(100)).err());
    let ended = ended.expect("it ends");
    println!("typed {}", matches!(ended, ControlError::OutOfMemory(_)));
    println!("says {ended}");
}

#[test]
fn a_kill_for_want_of_memory_is_named_with_its_group_and_limit() {
    let Some(group) = Group::make() else {
        eprintln!("skipped: a_kill_for_want_of_memory: no control group can be made");
        return;
    };
    let hog = std::env::temp_dir().join(format!("narrows-hog-{}", std::process::id()));
    // The kernel is to choose it, and not who started it.
    let text = "#!/bin/sh\necho 1000 > /proc/self/oom_score_adj\nexec tail /dev/zero\n";
    std::fs::write(&hog, text).expect("a script");
    std::fs::set_permissions(&hog, PermissionsExt::from_mode(0o755)).expect("made executable");
    let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
    let own = std::env::current_exe().expect("own program");
    let mut command = Command::new("sh");
    command.args(["-c", &join, "sh"]).arg(own).args(["--exact", "part", "--nocapture"]);
    let ran = command.env(PART, &hog).output().expect("started");
    let _ = std::fs::remove_file(&hog);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let want = format!(
        "says killed by the kernel: out of memory in cgroup {}, limit 64 MiB",
        group.0.display()
    );
    let why = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("typed true") && said.contains(&want), "{said}{why}");
}
