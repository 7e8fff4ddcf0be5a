//! `narrows app` with launchers and applications that are scripts: what counts, what is rejected,
//! and what is left of it when narrows dies. Real ones are in `lab/cluster` and `lab/mpi`.

mod common;

use common::{err, folder, narrows, out, run};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A file that can be run.
fn script(dir: &Path, name: &str, does: &str) -> PathBuf {
    let file = dir.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{does}\n")).expect("file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
    file
}

/// A launcher that calls itself Open MPI's and runs the program once, by itself. It tells the
/// number of its ranks as RANKS. False where there is no library to go with it.
fn launcher(dir: &Path) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", "ldconfig -p | grep -q libmpi.so.40"]).status();
    if !found.is_ok_and(|status| status.success()) {
        common::skip("app", "libopenmpi3 is not there");
        return None;
    }
    let does = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit; }\n\
        RANKS=$2; export RANKS\n\
        while [ $# -gt 0 ]; do\n\
          case $1 in --allow-run-as-root|--oversubscribe) shift;; -*) shift 2;; *) break;; esac\n\
        done\n\
        exec \"$@\"";
    Some(script(dir, "launcher", does))
}

/// A study of a script, with more lines at its end.
fn study(dir: &Path, does: &str, ranks: &str, more: &str) -> PathBuf {
    let program = script(dir, "application", does);
    let text = format!(
        "name = 'made-up'\ncommand = ['{}', 'input.txt']\nranks = {ranks}\nrepeats = 6\n\
         limit_seconds = 20\n[files]\n'input.txt' = '12'\n[figure]\nregex = '^time ([0-9.]+)'\n\
         unit = 's'\n{more}\n[[place]]\nname = 'here'\nfabrics = ['shm', 'tcp:lo']\n",
        program.display()
    );
    let file = dir.join("study.toml");
    std::fs::write(&file, text).expect("file");
    file
}

fn app(dir: &Path, launcher: &Path, study: &Path) -> Command {
    let mut command = narrows();
    command.arg("app").arg(study).arg("--launcher").arg(launcher).arg("--out").arg(dir);
    command.arg("--without-fabrics");
    command
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|_| panic!("{}", err(output)))
}

#[test]
fn time_speed_up_and_efficiency_are_those_of_the_application() {
    let dir = folder("app-scales");
    let Some(launcher) = launcher(&dir) else { return };
    // 12 s of work, from its input, shared by the ranks, and a second over TCP.
    let does = "work=$(cat \"$1\")\n\
        extra=0; [ \"$OMPI_MCA_btl\" = self,tcp ] && extra=1\n\
        echo \"time $((work / RANKS + extra))\"";
    let file = study(&dir, does, "[1, 2]", "");
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = json(&output);
    let curve = |at: usize| &told["curves"][at]["points"];
    assert_eq!(told["curves"][0]["fabric"], "shm");
    assert_eq!(curve(0)[0]["figure"]["value"], 12e9);
    assert_eq!(curve(0)[1]["figure"]["value"], 6e9);
    assert_eq!(curve(0)[1]["speed_up"]["value"], 2.0);
    assert_eq!(curve(0)[1]["efficiency"]["value"], 1.0);
    assert_eq!(told["curves"][1]["fabric"], "tcp:lo");
    assert_eq!(curve(1)[1]["figure"]["value"], 7e9);
    assert_eq!(curve(1)[1]["done"], 6);
    // The file has it all, and the picture is made from it.
    let stored = std::fs::read_dir(&dir).expect("folder").flatten().map(|entry| entry.path());
    let stored = stored.into_iter().find(|path| path.extension().is_some_and(|e| e == "narrows"));
    let svg = dir.join("figure.svg");
    let again = run(narrows().arg("app").arg(stored.expect("a file")).arg("--svg").arg(&svg));
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert!(
        out(&again).contains("12.0 s") && out(&again).contains("not fitted"),
        "{}",
        out(&again)
    );
    let drawn = std::fs::read_to_string(svg).expect("a picture");
    assert!(drawn.contains("speed-up, times"), "{drawn}");
    assert!(drawn.contains("shm (here)") && drawn.contains("xmlns"), "{drawn}");
}

