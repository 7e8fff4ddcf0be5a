//! What reads stored studies: import, compare, list, verify, export.

mod common;

use common::imported::{import, series, written};
use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip};
use narrows_model::record::Record;
use serde_json::Value;
use std::path::Path;

/// A table of a study as others have published it.
const TABLE: &str = "[source]\ntitle = 'made up'\n\
    [[row]]\ndimms = 1\ncpu1 = 'Unbalanced'\ntcp_gbps = 61.15\nudp_gbps = 63.5\n\
    [[row]]\ndimms = 2\ncpu1 = 'Balanced'\ntcp_gbps = 88.25\nudp_gbps = 88.05\n\
    [[row]]\ndimms = 3\ncpu1 = 'Unbalanced'\ntcp_gbps = 63.6\nudp_gbps = 71.4\n\
    [[row]]\ndimms = 4\ncpu1 = 'Balanced'\ntcp_gbps = 87.7\nudp_gbps = 90.3\n";

#[test]
fn a_published_table_becomes_the_same_report() {
    let dir = folder("import-published");
    let study = dir.join("table.narrows");
    let table = written(&dir, "table.toml", TABLE);
    assert_eq!(run(&mut import(&[table], &study, &[])).status.code(), Some(0));
    let text = out(&run(narrows().arg("report").arg(&study)));
    for says in [
        "inconclusive: levels of dimms are tested from 6 runs a cell on; medians 61.15 to 88.25 Gb/s",
        "imported: not measured by narrows",
        "memory, CPU 1",
        "Unbalanced",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(!text.contains("best for"), "one value a cell recommends nothing: {text}");
    assert!(!text.contains("rule found"), "there is no host to judge: {text}");
    for format in ["html", "json", "csv", "prometheus"] {
        let output = run(narrows().args(["report", "--format", format]).arg(&study));
        assert_eq!(output.status.code(), Some(0), "{format}: {}", err(&output));
    }
}

/// The published tables, where they are at hand.
#[test]
fn the_papers_medians_come_out_and_no_claim_of_theirs() {
    let folder_of = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/published");
    if !folder_of.is_dir() {
        return skip("published_tables", "the folder with published tables is not there");
    }
    let dir = folder("import-lenovo");
    let report = |name: &str| {
        let study = dir.join(name).with_extension("narrows");
        let output = run(&mut import(&[folder_of.join(name)], &study, &[]));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&run(narrows().arg("report").arg(&study)))
    };
    let one = report("lenovo_table1.toml");
    assert!(one.contains("medians 60.80 to 88.25 Gb/s"), "{one}");
    let two = report("lenovo_table2.toml");
    assert!(two.contains("90.75 Gb/s  91.15 Gb/s"), "{two}");
    assert!(!one.contains("levels:") && !two.contains("best for"), "{one}{two}");
}

#[test]
fn what_is_no_output_is_refused() {
    let dir = folder("import-wrong");
    let to = dir.join("x.narrows");
    let text = written(&dir, "hello.txt", "hello");
    fails(&mut import(std::slice::from_ref(&text), &to, &[]), 2, "no tool's output");
    fails(&mut import(&[text], &to, &["--tool", "iperf3"]), 2, "as iperf3");
    fails(&mut import(&[dir.join("none")], &to, &[]), 2, "none cannot be read");
    let packed = dir.join("x.gz");
    std::fs::write(&packed, [0x1f, 0x8b, 8, 0]).expect("file");
    fails(&mut import(&[packed], &to, &[]), 2, "cannot be read");
    fails(&mut import(&["/dev/zero".into()], &to, &[]), 2, "neither a file nor a pipe");
    assert!(!to.exists());
    let failed = written(
        &dir,
        "failed.json",
        "{\"start\":{\"version\":\"iperf 3.12\"},\"intervals\":[],\"end\":{},\"error\":\"refused\"}",
    );
    let output = run(&mut import(&[failed], &to, &[]));
    assert!(out(&output).contains("1 of them failed"), "{}", out(&output));
}

