//! What a server should reach, today and after a change: text, and a picture.

use crate::ending::Ending;
use crate::figures::alone;
use crate::plots::{Svg, WIDTH, svg::Anchor};
use narrows_model::result::{Provenance, ResourceName};
use narrows_predict::calibration::Calibration;
use narrows_predict::prices::{Cost, for_a_hundred};
use narrows_predict::wire_rate::verdict;
use narrows_predict::{Predictor, Reach, Resource, Traffic, symbols};
use std::fmt::Write;

/// Columns of a bar in text.
const BAR: usize = 24;
/// Of more paths than these no resource is told in full.
const DETAILED: usize = 3;

/// All that is said of a change.
pub struct Change<'a> {
    /// The server after it, and the parameters that it is asked with.
    pub engine: &'a Predictor,
    /// What was reached before, where that is known and something changes.
    pub before: Option<&'a [Reach]>,
    /// What is reached after it.
    pub after: &'a [Reach],
    pub measured: &'a Calibration,
    /// What it costs, where there are prices.
    pub cost: Option<&'a Cost>,
    /// Keys that were said and change no figure.
    pub unmoved: &'a [String],
}

/// As text: a table of all paths with bars, then what every resource has left, then where the
/// numbers are from.
pub fn text(change: &Change<'_>) -> String {
    let mut text = server(change);
    text += &table(change);
    text += &conditions(change);
    match change.unmoved {
        [] => {}
        [one] => text += &format!("{one} changes no figure\n"),
        many => text += &format!("{} change no figure\n", many.join(", ")),
    }
    text += &each_alone(change.engine);
    text += &verdicts(change.after);
    let few = change.after.len() <= DETAILED;
    for reach in change.after.iter().filter(|_| few) {
        let beside = if reach.is_sum { "share of it" } else { "headroom" };
        let _ = writeln!(text, "\n{} ({}, {beside})", reach.path, reach.unit);
        for resource in &reach.resources {
            let _ = writeln!(text, "{}", line(reach, resource));
        }
        for missing in &reach.missing {
            let _ = writeln!(text, "  not known  {missing}");
        }
    }
    if !few {
        text += "\nHeadroom (--set path=tcp shows how each arises)\n";
        change.after.iter().for_each(|reach| text += &rooms(reach));
    }
    text += &sources(change);
    text
}

/// The path that is asked for first: what it should reach, what limits it by the model, and what
/// raises it.
pub fn ending(change: &Change<'_>) -> Ending {
    let details = "above; docs/predict.md has the model and its parameters";
    let details = ("details", details.to_owned());
    let Some(reach) = change.after.first() else {
        return Ending::of([("answer", "no path was asked for".to_owned()), details]);
    };
    let today = was(change, reach).map_or(String::new(), |was| {
        let more = (reach.value / was.value - 1.0) * 100.0;
        format!("; today {}, {more:+.0} %", digits(was.value))
    });
    let range = format!("{} to {}, 80 % range", digits(reach.low), digits(reach.high));
    let figure = format!("{}: {} {} ({range}){today}", reach.path, digits(reach.value), reach.unit);
    let Some(held) = reach.bottleneck else {
        let missing: Vec<&str> = reach.missing.iter().map(|gap| gap.why.as_str()).collect();
        let limits = ("bottleneck", "not known".to_owned());
        return Ending::of([("answer", figure), limits, ("do", missing.join("; ")), details]);
    };
    let unknown: Vec<&str> = reach.missing.iter().map(|gap| gap.of.as_str()).collect();
    let unknown = match unknown.as_slice() {
        [] => String::new(),
        some => format!("; not known, and in no figure: {}", some.join(", ")),
    };
    let next = reach.resources.iter().filter(|one| one.name != held && one.only_if.is_none());
    let next = next.min_by(|a, b| a.value.total_cmp(&b.value)).filter(|_| !reach.is_sum);
    let action = match next {
        Some(next) => format!(
            "raise {held} (--set tries a change); then {} limits at {} {}",
            next.name,
            digits(next.value),
            reach.unit
        ),
        None => format!("raise {held}: --set tries a change"),
    };
    let says = if reach.is_sum { "has most of it" } else { "limits it" };
    let limits = format!("{held} {says} (modelled, not measured){unknown}");
    Ending::of([("answer", figure), ("bottleneck", limits), ("do", action), details])
}

