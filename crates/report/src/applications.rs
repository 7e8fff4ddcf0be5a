//! Applications by ranks and fabric, several studies in one figure with one pair of axes: what the
//! paper on iWARP shows by a figure an application, and its table of jumbo frames.

use crate::plots::facets;
use crate::{Analysis, app, beside, table};
use maud::{Markup, PreEscaped, html};
use narrows_app::cells::NONE;
use narrows_app::fabrics::{Fabrics, fabrics};
use narrows_app::frames::{Frames, Told, frames};
use narrows_app::scaling::{Curve, Point, Scaling};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::units::three_digits;
use serde::Serialize;

const TITLE: &str = "Speed-up by ranks, a line each fabric";
const FRAMES: &str = "Larger frames";
const FRAMES_HEAD: [&str; 7] =
    ["application", "fabric", "ranks", "MTU", "median", "larger frames", "says"];
const FABRICS: &str = "Fabrics against the first of their place";
const FABRICS_HEAD: [&str; 7] =
    ["application", "place", "ranks", "fabric", "median", "the other fabric", "says"];

/// One application over its fabrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Application {
    /// Its name, as its study has it.
    pub name: String,
    pub scaling: Scaling,
    /// What larger frames are worth to it.
    pub frames: Vec<Frames>,
    /// What other fabrics are worth to it than the first of a place.
    pub fabrics: Vec<Fabrics>,
    /// What others published of it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<beside::Beside>,
}

impl Application {
    /// From what is stored; `None` where it is no study of an application.
    pub fn of(stored: &StoredStudy) -> Option<Self> {
        let scaling = Scaling::of(stored)?;
        let name = app::name(stored).to_owned();
        let (frames, fabrics) = (frames(&scaling), fabrics(&scaling));
        Some(Self { name, frames, fabrics, scaling, beside: None })
    }

    /// Sets what others published of it beside its cells.
    pub fn set_beside(&mut self, others: &[StoredStudy]) {
        self.beside = beside::of(&self.name, &self.scaling, others);
    }

    fn title(&self) -> String {
        format!("{}: {}", self.name, app::base(&self.scaling))
    }
}

/// The answer: the most speed-up of each that is a point of scaling.
pub fn answers(all: &[Application]) -> Vec<String> {
    all.iter().map(answer).collect()
}

fn answer(one: &Application) -> String {
    let points = one.scaling.curves.iter().flat_map(|curve| {
        let base = curve.base_ranks();
        let many = curve.points.iter().filter(move |point| Some(point.ranks) != base);
        many.filter_map(move |point| Some((curve, base?, point.ranks, point.speed_up?)))
    });
    let best = points.max_by(|(.., a), (.., b)| a.value.total_cmp(&b.value));
    match best {
        Some((curve, base, ranks, times)) => format!(
            "{}: {ranks} ranks are {} times as fast as {base}, over {}",
            one.name,
            three_digits(times.value),
            curve.name()
        ),
        None => format!("{}: no two numbers of ranks can be compared", one.name),
    }
}

/// The figure of all of them; nothing without points.
pub fn picture(all: &[Application]) -> String {
    let facets: Vec<facets::Facet> = all.iter().map(facet).collect();
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    facets::draw(&format!("{TITLE}: {}", names.join(", ")), &facets)
}

fn facet(one: &Application) -> facets::Facet {
    facets::Facet {
        name: format!("{}{}", one.name, against(&one.scaling)),
        base_ranks: one.scaling.base_ranks,
        series: one.scaling.curves.iter().map(series).collect(),
    }
}

/// What a speed-up of one is, so that times can be had from the figure where all lines have one.
fn against(scaling: &Scaling) -> String {
    let mut bases = scaling.curves.iter().filter_map(Curve::base).filter_map(of_base);
    let Some((ranks, figure)) = bases.next() else { return ": no run that counts".to_owned() };
    if bases.any(|other| other != (ranks, figure)) {
        return ", 1 is each line's fewest ranks".to_owned();
    }
    let ranks = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
    format!(", 1 is {ranks}: {}", app::shown(figure.value, figure.unit))
}

