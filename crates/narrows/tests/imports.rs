//! Imports of several levels, packed and endless files, and words that a study gives to tools.

mod common;

use common::{err, fails, folder, narrows, out, run, skip};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/tests/iperf3")
}

fn import(files: &[PathBuf], more: &[&str]) -> Command {
    let mut command = narrows();
    command.arg("import").args(files).args(more);
    command
}

#[test]
fn what_iperf3_states_makes_cells_and_reports_name_their_source() {
    let dir = folder("imports-cells");
    let to = dir.join("all.narrows");
    let files = ["tcp.json", "reno.json", "udp-5m.json", "udp-60m.json", "bidir.json", "bidir.txt"];
    let files = files.map(|file| samples().join(file));
    let output = run(&mut import(&files, &["-o", to.to_str().expect("a path")]));
    assert!(out(&output).contains("6 runs of 6 workloads"), "{}{}", out(&output), err(&output));
    for format in ["text", "html"] {
        let text = out(&run(narrows().args(["report", "--format", format]).arg(&to)));
        assert!(text.contains("iperf3 3.12, 5 runs:") && text.contains("udp-60m.json"), "{text}");
    }
}

#[test]
fn several_levels_go_into_one_file_by_and_by() {
    let dir = folder("imports-levels");
    let to = dir.join("all.narrows");
    let path = to.to_str().expect("a path");
    let one = [samples().join("tcp.json")];
    let more = |level: &'static str| [["--into", path].as_slice(), &["--at", level]].concat();
    assert!(run(&mut import(&one, &["-o", path, "--at", "population=4"])).status.success());
    let far = dir.join("far.narrows");
    let level = "application=other node, both ends,cable=copper";
    assert!(run(import(&one, &["--at", level]).arg("-o").arg(&far)).status.success());
    let stored = narrows_store::read(&far).expect("a study");
    let at = |factor: &str| stored.trials[0].level(factor).map(str::to_owned);
    assert_eq!(at("application").as_deref(), Some("other node, both ends"));
    assert_eq!(at("cable").as_deref(), Some("copper"));
    for level in ["population=6", "population=4", "population=6", "population=8"] {
        let output = run(&mut import(&one, &more(level)));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
    let stored = narrows_store::read(&to).expect("a study");
    let counts: Vec<(&str, usize)> = stored
        .trials
        .iter()
        .map(|trial| {
            let level = trial.level("population").expect("a level");
            (level, stored.records_of(trial).count())
        })
        .collect();
    assert_eq!((counts, stored.study.repeats), (vec![("4", 2), ("6", 2), ("8", 1)], 2));
    let verified = run(narrows().arg("verify").arg(&to));
    assert_eq!(verified.status.code(), Some(0), "{}", out(&verified));
    fails(&mut import(&one, &[]), 2, "--output");
    fails(&mut import(&one, &["--into", "nowhere.narrows"]), 2, "nowhere.narrows");
}

/// A file as flent writes it, of a batch: its title names the factors.
fn flent_file(dir: &Path, title: &str, host: &str, upload_mbps: f64) -> PathBuf {
    let file = dir.join(format!("{}.flent", title.replace([' ', ':'], "-")));
    let algorithm = if title.contains("cc:bbr") { "bbr" } else { "cubic" };
    let json = serde_json::json!({
        "version": 4, "x_values": [0.0, 0.2], "raw_values": {},
        "metadata": {
            "NAME": "tcp_1up", "TITLE": title, "HOST": host, "LENGTH": 60,
            "TIME": format!("2031-02-03T04:05:{:02}.5Z", title.len()),
            "SYSCTLS": {"net.ipv4.tcp_congestion_control": algorithm},
            "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}, "Ping (ms) ICMP": {"UNITS": "ms"}}
        },
        "results": {"TCP upload": [upload_mbps, upload_mbps], "Ping (ms) ICMP": [20.0, 21.0]}
    });
    std::fs::write(&file, json.to_string()).expect("a file");
    file
}

#[test]
fn what_flents_files_differ_in_are_factors_and_the_rest_are_notes() {
    let dir = folder("imports-flent");
    let to = dir.join("all.narrows");
    let path = to.to_str().expect("a path");
    let files = [
        flent_file(&dir, "qdisc:fq cc:cubic rep:01", "h", 90.0),
        flent_file(&dir, "qdisc:fq cc:cubic rep:02", "h", 91.0),
        flent_file(&dir, "qdisc:fq cc:bbr rep:01", "h", 80.0),
        flent_file(&dir, "qdisc:cake cc:cubic rep:01", "h", 70.0),
    ];
    assert!(run(&mut import(&files, &["-o", path])).status.success());
    let cells = || -> Vec<(String, usize)> {
        let stored = narrows_store::read(&to).expect("a study");
        let of = |trial| stored.records_of(trial).count();
        stored.trials.iter().map(|trial| (trial.label.clone(), of(trial))).collect()
    };
    let cell = |name: &str, runs| (name.to_owned(), runs);
    // The algorithm in the settings tells nothing that the title does not.
    let first = vec![
        cell("ping-latency, tcp_1up, Ping (ms) ICMP, fq, cubic", 2),
        cell("tcp-stream, tcp_1up, TCP upload, fq, cubic", 2),
        cell("ping-latency, tcp_1up, Ping (ms) ICMP, fq, bbr", 1),
        cell("tcp-stream, tcp_1up, TCP upload, fq, bbr", 1),
        cell("ping-latency, tcp_1up, Ping (ms) ICMP, cake, cubic", 1),
        cell("tcp-stream, tcp_1up, TCP upload, cake, cubic", 1),
    ];
    let sorted = |mut all: Vec<(String, usize)>| {
        all.sort();
        all
    };
    assert_eq!(sorted(cells()), sorted(first.clone()));
    let stored = narrows_store::read(&to).expect("a study");
    let notes = &stored.trials[0].notes;
    let noted = |factor: &str, level: &str| {
        notes.iter().any(|note| note.factor == factor && note.level == level)
    };
    assert!(noted("host", "h") && noted("length", "60"), "{notes:?}");
    assert!(noted("sysctls.net.ipv4.tcp_congestion_control", "cubic"), "{notes:?}");
    // A further repetition of a cell, and a run to another host.
    let more = [
        flent_file(&dir, "qdisc:fq cc:bbr rep:02", "h", 81.0),
        flent_file(&dir, "qdisc:fq cc:bbr rep:03", "other", 50.0),
    ];
    for file in more {
        assert!(run(&mut import(&[file], &["--into", path])).status.success());
    }
    let all = cells();
    assert!(all.contains(&cell("tcp-stream, tcp_1up, TCP upload, fq, bbr", 2)), "{all:?}");
    assert!(all.contains(&cell("tcp-stream, tcp_1up, TCP upload, fq, bbr, other", 1)), "{all:?}");
}

/// A table that somebody published, which is none of cells: what reads it is the hint, and does.
#[test]
fn tables_without_cells_are_refused_with_what_reads_them() {
    let dir = folder("import-tables");
    let single =
        "[source]\ntitle = 't'\n[[row]]\nname = 'tcp_peak'\nvalue = 2500.0\nunit = 'Mb/s'\n";
    let servers = "[source]\ntitle = 't'\n[[row]]\nserver = 'R810'\nmem_mb_s = 6102.9\n\
                   mpps_below = 2.0\nwire_rate = 'no'\ncpu_turbo_ghz = 2.53\n";
    let study = table(&dir);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/x9scl.toml");
    for (name, text, command) in [
        ("single.toml", single, "narrows predict --published"),
        ("servers.toml", servers, "narrows report --servers FILE... --published"),
    ] {
        let file = dir.join(name);
        std::fs::write(&file, text).expect("file");
        let to = dir.join("none.narrows");
        let hint = format!("`{command} {}`", file.display());
        fails(import(std::slice::from_ref(&file), &[]).arg("-o").arg(&to), 2, &hint);
        assert!(!to.exists());
        let mut beside = narrows();
        fails(beside.arg("report").arg(&study).arg("--reference").arg(&file), 2, &hint);
        let words = hint.trim_matches('`').trim_start_matches("narrows ").to_owned();
        let words = words.replace("FILE...", &example.display().to_string());
        let read = run(narrows().args(words.split(' ')));
        assert_eq!(read.status.code(), Some(0), "{words}: {}", err(&read));
        assert!(out(&read).contains(if name == "single.toml" { "tcp_peak" } else { "R810" }));
    }
}

/// A table with cells, as a study.
fn table(dir: &Path) -> PathBuf {
    let (text, to) = (dir.join("cells.toml"), dir.join("cells.narrows"));
    std::fs::write(&text, "[source]\ntitle = 'c'\n[[row]]\ndimms = 1\ntcp_gbps = 61.5\n")
        .expect("file");
    let output = run(import(&[text], &[]).arg("-o").arg(&to));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    to
}

#[test]
fn packed_files_are_unpacked_and_endless_ones_left() {
    let dir = folder("imports-packed");
    let to = |name: &str| dir.join(name).to_str().expect("a path").to_owned();
    let packed = dir.join("tcp.json.gz");
    let text = std::fs::read(samples().join("tcp.json")).expect("an output");
    let gzip = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&packed).expect("file"))
        .spawn();
    let Ok(mut gzip) = gzip else { return skip("packed_files", "gzip is not there") };
    gzip.stdin.take().expect("a pipe").write_all(&text).expect("written");
    gzip.wait().expect("packed");
    let output = run(&mut import(&[packed], &["-o", &to("packed.narrows")]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let endless = ["/dev/zero", "/dev/full", "/"].map(PathBuf::from);
    for file in endless {
        let mut command = import(&[file], &["-o", &to("endless.narrows")]);
        fails(&mut command, 2, "neither a file nor a pipe");
    }
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut writer = Command::new("sh")
        .args(["-c", "exec cat /dev/zero > \"$0\" 2>/dev/null"])
        .arg(&pipe)
        .spawn()
        .expect("a writer");
    let mut command = import(&[pipe], &["-o", &to("endless.narrows")]);
    fails(&mut command, 2, "is too much for a tool's output");
    writer.wait().expect("its reader is gone");
}

#[test]
fn exported_cells_are_no_formulas() {
    let dir = folder("imports-formula");
    let to = dir.join("x.narrows");
    let at = ["-o", to.to_str().expect("a path"), "--tool", "published"];
    let table = dir.join("table.toml");
    let text = "[source]\ntitle='x'\n[[row]]\nprotocol = '=1+1'\n'=cmd_gbps' = 3\n";
    std::fs::write(&table, text).expect("a table");
    let output = run(&mut import(&[table], &at));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let csv = out(&run(narrows().arg("export").arg(&to)));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let cells = reader
        .records()
        .flatten()
        .flat_map(|row| row.iter().map(str::to_owned).collect::<Vec<String>>());
    let cells: Vec<String> = cells.collect();
    assert!(cells.iter().any(|cell| cell.starts_with("'=cmd")), "{csv}");
    assert!(cells.iter().all(|cell| !cell.starts_with(['=', '+', '@'])), "{csv}");
}

#[test]
fn a_study_gives_tools_no_words_that_write_or_call() {
    let dir = folder("imports-words");
    let written = dir.join("written");
    let study = dir.join("study.toml");
    for (which, words) in [
        ("client", format!("-t 1 --logfile {}", written.display())),
        ("client", format!("-t 1 --logfile={}", written.display())),
        ("client", format!("-F {}", written.display())),
        ("client", "-c 203.0.113.9".to_owned()),
        ("server", format!("--pidfile {}", written.display())),
    ] {
        let text = format!(
            "name = 'words'\nrepeats = 1\n[base]\nload = 'tcp-stream'\nseconds = 1\n\
             engine = 'iperf3'\nengine_{which} = '{words}'\n"
        );
        std::fs::write(&study, text).expect("a study");
        let mut command = narrows();
        command.args(["study", "run"]).arg(&study).arg("--out").arg(&dir);
        fails(&mut command, 2, "a study may give");
        assert!(!written.exists() && !dir.join("words.narrows").exists());
    }
}

/// Every level that a table which ships names is one of the study that ships with it.
#[test]
fn tables_that_ship_name_levels_of_their_studies() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let dir = folder("tables-ship");
    for (name, rows) in [
        ("osu-sockets-vs-rdma", 7),
        ("iwarp-fabrics", 1),
        ("dell-nic-placement", 6),
        ("ntop-packet-capture", 3),
    ] {
        let text = std::fs::read_to_string(studies.join(format!("{name}.toml"))).expect("a study");
        let definition = narrows_plan::study::Definition::parse(&text).expect("a definition");
        let cells = narrows_plan::study::cells(&definition).expect("cells");
        let has = |factor: &str, level: &str| {
            let mut all = cells.iter().flat_map(|cell| &cell.levels);
            all.any(|of| of.factor == factor && (of.level == level || level == "any"))
        };
        let to = dir.join(format!("{name}.narrows"));
        let table = studies.join(format!("published/{name}.toml"));
        let output = run(import(&[table], &[]).arg("-o").arg(&to));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
        let table = narrows_store::read(&to).expect("a table");
        assert_eq!(table.trials.len(), rows, "{name}");
        for level in table.trials.iter().flat_map(|trial| &trial.levels) {
            let factor = level.factor.trim_start_matches("against ");
            let is_size = factor == "size" && level.level == "best";
            assert!(is_size || has(factor, &level.level), "{name}: {level:?}");
        }
    }
}

