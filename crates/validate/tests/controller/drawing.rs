//! The figure: slowdowns by cores in both regimes, published and simulated.

use crate::published::Compared;
use std::fmt::Write as _;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 196.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 168.0;
const CORES: &str = "#4878a8";
const DEVICE: &str = "#c0392b";
const LEAST: f64 = 1.0;
const MOST: f64 = 3.0;

/// One experiment with one rule of turns: its rows, and how its line is drawn.
pub struct Line<'a> {
    pub rows: Vec<&'a Compared>,
    pub dashes: &'static str,
}

fn x(left: f64, cores: usize) -> f64 {
    left + 10.0 + 25.0 * (cores - 1) as f64
}

fn y(slowdown: f64) -> f64 {
    BOTTOM - (slowdown - LEAST) / (MOST - LEAST) * (BOTTOM - TOP)
}

/// Both panels.
pub fn drawn(blue: &[Line<'_>], red: &[Line<'_>]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"7\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"6\" y=\"11\" font-size=\"8.5\">Times slower than alone, by cores that use \
         memory beside drives that write</text>\n"
    );
    legend(&mut out);
    panel(&mut out, 24.0, "Blue: cores read", blue);
    panel(&mut out, 204.0, "Red: cores read and write", red);
    out += "</svg>\n";
    out
}

fn text(out: &mut String, x: f64, words: &str) {
    let _ = writeln!(out, "<text x=\"{x}\" y=\"24\">{words}</text>");
}

fn legend(out: &mut String) {
    for (x, colour, words) in [(6.0, CORES, "cores"), (42.0, DEVICE, "drives")] {
        let _ =
            writeln!(out, "<rect x=\"{x}\" y=\"18\" width=\"7\" height=\"7\" fill=\"{colour}\"/>");
        text(out, x + 9.0, words);
    }
    let _ = writeln!(out, "<circle cx=\"84\" cy=\"21.5\" r=\"2.2\" fill=\"#555\"/>");
    text(out, 89.0, "published");
    for (x, dashes, words) in [(130.0, "", "simulated, turns 32:48"), (238.0, "3 2", "16:16")] {
        let _ = writeln!(
            out,
            "<path d=\"M{x} 21.5h14\" stroke=\"#555\" stroke-dasharray=\"{dashes}\"/>"
        );
        text(out, x + 17.0, words);
    }
    let _ = writeln!(out, "<path d=\"M288 21.5h14\" stroke=\"#555\" stroke-dasharray=\"1 1.5\"/>");
    text(out, 305.0, "arithmetic");
}

fn panel(out: &mut String, left: f64, title: &str, lines: &[Line<'_>]) {
    let _ = writeln!(out, "<text x=\"{left}\" y=\"37\" font-weight=\"bold\">{title}</text>");
    for tick in [1.0, 1.5, 2.0, 2.5, 3.0] {
        let at = y(tick);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {at:.1}H{}\" stroke=\"#ddd\" stroke-width=\".5\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            left + 145.0,
            left - 3.0,
            at + 2.5
        );
    }
    for cores in 1..=6 {
        let (at, below) = (x(left, cores), BOTTOM + 10.0);
        let _ =
            writeln!(out, "<text x=\"{at}\" y=\"{below}\" text-anchor=\"middle\">{cores}</text>");
    }
    let (middle, below) = (left + 72.0, BOTTOM + 20.0);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">cores</text>");
    for (side, colour) in [(0, CORES), (1, DEVICE)] {
        for line in lines {
            path(out, left, &line.rows, colour, line.dashes, &|row| row.slowdowns()[side]);
        }
        let Some(first) = lines.first() else { continue };
        path(out, left, &first.rows, colour, "1 1.5", &|row| row.row.arithmetic[side]);
        for row in &first.rows {
            let Some(published) = row.row.published[side] else { continue };
            let (cx, cy) = (x(left, row.row.cores), y(published));
            let _ =
                writeln!(out, "<circle cx=\"{cx}\" cy=\"{cy:.1}\" r=\"2.2\" fill=\"{colour}\"/>");
        }
    }
}

fn path(
    out: &mut String,
    left: f64,
    rows: &[&Compared],
    colour: &str,
    dashes: &str,
    of: &dyn Fn(&Compared) -> f64,
) {
    let points = rows.iter().map(|row| format!("{} {:.1}", x(left, row.row.cores), y(of(row))));
    let points = points.collect::<Vec<_>>().join("L");
    let _ = writeln!(
        out,
        "<path d=\"M{points}\" fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\"/>"
    );
}
