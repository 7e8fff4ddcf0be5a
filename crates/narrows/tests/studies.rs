//! Studies from a file: run, stopped in every way, gone on with, joined, and refused.

mod common;

use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, serve, serve_at, skip, until_stored};
use narrows_model::record::{Outcome, Record};
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Six cells of memory kernels, which need neither root nor a network.
const MEMORY: &str = r#"
name = "memory"
repeats = 4
seed = 7
[base]
seconds = 0.05
warmup_seconds = 0.01
size = "4M"
[[factor]]
name = "kernel"
levels = [{ name = "read", load = "memory-read" }, { name = "copy", load = "memory-copy" }]
[[factor]]
name = "vector"
set = "vector"
levels = ["portable"]
[[factor]]
name = "size"
set = "size"
levels = ["1M", "2M", "4M"]
"#;

fn write(dir: &Path, text: &str) -> PathBuf {
    let file = dir.join("study.toml");
    std::fs::write(&file, text).expect("study");
    file
}

fn begin(dir: &Path, text: &str, more: &[&str]) -> Command {
    let mut command = narrows();
    command.args(["study", "run"]).arg(write(dir, text)).arg("--out").arg(dir).args(more);
    command
}

fn resume(file: &Path) -> Command {
    let mut command = narrows();
    command.args(["study", "resume"]).arg(file);
    command
}

fn status(file: &Path) -> Value {
    let output = run(narrows().args(["study", "status", "--json"]).arg(file));
    serde_json::from_str(&out(&output)).expect("JSON")
}

fn records(file: &Path) -> Vec<Record> {
    narrows_store::read(file).expect("a study").records
}

/// Every cell has so many finished runs, and its runs are numbered without a gap.
fn is_whole(file: &Path, cells: usize, repeats: u32) {
    let stored = narrows_store::read(file).expect("a study");
    assert_eq!(stored.trials.len(), cells);
    for trial in &stored.trials {
        // One that failed, as when its agent died, has a place of its own and is made up for.
        let runs: Vec<u32> = stored.records_of(trial).map(|record| record.repeat).collect();
        assert_eq!(runs, (0..runs.len() as u32).collect::<Vec<_>>(), "{}", trial.label);
        let done = stored.records_of(trial).filter(|record| record.outcome == Outcome::Done);
        assert_eq!(done.count(), repeats as usize, "{}", trial.label);
    }
}

#[test]
fn a_study_runs_to_its_end_and_is_not_run_twice() {
    let dir = folder("study-whole");
    let plan = out(&run(&mut begin(&dir, MEMORY, &["--dry-run"])));
    assert!(plan.contains("6 cells, 24 runs fit this machine"), "{plan}");
    let file = dir.join("memory.narrows");
    assert!(!file.exists(), "a dry run writes nothing");
    let output = run(&mut begin(&dir, MEMORY, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("portable, 1M"), "panels by the other factors: {}", out(&output));
    let said = out(&output);
    let answer = said.rsplit("\n\n").next().unwrap_or_default();
    let names = answer.lines().filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["answer", "bottleneck", "do", "details"], "the end of {said}");
    assert!(answer.contains("% interval") || answer.contains("range"), "no interval: {answer}");
    is_whole(&file, 6, 4);
    let now = status(&file);
    let cells = now["cells"].as_array().expect("cells");
    assert!(cells.iter().all(|cell| cell["state"] == "done"), "{now}");
    assert_eq!(now["seconds_left_at_least"], 0.0);
    let planned: Vec<&str> = plan.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    let stored = narrows_store::read(&file).expect("a study");
    for (record, planned) in stored.records.iter().zip(&planned[1..7]) {
        let trial = stored.trials.iter().find(|trial| trial.id == record.trial).expect("trial");
        assert_eq!(trial.label, *planned, "the dry run told the order");
    }
    fails(&mut begin(&dir, MEMORY, &[]), 2, "exists already");
    let before = records(&file);
    if common::is_root() {
        // Another machine, by its name: refused by what differs, and nothing is lost.
        let elsewhere = |more: &str| {
            let binary = env!("CARGO_BIN_EXE_narrows");
            let file = file.display();
            let text = format!("hostname elsewhere; {binary} study resume {file} {more}");
            run(Command::new("unshare").args(["--uts", "sh", "-c", &text]))
        };
        let refused = elsewhere("");
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains("is elsewhere"), "{}", err(&refused));
        assert_eq!(elsewhere("--changed").status.code(), Some(0));
    }
    let output = run(&mut resume(&file));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(records(&file), before, "nothing was left to do");
}