fn of_base(base: &Point) -> Option<(u32, Estimate)> {
    Some((base.ranks, base.figure?))
}

fn series(curve: &Curve) -> facets::Series {
    let points = curve.points.iter().filter_map(|point| drawn(curve, point)).collect();
    facets::Series { name: curve.name(), points }
}

fn drawn(curve: &Curve, point: &Point) -> Option<facets::Point> {
    let figure = point.figure?;
    Some(facets::Point {
        ranks: point.ranks,
        times: curve.times_base(point)?,
        says: app::shown(figure.value, figure.unit),
        is_scaling: !point.oversubscribed,
    })
}

/// Tables for a terminal: each application by fabric and ranks, then what frames are worth.
pub fn text(all: &[Application]) -> String {
    let mut text = String::new();
    for one in all {
        text += &format!("  {}\n", one.title());
        for curve in &one.scaling.curves {
            text += &format!("  {}\n", curve.name());
            let head = app::HEAD.map(str::to_owned).to_vec();
            let rows: Vec<Vec<String>> =
                [head].into_iter().chain(curve.points.iter().map(app::row)).collect();
            text += &table::lines(&rows, |_| false);
        }
        text += &notes(one).into_iter().map(|note| format!("  {note}\n")).collect::<String>();
        text += &one.beside.as_ref().map_or_else(String::new, beside::lines);
        text.push('\n');
    }
    if all.iter().any(|one| !one.frames.is_empty()) {
        let head = FRAMES_HEAD.map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = [head].into_iter().chain(frames_rows(all)).collect();
        text += &format!("  {FRAMES}\n{}", table::lines(&rows, |_| false));
    }
    if all.iter().any(|one| !one.fabrics.is_empty()) {
        let head = FABRICS_HEAD.map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = [head].into_iter().chain(fabrics_rows(all)).collect();
        text += &format!("  {FABRICS}\n{}", table::lines(&rows, |_| false));
    }
    text
}

/// What marks mean, and why runs do not count.
fn notes(one: &Application) -> Vec<String> {
    let mut all = Vec::new();
    if points(one).any(|point| point.oversubscribed) {
        all.push("* more ranks than cores: no point of scaling".to_owned());
    }
    for (point, why) in
        points(one).flat_map(|point| point.rejected.iter().map(move |why| (point, why)))
    {
        let says = format!("not counted, of {} ranks: {why}", point.ranks);
        if !all.contains(&says) {
            all.push(says);
        }
    }
    if one.scaling.has_starved_runs() {
        all.push(app::STARVED_HINT.to_owned());
    }
    if app::has_system_time(&one.scaling) {
        all.push(app::SYSTEM_SAYS.to_owned());
    }
    if app::has_scheduler_use(&one.scaling) {
        all.push(app::CPU_USE_SAYS.to_owned());
    }
    all
}

fn points(one: &Application) -> impl Iterator<Item = &Point> {
    one.scaling.curves.iter().flat_map(|curve| &curve.points)
}

fn frames_rows(all: &[Application]) -> impl Iterator<Item = Vec<String>> {
    all.iter().flat_map(|one| one.frames.iter().map(|frames| frames_row(&one.name, frames)))
}

fn frames_row(name: &str, one: &Frames) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{} ({})", one.fabric, one.place),
        ranks(one.ranks, one.oversubscribed),
        format!("{} to {}", one.mtus[0], one.mtus[1]),
        medians(&one.figures),
        ratio(&one.faster),
        says(one.told(), one.oversubscribed).to_owned(),
    ]
}

fn fabrics_rows(all: &[Application]) -> impl Iterator<Item = Vec<String>> {
    all.iter().flat_map(|one| one.fabrics.iter().map(|fabrics| fabrics_row(&one.name, fabrics)))
}