/// Own cells, made up, beside what others published of the best size and of one node over another.
#[test]
fn peaks_and_changes_stand_beside_own_cells() {
    let dir = folder("tables-beside");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/published");
    let beside = |name: &str, factors: &str, rows: &[(&str, &str)]| {
        let rows = rows.iter().map(|(levels, figure)| format!("[[row]]\n{levels}\n{figure}\n"));
        let text = rows.collect::<String>();
        let own = dir.join(format!("own-{name}"));
        let text = format!("factors = [{factors}]\n[source]\ntitle = 'own'\n{text}");
        std::fs::write(&own, text).expect("a table");
        let to = own.with_extension("narrows");
        assert_eq!(run(import(&[own], &[]).arg("-o").arg(&to)).status.code(), Some(0));
        let mut report = narrows();
        out(&run(report.arg("report").arg(&to).arg("--reference").arg(published.join(name))))
    };
    let text = beside(
        "osu-sockets-vs-rdma.toml",
        "'test', 'size'",
        &[
            ("test = 'TCP fan-in'\nsize = '64'", "mbps = 100"),
            ("test = 'TCP fan-in'\nsize = '16K'", "mbps = 7000"),
            ("test = 'TCP fan-in'\nsize = '64K'", "mbps = 6000"),
            ("test = 'TCP round trip'\nsize = '64'", "us = 48.6"),
        ],
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "reference: best, TCP round trip: the source says: a latency of 37 us (Windows Server \
                2003), 20 us on Linux, about 50 % CPU utilization on both platforms; here 48.60 us";
    assert!(words.contains(told), "{text}");
    assert!(
        words.contains(
            "within 5 % of the practically attainable peak memory bandwidth; here no such"
        )
    );
    let line = |size: &str| {
        let found = text.lines().rfind(|line| line.trim_start().starts_with(size));
        found.unwrap_or_else(|| panic!("{size}: {text}")).to_owned()
    };
    assert!(line("16K").contains("3.500 Gb/s") && line("16K").contains("+100.0 %"), "{text}");
    assert!(!line("64K").contains("3.500 Gb/s"), "{text}");
    assert!(text.contains("reference: 1 of 3 medians stand beside a cell"), "{text}");
    let of = |node: &str| {
        format!(
            "application = '{node}'\nbeside = '5 memory streams'\nin = 'system'\n\
             test = 'TCP 8 streams'"
        )
    };
    let (near, far) = (of("adapter on that node too"), of("other node, both ends"));
    let text = beside(
        "dell-nic-placement.toml",
        "'application', 'beside', 'in', 'test'",
        &[(&near, "gbps = 60"), (&far, "gbps = 50")],
    );
    let says = "reference: adapter on that node too, 5 memory streams, system, TCP 8 streams over \
                other node, both ends: 1.24 x; here 1.20 x";
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(says), "{text}");
    assert!(joined.contains("over other node, both ends: at most 0.600 x; here no such"), "{text}");
}
