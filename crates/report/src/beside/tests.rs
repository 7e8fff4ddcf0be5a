use super::*;
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::study::Ended;
use narrows_model::trial::Trial;
use narrows_stats::median_interval;

/// Levels and a figure.
type Row<'a> = (&'a [(&'a str, &'a str)], f64, Unit);

/// A published table of these rows.
fn published(rows: &[Row<'_>]) -> StoredStudy {
    let (mut trials, mut records) = (Vec::new(), Vec::new());
    for (levels, value, unit) in rows {
        let level = |(factor, level): &(&str, &str)| Level {
            factor: (*factor).to_owned(),
            level: (*level).to_owned(),
        };
        let levels = levels.iter().map(level).collect();
        let notes = vec![level(&(NOTE, "iWARP"))];
        let trial: Trial = narrows_plan::imported("published", "run-time".into(), levels, notes);
        let figure = Figure { name: "published".to_owned(), value: *value, unit: *unit };
        records.push(record(&trial, figure));
        trials.push(trial);
    }
    let ended = Some(Ended::Complete);
    StoredStudy { ended, trials, records, ..StoredStudy::unmeasured(Host::default()) }
}

fn record(trial: &Trial, figure: Figure) -> Record {
    let external = External {
        tool: "published".to_owned(),
        version: Some("the paper".to_owned()),
        command: None,
        file: None,
        figures: vec![figure],
        output: String::new(),
        client: None,
        packets: None,
    };
    Record {
        trial: trial.id.clone(),
        repeat: 0,
        block: 0,
        outcome: Outcome::Done,
        reports: Vec::new(),
        around: Stamp { began_unix_ns: Nanos(0), ..Stamp::default() },
        session: 0,
        external: Some(external),
    }
}

/// The paper's two times of VASP.
fn paper() -> StoredStudy {
    let row = |mtu| [("MTU", mtu), ("application", "VASP"), ("fabric", "any")];
    published(&[
        (&row("1500"), 52.30 * 60e9, Unit::Nanos),
        (&row("9000"), 51.26 * 60e9, Unit::Nanos),
    ])
}

fn curve(fabric: &str, mtu: &str, points: &[(u32, f64)], unit: Unit) -> Curve {
    let point = |(ranks, value): &(u32, f64)| Point {
        ranks: *ranks,
        figure: median_interval(&[*value; 6], 0.95, unit),
        speed_up: None,
        efficiency: None,
        communication: None,
        system: None,
        cpu_use: None,
        cpu_use_by: None,
        done: 6,
        runs: 6,
        rejected: Vec::new(),
        faults: Vec::new(),
        oversubscribed: false,
    };
    Curve {
        place: "pair".to_owned(),
        fabric: fabric.to_owned(),
        mtu: mtu.to_owned(),
        hosts: None,
        points: points.iter().map(point).collect(),
        speed: None,
    }
}

fn scaling(curves: Vec<Curve>) -> Scaling {
    Scaling { curves, base_ranks: None, predictions: Vec::new() }
}

/// Own minutes with both MTUs, of one rank and of others.
fn own(ranks: &[u32], minutes: [f64; 2]) -> Scaling {
    let points = |minutes: f64| {
        let many = ranks.iter().map(|ranks| (*ranks, minutes * 60e9));
        [(1, 300.0 * 60e9)].into_iter().chain(many).collect::<Vec<(u32, f64)>>()
    };
    let curve = |mtu, minutes| curve("tcp:eth0", mtu, &points(minutes), Unit::Nanos);
    scaling(vec![curve("1500", minutes[0]), curve("9000", minutes[1])])
}

#[test]
fn both_minutes_and_the_gain_stand_beside_the_papers() {
    // The same 1500, and 4 % faster with 9000: 52.30 / 1.04.
    let own = own(&[16], [52.30, 52.30 / 1.04]);
    let beside = of("vasp", &own, &[paper()]).expect("a reference");
    let rows: Vec<String> = rows(&beside).iter().map(|row| row.join(" | ")).collect();
    let wanted = [
        "tcp:eth0 (pair) | 1500 | 16 | 52.30 min | 52.30 min | +0.0 % | the paper",
        "tcp:eth0 (pair) | 9000 | 16 | 51.26 min | 50.29 min | -1.9 % | the paper",
    ];
    assert_eq!(rows, wanted);
    let says = sentences(&beside);
    let wanted = [
        "MTU 1500 to 9000, tcp:eth0 (pair), 16 ranks: +2.0 % faster as published (the paper), \
         +4.0 % here (+4.0 to +4.0)",
        "without a published figure: 1 cell of this study",
        "the paper notes: iWARP",
    ];
    assert_eq!(says, wanted);
}

#[test]
fn what_could_be_of_several_cells_stands_beside_none_and_says_so() {
    let beside = of("vasp", &own(&[8, 16], [60.0, 58.0]), &[paper()]).expect("a reference");
    assert!(beside.cells.is_empty() && beside.frames.is_empty(), "{beside:?}");
    let wanted = "the paper: 52.30 min of MTU 1500, application VASP, fabric any: it could be of \
                  several cells here: it says nothing of ranks (16, 8)";
    assert_eq!(beside.apart[0], wanted);
    assert!(lines(&beside).contains("no cell here has a figure of the paper beside it"));
}

#[test]
fn one_rank_and_missing_frames_have_nothing_beside_them() {
    let all = scaling(vec![curve("tcp:eth0", "1500", &[(1, 9e12), (2, 4e12)], Unit::Nanos)]);
    let beside = of("vasp", &all, &[paper()]).expect("a reference");
    assert_eq!((beside.cells.len(), beside.cells[0].ranks, beside.cells_alone), (1, 2, 1));
    assert!(beside.frames.is_empty());
    assert!(beside.apart[0].ends_with("no cell here has application vasp, fabric any, mtu 9000"));
    assert_eq!(of("vasp", &all, &[]), None);
}

#[test]
fn rates_and_what_is_of_another_application_are_named() {
    let rate = scaling(vec![curve("tcp:eth0", "1500", &[(2, 3.0)], Unit::PerSecond)]);
    let beside = of("vasp", &rate, &[paper()]).expect("a reference");
    assert!(beside.apart[0].contains("it is a time where this is a rate"), "{beside:?}");
    let beside = of("wrf", &own(&[2], [60.0, 58.0]), &[paper()]).expect("a reference");
    assert!(beside.apart.iter().all(|why| why.ends_with(": this is wrf")), "{beside:?}");
    assert!(beside.cells.is_empty());
}

#[test]
fn a_table_of_none_of_the_applications_is_foreign() {
    assert_eq!(check(&paper(), &["wrf", "vasp"]), Ok(()));
    let others = check(&paper(), &["wrf", "lammps"]).expect_err("foreign").to_string();
    assert_eq!(others, "it is of VASP, and this is of wrf, lammps");
    let none = published(&[(&[("MTU", "1500")], 1e9, Unit::Nanos)]);
    let none = check(&none, &["vasp"]).expect_err("foreign").to_string();
    assert_eq!(none, "no figure in it says which application it is of");
}