#[test]
fn starved_and_wrong_runs_do_not_count() {
    let dir = folder("app-starved");
    let Some(launcher) = launcher(&dir) else { return };
    let cpu = "[cpu_use]\nregex = '^cpu ([0-9.]+)'\nunit = '%'";
    let file = study(&dir, "echo time 2; echo cpu 55", "[1]", cpu);
    let output = run(&mut app(&dir, &launcher, &file));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let says = "its own CPU use was 50 to 60 %, under 90 %";
    assert!(err(&output).contains(says), "{}", err(&output));
    // No run counts: there is no figure, and no empty file in its place.
    let svg = dir.join("none.svg");
    let again = run(narrows().arg("app").arg(left(&dir, "made-up")).arg("--svg").arg(&svg));
    assert!(err(&again).contains("none.svg is not written") && !svg.exists(), "{}", err(&again));
    let check = "[[check]]\nname = 'energy'\nregex = '^energy (.*)$'\nwant = -4.6\nwithin = 0.01";
    let does = "echo time 2; [ $RANKS = 1 ] && echo energy -4.601 || echo energy 7";
    let file = study(&dir, does, "[1, 2]", check);
    let output = run(&mut app(&dir, &launcher, &file));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let says = "wrong result: energy is 7, not -4.6 within 0.01";
    assert!(out(&output).contains(says), "{}", out(&output));
}

#[test]
fn a_run_with_more_threads_than_cpus_is_not_judged_by_its_cpu_use() {
    let dir = folder("app-threads");
    let Some(launcher) = launcher(&dir) else { return };
    let does = "cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')\n\
        taskset -cp $cpu $$ >/dev/null\n\
        for n in 1 2 3; do timeout 2 sh -c 'while :; do :; done' & done; wait; echo time 2";
    let output = run(app(&dir, &launcher, &study(&dir, does, "[1]", "")).arg("--quick"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("more threads than CPUs"), "{}", err(&output));
}

#[test]
fn a_number_of_ranks_whose_runs_all_died_is_no_success() {
    let dir = folder("app-died");
    let Some(launcher) = launcher(&dir) else { return };
    let does = "[ $RANKS = 1 ] && echo time 2 || exit 3";
    let output = run(&mut app(&dir, &launcher, &study(&dir, does, "[1, 2]", "")));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    for fabric in ["shm", "tcp:lo"] {
        let says = format!("no run of 2 ranks over {fabric} (here) counts: ");
        assert!(err(&output).contains(&says), "{}", err(&output));
    }
    // Where none counts at all, the hint fits what a study runs.
    let file = study(&dir, "exit 3", "[1, 2]", "");
    let output = common::fails(&mut app(&dir, &launcher, &file), 5, "all 18 runs failed: ");
    assert!(err(&output).contains("hint: try the study's command by hand"), "{}", err(&output));
}

#[test]
fn more_ranks_than_cpus_are_no_point_of_scaling() {
    let dir = folder("app-over");
    let Some(launcher) = launcher(&dir) else { return };
    // Its CPU use is no reason there.
    let cpu = "[cpu_use]\nregex = '^cpu ([0-9.]+)'\nunit = '%'";
    let does = "echo time 2; [ $RANKS = 1 ] && echo cpu 99 || echo cpu 30";
    let file = study(&dir, does, "[1, 5000]", cpu);
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = json(&output);
    let point = &told["curves"][0]["points"][1];
    assert_eq!((&point["oversubscribed"], &point["done"]), (&true.into(), &6.into()));
    assert!(point["speed_up"].is_null() && point["efficiency"].is_null(), "{point}");
}

#[test]
fn a_run_without_its_figure_gives_the_cell_no_other_unit() {
    let dir = folder("app-unit");
    let Some(launcher) = launcher(&dir) else { return };
    let share = "[communication]\nregex = '^share ([0-9.]+)'\nunit = 'share'";
    let first = dir.join("first");
    let does = format!(
        "echo share 0.5; [ -e {0} ] || {{ touch {0}; exit; }}; echo time 2",
        first.display()
    );
    let file = study(&dir, &does, "[1]", share);
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    let told = json(&output);
    let point = &told["curves"][0]["points"][0];
    assert_eq!(point["done"], 5, "{told}");
    assert_eq!(point["figure"]["value"], 2e9);
    assert_eq!(point["figure"]["unit"], "ns");
}

#[test]
fn what_is_demanded_of_an_application_decides_the_exit_code() {
    let dir = folder("app-demands");
    let Some(launcher) = launcher(&dir) else { return };
    let file = study(&dir, "echo \"time $((4 / RANKS))\"", "[1, 2]", "");
    let ends = |condition: &str| {
        let output = run(app(&dir, &launcher, &file).arg("--fail-if").arg(condition));
        (output.status.code(), err(&output))
    };
    let (code, said) = ends("application.median > 3 s");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed") && said.contains("median 4"), "{said}");
    let (code, said) = ends("application.median > 5 s");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = ends("tcp.median > 5 s");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("speaks of no cell"), "{said}");
}