#[test]
fn a_killed_study_goes_on_and_loses_nothing() {
    let dir = folder("study-killed");
    let file = dir.join("memory.narrows");
    let mut kept: Vec<Record> = Vec::new();
    let mut kills = 0;
    for attempt in 0..60u64 {
        let mut command = if attempt == 0 { begin(&dir, MEMORY, &[]) } else { resume(&file) };
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        // Before it has a file there is nothing to go on with.
        let end = Instant::now() + Duration::from_secs(30);
        while !file.exists() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(350 + 97 * (attempt % 7)));
        let ended = child.try_wait().expect("wait").is_some();
        let _ = child.kill();
        child.wait().expect("wait");
        kills += u32::from(!ended);
        let now = records(&file);
        assert_eq!(now[..kept.len()], kept[..], "a finished run was lost or changed");
        kept = now;
        if ended {
            break;
        }
    }
    assert!(kills >= 3, "killed {kills} times");
    is_whole(&file, 6, 4);
    let stored = narrows_store::read(&file).expect("a study");
    assert!(stored.sessions.len() as u32 >= kills, "a session each");
    let last = stored.records.last().expect("a record").session;
    assert!(last > 0 && stored.sessions.iter().any(|session| session.number == last));
}

#[test]
fn two_cannot_write_one_study() {
    let dir = folder("study-busy");
    let text = MEMORY.replace("repeats = 4", "repeats = 400");
    let mut first = begin(&dir, &text, &[]).stdout(Stdio::null()).spawn().expect("starts");
    let file = dir.join("memory.narrows");
    until_stored(&dir, 1);
    fails(&mut resume(&file), 2, "is being written by another narrows");
    assert_eq!(status(&file)["name"], "memory", "a status can be read meanwhile");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(first.id() as i32),
        nix::sys::signal::Signal::SIGINT,
    )
    .expect("signal");
    assert_eq!(first.wait().expect("wait").code(), Some(130));
}

#[test]
fn a_dead_agent_stops_a_study_and_a_new_one_goes_on() {
    let text = "name = 'net'\nrepeats = 6\n[base]\nseconds = 0.1\nwarmup_seconds = 0.05\n\
                [[factor]]\nname = 'load'\nset = 'load'\nlevels = ['tcp-stream', 'tcp-rr']\n";
    let dir = folder("study-agent");
    let file = dir.join("net.narrows");
    let mut agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    let mut command = begin(&dir, text, &["--peer", "127.0.0.1", "-p", &port]);
    command.env("NARROWS_KEY", &agent.key).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    until_stored(&dir, 1);
    agent.kill();
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("go on with: narrows study resume"), "{}", err(&output));
    let before = records(&file);
    assert!(!before.is_empty() && before.len() < 12, "{} runs", before.len());
    let key = agent.key.clone();
    let again = serve_at(
        &["env", &format!("NARROWS_KEY={key}")],
        &["-p", &port, "-B", "127.0.0.1", "--key", &key],
    );
    assert_eq!(again.key, "", "one that was given is not printed again");
    let output = run(resume(&file).args(["-p", &port]).env("NARROWS_KEY", &key));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(records(&file)[..before.len()], before[..]);
    is_whole(&file, 2, 6);
}