#[test]
fn a_regression_is_told_by_the_exit_code() {
    let dir = folder("compare");
    let before = series(&dir, "before", &[10.0, 10.1, 10.2, 9.9, 10.05, 9.95, 10.0, 10.02]);
    let worse = series(&dir, "worse", &[9.0, 9.1, 9.2, 8.9, 9.05, 8.95, 9.0, 9.02]);
    let alike = series(&dir, "alike", &[10.01, 10.1, 10.18, 9.91, 10.04, 9.96, 10.0, 10.03]);
    let compare =
        |a: &Path, b: &Path, more: &[&str]| run(narrows().arg("compare").arg(a).arg(b).args(more));
    let output = compare(&before, &worse, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    assert!(out(&output).contains("-10.0 %") && out(&output).contains("WORSE"));
    let output = compare(&worse, &before, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "better is no regression");
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(json["cells"][0]["compared"]["change"], "better");
    let output = compare(&before, &alike, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("1 alike within 2 %"), "{}", out(&output));
    assert_eq!(compare(&before, &worse, &["--margin", "15"]).status.code(), Some(0));
    let told = out(&compare(&before, &alike, &[]));
    assert!(told.contains("do not cover another day's"), "{told}");
    let told = out(&compare(&before, &alike, &["--json"]));
    assert!(told.contains("\"covers\": \"these-sessions\""), "{told}");
    fails(narrows().arg("compare").arg(&before), 2, "one file alone cannot be compared");
    let mut command = narrows();
    command.arg("compare").arg(&before).args(["--before", "x", "--after", "y"]);
    fails(&mut command, 2, "there is no cell 'x'");
    let table = dir.join("table.narrows");
    let file = written(&dir, "table.toml", TABLE);
    assert_eq!(run(&mut import(&[file], &table, &[])).status.code(), Some(0));
    let mut command = narrows();
    fails(command.arg("compare").arg(&before).arg(&table), 2, "no cell in common");
    let mut command = narrows();
    command.arg("compare").arg(&table);
    command.args(["--before", "dimms 1, TCP", "--after", "dimms 2, TCP"]);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("inconclusive"),
        "single values carry no verdict: {}",
        out(&output)
    );
}

#[test]
fn figures_make_their_folder_but_not_all_of_a_path() {
    let dir = folder("figures-made");
    let study = series(&dir, "runs", &[10.0, 10.1, 10.2, 9.9, 10.05, 9.95, 10.0, 10.02]);
    let report = |to: &Path| {
        let mut command = narrows();
        command.arg("report").arg(&study).arg("--figures").arg(to);
        command
    };
    let made = dir.join("made");
    for _ in 0..2 {
        let output = run(&mut report(&made));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(std::fs::read_dir(&made).expect("a folder").count() > 0);
    }
    fails(&mut report(&dir.join("misspelt/made")), 2, "is not a directory");
    assert!(!dir.join("misspelt").exists());
}

#[test]
fn a_changed_file_does_not_verify() {
    let dir = folder("verify");
    let study = series(&dir, "study", &[10.0, 10.1]);
    let verify = || run(narrows().arg("verify").arg(&study));
    assert_eq!(verify().status.code(), Some(0), "{}", out(&verify()));
    let change = |sql: &str| {
        let database = rusqlite::Connection::open(&study).expect("database");
        database.execute(sql, []).expect("change");
    };
    change("UPDATE trial SET json = replace(json, '131072', '65536')");
    let output = verify();
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("its id is not that of what it is"), "{}", out(&output));
    let mut bytes = std::fs::read(&study).expect("file");
    let at = bytes.len() / 2;
    bytes[at..at + 3000].fill(0x55);
    std::fs::write(&study, bytes).expect("file");
    fails(narrows().arg("verify").arg(&study), 2, "cannot be read");
}

#[test]
fn studies_are_listed_and_damaged_ones_named() {
    let dir = folder("list");
    series(&dir, "good", &[10.0, 10.1]);
    std::fs::write(dir.join("bad.narrows"), "no database").expect("file");
    // What can be read is listed; that something cannot is no success.
    let output = fails(narrows().arg("list").arg(&dir), 2, "bad.narrows");
    let text = out(&output);
    assert!(text.contains("good.narrows") && text.contains("2 runs"), "{text}");
    assert!(err(&output).contains("bad.narrows is not a narrows study"), "{}", err(&output));
    let json: Value =
        serde_json::from_str(&out(&run(narrows().args(["list", "-J"]).arg(&dir)))).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_history_leaves_damaged_files_out_and_exits_by_what_became_worse() {
    let dir = folder("history");
    for at in 0..14 {
        let rate = if at < 7 { 10.0 } else { 8.0 } + 0.01 * f64::from(at % 3);
        series(&dir, &format!("{at:02}"), &[rate; 3]);
    }
    let output = run(narrows().arg("history").arg(&dir));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("1 of 1 figure became worse"), "{text}");
    assert!(text.contains("-20.0 %"), "{text}");
    std::fs::write(dir.join("bad.narrows"), "no database").expect("file");
    let output = fails(narrows().args(["history", "-J"]).arg(&dir), 2, "bad.narrows");
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!((&json["files"], &json["figures"][0]["turns"][0]["at"]), (&14.into(), &7.into()));
    let empty = folder("history-empty");
    fails(narrows().arg("history").arg(&empty), 2, "there is no study file here");
}