fn fabrics_row(name: &str, one: &Fabrics) -> Vec<String> {
    let mtu = if one.mtu == NONE { String::new() } else { format!(", MTU {}", one.mtu) };
    vec![
        name.to_owned(),
        format!("{}{mtu}", one.place),
        ranks(one.ranks, one.oversubscribed),
        format!("{} to {}", one.fabrics[0], one.fabrics[1]),
        medians(&one.figures),
        ratio(&one.faster),
        says(one.told(), one.oversubscribed).to_owned(),
    ]
}

fn ranks(ranks: u32, oversubscribed: bool) -> String {
    format!("{ranks}{}", if oversubscribed { " *" } else { "" })
}

fn medians(figures: &[Estimate; 2]) -> String {
    let [from, to] = figures.each_ref().map(|figure| app::shown(figure.value, figure.unit));
    format!("{from} to {to}")
}

/// How much faster, in per cent, with its interval.
fn ratio(faster: &Estimate) -> String {
    let all = [faster.value, faster.low, faster.high];
    let [value, low, high] = all.map(|times| format!("{:+.1}", 100.0 * (times - 1.0)));
    format!("{value} % ({low} to {high})")
}

fn says(told: Told, oversubscribed: bool) -> &'static str {
    match told {
        Told::Faster => "faster",
        Told::Slower => "slower",
        Told::NotApart => "not told apart",
        Told::Unjudged if oversubscribed => "not judged: more ranks than cores",
        Told::Unjudged => "not judged: fewer than 6 runs",
    }
}

/// Figure and tables in the page; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    let all = &analysis.applications;
    if all.is_empty() {
        return html! {};
    }
    html! {
        h2 id="applications" { "Applications by ranks and fabric" }
        div class="card" { h3 { (TITLE) } (PreEscaped(picture(all))) }
        @for one in all {
            h3 { (one.title()) }
            (tabled(&["fabric"], &app::HEAD, rows(one)))
            @for note in notes(one) { p class="soft" { (note) } }
            @if let Some(beside) = &one.beside { (published(beside)) }
        }
        @if all.iter().any(|one| !one.frames.is_empty()) {
            h3 { (FRAMES) }
            (tabled(&[], &FRAMES_HEAD, frames_rows(all)))
        }
        @if all.iter().any(|one| !one.fabrics.is_empty()) {
            h3 { (FABRICS) }
            (tabled(&[], &FABRICS_HEAD, fabrics_rows(all)))
        }
        p class="soft" { (app::UNKNOWN) }
        p class="soft" {
            "Medians with intervals of 95 %, of fewer than six runs the lowest and the highest. Frames \
             and fabrics are judged where both have six runs and the whole range of their ratio lies on one side."
        }
    }
}

fn published(one: &beside::Beside) -> Markup {
    html! {
        h4 { (beside::TITLE) }
        (tabled(&[], &beside::HEAD, beside::rows(one).into_iter()))
        @for says in beside::sentences(one) { p class="soft" { (says) } }
    }
}

fn rows(one: &Application) -> impl Iterator<Item = Vec<String>> {
    one.scaling.curves.iter().flat_map(|curve| {
        let named = |point| [curve.name()].into_iter().chain(app::row(point)).collect();
        curve.points.iter().map(named)
    })
}