/// Which paths reach the wire's rate, of those of which that is said: `packets at the wire's rate,
/// 14.88 M packets/s: yes`.
fn verdicts(reaches: &[Reach]) -> String {
    reaches
        .iter()
        .filter_map(|reach| {
            let wire = reach.resources.iter().find(|one| one.name == ResourceName::Wire);
            let rate =
                wire.map_or(String::new(), |wire| format!(", {:.2} {}", wire.value, reach.unit));
            Some(format!("{} at the wire's rate{rate}: {}\n", reach.path, verdict(reach)?))
        })
        .collect()
}

/// What is known of the server. What is not, is told where an answer needs it: the smallest packets
/// of a slot ask neither a family nor modules.
fn server(change: &Change<'_>) -> String {
    let server = &change.engine.server;
    let packets = Traffic::Packets.name();
    let asked = change.after.iter().any(|one| one.path != packets || !one.missing.is_empty());
    let family = match server.platform {
        Some(platform) => platform.name.as_str(),
        None if asked => "a processor whose family is not known",
        None => "",
    };
    let modules = match server.modules.as_slice() {
        [] if asked => "its modules are not known".to_owned(),
        [] => String::new(),
        modules => population(modules),
    };
    match (family, modules.as_str()) {
        ("", "") => String::new(),
        ("", known) | (known, "") => format!("{known}\n"),
        (family, modules) => format!("{family}: {modules}\n"),
    }
}

/// How many streams a figure is of, where nobody said: `, with 4 streams, assumed`.
fn assumed(reach: &Reach) -> String {
    let streams = reach
        .resources
        .iter()
        .flat_map(|resource| &resource.parameters)
        .find(|one| one.name == "streams" && matches!(one.from, Provenance::Assumed(_)));
    streams.map_or(String::new(), |one| format!(", with {} streams, assumed", one.value))
}

/// `modules by channel 1,1,0,1,0,0 | 0,0,0,0,0,0`, sockets separated by `|`.
pub fn population(modules: &[Vec<u32>]) -> String {
    let sockets: Vec<String> = modules
        .iter()
        .map(|modules| {
            let words: Vec<String> = modules.iter().map(u32::to_string).collect();
            words.join(",")
        })
        .collect();
    format!("modules by channel {}", sockets.join(" | "))
}

/// Figures in four digits at most.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn was<'a>(change: &'a Change<'_>, reach: &Reach) -> Option<&'a Reach> {
    change.before?.iter().find(|before| before.path == reach.path)
}

fn table(change: &Change<'_>) -> String {
    let top = |unit: &str| {
        let all = change.after.iter().chain(change.before.into_iter().flatten());
        all.filter(|reach| reach.unit == unit).map(|reach| reach.high).fold(0.0, f64::max)
    };
    let width = change.after.iter().map(|reach| reach.path.len()).max().unwrap_or(0);
    let mut text = String::new();
    for reach in change.after {
        let before = was(change, reach);
        let said = before.map_or(String::new(), |was| {
            let more = (reach.value / was.value - 1.0) * 100.0;
            format!("; today {}, {more:+.0} %", digits(was.value))
        });
        let _ = writeln!(
            text,
            "{:<width$}  {}  {} {} ({} to {}), {most} {}{}{said}",
            reach.path,
            bar(reach, before, top(reach.unit)),
            digits(reach.value),
            reach.unit,
            digits(reach.low),
            digits(reach.high),
            reach.bottleneck.map_or("not known", ResourceName::as_str),
            assumed(reach),
            most = if reach.is_sum { "most of it" } else { "bottleneck" },
        );
    }
    if change.before.is_some() {
        let _ = writeln!(text, "{:<width$}  | today, = after the change, - its 80 % range", "");
    }
    text
}