#[test]
fn exports_hold_every_run() {
    let dir = folder("export");
    let rates = [10.0, 10.1, 10.2];
    let study = series(&dir, "study", &rates);
    let export = |format: &str, to: &Path| {
        run(narrows().arg("export").arg(&study).args(["--format", format, "-o"]).arg(to))
    };
    let json = dir.join("study.json");
    assert_eq!(export("json", &json).status.code(), Some(0));
    let stored: narrows_model::study::StoredStudy =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("file")).expect("JSON");
    let records: Vec<Record> = narrows_store::read(&study).expect("a study").records;
    assert_eq!(stored.records, records);
    let csv = out(&run(narrows().arg("export").arg(&study)));
    assert_eq!(csv.lines().count(), 4);
    fails(narrows().arg("export").arg(&study).args(["--format", "parquet"]), 2, "--output");
}

/// The heads of the columns of a study as CSV has them.
fn columns(study: &Path) -> Vec<String> {
    let csv = out(&run(narrows().arg("export").arg(study)));
    csv.lines().next().unwrap_or_default().split(',').map(str::to_owned).collect()
}

#[test]
fn json_lines_have_the_columns_of_csv_and_numbers_that_are_numbers() {
    let dir = folder("export-jsonl");
    let study = series(&dir, "study", &[10.0, 10.1, 10.2]);
    let lines = out(&run(narrows().arg("export").arg(&study).args(["--format", "jsonl"])));
    let rows: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let values: Vec<f64> = rows.iter().filter_map(|row| row["value"].as_f64()).collect();
    assert_eq!(values, [10.0e9, 10.1e9, 10.2e9]);
    assert_eq!(rows[2]["repeat"], 2);
    assert_eq!(rows[0]["unit"], "bit/s");
    assert_eq!(rows[0]["lost_datagrams"], Value::Null, "none were counted");
    let mut heads = columns(&study);
    heads.sort_unstable();
    for row in &rows {
        let keys: Vec<&String> = row.as_object().expect("an object").keys().collect();
        assert_eq!(keys, heads.iter().collect::<Vec<_>>());
    }
}

