//! Published figures beside the model's, of answers that are planted.

use narrows_report::published::{summary, text};
use narrows_validate::{Answer, Comparison, Kind};

/// A published figure of 100 beside what the model says with and without its row.
fn cell(row: &str, predicted: f64, left_out: Option<f64>, kind: Kind) -> Comparison {
    Comparison {
        row: row.to_owned(),
        quantity: "tcp_gbps".to_owned(),
        unit: "Gb/s".to_owned(),
        published: Some(100.0),
        predicted: Some(predicted),
        low: Some(0.5 * predicted),
        high: Some(2.0 * predicted),
        left_out,
        uncalibrated: Some((70.0, 50.0, 90.0)),
        bottleneck: "memory".to_owned(),
        kind,
        says: format!("says of {row}"),
    }
}

fn answer(cells: Vec<Comparison>) -> Answer {
    Answer {
        question: "sockets by population",
        files: vec!["one.toml".to_owned(), "two.toml".to_owned()],
        cells,
        ..Answer::default()
    }
}

#[test]
fn each_figure_stands_beside_the_models_with_its_error() {
    let mut all = answer(vec![
        cell("eight modules", 90.0, Some(80.0), Kind::Fitted),
        cell("six modules", 130.0, None, Kind::Prediction),
    ]);
    all.cells[1].low = None;
    all.baselines = vec![("median of the other rows", 0.4), ("wire", 0.5)];
    all.remarks = vec!["nothing else".to_owned()];
    let told = text(&[all]);
    let lines: Vec<String> =
        told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let wanted = [
        "sockets by population (one.toml, two.toml)",
        "row figure published predicted 80 % range error left out bottleneck kind",
        "eight modules tcp_gbps 100.0 90.00 45.00 to 180.0 -10.0 % -20.0 % memory fitted",
        "six modules tcp_gbps 100.0 130.0 - +30.0 % - memory prediction",
        "with nothing fitted: 30.00 % on average of 2",
        "guessing the median of the other rows: 40.0 %",
        "guessing the wire: 50.0 %",
        // 10 % and 30 % on average; the better guess.
        "MAPE 20.00 % (2 cells), leave-one-out 20.00 %, baseline 40.00 %",
        "nothing else",
        "six modules: says of six modules",
        "",
        "MAPE 20.00 % (2 cells), leave-one-out 20.00 %, baseline 40.00 %",
    ];
    assert_eq!(lines, wanted);
}

#[test]
fn answers_weigh_by_their_figures_and_what_is_set_by_a_row_counts_nothing() {
    let mut one = answer(vec![cell("a", 90.0, None, Kind::Prediction)]);
    one.baselines = vec![("guess", 0.1)];
    let mut three = answer(vec![
        cell("b", 150.0, None, Kind::Prediction),
        cell("c", 150.0, None, Kind::Prediction),
        cell("d", 50.0, None, Kind::Prediction),
        cell("e", 500.0, None, Kind::Calibration),
        cell("f", 500.0, None, Kind::Consistency),
    ]);
    three.baselines = vec![("guess", 0.3)];
    // (10 + 3 x 50) / 4, and (10 + 3 x 30) / 4.
    let wanted = "MAPE 40.00 % (4 cells), leave-one-out -, baseline 25.00 %\n";
    assert_eq!(summary(&[one, three]), wanted);
    assert_eq!(summary(&[]), "nothing here is predicted\n");
    // A prediction of which nobody has published the figure is one all the same.
    let mut alone = cell("g", 90.0, None, Kind::Prediction);
    alone.published = None;
    let told = summary(&[answer(vec![alone.clone()])]);
    assert!(told.starts_with("1 predicted, none beside a published figure"), "{told}");
    // What its own row set, or the same counting, has an error beside it and none that counts.
    let counted = cell("h", 150.0, None, Kind::Consistency);
    let told = summary(&[answer(vec![alone.clone(), counted])]);
    assert!(told.starts_with("2 predicted, 1 beside a published figure; their errors"), "{told}");
    alone.predicted = None;
    assert_eq!(summary(&[answer(vec![alone])]), "nothing here is predicted\n");
}