#[test]
fn what_is_changed_by_hand_is_read_or_said() {
    let text = "name = 'hand'\nrepeats = 1\n[base]\nload = 'memory-read'\nseconds = 0.05\nsize = '1M'\n\
                [[factor]]\nname = 'cable'\nby = 'hand'\nlevels = ['copper', 'fibre']\n";
    let dir = folder("study-hand");
    fails(&mut begin(&dir, text, &[]), 2, "say it with --at cable=LEVEL, one of copper, fibre");
    fails(&mut begin(&dir, text, &["--at", "cable=glass"]), 2, "no level 'glass'");
    fails(&mut begin(&dir, text, &["--at", "colour=red"]), 2, "no factor 'colour'");
    let output = run(&mut begin(&dir, text, &["--at", "cable=copper"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("set cable to 'fibre'"), "{}", err(&output));
    // What is printed to go on with is what goes on.
    let file = dir.join("hand.narrows");
    let told = err(&output);
    let then =
        told.lines().find_map(|line| line.trim().strip_prefix("then: narrows ")).expect("then");
    assert!(then.ends_with(" --at cable=fibre"), "{then}");
    let output = run(narrows().args(then.split(' ')));
    assert!(out(&output).contains("as the user said, not as read"), "{}", out(&output));
    is_whole(&file, 2, 1);
    // A fact of the machine tells, and a word against it is refused.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("name");
    let text = text.replace(
        "['copper', 'fibre']",
        "[{ name = 'here', when.facts.'/name' = 'NAME' }, \
        { name = 'there', when.facts.'/name' = 'elsewhere' }]",
    );
    let text = text.replace("NAME", name.trim()).replace("'hand'\nrepeats", "'facts'\nrepeats");
    fails(&mut begin(&dir, &text, &["--at", "cable=there"]), 2, "the machine is at 'here'");
    let output = run(&mut begin(&dir, &text, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let stored = narrows_store::read(&dir.join("facts.narrows")).expect("a study");
    let found = &stored.sessions[0].levels["cable"];
    assert_eq!((found.level.as_str(), found.read), ("here", true));
    assert_eq!(stored.records.len(), 1);
}

#[test]
fn a_precision_that_is_not_reached_is_told() {
    let text = MEMORY
        .replace("repeats = 4", "repeats = 1")
        .replace("[base]", "[precision]\nwithin_percent = 0.01\nrepeats_max = 7\n[base]");
    let text = text.replace("\"1M\", \"2M\", \"4M\"", "\"4M\"");
    let dir = folder("study-precision");
    let output = run(&mut begin(&dir, &text, &[]));
    assert_eq!(output.status.code(), Some(4), "{}{}", out(&output), err(&output));
    is_whole(&dir.join("memory.narrows"), 2, 7);
    let dir = folder("study-precise");
    let easy = text.replace("within_percent = 0.01", "within_percent = 100.0");
    let easy = easy.replace("repeats_max = 7", "repeats_max = 60");
    let output = run(&mut begin(&dir, &easy, &[]));
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let stored = narrows_store::read(&dir.join("memory.narrows")).expect("a study");
    for trial in &stored.trials {
        // Eight are the least that have an interval at so many looks; a busy machine may need more.
        let runs = stored.records_of(trial).count();
        assert!((8..60).contains(&runs), "{runs}");
    }
    // What is printed is what was stopped on, also of a file from when only the definition had it.
    let is_sequential = |stored: &narrows_model::study::StoredStudy| {
        let summaries = narrows_stats::summarise(stored);
        summaries.iter().all(|summary| {
            let estimate = summary.estimate.expect("runs");
            estimate.by == narrows_model::result::Method::MedianSequential
                && narrows_stats::is_precise(&estimate, 1.0)
        })
    };
    assert!(is_sequential(&stored), "{stored:?}");
    let file = dir.join("memory.narrows");
    let database = rusqlite::Connection::open(&file).expect("a database");
    let json: String = database
        .query_row("SELECT json FROM part WHERE name = 'study'", [], |row| row.get(0))
        .expect("a study");
    let mut study: serde_json::Value = serde_json::from_str(&json).expect("json");
    study.as_object_mut().expect("an object").remove("precision");
    let changed = "UPDATE part SET json = ?1 WHERE name = 'study'";
    assert_eq!(database.execute(changed, [study.to_string()]).expect("a change"), 1);
    drop(database);
    assert!(is_sequential(&narrows_store::read(&file).expect("a study")));
}

#[test]
fn a_study_is_spread_over_sessions_and_tells_its_reproducibility() {
    let text = MEMORY
        .replace("repeats = 4", "repeats = 2")
        .replace("[base]", "[spread]\nsessions = 3\napart_minutes = 0.05\n[base]");
    let text = text.replace("\"1M\", \"2M\", \"4M\"", "\"4M\"");
    let dir = folder("study-spread");
    let output = run(&mut begin(&dir, &text, &[]));
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let said = out(&output);
    assert!(said.contains("reproducibility: another session's median"), "{said}");
    assert!(said.contains("not another day's"), "{said}");
    let stored = narrows_store::read(&dir.join("memory.narrows")).expect("a study");
    assert_eq!(stored.sessions.len(), 3);
    for trial in &stored.trials {
        let runs: Vec<_> = stored.records_of(trial).collect();
        let sessions: Vec<u32> = runs.iter().map(|record| record.session).collect();
        assert_eq!(sessions, [0, 0, 1, 1, 2, 2]);
        let ended = runs[1].around.began_unix_ns.0 + runs[1].around.took_ns.0;
        assert!(runs[2].around.began_unix_ns.0 >= ended + 3_000_000_000);
    }
}

#[test]
fn files_of_one_study_are_joined_and_others_are_not() {
    let (a, b) = (folder("study-merge-a"), folder("study-merge-b"));
    for dir in [&a, &b] {
        assert_eq!(run(&mut begin(dir, MEMORY, &["--quick"])).status.code(), Some(0));
    }
    let (first, second) = (a.join("memory-quick.narrows"), b.join("memory-quick.narrows"));
    let all = a.join("all.narrows");
    let output = run(narrows().args(["study", "merge", "-o"]).arg(&all).arg(&first).arg(&second));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    is_whole(&all, 6, 6);
    assert_eq!(narrows_store::read(&all).expect("a study").sessions.len(), 2);
    let other = begin(&b, &MEMORY.replace("seed = 7", "seed = 8\nretries = 1"), &["--quick"])
        .args(["--seed", "3"])
        .output();
    assert_eq!(other.expect("runs").status.code(), Some(2), "the file is there");
    let text = MEMORY.replace("\"memory\"", "\"others\"");
    assert_eq!(run(&mut begin(&b, &text, &["--quick"])).status.code(), Some(0));
    let others = b.join("others-quick.narrows");
    let out = a.join("wrong.narrows");
    let mut merge = narrows();
    merge.args(["study", "merge", "-o"]).arg(&out).arg(&first).arg(&others);
    fails(&mut merge, 2, "are not of one study");
}

/// What a study would do is known before its hosts are there; only what they have is not.
#[test]
fn a_dry_run_needs_no_host() {
    let dir = folder("study-nobody");
    let text = "name = 'far'\nrepeats = 3\n[base]\npeers = ['a.invalid', 'b.invalid']\n\
                load = 'tcp-stream'\npattern = 'pair'\n[[factor]]\nname = 'length'\n\
                set = 'length'\nlevels = [64, 1024]\n";
    let key = "7".repeat(64);
    for key in [None, Some(key.as_str())] {
        let mut command = begin(&dir, text, &["--dry-run"]);
        let output = run(key.iter().fold(&mut command, |all, key| all.env("NARROWS_KEY", key)));
        let (told, beside) = (out(&output), err(&output));
        assert_eq!(output.status.code(), Some(0), "{beside}");
        assert!(told.contains("2 cells, 6 runs fit this machine"), "{told}");
        assert!(told.contains("a.invalid, b.invalid"), "{told}");
        let [how, why] = match key {
            Some(_) => ["did not answer: a.invalid, b.invalid", "a.invalid: "],
            None => ["not asked: a.invalid, b.invalid", "no agent key is given"],
        };
        assert!(beside.contains(how) && beside.contains(why), "{beside}");
    }
    let mut command = begin(&dir, text, &[]);
    fails(command.env("NARROWS_KEY", &key), 3, "a.invalid");
}

/// An agent that is there and refuses would refuse the study too.
#[test]
fn a_dry_run_is_told_of_a_wrong_key() {
    let dir = folder("study-wrong-key");
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let text = "name = 'far'\nrepeats = 1\n[base]\nload = 'tcp-stream'\n";
    let here = format!("127.0.0.1:{}", agent.port);
    let key = "7".repeat(64);
    for hosts in [here.clone(), format!("a.invalid,{here}")] {
        let mut command = begin(&dir, text, &["--dry-run", "--peer", &hosts]);
        fails(command.env("NARROWS_KEY", &key), 3, "keys do not match");
    }
    let closed = TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    let mut command = begin(&dir, text, &["--dry-run", "--peer", &closed.to_string()]);
    let output = run(command.env("NARROWS_KEY", &key));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("did not answer: 127.0.0.1:"), "{}", err(&output));
    let mut command = begin(&dir, text, &["--dry-run", "--peer", &here, "--key", "short"]);
    fails(&mut command, 2, "key");
}

/// Without a search a factor of the search's name is one as any other.
#[test]
fn a_factor_may_be_called_rate() {
    let dir = folder("study-rate");
    let text = "name = 'rates'\nrepeats = 2\n[base]\nload = 'memory-read'\nseconds = 0.05\n\
                warmup_seconds = 0.01\n[[factor]]\nname = 'rate'\nset = 'size'\n\
                levels = ['1M', '2M']\n";
    let plan = out(&run(&mut begin(&dir, text, &["--dry-run"])));
    assert!(plan.contains("rates: 2 cells, 4 runs fit this machine"), "{plan}");
    let output = run(&mut begin(&dir, text, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let file = dir.join("rates.narrows");
    let told = out(&run(narrows().args(["study", "status"]).arg(&file)));
    assert!(told.contains("rates: 2 of 2 cells done"), "{told}");
    assert!(told.contains("1M") && told.contains("2M"), "{told}");
    assert_eq!(status(&file)["cells"][0]["state"], "done");
    assert_eq!(narrows_store::read(&file).expect("a study").planned_runs(), 4);
}

#[test]
fn a_wrong_study_file_is_refused_with_its_place() {
    let dir = folder("study-wrong");
    fails(&mut begin(&dir, "name = 'x'\nrepeats = 1\nbogus = 1\n", &[]), 2, "line 3, column 1");
    fails(&mut resume(&dir.join("none.narrows")), 2, "none.narrows");
    let bad = "name = 'x'\nrepeats = 1\n[base]\nload = 'tcp-stream'\naffinity = '0,99999'\n";
    fails(&mut begin(&dir, bad, &[]), 5, "there is no CPU 99999");
    let bad = bad.replace("0,99999", "nowhere");
    fails(&mut begin(&dir, &bad, &[]), 2, "not LOCAL,REMOTE");
    // What another tool makes, without the tool.
    let nothing = "name = 'x'\nrepeats = 1\n[base]\nload = 'tcp-latency'\n";
    fails(&mut begin(&dir, nothing, &[]), 5, "no workload is called 'tcp-latency'");
    let output = run(&mut begin(&dir, nothing, &["--dry-run"]));
    assert!(out(&output).contains("cannot run: 1 cell such as 'tcp-latency'"), "{}", out(&output));
    // Refused before there is a file.
    let empty = folder("study-no-terminal");
    let mut filling = begin(&empty, bad.as_str(), &["--tui"]);
    match cfg!(feature = "tui") {
        true => fails(&mut filling, 2, "--tui needs a terminal"),
        false => fails(&mut filling, 5, "built without the full-screen view"),
    };
    assert!(!empty.join("x.narrows").exists());
}

/// What no machine has is a slip of the file, and told before anything is reached or written; what
/// this one lacks leaves its cells out.
#[test]
fn words_that_name_nothing_are_refused_and_what_is_not_installed_is_left_out() {
    let dir = folder("study-words");
    let unknown = [
        ("load = 'tcp-strem'", "load: no workload is called 'tcp-strem'", "'tcp-stream'?"),
        ("engine = 'iperf33'", "engine: no outside tool is called 'iperf33'", "'iperf3'?"),
        ("engine = 'netcat'", "engine: no outside tool is called 'netcat'", "known are iperf, "),
        ("sender = 'sendfil'", "sender: no sender is called 'sendfil'", "'sendfile'?"),
    ];
    for (line, says, hint) in unknown {
        let column = line.find('\'').unwrap_or(0) + 1;
        let says = format!("study.toml: line 6, column {column}: {says}");
        let text = format!("name = 'x'\nrepeats = 1\n\n\n[base]\n{line}\n");
        for more in [&[][..], &["--dry-run"], &["--peer", "no-such-host.invalid"]] {
            let output = fails(&mut begin(&dir, &text, more), 2, &says);
            let told = err(&output);
            assert!(told.lines().any(|l| l.starts_with("hint:") && l.contains(hint)), "{told}");
        }
    }
    assert!(!dir.join("x.narrows").exists());
    let mut absent = begin(&dir, "name = 'x'\nrepeats = 1\n[base]\nengine = 'nuttcp'\n", &[]);
    fails(absent.env("PATH", ""), 5, "nuttcp is not installed: apt install nuttcp");
}

/// Cells that would fail each run for want of a node or of pages are left out before the first.
#[test]
fn cells_of_nodes_and_pages_that_are_not_here_are_left_out() {
    let dir = folder("study-lacks");
    let study = |base: &str| format!("name = 'lacks'\nrepeats = 1\n[base]\nseconds = 0.05\n{base}");
    let why = "no cell can run here: memory_node: there is no node 900";
    // Without a peer both ends are here.
    for nodes in ["900,900", "0,900", "900,-"] {
        let no_node = study(&format!("memory_node = '{nodes}'\n"));
        fails(&mut begin(&dir, &no_node, &[]), 5, why);
    }
    let huge = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
    if std::fs::read_to_string(huge).is_ok_and(|pages| pages.trim() == "0") {
        let pages = study("load = 'memory-read'\nsize = '1M'\npages = '1G'\n");
        fails(&mut begin(&dir, &pages, &[]), 5, "no cell can run here: pages: ");
    }
    assert!(!dir.join("lacks.narrows").exists());
    // The others run.
    let both = study("load = 'memory-read'\nsize = '1M'\nthreads = 1\n")
        + "[[factor]]\nname = 'f'\nlevels = [{name='here'}, {name='away', load='tcp-stream', \
         memory_node='900,900'}]\n";
    let output = run(&mut begin(&dir, &both, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(records(&dir.join("lacks.narrows")).len(), 1);
}

#[test]
fn mtu_and_kernel_settings_are_made_for_their_cells() {
    if !is_root() {
        return skip("mtu_and_kernel_settings", "needs root for network namespaces");
    }
    let text = "name = 'mtu'\nrepeats = 2\n[base]\nseconds = 0.1\nwarmup_seconds = 0.05\n\
                [[factor]]\nname = 'mtu'\nlevels = [{name='small', mtu=1000}, {name='plain'}, \
                {name='timestamps off', mtu=9000, sysctl = {'net.ipv4.tcp_timestamps' = '0'}}]\n";
    let dir = folder("study-mtu");
    let output = run(&mut begin(&dir, text, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let stored = narrows_store::read(&dir.join("mtu.narrows")).expect("a study");
    // Segments: the MTU without 40 bytes of headers and 12 of timestamps.
    let wanted = [("small", 1000 - 52), ("plain", 1500 - 52), ("timestamps off", 9000 - 40)];
    for (trial, (label, mss)) in stored.trials.iter().zip(wanted) {
        assert_eq!(trial.label, label);
        for record in stored.records_of(trial) {
            let sender = record.sender().expect("a sender");
            assert_eq!(sender.effective.mss_bytes, Some(mss), "{label}");
        }
        assert_eq!(stored.records_of(trial).count(), 2);
    }
}

/// What is the host's alone is told before anything is run, and not by a run that fails.
#[test]
fn a_kernel_setting_that_no_namespace_has_is_refused_before() {
    if !is_root() {
        return skip("a_kernel_setting_that_no_namespace_has", "needs root for network namespaces");
    }
    let text = |name: &str| {
        format!(
            "name = 'sysctl'\nrepeats = 1\n[base]\nseconds = 0.05\n[[factor]]\nname = 'setting'\n\
             levels = [{{ name = 'set', sysctl = {{ '{name}' = '300000' }} }}]\n"
        )
    };
    let dir = folder("study-sysctl");
    let host = "net.core.netdev_max_backlog";
    let told = format!(
        "sysctl {host} is the host's alone, and cannot be set in a private network namespace"
    );
    let outlook = run(&mut begin(&dir, &text(host), &["--dry-run"]));
    assert!(out(&outlook).contains(&told), "{}", out(&outlook));
    fails(&mut begin(&dir, &text(host), &[]), 5, &format!("{told}: with --peer"));
    fails(&mut begin(&dir, &text("net.core.no_such"), &[]), 5, "no sysctl net.core.no_such");
}

/// Segmentation off makes packets of a segment each; huge pages come and go with their cells.
#[test]
fn offloads_and_huge_pages_are_made_for_their_cells() {
    if !is_root() {
        return skip("offloads_and_huge_pages", "needs root for network namespaces");
    }
    if Command::new("ethtool").arg("--version").output().is_err() {
        return skip("offloads_and_huge_pages", "ethtool is not there");
    }
    patiently("offloads_and_huge_pages", offloads_and_huge_pages);
}

fn offloads_and_huge_pages() {
    let pages = "/proc/sys/vm/nr_hugepages";
    let before = std::fs::read_to_string(pages).expect("huge pages");
    let text = "name = 'offloads'\nrepeats = 2\n[base]\nseconds = 0.2\nwarmup_seconds = 0.05\n\
                [[factor]]\nname = 'offload'\nlevels = [{name='as it is'}, \
                {name='cut by the sender', offloads = {tso=false, gso=false}}, \
                {name='pages', load='memory-copy', size='32M', pages='2M', \
                sysctl={'vm.nr_hugepages'='40'}}]\n";
    let dir = folder("study-offloads");
    let output = run(&mut begin(&dir, text, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let stored = narrows_store::read(&dir.join("offloads.narrows")).expect("a study");
    // Payload that one packet of the sender's interface carried.
    let payload = |label: &str| {
        let trial = stored.trials.iter().find(|trial| trial.label == label).expect("a cell");
        let record = stored.records_of(trial).next().expect("a run");
        let sender = record.sender().expect("a sender");
        let packets =
            sender.readings.total(narrows_model::reading::keys::TX_PACKETS).expect("packets");
        sender.flows[0].bytes.0 / packets.max(1)
    };
    assert!(payload("as it is") > 3_000, "{}", payload("as it is"));
    assert!(payload("cut by the sender") <= 1_500, "{}", payload("cut by the sender"));
    let huge = stored.trials.iter().find(|trial| trial.label == "pages").expect("a cell");
    for record in stored.records_of(huge) {
        let receiver = record.receiver().expect("a report");
        assert_eq!(receiver.effective.pages.as_deref(), Some("2M"));
    }
    assert_eq!(std::fs::read_to_string(pages).expect("huge pages"), before);
}

/// A setting of a namespace of its own, changed under a guard that is killed with its owner.
#[test]
fn settings_are_put_back_when_everything_was_killed() {
    if !is_root() {
        return skip("settings_are_put_back", "needs root to change settings");
    }
    let script = r#"
        set -e
        setting=/proc/sys/net/ipv4/ip_default_ttl
        was=$(cat $setting)
        mkfifo "$2/in" "$2/out"
        "$1" guard <"$2/in" >"$2/out" & guard=$!
        exec 7>"$2/in" 8<"$2/out"
        echo "{\"path\":\"$setting\",\"value\":\"$was\"}" >&7
        read -r noted <&8
        echo 33 >$setting
        "$1" study restore
        cat $setting
        kill -9 $guard
        wait $guard || true
        "$1" study restore
        cat $setting
        [ "$(cat $setting)" = "$was" ]
        "$1" study restore
    "#;
    let dir = folder("study-restore");
    let output = run(Command::new("unshare")
        .args(["--net", "bash", "-c", script, "restore", env!("CARGO_BIN_EXE_narrows")])
        .arg(&dir));
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", err(&output));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["0 settings put back", "33"], "a living guard is left alone: {text}");
    assert_eq!(lines[2], "1 settings put back", "{text}");
    assert_eq!(lines[4], "0 settings put back", "{text}");
}

#[test]
fn a_full_disk_stops_a_study_that_goes_on_with_room() {
    if !is_root() {
        return skip("a_full_disk", "needs root to mount a small file system");
    }
    let dir = folder("study-full");
    let file = write(&dir, &MEMORY.replace("repeats = 4", "repeats = 20"));
    let script = format!(
        "mkdir {0}/disk && mount -t tmpfs -o size=260k tmpfs {0}/disk && \
         {1} study run {2} --out {0}/disk; code=$?; \
         mount -o remount,size=20m {0}/disk; cp {0}/disk/memory.narrows {0}/before.narrows; \
         {1} study resume {0}/disk/memory.narrows; cp {0}/disk/memory.narrows {0}; exit $code",
        dir.display(),
        env!("CARGO_BIN_EXE_narrows"),
        file.display()
    );
    let mut command = Command::new("unshare");
    fails(command.args(["--mount", "sh", "-c", &script]), 5, "no room is left on the disk");
    let before = records(&dir.join("before.narrows"));
    let after = records(&dir.join("memory.narrows"));
    assert!(!before.is_empty() && before.len() < 120, "{} runs", before.len());
    assert_eq!(after[..before.len()], before[..]);
    is_whole(&dir.join("memory.narrows"), 6, 20);
}

/// Levels of different kinds, in both directions: each figure has its own unit and its own bytes.
#[test]
fn kinds_are_not_mixed_and_reverse_is_reverse() {
    let text = "name = 'kinds'\nrepeats = 2\n[base]\nseconds = 0.1\nwarmup_seconds = 0.05\n\
                [[factor]]\nname = 'way'\nlevels = [{name='there'}, {name='back', reverse=true}, \
                {name='both', bidirectional=true}, {name='connections', load='tcp-connect'}, \
                {name='trips', load='udp-rr'}]\n";
    let dir = folder("study-kinds");
    let output = run(begin(&dir, text, &[]).arg("--format").arg("json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let panels = json["by_panel"]["panels"].as_array().expect("panels");
    let shape: Vec<(&str, usize)> = panels
        .iter()
        .map(|panel| {
            (panel["unit"].as_str().expect("unit"), panel["rows"].as_array().map_or(0, Vec::len))
        })
        .collect();
    assert_eq!(shape, [("bit/s", 3), ("1/s", 1), ("ns", 1)]);
    let stored = narrows_store::read(&dir.join("kinds.narrows")).expect("a study");
    for trial in stored.trials.iter().filter(|trial| trial.kind.as_str() == "tcp-stream") {
        for record in stored.records_of(trial) {
            let received = |end: Option<&narrows_model::load::EndReport>| {
                let flows = &end.expect("an end").flows;
                flows.iter().filter(|flow| !flow.sends).map(|flow| flow.bytes.0).sum::<u64>()
            };
            let back = received(record.sender()) > 0;
            assert!(received(record.receiver()) > 0, "{}", trial.label);
            assert_eq!(back, trial.label == "both", "{}", trial.label);
        }
    }
}