#[test]
fn every_column_is_told_on_its_page() {
    let study = series(&folder("export-columns"), "study", &[10.0]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.md");
    let page = std::fs::read_to_string(page).expect("the page");
    // Factors are the study's own.
    for column in columns(&study).iter().filter(|name| !name.starts_with("factor_")) {
        assert!(page.contains(&format!("`{column}`")), "{column}");
    }
}

/// A published table has factors, and each is a column of its own.
#[test]
fn each_factor_is_a_column() {
    let dir = folder("export-factors");
    let table = written(&dir, "table.toml", TABLE);
    let study = dir.join("table.narrows");
    let output = run(&mut import(&[table], &study, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let lines = out(&run(narrows().arg("export").arg(&study).args(["--format", "jsonl"])));
    let row: Value = serde_json::from_str(lines.lines().next().expect("a row")).expect("JSON");
    let factors: Vec<&String> = row
        .as_object()
        .expect("an object")
        .keys()
        .filter(|key| key.starts_with("factor_"))
        .collect();
    assert!(!factors.is_empty(), "{row}");
    assert!(factors.iter().all(|factor| row[factor.as_str()].is_string()), "{row}");
    assert!(factors.iter().all(|factor| columns(&study).contains(factor)), "{factors:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_every_run() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let dir = folder("export-parquet");
    let rates = [10.0, 10.1, 10.2];
    let study = series(&dir, "study", &rates);
    let to = dir.join("study.parquet");
    let mut export = narrows();
    export.arg("export").arg(&study).args(["--format", "parquet", "-o"]).arg(&to);
    let output = run(&mut export);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let file = std::fs::File::open(&to).expect("file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows: Vec<_> =
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    let of = |name: &str| -> Vec<Field> {
        let fields = rows.iter().flat_map(|row| row.get_column_iter());
        fields.filter(|(head, _)| head.as_str() == name).map(|(_, field)| field.clone()).collect()
    };
    assert_eq!(of("value"), rates.map(|rate| Field::Double(rate * 1e9)));
    assert_eq!(of("repeat"), [0, 1, 2].map(Field::Long));
    assert_eq!(of("lost_datagrams"), [Field::Null, Field::Null, Field::Null]);
    let heads: Vec<String> = rows[0].get_column_iter().map(|(head, _)| head.clone()).collect();
    assert_eq!(heads, columns(&study));
}

/// Outside tools beside our own load on one path: a paced stream must come out the same.
#[test]
fn outside_tools_agree_with_narrows() {
    if !is_root() {
        return skip("outside_tools", "needs root for network namespaces");
    }
    let missing = ["iperf3", "iperf", "nuttcp"].into_iter().find(|tool| {
        !["/usr/bin", "/usr/local/bin", "/bin"].iter().any(|dir| Path::new(dir).join(tool).exists())
    });
    if let Some(tool) = missing {
        return skip("outside_tools", &format!("{tool} is not there"));
    }
    patiently("outside_tools", outside_tools);
}

fn outside_tools() {
    let dir = folder("engines");
    let study = written(
        &dir,
        "study.toml",
        "name = 'engines'\nrepeats = 2\n[base]\nseconds = 1\nload = 'udp-stream'\nlength = 1400\n\
         bitrate = '50M'\n[[factor]]\nname = 'engine'\nlevels = [{name='narrows'}, \
         {name='iperf3', engine='iperf3'}, {name='iperf', engine='iperf'}, \
         {name='nuttcp', engine='nuttcp'}, {name='own words', engine='iperf3', \
         engine_client='-u -b 50M -l 1400 -t 1'}, {name='wrong', engine='iperf3', \
         engine_client='-C no-such-one -t 1'}]\n",
    );
    let output = run(narrows().args(["study", "run"]).arg(&study).arg("--out").arg(&dir));
    assert_eq!(output.status.code(), Some(1), "a cell was given up: {}", err(&output));
    let stored = narrows_store::read(&dir.join("engines.narrows")).expect("a study");
    let summaries = narrows_stats::summarise(&stored);
    for summary in &summaries {
        if summary.label == "wrong" {
            assert_eq!(summary.done, 0, "exit status and silence are no figure");
            continue;
        }
        let rate = summary.estimate.expect("a rate").value;
        assert!((rate / 50e6 - 1.0).abs() < 0.05, "{}: {rate}", summary.label);
    }
    let command = |label: &str| {
        let trial = stored.trials.iter().find(|trial| trial.label == label).expect("a trial");
        let record = stored.records_of(trial).next().expect("a record");
        record.external.as_ref().and_then(|external| external.command.clone())
    };
    assert_eq!(command("narrows"), None);
    let own = command("own words").expect("a command");
    assert!(own.ends_with("-p 5201 -u -b 50M -l 1400 -t 1"), "{own}");
}

#[test]
fn published_tables_are_predicted_and_wrong_ones_refused() {
    let dir = folder("predict");
    let table = written(
        &dir,
        "wires.toml",
        "[system]\nlink_gbps = 100\n[[row]]\nprotocol = 'tcp'\nmtu = 9000\ngbps = 97.0\n\
         [[row]]\nprotocol = 'tcp'\nmtu = 1500\ngbps = 93.9\n[[row]]\nname = 'x'\nvalue = 1\n",
    );
    let output = run(narrows().args(["predict", "--published"]).arg(&table));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("99.00") && text.contains("MAPE 1.17 % (2 cells)"), "{text}");
    assert!(text.contains("its row declares no quantity"), "{text}");
    let output = run(narrows().args(["predict", "--json", "--published"]).arg(&table));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(json["answers"].as_array().map(Vec::len), Some(2));
    let wrong = written(&dir, "wrong.toml", "[[row]\n");
    fails(narrows().args(["predict", "--published"]).arg(&wrong), 2, "wrong, line 1");
    let none = written(&dir, "none.toml", "[source]\ntitle = 'x'\n");
    fails(narrows().args(["predict", "--published"]).arg(&none), 2, "has no [[row]]");
    let unknown = written(&dir, "unknown.toml", "[[row]]\ncolour = 'red'\n");
    fails(narrows().args(["predict", "--published"]).arg(&unknown), 2, "'colour'");
    let odd = written(&dir, "odd.toml", "[[row]]\nwidth = 8\n");
    let text = out(&run(narrows().args(["predict", "--published"]).arg(&odd)));
    assert!(text.contains("none that narrows knows"), "{text}");
}

/// A table to begin with reads as it is printed; a folder is scored, and a row without a source is
/// refused with its file and number.
#[test]
fn tables_of_ones_own_are_begun_and_scored() {
    let dir = folder("score");
    let table = out(&run(narrows().args(["predict", "--published", "new"])));
    std::fs::write(dir.join("mine.toml"), &table).expect("a table");
    let text = out(&run(narrows().args(["predict", "--score"]).arg(&dir)));
    assert!(text.contains("held-out: 1 figures, mean error "), "{text}");
    let document = out(&run(narrows().args(["predict", "--json", "--score"]).arg(&dir)));
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["families"][0]["part"], "held-out");
    assert_eq!(document["families"][0]["figures"], 1);
    let bare = "[[row]]\nways = 6\nmts = 2933\ngb_s = 1\n";
    std::fs::write(dir.join("other.toml"), bare).expect("a table");
    let score = |dir: &Path| narrows().args(["predict", "--score"]).arg(dir).output();
    let refused = err(&score(&dir).expect("it runs"));
    assert!(refused.contains("other.toml, row 1: it names no source"), "{refused}");
    fails(narrows().args(["predict", "--score"]).arg(dir.join("nowhere")), 2, "nowhere");
}

#[test]
fn another_study_stands_beside_and_figures_are_files() {
    let dir = folder("beside");
    let table = written(&dir, "table.toml", TABLE);
    let other = written(&dir, "other.toml", &TABLE.replace("61.15", "55.0"));
    let (own, beside) = (dir.join("own.narrows"), dir.join("beside.narrows"));
    assert_eq!(run(&mut import(&[table], &own, &[])).status.code(), Some(0));
    assert_eq!(run(&mut import(&[other], &beside, &[])).status.code(), Some(0));
    let report = |more: &[&str]| {
        let mut command = narrows();
        command.arg("report").arg(&own).arg("--reference").arg(&beside).args(more);
        out(&run(command.arg("--figures").arg(&dir)))
    };
    let text = report(&[]);
    assert!(text.contains("55.00 Gb/s") && text.contains("+11.2 %"), "{text}");
    assert!(!text.contains("stand beside a cell"), "all of them do: {text}");
    // A table need not be imported; of several the first that has a cell counts.
    let more = "[source]\n[[row]]\ndimms = 1\ntcp_gbps = 50\n[[row]]\ndimms = 9\ntcp_gbps = 1\n";
    let more = written(&dir, "more.toml", more);
    let mut two = narrows();
    two.arg("report").arg(&own).arg("--reference").arg(dir.join("other.toml"));
    let text = out(&run(two.arg("--reference").arg(&more)));
    assert!(text.contains("55.00 Gb/s") && !text.contains("50.00 Gb/s"), "{text}");
    assert!(text.contains("reference: 9 of 10 medians stand beside a cell"), "{text}");
    // Both as one: a panel of each, and no host that both are of.
    let text = out(&run(narrows().arg("report").arg(&own).arg(&beside)));
    assert!(text.contains("study   own: imported, its host unknown"), "{text}");
    assert!(text.contains("own, TCP") && text.contains("beside, TCP"), "{text}");
    // Of several a reference is of the file that is named, and else of neither where both fit.
    let whose = |named: &str| {
        let mut command = narrows();
        let reference = format!("{named}{}", dir.join("more.toml").display());
        command.arg("report").arg(&own).arg(&beside).arg("--reference").arg(reference);
        command
    };
    let text = out(&run(&mut whose("own=")));
    assert!(text.contains("reference: 1 of 2 medians stand beside a cell"), "{text}");
    let text = out(&run(&mut whose("")));
    assert!(text.contains("reference: 0 of 2 medians stand beside a cell"), "{text}");
    fails(&mut whose("june="), 2, "no file is called june");
    let nowhere = dir.join("nowhere.narrows");
    fails(narrows().arg("report").arg(&own).arg("--reference").arg(nowhere), 2, "nowhere.narrows");
    let svg = std::fs::read_to_string(dir.join("panel-0-tcp.svg")).expect("a figure");
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("class=\"beside\""), "{svg}");
    let markdown = report(&["--format", "markdown"]);
    assert!(markdown.contains("| 1 | 61.15 Gb/s |") && markdown.contains("|---|"), "{markdown}");
    fails(narrows().arg("report").arg(&own).arg("--png"), 2, "--figures");
    let pictures = folder("beside-png");
    let mut drawing = narrows();
    drawing.arg("report").arg(&own).args(["--png", "--figures"]).arg(&pictures);
    if !cfg!(feature = "png") {
        fails(&mut drawing, 5, "build it in with `cargo build --release --features png`");
        let written = std::fs::read_dir(&pictures).expect("folder").count();
        return assert_eq!(written, 0, "half of what was asked for");
    }
    assert_eq!(run(&mut drawing).status.code(), Some(0));
    let png = std::fs::read(pictures.join("panel-0-tcp.png")).expect("a picture");
    assert!(png.starts_with(b"\x89PNG\r\n"), "{:?}", &png[..8]);
    // Twice the figure's 360 units.
    assert_eq!(png[16..20], 720u32.to_be_bytes());
}

/// What Lenovo published stands beside the cells of the studies that repeat it: these have a port's
/// mode, of which the tables say nothing, and RDMA's medians are of all populations.
#[test]
fn published_tables_that_ship_are_of_the_studies_that_ship() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let dir = folder("published-ships");
    for (name, populations) in [("lenovo-one-processor", 6), ("lenovo-memory-population", 12)] {
        let file = format!("{name}.toml");
        let text = std::fs::read_to_string(studies.join(&file)).expect("a study");
        let definition = narrows_plan::study::Definition::parse(&text).expect("a definition");
        let cells = narrows_plan::study::cells(&definition).expect("cells");
        let table = dir.join(format!("{name}.narrows"));
        let published = studies.join("published").join(&file);
        assert_eq!(run(&mut import(&[published], &table, &[])).status.code(), Some(0));
        let table = narrows_store::read(&table).expect("a table");
        let mut own = narrows_model::study::StoredStudy::unmeasured(Default::default());
        let trial = |cell: narrows_plan::study::Cell| {
            narrows_plan::imported("x", cell.settings.kind(), cell.levels, Vec::new())
        };
        own.trials = cells.into_iter().map(trial).collect();
        let analysis = narrows_report::Analysis::beside(&own, &[table]);
        let results = analysis.study.as_ref().expect("levels");
        let joined = results.reference.expect("a reference");
        assert_eq!((joined.medians, joined.with_cell), (2 * populations + 2, 2 * populations + 2));
        let rows = results.panels.iter().flat_map(|panel| &panel.rows);
        assert!(rows.clone().all(|row| row.beside.is_some()), "{name}: each cell has its median");
        assert_eq!(rows.filter(|row| row.beside == Some(92.79e9)).count(), populations, "{name}");
    }
}

#[test]
fn cells_are_explained_or_said_not_to_be() {
    let dir = folder("explain");
    let study = written(
        &dir,
        "study.toml",
        "name = 'cached'\nrepeats = 2\n[base]\nload = 'memory-read'\nseconds = 0.05\n\
         [[factor]]\nname = 'size'\nset = 'size'\nlevels = ['1M']\n",
    );
    let output = run(narrows().args(["study", "run"]).arg(&study).arg("--out").arg(&dir));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let file = dir.join("cached.narrows");
    let text = out(&run(narrows().arg("explain").arg(&file)));
    assert!(text.contains("cache-resident: not memory"), "{text}");
    assert!(text.contains("1 explained, 0 unexplained"), "{text}");
    let json: Value =
        serde_json::from_str(&out(&run(narrows().args(["explain", "-J"]).arg(&file))))
            .expect("JSON");
    assert_eq!(json["cells"][0]["standing"], "explained");
    let imported = series(&dir, "bare", &[10.0, 10.1]);
    let text = out(&run(narrows().arg("explain").arg(&imported)));
    assert!(text.contains("1 without expectation"), "{text}");
}

#[test]
fn a_change_is_predicted_and_what_is_missing_is_asked_for() {
    let predict = |more: &[&str]| {
        let mut command = narrows();
        command.arg("predict").args(more);
        command
    };
    let base = ["cpu=Xeon Platinum 8280", "memory.mts=2933", "nic.gbps=100"];
    let with = |population: &str, more: &[&str]| {
        let mut command = predict(more);
        for set in base.iter().copied().chain([population]) {
            command.args(["--set", set]);
        }
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
    };
    let uneven = with("memory.socket0=1,1,0/1,0,0", &["--set", "path=tcp"]);
    assert!(uneven.contains("bottleneck memory") && uneven.contains("sets of 2+1"), "{uneven}");
    let all = with("memory.socket0=1,1,0/1,0,0", &[]);
    assert!(all.contains("Headroom") && all.contains("rdma-read rocev2: wire 1.00 x"), "{all}");
    let json: Value =
        serde_json::from_str(&with("memory.socket0=1,1,1/1,1,1", &["--json"])).expect("JSON");
    assert_eq!(json["reaches"][0]["resources"][0]["name"], "wire");
    let best = with("memory.socket0=0,0,0/0,0,0", &["--search", "dimms=4"]);
    assert!(best.contains("one set of 4"), "{best}");
    fails(&mut predict(&["--set", "colour=red"]), 2, "none of");
    fails(&mut predict(&["--set", "cpu=Pentium"]), 2, "no family is known of 'Pentium'");
    fails(&mut predict(&["--from", "nowhere"]), 2, "nowhere");
}

#[test]
fn a_described_server_is_changed_priced_and_drawn() {
    let dir = folder("described");
    let file = dir.join("server.toml");
    let text = "cpu = 'Xeon Platinum 8280'\n[memory]\nmts = 2933\nsocket0 = [[1, 1, 0], [1, 0, 0]]\n\
                socket1 = [[1, 1, 1], [1, 1, 1]]\n[nic]\ngbps = 100\npcie = '3x16'\n\
                [price]\ndimm = 140\n";
    std::fs::write(&file, text).expect("a description");
    let predict = |more: &[&str]| {
        let mut command = narrows();
        command.arg("predict").arg("--from").arg(&file).args(more);
        command
    };
    let picture = dir.join("change.svg");
    let drawn = picture.to_str().expect("a path");
    let change = ["--set", "memory.socket0=1,1,1/1,1,1", "--svg", drawn];
    let said = out(&run(&mut predict(&change)));
    assert!(said.contains("today 83.6, +8 %") && said.contains("cost: 420 (3 dimm"), "{said}");
    let svg = std::fs::read_to_string(&picture).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.contains(", today 83.6"), "{svg}");
    // What is so today is no change.
    let said = out(&run(&mut predict(&["--given", "mtu=9000", "--set", "nic.count=2"])));
    assert!(
        said.contains("MTU 9000 B: given") && said.contains("without a price: 1 nic"),
        "{said}"
    );
    let json = out(&run(&mut predict(&["--json", "--set", "path=udp", "--set", "streams=120"])));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["reaches"][0]["resources"][0]["parameters"][0]["from"], "said");
    fails(&mut predict(&["--price", "disk=3"]), 2, "parts are dimm and nic");
    fails(&mut predict(&["--set", "path=carrier-pigeon"]), 2, "no path is called");
    std::fs::write(&file, "cpu = 'Xeon'\n[nic\n").expect("a description");
    fails(&mut predict(&[]), 2, "server.toml: line 2");
    let fast = text.replace("gbps = 100", "gbps = 'fast'");
    std::fs::write(&file, fast).expect("a description");
    fails(&mut predict(&[]), 2, "server.toml: nic.gbps=fast is not a number");
    // An option goes first, and is not the file's.
    fails(&mut predict(&["--set", "nic.gbps=slow"]), 2, "error: nic.gbps=slow is not a number");
}