fn tabled(first: &[&str], head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr { @for name in first.iter().chain(head) { th { (name) } } } }
            tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::record::Fault;
    use narrows_model::units::Unit;
    use narrows_stats::median_interval;

    fn point(ranks: u32, time_s: f64, speed_up: Option<f64>) -> Point {
        let of = |value| median_interval(&[value], 0.95, Unit::Nanos);
        Point {
            ranks,
            figure: of(1e9 * time_s),
            speed_up: speed_up.and_then(of),
            efficiency: None,
            communication: None,
            system: None,
            cpu_use: None,
            cpu_use_by: None,
            done: 1,
            runs: 1,
            rejected: Vec::new(),
            faults: Vec::new(),
            oversubscribed: false,
        }
    }

    fn curve(fabric: &str, points: Vec<Point>) -> Curve {
        let [place, mtu] = ["here", "none"].map(str::to_owned);
        Curve { place, fabric: fabric.to_owned(), mtu, hosts: None, points, speed: None }
    }

    fn application(base_ranks: Option<u32>, curves: Vec<Curve>) -> Application {
        let scaling = Scaling { curves, base_ranks, predictions: Vec::new() };
        let (frames, fabrics) = (Vec::new(), fabrics(&scaling));
        Application { name: "md".to_owned(), scaling, frames, fabrics, beside: None }
    }

    #[test]
    fn a_facet_tells_the_time_that_one_is_where_all_lines_have_one_base() {
        let shm = curve("shm", vec![point(1, 12.0, Some(1.0)), point(2, 6.0, Some(2.0))]);
        let tcp = curve("tcp", vec![point(1, 12.0, Some(1.0)), point(2, 8.0, Some(1.5))]);
        let one = application(Some(1), vec![shm.clone(), tcp]);
        assert_eq!(facet(&one).name, "md, 1 is 1 rank: 12.0 s");
        assert_eq!(answer(&one), "md: 2 ranks are 2.00 times as fast as 1, over shm (here)");
        // Over TCP no run of one rank counts: four ranks are three times as fast as two of them.
        let tcp = curve("tcp", vec![point(2, 9.0, Some(1.0)), point(4, 3.0, Some(3.0))]);
        let two = application(None, vec![shm, tcp]);
        assert_eq!(facet(&two).name, "md, 1 is each line's fewest ranks");
        assert_eq!(facet(&two).base_ranks, None);
        assert_eq!(answer(&two), "md: 4 ranks are 3.00 times as fast as 2, over tcp (here)");
        assert!(two.title().ends_with("against the fewest ranks of its own that count"));
    }

    #[test]
    fn a_fabric_is_told_by_how_much_it_is_behind_the_first() {
        let ib = curve("ib", vec![point(2, 10.0, None)]);
        let iwarp = curve("iwarp", vec![point(2, 12.5, None)]);
        let one = application(None, vec![ib, iwarp]);
        let rows: Vec<String> =
            fabrics_rows(std::slice::from_ref(&one)).map(|row| row.join(" | ")).collect();
        let wanted = "md | here | 2 | ib to iwarp | 10.0 s to 12.5 s | -20.0 % (-20.0 to -20.0) | \
                      not judged: fewer than 6 runs";
        assert_eq!(rows, [wanted]);
        let told = text(&[one]);
        assert!(told.contains(FABRICS) && told.contains("ib to iwarp"), "{told}");
    }

    #[test]
    fn the_kernels_share_has_a_column_and_says_whose_it_is() {
        let plain = application(None, vec![curve("shm", vec![point(1, 1.0, None)])]);
        assert!(notes(&plain).iter().all(|note| !note.starts_with("system: ")));
        let mut told = point(1, 1.0, None);
        (told.communication, told.system) = (Some(0.25), Some(0.125));
        let row = app::row(&told);
        let at = app::HEAD.iter().position(|name| *name == "system").expect("a column");
        assert_eq!((row[at - 1].as_str(), row[at].as_str()), ("25 %", "12 %"));
        let all = notes(&application(None, vec![curve("shm", vec![told])]));
        let says = all.iter().find(|note| note.starts_with("system: ")).expect("a line");
        assert!(says.ends_with("ranks on other hosts are not in it"), "{says}");
    }

    #[test]
    fn starved_runs_are_told_what_to_do_about_them() {
        let mut starved = point(1, 1.0, None);
        starved.rejected = vec!["its own CPU use was 50 to 60 %, under 90 %".to_owned()];
        starved.faults = vec![Fault::Starved];
        let all = notes(&application(None, vec![curve("shm", vec![starved])]));
        assert_eq!(all.len(), 2);
        assert!(all[1].starts_with("hint: other programs, or more threads"), "{all:?}");
        assert_eq!(notes(&application(None, Vec::new())), Vec::<String>::new());
    }
}