#[test]
fn runs_that_are_all_wrong_are_a_verdict() {
    let dir = folder("app-wrong");
    let Some(launcher) = launcher(&dir) else { return };
    let check = "[[check]]\nname = 'energy'\nregex = '^energy (.*)$'\nwant = 1\nwithin = 0.1";
    let file = study(&dir, "echo time 2; echo energy 7", "[1]", check);
    let output = run(&mut app(&dir, &launcher, &file));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}

#[test]
fn what_chooses_the_fabric_is_no_variable_of_a_study() {
    let dir = folder("app-variable");
    let Some(launcher) = launcher(&dir) else { return };
    let own = "[environment]\nOMPI_MCA_btl = 'self,tcp'";
    let file = study(&dir, "echo time 2", "[2]", own);
    let output = run(&mut app(&dir, &launcher, &file));
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("environment: OMPI_MCA_btl"), "{}", err(&output));
}

#[test]
fn studies_that_cannot_be_are_refused() {
    let dir = folder("app-refused");
    let file = study(&dir, "true", "[1]", "");
    let good = std::fs::read_to_string(&file).expect("text");
    for (from, to, says) in [
        ("ranks = [1]", "ranks = [2, 1]", "ranks: are 1 to 100000, each once, ascending"),
        ("repeats = 6", "repeats = 0", "repeats: is 1 to 1000"),
        ("'input.txt' = '12'", "'../x' = '12'", "'../x' is no plain name"),
        ("name = 'made-up'", "name = '../made-up'", "name: is letters"),
        ("name = 'made-up'", "nome = 'made-up'", "unknown field"),
        ("unit = 's'", "unit = 'parsec'", "'parsec' is no unit of it"),
        ("'shm', 'tcp:lo'", "'shm', 'ib:0'", "none of shm"),
        ("'shm', 'tcp:lo'", "'shm', 'shm'", "names its fabrics, each once"),
        ("name = 'here'", "name = 'here'\nmtu = [9000]", "only namespaces have an mtu"),
        ("name = 'here'", "name = 'here'\nhosts = ['-oProxyCommand=x']", "is no host"),
        ("regex = '^time ([0-9.]+)'", "regex = '^time'", "figure: regex has one group"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&file, good.replace(from, to)).expect("file");
        let output = run(narrows().arg("app").arg(&file).arg("--out").arg(&dir));
        assert_eq!(output.status.code(), Some(2), "{to}: {}", err(&output));
        assert!(err(&output).contains(says), "{to}: {}", err(&output));
    }
    let other = "../store/tests/files/two-ends-0.1.narrows";
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join(other);
    let output = run(narrows().arg("app").arg(other));
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}

#[test]
fn nothing_is_left_when_narrows_is_killed() {
    let dir = folder("app-killed");
    let Some(launcher) = launcher(&dir) else { return };
    let pid = dir.join("pid");
    let does = format!("echo $$ >{}.part; mv {0}.part {0}; exec sleep 600", pid.display());
    let file = study(&dir, &does, "[1]", "");
    let mut child = app(&dir, &launcher, &file).spawn().expect("narrows");
    let began = Instant::now();
    while !pid.exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let id = std::fs::read_to_string(&pid).expect("the application runs");
    let stat = format!("/proc/{}/stat", id.trim());
    assert!(Path::new(&stat).exists());
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let gone = || {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        text.is_empty() || text.contains(") Z ")
    };
    let killed = Instant::now();
    while !gone() && killed.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(gone(), "the application outlived narrows");
}

/// The file that a study left in a folder.
fn left(dir: &Path, name: &str) -> PathBuf {
    let all = std::fs::read_dir(dir).expect("folder").flatten().map(|entry| entry.path());
    let file = |path: &PathBuf| {
        let is_file = path.extension().is_some_and(|ending| ending == "narrows");
        is_file && path.file_name().is_some_and(|of| of.to_string_lossy().starts_with(name))
    };
    all.into_iter().find(file).expect("a file of results")
}