#[test]
fn what_a_study_measured_calibrates_its_host() {
    let dir = folder("calibrated");
    let output = run(narrows()
        .args(["mem", "-t", "0.2", "-k", "copy", "--repeats", "2", "--out"])
        .arg(&dir));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let file = std::fs::read_dir(&dir).expect("a folder").flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "narrows"));
    let file = file.expect("a study");
    let predict = |more: &[&str]| {
        let mut command = narrows();
        command.arg("predict").args(more).arg(&file).args(["--json", "--given", "nic.gbps=25"]);
        let text = out(&run(&mut command));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|_| panic!("JSON: {text}"))
    };
    for json in [predict(&["--from"]), predict(&["--calibrate"])] {
        let copy = json["measured"]["copy_gb_s"]["value"].as_f64().expect("a copy's rate");
        let memory = |reach: &Value| {
            let all = reach["resources"].as_array().cloned().unwrap_or_default();
            all.into_iter().find(|resource| resource["name"] == "memory")
        };
        let tcp = memory(&json["reaches"][0]).expect("memory")["value"].as_f64().expect("a rate");
        let m = 8.0 * copy / tcp;
        assert!((m - 2.16).abs() < 1e-6, "{m} {json}");
    }
}

#[test]
fn an_altered_digit_is_noticed_in_every_record() {
    let dir = folder("verify-digits");
    let study = series(&dir, "study", &[10.0, 10.1, 10.2, 10.3]);
    let verified = run(narrows().arg("verify").arg(&study));
    let said = out(&verified);
    let head = said.split("head ").nth(1).and_then(|rest| rest.get(..64)).expect("a head");
    let verify =
        |file: &Path, head: &str| run(narrows().arg("verify").arg(file).args(["--head", head]));
    assert_eq!(verify(&study, head).status.code(), Some(0), "{said}");
    let stranger = verify(&study, &"0".repeat(64));
    assert_eq!(stranger.status.code(), Some(1));
    assert!(out(&stranger).contains("not in its chain"), "{}", out(&stranger));
    fails(narrows().arg("verify").arg(&study).args(["--head", "12"]), 2, "64 hexadecimal");
    for at in 1..=4 {
        let copy = dir.join("copy.narrows");
        std::fs::copy(&study, &copy).expect("a copy");
        let database = rusqlite::Connection::open(&copy).expect("database");
        let json: String = database
            .query_row("SELECT json FROM record WHERE number = ?1", [at], |row| row.get(0))
            .expect("a record");
        // The last digit of the figure that counts.
        let digit = json.find("000000").expect("a rate") - 1;
        let other = if json.as_bytes()[digit] == b'1' { "2" } else { "1" };
        let altered = format!("{}{other}{}", &json[..digit], &json[digit + 1..]);
        let set = "UPDATE record SET json = ?1 WHERE number = ?2";
        database.execute(set, (&altered, at)).expect("altered");
        drop(database);
        let output = run(narrows().arg("verify").arg(&copy));
        assert_eq!(output.status.code(), Some(1), "{altered}");
        let says = format!("run {at} is not what was stored");
        assert!(out(&output).contains(&says), "{}", out(&output));
    }
}

