//! Published figures beside the model's, as text.

use crate::table;
use crate::words::tame;
use narrows_validate::{Answer, Comparison, Kind, ServerRow};
use std::fmt::Write;

/// All answers, and the summary line that is the same whatever the tables were.
pub fn text(answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        one(&mut text, answer);
    }
    text + &summary(answers)
}

fn one(text: &mut String, answer: &Answer) {
    let _ = writeln!(text, "{} ({})", answer.question, answer.files.join(", "));
    let head = [
        "row",
        "figure",
        "published",
        "predicted",
        "80 % range",
        "error",
        "left out",
        "bottleneck",
        "kind",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for cell in &answer.cells {
        let range = match cell.low.zip(cell.high) {
            Some((low, high)) => format!("{} to {}", number(low), number(high)),
            None => "-".to_owned(),
        };
        rows.push(vec![
            tame(&cell.row),
            tame(&cell.quantity),
            cell.published.map_or("-".to_owned(), number),
            cell.predicted.map_or("-".to_owned(), number),
            range,
            off(cell.error()),
            off(cell.off(cell.left_out)),
            cell.bottleneck.clone(),
            cell.kind.word().to_owned(),
        ]);
    }
    text.push_str(&table::lines(&rows, |at| (2..=6).contains(&at)));
    text.push_str(&servers(&answer.servers));
    for parameter in &answer.parameters {
        let _ = writeln!(
            text,
            "  {} = {} {}: {}; {}",
            parameter.name,
            number(parameter.value),
            parameter.unit,
            parameter.says,
            parameter.from
        );
    }
    if let Some(error) = answer.mean_error_uncalibrated() {
        let _ = writeln!(text, "  with nothing fitted: {}", mean(error));
    }
    for (name, error) in &answer.baselines {
        let _ = writeln!(text, "  guessing the {name}: {:.1} %", error * 100.0);
    }
    if answer.mean_error().is_some() {
        let _ = write!(text, "  {}", summary(std::slice::from_ref(answer)));
    }
    for remark in &answer.remarks {
        let _ = writeln!(text, "  {}", tame(remark));
    }
    for says in remarks(&answer.cells) {
        let _ = writeln!(text, "  {}", tame(&says));
    }
    text.push('\n');
}

/// Servers by what they do of the wire's rate; nothing where no row is of one.
fn servers(all: &[ServerRow]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let head = [
        "server",
        "chipset",
        "clock GHz",
        "memory GB/s",
        "slot",
        "published M/s",
        "model M/s",
        "published",
        "rule",
        "wire rate, by the model",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|server| {
        vec![
            tame(&server.server),
            server.chipset.as_deref().map_or("-".to_owned(), tame),
            figure_or_dash(server.clock_ghz),
            figure_or_dash(server.memory_gb_s),
            tame(&server.slot),
            figure_or_dash(server.published_mpps),
            figure_or_dash(server.model_mpps),
            tame(&server.said),
            server.rule.map_or("-", |yes| if yes { "yes" } else { "no" }).to_owned(),
            server.verdict.to_string(),
        ]
    }));
    table::lines(&rows, |at| matches!(at, 2 | 3 | 5 | 6))
}

fn figure_or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

/// What is said of single rows, where it says more than their table.
fn remarks(cells: &[Comparison]) -> Vec<String> {
    let says = cells.iter().filter(|cell| !cell.says.is_empty() && cell.kind != Kind::Fitted);
    let mut lines: Vec<String> = says.map(|cell| format!("{}: {}", cell.row, cell.says)).collect();
    lines.dedup();
    lines
}

/// `MAPE x % (n cells), leave-one-out y %, baseline z %`: over all figures that are predicted. The
/// baseline is the better of the guesses of each group, weighed by its figures.
pub fn summary(answers: &[Answer]) -> String {
    let weighed = |of: &dyn Fn(&Answer) -> Option<(f64, usize)>| {
        let all = answers.iter().filter_map(of);
        let (sum, n) =
            all.fold((0.0, 0), |(sum, n), (mean, count)| (sum + mean * count as f64, n + count));
        (n > 0).then(|| (sum / n as f64, n))
    };
    let Some((error, cells)) = weighed(&Answer::mean_error) else {
        let cells = || answers.iter().flat_map(|answer| &answer.cells);
        let told = cells().filter(|cell| cell.predicted.is_some()).count();
        let beside = cells().filter(|cell| cell.error().is_some()).count();
        return match (told, beside) {
            (0, _) => "nothing here is predicted\n".to_owned(),
            (_, 1..) => format!(
                "{told} predicted, {beside} beside a published figure; their errors are not \
                 averaged: single figures are of several kinds, and calibration and consistency \
                 are no prediction\n"
            ),
            _ => format!(
                "{told} predicted, none beside a published figure that it could be held to: no error \
                 is known\n"
            ),
        };
    };
    let left = weighed(&Answer::mean_error_left_out);
    let baseline = weighed(&|answer| {
        let best = answer.baselines.iter().map(|(_, error)| *error).reduce(f64::min)?;
        Some((best, answer.mean_error()?.1))
    });
    format!(
        "MAPE {:.2} % ({cells} cells), leave-one-out {}, baseline {}\n",
        error * 100.0,
        share(left),
        share(baseline)
    )
}

fn share(of: Option<(f64, usize)>) -> String {
    of.map_or("-".to_owned(), |(e, _)| format!("{:.2} %", e * 100.0))
}

fn mean((error, n): (f64, usize)) -> String {
    format!("{:.2} % on average of {n}", error * 100.0)
}

fn off(error: Option<f64>) -> String {
    error.map_or("-".to_owned(), |error| format!("{:+.1} %", error * 100.0))
}

/// With four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let whole = value.abs().log10().floor().max(-3.0) as i32 + 1;
    format!("{value:.0$}", (4 - whole).clamp(0, 5) as usize)
}