#[test]
fn input_is_made_in_the_folder_of_each_run_for_its_ranks() {
    let dir = folder("app-prepare");
    let Some(launcher) = launcher(&dir) else { return };
    // What is made must not be there already: each run has a folder of its own.
    let does = "set -e; [ ! -e made ]; cat input.txt > made; echo $1 >> made";
    let make = script(&dir, "make", does);
    let does = "echo time $RANKS; echo check $(cat made | tr '\\n' ' ')";
    let file = study(&dir, does, "[1, 6]", "");
    let text = std::fs::read_to_string(&file).expect("a study");
    let prepare = format!("prepare = [['{}', '@rows@x@columns@']]\n", make.display());
    let text = prepare + &text.replace("'12'", "'''\nn@ranks@\n'''");
    std::fs::write(&file, &text).expect("file");
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(json(&output)["curves"][0]["points"][1]["done"], 6);
    let said = |ranks: usize| {
        let stored = narrows_store::read(&left(&dir, "made-up")).expect("a file");
        let of = stored.records.iter().filter_map(|record| record.external.as_ref());
        of.filter(|ran| ran.output.contains(&format!("time {ranks}\n"))).count()
    };
    assert_eq!((said(1), said(6)), (6, 12));
    let stored = narrows_store::read(&left(&dir, "made-up")).expect("a file");
    for ran in stored.records.iter().filter_map(|record| record.external.as_ref()) {
        let grid = if ran.output.contains("time 6") { "n6 2x3" } else { "n1 1x1" };
        assert!(ran.output.contains(&format!("check {grid}")), "{}", ran.output);
    }
}