/// What the figures hang on that nobody said: whether the cache takes devices' writes, and what
/// neighbours leave of them where that is not known.
fn conditions(change: &Change<'_>) -> String {
    let bound = Some(ResourceName::DeviceWrites);
    let mut text = String::new();
    let past = change.engine.past_the_cache().map_or(Vec::new(), |past| past.reaches());
    for reach in change.after {
        let past = past.iter().find(|one| one.path == reach.path && one.bottleneck == bound);
        let Some(past) = past.filter(|_| reach.bottleneck != bound) else { continue };
        let _ = writeln!(
            text,
            "{} if the cache takes what the NIC writes (DDIO), which was not said; else {} \
             ({} to {}), bottleneck device-writes: --set ddio=no",
            reach.path,
            digits(past.value),
            digits(past.low),
            digits(past.high)
        );
    }
    let gaps: Vec<(&str, &str)> = change
        .after
        .iter()
        .flat_map(|reach| reach.missing.iter().map(move |gap| (reach, gap)))
        .filter(|(_, gap)| Some(gap.of) == bound)
        .map(|(reach, gap)| (reach.path.as_str(), gap.why.as_str()))
        .collect();
    if let Some((_, why)) = gaps.first() {
        let paths: Vec<&str> = gaps.iter().map(|(path, _)| *path).collect();
        let _ = writeln!(text, "device-writes are in no figure of {}: {why}", paths.join(", "));
    }
    text
}

fn bar(reach: &Reach, before: Option<&Reach>, top: f64) -> String {
    let at = |value: f64| ((value / top * BAR as f64).round() as usize).min(BAR);
    let (value, low, high) = (at(reach.value), at(reach.low), at(reach.high));
    let mut cells: Vec<char> = (0..BAR)
        .map(|cell| match cell {
            cell if cell < value => '=',
            cell if cell < high && cell >= low => '-',
            _ => ' ',
        })
        .collect();
    if let Some(was) = before {
        cells[at(was.value).clamp(1, BAR) - 1] = '|';
    }
    cells.into_iter().collect()
}

/// What each of several processors reaches while the others rest: a sum says nothing of one.
fn each_alone(engine: &Predictor) -> String {
    let mut text = String::new();
    let all = engine.alone();
    let first = all.iter().take(1).flat_map(|(_, reaches)| reaches);
    for reach in first.filter(|reach| !reach.is_sum) {
        let each = all.iter().filter_map(|(socket, reaches)| {
            Some((socket, reaches.iter().find(|one| one.path == reach.path)?))
        });
        let each: Vec<(usize, String)> = each.map(|(socket, one)| (*socket, of_one(one))).collect();
        let own = each.iter().map(|(socket, says)| format!("{socket}: {says}"));
        let says = if each.iter().all(|(_, says)| *says == each[0].1) {
            each[0].1.clone()
        } else {
            own.collect::<Vec<_>>().join("; ")
        };
        let _ = writeln!(text, "{}, each processor alone: {says}", reach.path);
    }
    if let Some(work) = engine.server.work {
        let untouched = engine.untouched_by_work();
        if !untouched.is_empty() {
            let paths = untouched.join(", ");
            let _ = writeln!(text, "work.socket={work} changes no figure of {paths}");
        }
    }
    text
}

/// `54.9 Gb/s (54.1 to 55.9), pcie`.
fn of_one(reach: &Reach) -> String {
    format!(
        "{} {} ({} to {}), {}",
        digits(reach.value),
        reach.unit,
        digits(reach.low),
        digits(reach.high),
        reach.bottleneck.map_or("not known", ResourceName::as_str)
    )
}

/// What each resource has left, in a line.
fn rooms(reach: &Reach) -> String {
    let rooms: Vec<String> = reach
        .resources
        .iter()
        .map(|resource| {
            let only =
                resource.only_if.as_ref().map_or(String::new(), |only| format!(" if {only}"));
            format!("{} {:.2} x{only}", resource.name, resource.value / reach.value)
        })
        .collect();
    let missing: Vec<&str> = reach.missing.iter().map(|gap| gap.of.as_str()).collect();
    let unknown = if missing.is_empty() {
        String::new()
    } else {
        format!("; not known: {}", missing.join(", "))
    };
    format!("  {}: {}{unknown}\n", reach.path, rooms.join(", "))
}

fn line(reach: &Reach, resource: &Resource) -> String {
    let room = resource.value / reach.value;
    let only = resource.only_if.as_ref().map_or(String::new(), |only| format!(" (if {only})"));
    format!(
        "  {:<12} {:>7}, {room:.2} x: {}{only}",
        resource.name,
        digits(resource.value),
        resource.says
    )
}

/// A parameter's name with what its letter stands for, or with the resource that it is of.
fn meaning(resource: &Resource, name: &str) -> String {
    match name {
        symbols::ETA => "eta (share of the peak that a copy reaches)".to_owned(),
        symbols::M => "m (memory bytes a payload byte)".to_owned(),
        symbols::P => "p (how wire and CPUs combine)".to_owned(),
        symbols::ONE_WAY => format!("{}, one way", resource.name),
        _ => name.to_owned(),
    }
}

