//! `narrows mpi` with launchers that hang, die, or are none: scripts that say what real ones say;
//! and real ones, of which nothing may be left. More of these is in `lab/mpi` and `lab/cluster`.

mod common;

use common::starved::patiently;
use common::{err, folder, is_root, narrows, run};
use narrows_hostctl::namespaces::Namespaces;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A launcher that calls itself Open MPI's, and then does this. None where the library is not
/// there, without which no launcher is started.
fn launcher(dir: &Path, does: &str) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", "ldconfig -p | grep -q libmpi.so.40"]).status();
    if !found.is_ok_and(|status| status.success()) {
        let _ = std::io::stderr().write_all(b"skipped: libopenmpi3 is not installed\n");
        return None;
    }
    let file = dir.join("launcher");
    let version = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit; }";
    std::fs::write(&file, format!("#!/bin/sh\n{version}\n{does}\n")).expect("file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
    Some(file)
}

fn mpi(dir: &Path, launcher: &Path, more: &[&str]) -> Command {
    let mut command = narrows();
    command.arg("mpi").arg("--launcher").arg(launcher).arg("--out").arg(dir).args(more);
    command
}

#[test]
fn a_launcher_that_hangs_is_ended_with_all_that_it_started() {
    let dir = folder("mpi-hangs");
    // It minds no SIGTERM, and neither does its child.
    let does = format!("trap '' TERM\nsleep 600 &\necho $! >{}/child\nwait", dir.display());
    let Some(file) = launcher(&dir, &does) else { return };
    let began = Instant::now();
    let output = run(&mut mpi(&dir, &file, &["--limit", "1"]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("were not done after 1 s"), "{}", err(&output));
    assert!(began.elapsed() < Duration::from_secs(60));
    let child = std::fs::read_to_string(dir.join("child")).expect("a child");
    let left = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(left.is_empty() || left.contains(") Z "), "{left}");
}

#[test]
fn a_rank_that_dies_is_named() {
    let dir = folder("mpi-dies");
    let says =
        "mpirun noticed that process rank 1 with PID 7 on node n2 exited on signal 9 (Killed).";
    let Some(file) = launcher(&dir, &format!("echo '{says}' >&2\nexit 137")) else { return };
    let output = run(&mut mpi(&dir, &file, &[]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("rank 1") && err(&output).contains("hint:"), "{}", err(&output));
}

#[test]
fn words_of_the_program_reach_the_ranks_and_hosts_the_launcher() {
    let dir = folder("mpi-words");
    let Some(file) =
        launcher(&dir, &format!("printf '%s ' \"$@\" >{}/words; exit 1", dir.display()))
    else {
        return;
    };
    let more = ["-n", "4", "--hosts", "n[1-2]", "--launcher-arg=--x", "--sizes", "8"];
    let output = run(&mut mpi(&dir, &file, &more));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let words = std::fs::read_to_string(dir.join("words")).expect("words");
    for part in [
        "-n 4 --bind-to none",
        "--host n1:2,n2:2 --map-by node",
        "--x /",
        " mpi ",
        "--sizes 8 --file /",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

/// Ranks spin: those of two tests at once on two CPUs keep each other from starting.
static RANKS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    RANKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Open MPI's own launcher, with two ranks that would go on for minutes; those run when this comes
/// back. None where it is not installed.
fn long_run(dir: &Path, more: &[&str]) -> Option<Child> {
    if !Path::new("/usr/bin/mpirun.openmpi").exists() {
        common::skip("mpi_long_run", "mpirun.openmpi is not there");
        return None;
    }
    let mut command = mpi(dir, Path::new("mpirun.openmpi"), &["--sizes", "8", "-t", "120"]);
    let child = command.args(more).spawn().expect("narrows");
    let began = Instant::now();
    while of_run(dir).len() < 4 && began.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    // narrows, the launcher, two ranks.
    assert!(of_run(dir).len() >= 4, "{:?}", of_run(dir));
    Some(child)
}

/// Processes that have the folder in their words.
fn of_run(dir: &Path) -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let words = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
    words.filter(|words| words.contains(&dir.display().to_string())).collect()
}

fn nothing_is_left(dir: &Path) {
    let began = Instant::now();
    while !of_run(dir).is_empty() && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(of_run(dir), Vec::<String>::new());
}

#[test]
fn ctrl_c_leaves_no_rank() {
    let _alone = alone();
    let dir = folder("mpi-ctrl-c");
    let Some(mut child) = long_run(&dir, &[]) else { return };
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a signal");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    nothing_is_left(&dir);
}

#[test]
fn a_kill_leaves_no_rank() {
    let _alone = alone();
    let dir = folder("mpi-kill");
    let Some(mut child) = long_run(&dir, &[]) else { return };
    child.kill().expect("a kill");
    child.wait().expect("an end");
    nothing_is_left(&dir);
    if !is_root() {
        return common::skip("a_kill_leaves_no_rank", "namespaces: needs root");
    }
    let Some(mut child) = long_run(&dir, &["--namespaces"]) else { return };
    child.kill().expect("a kill");
    child.wait().expect("an end");
    nothing_is_left(&dir);
}

#[test]
fn two_namespaces_are_two_hosts() {
    let _alone = alone();
    if !is_root() {
        return common::skip("two_namespaces_are_two_hosts", "needs root");
    }
    for launcher in ["mpirun.openmpi", "mpiexec.mpich"] {
        if !Path::new("/usr/bin").join(launcher).exists() {
            common::skip("two_namespaces_are_two_hosts", &format!("{launcher} is not there"));
            continue;
        }
        // MPICH's ranks spin for each other's words while others have the CPUs.
        patiently("two_namespaces_are_two_hosts", || {
            let dir = folder(&format!("mpi-hosts-{launcher}"));
            let more = [
                "bandwidth",
                "--namespaces",
                "--fabric",
                "tcp:narrows0",
                "--sizes",
                "64K",
                "--limit",
                "20",
            ];
            let mut command = mpi(&dir, Path::new(launcher), &more);
            let output = run(command.args(["-t", "0.2", "--repeats", "1"]));
            assert_eq!(output.status.code(), Some(0), "{launcher}: {}", err(&output));
            let line = common::out(&output);
            let line = line.lines().find(|line| line.contains("tcp:narrows0")).expect("a cell");
            // More than nothing was sent, by that interface's own counters.
            assert!(line.trim_end().ends_with(" narrows0"), "{launcher}: {line}");
            nothing_is_left(&dir);
        });
    }
}

/// Sockets, two ranks, four of them, a fabric that is not there, and another program's two ranks.
const STUDY: &str = "name = 'fabrics'\nrepeats = 1\n[base]\nseconds = 0.2\nlength = 8\n\
        [[factor]]\nname = 'test'\nlevels = [\n\
        { name = 'sockets', load = 'tcp-rr' },\n\
        { name = 'ranks', load = 'mpi-latency', engine = 'mpi', \
          engine_client = '--fabric tcp:narrows0' },\n\
        { name = 'four of them', load = 'mpi-allreduce-latency', engine = 'mpi', ranks = 4, \
          engine_client = '--fabric tcp:narrows0' },\n\
        { name = 'no such fabric', load = 'mpi-latency', engine = 'mpi', \
          engine_client = '--fabric tcp:narrows7' },\n\
        { name = 'of Python', load = 'mpi-latency', engine = 'mpi4py', \
          engine_client = '--fabric tcp:narrows0' },\n]\n[report]\nacross = 'test'\n";

/// Ctrl-C while the launcher is tried ends a study as it ends any other, and the launcher with it.
fn stops_with_its_launcher(dir: &Path, study: impl Fn(&Path) -> Command) {
    let [reach, asked] = ["idle", "asked"].map(|name| dir.join(name));
    // It and the launcher, whose child it is.
    let script = format!(
        "#!/bin/sh\necho $$ $PPID > {0}.new\nmv {0}.new {0}\nexec sleep 600\n",
        asked.display()
    );
    std::fs::write(&reach, script).expect("a script");
    std::fs::set_permissions(&reach, PermissionsExt::from_mode(0o755)).expect("mode");
    let mut child = study(&reach).stdout(Stdio::null()).spawn().expect("starts");
    let until = Instant::now() + Duration::from_secs(60);
    while !asked.exists() {
        assert!(Instant::now() < until, "the launcher was not tried in a minute");
        thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("signal");
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    assert!(!dir.join("fabrics.narrows").exists(), "nothing was begun");
    let asked = std::fs::read_to_string(asked).expect("processes");
    let left = || asked.split_whitespace().any(|pid| Path::new("/proc").join(pid).exists());
    let until = Instant::now() + Duration::from_secs(20);
    while left() {
        assert!(Instant::now() < until, "one of {asked} is left behind");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Another program's ranks, where it is installed, tell the same in their own way.
fn is_told_of_python(cell: &serde_json::Value) {
    let has_it = Command::new("/usr/bin/python3").args(["-c", "import mpi4py"]).output();
    if has_it.is_ok_and(|ran| ran.status.success()) {
        let figure = &cell["estimate"];
        assert!(figure["value"].as_f64().is_some_and(|ns| ns > 1e3), "{cell}");
    } else {
        common::skip("a_study_has_cells_of_mpi", "python3-mpi4py is not there");
        assert!(cell["failed"].to_string().contains("mpi4py is not installed"), "{cell}");
    }
}

/// Two namespaces as hosts, an agent in one, a study in the other; the launcher reaches the agent's
/// by a program in place of ssh.
#[test]
fn a_study_has_cells_of_mpi_beside_others() {
    if !is_root() {
        return common::skip("a_study_has_cells_of_mpi", "needs root");
    }
    if !Path::new("/usr/bin/mpirun.openmpi").exists() {
        return common::skip("a_study_has_cells_of_mpi", "mpirun.openmpi is not there");
    }
    let _alone = alone();
    let dir = folder("mpi-study");
    let file = dir.join("study.toml");
    std::fs::write(&file, STUDY).expect("a study");
    // Without another host the ranks have nowhere to be.
    let alone = run(narrows().args(["study", "run", "--dry-run"]).arg(&file));
    assert!(common::out(&alone).contains("name the other with --peer"), "{}", common::out(&alone));

    let namespaces = Namespaces::alike().expect("namespaces");
    let [(first, here), (second, there)] = namespaces.hosts();
    let (first, second) = (first.to_string(), second.to_string());
    let net = [&there, &here].map(|path| format!("--net={path}"));
    let agent = common::serve(&["nsenter", &net[0]], &["-B", &second]);
    let reach = dir.join("reach");
    let binary = env!("CARGO_BIN_EXE_narrows");
    let script = format!(
        "#!/bin/sh\nexport NARROWS_HOPS={first}={here},{second}={there}\n\
         exec '{binary}' become --agent -- \"$@\"\n"
    );
    std::fs::write(&reach, script).expect("a script");
    std::fs::set_permissions(&reach, PermissionsExt::from_mode(0o755)).expect("mode");
    let command = |reach: &Path, more: &[&str]| {
        let mut command = Command::new("nsenter");
        command.args([&net[1], binary, "study", "run"]).arg(&file);
        command.args(["--peer", &format!("{second}:{}", agent.port), "--out"]).arg(&dir);
        command.env("NARROWS_KEY", &agent.key).args(more);
        command.env("OMPI_MCA_plm", "rsh").env("OMPI_MCA_plm_rsh_agent", reach);
        command.env("OMPI_MCA_oob_tcp_if_include", "narrows0");
        // The python3 of the package that has mpi4py.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("/usr/bin:{path}"));
        command
    };
    let study = |reach: &Path, more: &[&str]| run(&mut command(reach, more));
    stops_with_its_launcher(&dir, |reach| command(reach, &[]));
    // What the launcher does not reach is told before a run is made, with what to do about it.
    let outlook = common::out(&study(Path::new("/bin/false"), &["--dry-run"]));
    assert!(outlook.contains("5 cells, 1 runs fit this machine"), "{outlook}");
    let says = format!("cannot start a rank on {second}");
    assert!(outlook.contains(&says) && outlook.contains("ssh HOST true"), "{outlook}");
    assert_eq!(outlook.matches("hint:").count(), outlook.matches(&says).count(), "{outlook}");
    let output = study(&reach, &[]);
    let stored = dir.join("fabrics.narrows");
    let told = run(narrows().arg("report").arg(&stored).args(["--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&common::out(&told))
        .unwrap_or_else(|why| panic!("{why}: {}", err(&output)));
    let of = |label: &str| {
        let all = json["results"].as_array().expect("results");
        let one = all.iter().find(|one| one["label"].as_str().is_some_and(|l| l.contains(label)));
        one.unwrap_or_else(|| panic!("{label}: {json}"))
    };
    for label in ["sockets", "ranks", "four of them"] {
        let figure = &of(label)["estimate"];
        assert_eq!(figure["unit"], "ns", "{label}: {figure}");
        assert!(figure["value"].as_f64().is_some_and(|ns| ns > 1e3), "{label}: {figure}");
    }
    is_told_of_python(of("of Python"));
    // A fabric that carries nothing has no figure, and the reason is kept.
    let failed = of("no such fabric");
    assert!(failed["estimate"].is_null(), "{failed}");
    assert!(!failed["failed"].as_array().expect("failures").is_empty(), "{failed}");
    nothing_is_left(&dir);
}