#[test]
fn the_program_that_makes_the_input_is_chosen_by_ranks_and_in_the_time_of_the_run() {
    let dir = folder("app-prepare-ranks");
    let Some(launcher) = launcher(&dir) else { return };
    for ranks in [1, 2] {
        script(&dir, &format!("make-{ranks}"), &format!("echo {ranks} > made"));
    }
    let file = study(&dir, "echo time $(cat made)", "[1, 2]", "");
    let text = std::fs::read_to_string(&file).expect("a study");
    let prepare = format!("prepare = [['{}/make-@ranks@']]\n", dir.display());
    std::fs::write(&file, prepare + &text).expect("file");
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(json(&output)["curves"][0]["points"][1]["figure"]["value"], 2e9);
    // Each program is within the limit, and both together are not.
    let prepare = "prepare = [['sleep', '1.4'], ['sleep', '1.4']]\n";
    let text = text.replace("limit_seconds = 20", "limit_seconds = 2");
    std::fs::write(&file, prepare.to_owned() + &text.replace("[1, 2]", "[1]")).expect("file");
    let output = run(app(&dir, &launcher, &file).args(["--repeats", "1"]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let says = "prepare: sleep was not done when the run's 2 s were over";
    assert!(err(&output).contains(says), "{}", err(&output));
    // The application is told the time that it had, which is not the run's.
    let file = study(&dir, "sleep 60", "[1]", "");
    let text = std::fs::read_to_string(&file).expect("a study");
    let text = text.replace("limit_seconds = 20", "limit_seconds = 4");
    std::fs::write(&file, format!("prepare = [['sleep', '1.4']]\n{text}")).expect("file");
    let output = run(app(&dir, &launcher, &file).args(["--repeats", "1"]));
    let had = err(&output).split_once("were not done after ").map(|(_, had)| had.to_owned());
    let had = had.and_then(|had| had.split_whitespace().next()?.parse::<f64>().ok());
    assert!(had.is_some_and(|had| had < 2.7), "{}", err(&output));
}

#[test]
fn a_program_that_makes_no_input_costs_the_run_and_says_why() {
    let dir = folder("app-unprepared");
    let Some(launcher) = launcher(&dir) else { return };
    let file = study(&dir, "echo time 2", "[1]", "");
    let text = std::fs::read_to_string(&file).expect("a study");
    for (prepare, says) in [
        (
            "[['sh', '-c', 'echo no licence >&2; exit 3']]",
            "prepare: sh ended with exit status: 3: no",
        ),
        // By its path: a search through folders that a user may not read is refused another way.
        ("[['/bin/no-such-program']]", "prepare: /bin/no-such-program: No such file"),
    ] {
        std::fs::write(&file, format!("prepare = {prepare}\n{text}")).expect("file");
        let output = run(&mut app(&dir, &launcher, &file));
        assert_eq!(output.status.code(), Some(5), "{}", err(&output));
        assert!(err(&output).contains(says), "{}", err(&output));
    }
    std::fs::write(&file, format!("prepare = [[]]\n{text}")).expect("file");
    common::fails(&mut app(&dir, &launcher, &file), 2, "prepare: has programs");
}

#[test]
fn a_program_that_is_not_installed_is_named_before_anything_is_run() {
    let dir = folder("app-absent");
    let file = study(&dir, "echo time 2", "[1, 2]", "");
    let text = std::fs::read_to_string(&file).expect("a study");
    let prepare = "prepare = [['sh', '-c', 'true'], ['no-such-gmx-@ranks@', 'solvate']]\n";
    let packages = "packages = ['gromacs', 'openmpi-bin']\n";
    std::fs::write(&file, packages.to_owned() + prepare + &text).expect("file");
    let outlook = run(narrows().arg("app").arg(&file).args(["--dry-run", "--quick"]));
    assert_eq!(outlook.status.code(), Some(0), "{}", err(&outlook));
    let told = out(&outlook);
    assert!(told.starts_with("made-up: 3 runs of 3 cells, 1 each"), "{told}");
    assert!(told.contains("\na run is ended after 20 s: 60 s at most\n"), "{told}");
    assert!(!told.contains("measure these fabrics"), "{told}");
    assert!(
        told.contains("not installed: no-such-gmx-1, no-such-gmx-2 (Debian has it: apt"),
        "{told}"
    );
    let dry = run(narrows().arg("app").arg(&file).arg("--dry-run"));
    assert!(out(&dry).contains("18 runs of 3 cells, 6 each"), "{}", out(&dry));
    assert!(out(&dry).contains("after 20 s: 6 min at most"), "{}", out(&dry));
    let mut command = narrows();
    command.arg("app").arg(&file).arg("--out").arg(&dir);
    common::fails(&mut command, 5, "no-such-gmx-1, no-such-gmx-2 are not installed");
    let refused = err(&run(&mut command));
    assert!(refused.contains("hint: Debian has it: apt install gromacs openmpi-bin"), "{refused}");
    let kept = std::fs::read_dir(&dir).expect("folder").flatten();
    let kept = kept.filter(|entry| entry.path().extension().is_some_and(|e| e == "narrows"));
    assert_eq!(kept.count(), 0, "a file of results without a run");
}

/// What the kernel did for the application is told of its runs here, and of the table's column.
#[test]
fn the_kernels_share_of_a_runs_cpu_time_is_told() {
    let dir = folder("app-system");
    let Some(launcher) = launcher(&dir) else { return };
    let copies = "dd if=/dev/zero of=/dev/null bs=1M count=2000 2>/dev/null; echo time 2";
    let file = study(&dir, copies, "[1]", "");
    let told = json(&run(app(&dir, &launcher, &file).arg("--json")));
    let share = told["curves"][0]["points"][0]["system"].as_f64().expect("a share");
    assert!((0.5..=1.0).contains(&share), "{told}");
    let text = out(&run(&mut app(&dir, &launcher, &file)));
    assert!(text.contains("system: the kernel's share"), "{text}");
}

#[test]
fn one_rank_owes_no_share_of_communication() {
    let dir = folder("app-alone");
    let Some(launcher) = launcher(&dir) else { return };
    let share = "[communication]\nregex = '^wait ([0-9.]+)'\nunit = '%'\nsum = true";
    let does = "echo time 2; [ $RANKS = 1 ] || printf 'wait 2\\nwait 3.5\\n'";
    let file = study(&dir, does, "[1, 2]", share);
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let points = &json(&output)["curves"][0]["points"];
    assert_eq!((&points[0]["done"], &points[0]["communication"]), (&6.into(), &Value::Null));
    assert!((points[1]["communication"].as_f64().expect("a share") - 0.055).abs() < 1e-12);
    // Where two ranks tell none, it is still a reason.
    let file = study(&dir, "echo time 2", "[1, 2]", share);
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(json(&output)["curves"][0]["points"][1]["done"], 0);
}

#[test]
fn several_applications_are_one_figure_and_other_files_none() {
    let dir = folder("app-joint");
    let Some(launcher) = launcher(&dir) else { return };
    let mut files = Vec::new();
    for (name, does) in
        [("near", "echo time $((12 / RANKS))"), ("far", "echo time $((6 / RANKS + RANKS - 1))")]
    {
        let file = study(&dir, does, "[1, 2, 5000]", "");
        let text = std::fs::read_to_string(&file).expect("a study").replace("made-up", name);
        std::fs::write(&file, text).expect("file");
        let output = run(&mut app(&dir, &launcher, &file));
        // 12 s over 5000 ranks is no time: those runs do not count.
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        files.push(left(&dir, name));
    }
    let page = run(narrows().arg("report").args(&files).args(["--format", "html"]));
    assert_eq!(page.status.code(), Some(0), "{}", err(&page));
    let page = out(&page);
    let figure = page.split("id=\"applications\"").nth(1).expect("a section");
    let figure = figure.split("</svg>").next().unwrap_or_default();
    for says in ["near, 1 is 1 rank: 12.0 s", "far, 1 is 1 rank: 6.00 s", "no point of scaling"] {
        assert!(figure.contains(says), "{says}: {figure}");
    }
    let told = json(&run(narrows().arg("report").args(&files).arg("--json")));
    let speed_up = |at: usize| {
        told["applications"][at]["scaling"]["curves"][0]["points"][1]["speed_up"]["value"].clone()
    };
    assert_eq!((speed_up(0), speed_up(1)), (2.0.into(), 1.5.into()));
    let alone = out(&run(narrows().arg("report").arg(&files[0])));
    assert!(alone.contains("Applications by ranks and fabric"), "{alone}");
    assert!(alone.contains("6.00 s") && !alone.contains("far"), "{alone}");
    let other = Path::new(env!("CARGO_MANIFEST_DIR"));
    let other = other.join("../store/tests/files/two-ends-0.1.narrows");
    common::fails(
        narrows().arg("report").arg(&files[0]).arg(other),
        2,
        "holds no application's runs",
    );
}

/// A table of one's own, since a place with MTUs needs root: two seconds less than is needed here.
#[test]
fn published_times_stand_beside_own_cells() {
    let dir = folder("app-reference");
    let Some(launcher) = launcher(&dir) else { return };
    let table = dir.join("table.toml");
    let row = |more: &str| format!("[[row]]\napplication = 'Made-up'\n{more}\n");
    let text = "factors = ['application', 'fabric', 'ranks']\n[source]\ntitle = 'a paper'\n"
        .to_owned()
        + &row("fabric = 'tcp:lo'\nranks = 2\nseconds = 5")
        + &row("fabric = 'iwarp'\nranks = 2\nminutes = 1.5");
    std::fs::write(&table, text).expect("file");
    let does = "[ \"$RANKS\" = 1 ] && echo time 12 || echo time 7";
    let file = study(&dir, does, "[1, 2]", "");
    let beside = |mut command: Command| {
        let output = run(command.arg("--reference").arg(&table));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let wanted = "tcp:lo (here) none 2 5.00 s 7.00 s +40.0 % a paper";
    let apart = "beside no cell: a paper: 90.00 s of application Made-up, fabric iwarp, ranks 2: no \
                 cell here has application made-up, fabric iwarp, ranks 2";
    let check = |text: &str| {
        assert!(text.contains(wanted) && text.contains(apart), "{text}");
        assert!(text.contains("without a published figure: 2 cells of this study"), "{text}");
    };
    check(&beside(app(&dir, &launcher, &file)));
    let stored = left(&dir, "made-up");
    let [mut again, mut report, mut page] = [narrows(), narrows(), narrows()];
    again.arg("app").arg(&stored);
    report.arg("report").arg(&stored);
    check(&beside(again));
    let text = beside(report);
    assert!(text.contains(wanted), "{text}");
    page.arg("report").arg(&stored).args(["--format", "html"]);
    assert!(beside(page).contains("+40.0 %"));
    let told = run(narrows().arg("app").arg(&stored).arg("--json").arg("--reference").arg(&table));
    assert_eq!(json(&told)["beside"]["cells"][0]["published"], 5e9);
    // Another run of the same study stands beside all three of its cells.
    let own = run(narrows().arg("app").arg(&stored).arg("--reference").arg(&stored));
    assert_eq!(out(&own).matches("+0.0 %").count(), 3, "{}", out(&own));
}

#[test]
fn foreign_tables_are_refused_by_name_before_anything_runs() {
    let dir = folder("app-foreign");
    let file = study(&dir, "echo time 7", "[1, 2]", "");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/published");
    let refused = |table: &Path, says: &str| {
        let mut command = narrows();
        command.arg("app").arg(&file).arg("--dry-run").arg("--reference").arg(table);
        common::fails(&mut command, 2, says);
    };
    let says = "iwarp-applications.toml: it is of vasp, and this is of made-up";
    refused(&published.join("iwarp-applications.toml"), says);
    let says = "iwarp-fabrics.toml: no figure in it says which application it is of";
    refused(&published.join("iwarp-fabrics.toml"), says);
    let single = dir.join("single.toml");
    let text =
        "[source]\ntitle = 'x'\n[[row]]\nname = 'vasp_mtu1500'\nvalue = 52.3\nunit = 'min'\n";
    std::fs::write(&single, text).expect("file");
    refused(&single, "single.toml");
    refused(&dir.join("none.toml"), "none.toml");
}

/// The published minutes of VASP are those of the paper, once.
#[test]
fn the_table_of_applications_that_ships_has_the_papers_minutes() {
    let file = "../../studies/published/iwarp-applications.toml";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let table: toml::Table = text.expect("a table").parse().expect("TOML");
    let rows = table["row"].as_array().expect("rows").iter();
    let told: Vec<(Option<i64>, Option<f64>)> =
        rows.map(|row| (row["MTU"].as_integer(), row["minutes"].as_float())).collect();
    assert_eq!(told, [(Some(1500), Some(52.30)), (Some(9000), Some(51.26))]);
}

/// WRF's study read on a short log that is made up: what is summed, and what is no figure.
#[test]
fn wrfs_figure_is_the_sum_of_its_steps_and_its_check_the_hour_of_the_end() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/wrf.toml");
    let text = std::fs::read_to_string(&file).expect("a study");
    let study = narrows_app::definition::Definition::parse(&text).expect("wrf");
    let log = "taskid: 0 hostname: n1\n Ntasks in X            2 , ntasks in Y            2\n\
               Timing for Writing wrfout_d01_2001-10-25_00:00:00 for domain        1:    7.5 \
               elapsed seconds\n\
               Timing for main: time 2001-10-25_00:01:12 on domain   2:    0.75000 elapsed \
               seconds\n\
               Timing for main: time 2001-10-25_00:01:12 on domain   1:    2.50000 elapsed \
               seconds\n\
               Timing for main (dt= 72.00): time 2001-10-25_00:02:24 on domain   1:    1.25000 \
               elapsed seconds\n\
               Timing for main: time 2001-10-25_03:00:00 on domain   1:   10.25000 elapsed \
               seconds\n\
               d01 2001-10-25_03:00:00 wrf: SUCCESS COMPLETE WRF\n";
    assert_eq!(study.figure.file.as_deref(), Some("rsl.out.0000"));
    assert_eq!(study.figure.read(log), Ok(14e9));
    let [check] = &study.checks[..] else { panic!("one check") };
    assert_eq!(check.contract.file.as_deref(), Some("rsl.error.0000"));
    assert_eq!((check.contract.read(log), check.want), (Ok(3.0), 3.0));
    // A run that stopped, a step that is too long for its field, and no step at all.
    let stopped = log.replace("SUCCESS COMPLETE", "FATAL CALLED");
    assert!(check.contract.read(&stopped).is_err());
    let wide = log.replace("  10.25000", "**********");
    let says = study.figure.read(&wide).expect_err("no sum without a step").to_string();
    assert_eq!(says, "'**********' is no number");
    assert!(study.figure.read("d01 2001-10-25_03:00:00 wrf: SUCCESS COMPLETE WRF\n").is_err());
    let dry = run(narrows().arg("app").arg(&file).args(["--dry-run", "--without-fabrics"]));
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
    assert!(out(&dry).contains("openib:nes0"), "{}", out(&dry));
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("wrf.exe").exists()) {
        assert!(out(&dry).contains("not installed: wrf.exe\n"), "{}", out(&dry));
    }
}

/// The studies that ship, read by the tool itself; they are run by hand.
#[test]
fn studies_of_applications_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    for (name, program) in [
        ("application", "awk"),
        ("gromacs", "gmx_mpi"),
        ("hpcc", "hpcc"),
        ("lammps", "lmp"),
        ("quantum-espresso", "pw.x"),
        ("wrf", "wrf.exe"),
    ] {
        let file = folder.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&file).expect("a study");
        let study = narrows_app::definition::Definition::parse(&text).expect(name);
        assert_eq!((study.name.as_str(), study.command[0].as_str()), (name, program));
        assert!(!study.checks.is_empty(), "{name} has no check of its result");
        let found = std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(program).exists())
        });
        if !found {
            common::skip("app", &format!("{program} of studies/{name}.toml is not there"));
        }
    }
}