/// Every number that went into the figures, once, with where it is from.
fn sources(change: &Change<'_>) -> String {
    let mut seen: Vec<String> = Vec::new();
    let resources = change.after.iter().flat_map(|reach| &reach.resources);
    for (resource, one) in resources.flat_map(|of| of.parameters.iter().map(move |one| (of, one))) {
        let value = digits(one.value);
        let name = meaning(resource, one.name);
        let line = format!("  {name} {value} {}: {}", one.unit, one.from);
        let line = line.replace(" : ", ": ");
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    let mut text = format!("\nNumbers\n{}\n", seen.join("\n"));
    for (name, unit, figure) in change.measured.all() {
        let _ = writeln!(
            text,
            "  {name} {} {unit} ({} to {}), {}",
            digits(figure.value),
            digits(figure.low),
            digits(figure.high),
            figure.origin()
        );
    }
    for unused in &change.engine.parameters.unused {
        let _ = writeln!(text, "  not used: {unused}");
    }
    if let Some(cost) = change.cost {
        text += &costs(cost, change);
    }
    text + "a model, not a measurement, of paths that a NIC of this rate could carry, whether this one can or \
            not; docs/predict.md has its parameters\n"
}

fn costs(cost: &Cost, change: &Change<'_>) -> String {
    let parts: Vec<String> = cost
        .parts
        .iter()
        .map(|(part, count, price)| format!("{count} {part} at {price}"))
        .collect();
    let mut text = if cost.parts.is_empty() && cost.unpriced.is_empty() {
        "cost: nothing is bought".to_owned()
    } else {
        format!("cost: {} ({})", cost.total, parts.join(", "))
    };
    if !cost.unpriced.is_empty() {
        text += &format!("; without a price: {}", cost.unpriced.join(", "));
    }
    let before = change.before.unwrap_or_default();
    if let Some((what, more)) = for_a_hundred(cost, before, change.after) {
        text += &format!("; 100 of it buy {more:+.2} {what}");
    }
    text + "\n"
}

/// As a picture: a bar for each path after the change, its range, and a line where it is today.
pub fn svg(change: &Change<'_>) -> String {
    const LEFT: f64 = 8.0;
    const RIGHT: f64 = WIDTH - 8.0;
    const ROW: f64 = 38.0;
    let title = match change.before {
        Some(_) => "What should be reached after the change, and today",
        None => "What should be reached",
    };
    let mut svg = Svg::new(WIDTH, title);
    svg.text("title", (LEFT, 14.0), Anchor::Start, title);
    let mut y = 28.0;
    for reach in change.after {
        let before = was(change, reach);
        let all = change.after.iter().chain(change.before.into_iter().flatten());
        let same = all.filter(|other| other.unit == reach.unit);
        let top = same.map(|other| other.high).fold(0.0, f64::max) * 1.02;
        let at = |value: f64| LEFT + (value / top).clamp(0.0, 1.0) * (RIGHT - LEFT);
        let bottleneck = reach.bottleneck.map_or("nothing known", ResourceName::as_str);
        svg.text(
            "label",
            (LEFT, y + 12.0),
            Anchor::Start,
            &format!("{}: {bottleneck}", reach.path),
        );
        let today = before.map_or(String::new(), |was| format!(", today {}", digits(was.value)));
        let value = format!("{} {}{today}", digits(reach.value), reach.unit);
        svg.text("value", (RIGHT, y + 12.0), Anchor::End, &value);
        let says = reach.resources.first().map_or("", |resource| resource.says.as_str());
        svg.rect("bar", (LEFT, y + 17.0), (at(reach.value) - LEFT, 12.0), says);
        let (low, high) = (at(reach.low), at(reach.high));
        svg.line("whisker", (low, y + 23.0), (high, y + 23.0));
        svg.line("whisker", (low, y + 20.0), (low, y + 26.0));
        svg.line("whisker", (high, y + 20.0), (high, y + 26.0));
        if let Some(was) = before {
            svg.line("measured", (at(was.value), y + 15.0), (at(was.value), y + 31.0));
        }
        y += ROW;
    }
    alone(&svg.finish(y + 4.0))
}