#[test]
fn servers_of_several_files_are_one_table() {
    let dir = folder("servers");
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/x9scl.toml");
    let text = std::fs::read_to_string(lab).expect("the post's server");
    let direct = written(&dir, "direct.toml", &text);
    let uplink = text.replace("pcie = \"2x8\"", "pcie = \"2x8\"\nuplink = \"2x4/128\"");
    let behind = written(&dir, "behind.toml", &uplink);
    let table = "[source]\ntitle = \"planted\"\n[[row]]\nserver = \"Other\"\nmem_mb_s = 8000\n\
                 cpu_turbo_ghz = 2.6\nmpps = 11.0\nwire_rate = \"no\"\n";
    let published = written(&dir, "published.toml", table);
    let servers = |more: &[&str]| {
        let mut command = narrows();
        command.args(["report", "--servers"]).arg(&direct).arg(&behind).args(more);
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
    };
    let text = servers(&["--published", published.to_str().expect("UTF-8")]);
    let row = |name: &str| {
        let row = text.lines().find(|line| line.trim_start().starts_with(name));
        row.unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
    };
    assert!(row("direct ").ends_with("yes (model)"), "{text}");
    assert!(row("behind ").ends_with("no: chipset slot, 11.7 to 13.7 M/s (model)"), "{text}");
    assert!(row("Other ").contains("11.00, said: no"), "{text}");
    let json: Value = serde_json::from_str(&servers(&["-J"])).expect("JSON");
    let verdicts = json["servers"].as_array().expect("rows").iter().map(|row| &row["verdict"]);
    assert_eq!(verdicts.collect::<Vec<_>>(), ["yes", "no"]);
    let csv = servers(&["--format", "csv", "--set", "frame=1518"]);
    assert_eq!((csv.lines().count(), csv.matches(",1518 B,0.81").count()), (3, 2), "{csv}");
    let published = published.to_str().expect("UTF-8");
    let page = servers(&["--format", "html", "--published", published]);
    assert!(page.contains("<td>no: chipset slot, 11.7 to 13.7 M/s (model)</td>"), "{page}");
    let markdown = servers(&["--format", "markdown", "--published", published]);
    assert!(
        markdown.contains("\n| Other |") && markdown.contains("11.00, said: no |"),
        "{markdown}"
    );
    fails(narrows().args(["report", "--servers"]).arg(dir.join("none.narrows")), 2, "none.narrows");
}