#[test]
fn a_rate_of_floating_point_operations_is_told_as_one_everywhere() {
    let dir = folder("app-flops");
    let Some(launcher) = launcher(&dir) else { return };
    let file = study(&dir, "echo time 5.463", "[1]", "");
    let text = std::fs::read_to_string(&file).expect("text");
    std::fs::write(&file, text.replace("unit = 's'", "unit = 'Gflop/s'")).expect("file");
    let svg = dir.join("linpack.svg");
    let output = run(app(&dir, &launcher, &file).arg("--svg").arg(&svg));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("5.46 Gflop/s"), "{}", out(&output));
    assert!(std::fs::read_to_string(&svg).expect("a picture").contains("Gflop/s"));
    let stored = left(&dir, "made-up");
    let told = json(&run(narrows().arg("app").arg(&stored).arg("--json")));
    let figure = &told["curves"][0]["points"][0]["figure"];
    assert_eq!((&figure["value"], &figure["unit"]), (&5.463e9.into(), &"flop/s".into()));
    let demand = |condition: &str| {
        run(narrows().arg("app").arg(&stored).arg("--fail-if").arg(condition)).status.code()
    };
    assert_eq!(demand("application.median < 5 Gflop/s"), Some(0));
    assert_eq!(demand("application.median < 6 Gflop/s"), Some(1));
    let report =
        |format: &str| out(&run(narrows().arg("report").arg(&stored).args(["--format", format])));
    let rows = report("csv");
    assert!(rows.contains("floating-point-rate,5463000000,flop/s"), "{rows}");
    assert!(report("html").contains("Floating-point operations a second"));
    assert!(report("text").contains("5.46 Gflop/s"));
}

/// Programs that keep a CPU busy, and end with this.
struct Hogs(Vec<std::process::Child>);

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

#[test]
fn the_scheduler_tells_of_an_application_that_does_not() {
    let dir = folder("app-scheduler");
    let Some(launcher) = launcher(&dir) else { return };
    // It and three others on one CPU.
    let mut shell = Command::new("sh");
    let first = "taskset -cp $$ | sed 's/.*[: ]//; s/[-,].*//'";
    let told = shell.args(["-c", first]).output().expect("taskset");
    let cpu = out(&told).trim().to_owned();
    let hog =
        |_| Command::new("taskset").args(["-c", &cpu, "sh", "-c", "while :; do :; done"]).spawn();
    let _hogs = Hogs((0..3).map(hog).collect::<Result<_, _>>().expect("programs"));
    let does = format!(
        "taskset -cp {cpu} $$ >&2; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo time 2"
    );
    let file = study(&dir, &does, "[1]", "");
    let text = std::fs::read_to_string(&file).expect("text").replace("repeats = 6", "repeats = 1");
    std::fs::write(&file, &text).expect("file");
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let says = "under 90 %, of the time that its ranks here asked for a CPU";
    assert!(err(&output).contains(says), "{}", err(&output));
    // The study may accept it; then it says who told it.
    let text = text.replace("repeats = 1", "repeats = 1\ncpu_use_least_percent = 1");
    std::fs::write(&file, &text).expect("file");
    let output = run(app(&dir, &launcher, &file).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = json(&output);
    let point = &told["curves"][0]["points"][0];
    assert_eq!(point["cpu_use_by"], "scheduler", "{point}");
    assert!(point["cpu_use"].as_f64().is_some_and(|share| share > 0.01 && share < 0.9), "{point}");
}
