//! The path of a prediction from memory to wire as a pipe: each resource as wide as the payload
//! that it can carry, the bottleneck marked, and through it what was measured.

use super::Svg;
use super::svg::{Anchor, short};
use crate::words;
use narrows_model::result::{Ceiling, Prediction, ResourceAt, ResourceName, Unstated};

/// Wider than other figures: it is drawn across the page.
const WIDTH: f64 = 1040.0;
/// Where the pipe begins, below the names and rates.
const TOP: f64 = 48.0;
const HEIGHT: f64 = 130.0;
const MIDDLE: f64 = TOP + HEIGHT / 2.0;
/// A resource that could carry more than so many times the largest of bottleneck and measured is
/// drawn no wider.
const CUT: f64 = 3.0;
/// Share of a resource's length in which its width changes to the next one's, at each end.
const BEND: f64 = 0.2;
/// Points along a resource.
const STEPS: usize = 24;
/// Characters of a line below a resource, and lines.
const NOTE_CHARS: usize = 26;
const NOTE_LINES: usize = 4;
const LINE: f64 = 14.0;

/// This host's resources in the order in which data meets them; others, and the peer's, stand last.
const ORDER: [ResourceName; 9] = [
    ResourceName::Dram,
    ResourceName::Memory,
    ResourceName::DeviceWrites,
    ResourceName::Cpu,
    ResourceName::InterSocket,
    ResourceName::Chipset,
    ResourceName::Pcie,
    ResourceName::Nic,
    ResourceName::Wire,
];

/// One resource of the path.
enum Section<'a> {
    Known(&'a Ceiling),
    Unknown(&'a Unstated),
}

impl Section<'_> {
    fn resource(&self) -> &ResourceAt {
        match self {
            Self::Known(ceiling) => &ceiling.resource,
            Self::Unknown(unstated) => &unstated.resource,
        }
    }

    fn place(&self) -> usize {
        let own = ORDER.iter().position(|name| *self.resource() == ResourceAt::Own(*name));
        own.unwrap_or(ORDER.len())
    }

    /// Payload that it can carry, in bits a second.
    fn ceiling(&self) -> Option<f64> {
        match self {
            Self::Known(ceiling) => Some(ceiling.range.value),
            Self::Unknown(_) => None,
        }
    }

    /// Half of its width in units of the picture, `full` being the rate of the whole height.
    fn half(&self, full: f64) -> f64 {
        self.ceiling().map_or(1.0, |ceiling| (ceiling / full).clamp(0.0, 1.0)) * HEIGHT / 2.0
    }
}

/// The picture; empty where fewer than two resources have a ceiling: one alone shows no narrowing.
pub fn draw(prediction: &Prediction) -> String {
    let Some(least) = prediction.range.map(|range| range.value).filter(|value| *value > 0.0) else {
        return String::new();
    };
    let sections = sections(prediction);
    let known: Vec<f64> = sections.iter().filter_map(Section::ceiling).collect();
    if known.len() < 2 {
        return String::new();
    }
    let measured = prediction.measured.map_or(0.0, |measured| measured.value);
    let full = known.into_iter().fold(measured, f64::max).min(CUT * measured.max(least));
    let title = format!("From memory to wire: {}, {}", prediction.path, prediction.protocol());
    let mut pipe = Pipe {
        svg: Svg::new(WIDTH, &title),
        length: WIDTH / sections.len() as f64,
        halves: sections.iter().map(|section| section.half(full)).collect(),
        full,
    };
    let lines = (0..sections.len()).map(|at| pipe.section(at, &sections[at], prediction));
    let lines = lines.max().unwrap_or(0);
    if let Some(measured) = &prediction.measured {
        let half = ((measured.value / full).clamp(0.0, 1.0) * HEIGHT / 2.0).max(1.0);
        let tip = format!("measured {}", words::middle(measured));
        pipe.svg.rect("flow", (0.0, MIDDLE - half), (WIDTH, 2.0 * half), &tip);
    }
    pipe.svg.finish(TOP + HEIGHT + LINE * (lines as f64 + 1.0))
}

/// All resources that a prediction tells of, without those that hold under another condition.
fn sections(prediction: &Prediction) -> Vec<Section<'_>> {
    let known = prediction.ceilings.iter().filter(|ceiling| ceiling.only_if.is_none());
    let mut all: Vec<Section<'_>> = known.map(Section::Known).collect();
    all.extend(prediction.missing.iter().map(Section::Unknown));
    all.sort_by_key(Section::place);
    all
}

struct Pipe {
    svg: Svg,
    /// Of each resource along the picture.
    length: f64,
    halves: Vec<f64>,
    full: f64,
}

impl Pipe {
    /// Draws a resource; answers how many lines stand below it.
    fn section(&mut self, at: usize, section: &Section<'_>, prediction: &Prediction) -> usize {
        let middle = (at as f64 + 0.5) * self.length;
        let narrowest = prediction.bottleneck.as_ref() == Some(section.resource());
        self.svg.text("label", (middle, 14.0), Anchor::Middle, &section.resource().to_string());
        match section {
            Section::Known(ceiling) => {
                let class = if narrowest { "pipe bottleneck" } else { "pipe" };
                self.shape(class, at, &ceiling.says);
                let is_cut = ceiling.range.value > self.full;
                self.edges(if is_cut { "edge open" } else { "edge" }, at);
                let class = if narrowest { "measured-text" } else { "value" };
                let rate = words::middle(&ceiling.range);
                self.svg.text(class, (middle, 31.0), Anchor::Middle, &rate);
                if !narrowest {
                    return 0;
                }
                let mut lines = vec!["bottleneck by the model".to_owned()];
                if ceiling.range.low < ceiling.range.high {
                    lines.push(words::range(&ceiling.range));
                }
                self.note(middle, "measured-text", &lines)
            }
            Section::Unknown(unstated) => {
                self.edges("edge unknown", at);
                self.svg.text("value", (middle, 31.0), Anchor::Middle, "not stated");
                let lines = textwrap::wrap(&unstated.why, NOTE_CHARS);
                let lines: Vec<String> = lines.into_iter().map(Into::into).collect();
                self.note(middle, "small", &lines)
            }
        }
    }

    /// Lines of text below a resource; answers how many.
    fn note(&mut self, middle: f64, class: &str, lines: &[String]) -> usize {
        for (row, line) in lines.iter().take(NOTE_LINES).enumerate() {
            let is_cut = row + 1 == NOTE_LINES && lines.len() > NOTE_LINES;
            let line =
                if is_cut { short(&format!("{line} …"), NOTE_CHARS) } else { line.clone() };
            let y = TOP + HEIGHT + LINE * (row as f64 + 1.0);
            self.svg.text(class, (middle, y), Anchor::Middle, &line);
        }
        lines.len().min(NOTE_LINES)
    }

    /// The upper edge from the middle of the bend before a resource to that of the one after.
    fn upper(&self, at: usize) -> Vec<(f64, f64)> {
        (0..=STEPS)
            .map(|step| {
                let along = step as f64 / STEPS as f64;
                ((at as f64 + along) * self.length, MIDDLE - self.half_at(at, along))
            })
            .collect()
    }

    /// Half of the width at a share of a resource's length.
    fn half_at(&self, at: usize, along: f64) -> f64 {
        let own = self.halves[at];
        let (other, near) = if along < BEND {
            (at.checked_sub(1).map(|before| self.halves[before]), along / BEND)
        } else if along > 1.0 - BEND {
            (self.halves.get(at + 1).copied(), (1.0 - along) / BEND)
        } else {
            (None, 1.0)
        };
        // Half of a smooth step, so that both sides meet in its middle.
        let t = 0.5 + near / 2.0;
        let share = t * t * (3.0 - 2.0 * t);
        other.map_or(own, |other| other + (own - other) * share)
    }

    fn shape(&mut self, class: &str, at: usize, tip: &str) {
        let upper = self.upper(at);
        let mirrored = upper.iter().rev().map(|(x, y)| (*x, 2.0 * MIDDLE - y));
        let points: Vec<(f64, f64)> = upper.iter().copied().chain(mirrored).collect();
        self.svg.polygon(class, &points, tip);
    }

    fn edges(&mut self, class: &str, at: usize) {
        let upper = self.upper(at);
        let lower: Vec<(f64, f64)> = upper.iter().map(|(x, y)| (*x, 2.0 * MIDDLE - y)).collect();
        self.svg.path(class, &upper);
        self.svg.path(class, &lower);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use narrows_model::result::{Estimate, Method};
    use narrows_model::units::Unit;

    fn ceiling(resource: ResourceName, gbps: f64) -> Ceiling {
        Ceiling {
            resource: resource.into(),
            range: rate(gbps),
            says: String::new(),
            only_if: None,
            provenance: Vec::new(),
        }
    }

    fn rate(gbps: f64) -> Estimate {
        Estimate {
            value: gbps * 1e9,
            low: gbps * 1e9,
            high: gbps * 1e9,
            unit: Unit::BitsPerSecond,
            n: 1,
            by: Method::Model,
        }
    }

    fn prediction() -> Prediction {
        Prediction {
            path: narrows_model::result::PredictedPath::Interface("eth0".into()),
            workload: narrows_model::workload::Workload::TCP_STREAM,
            cell: None,
            range: Some(rate(40.0)),
            bottleneck: Some(ResourceName::Cpu.into()),
            ceilings: vec![
                ceiling(ResourceName::Cpu, 40.0),
                ceiling(ResourceName::Wire, 80.0),
                ceiling(ResourceName::Memory, 800.0),
            ],
            measured: Some(rate(20.0)),
            missing: vec![Unstated {
                resource: ResourceName::Pcie.into(),
                why: "nic.pcie=4x16".into(),
            }],
            sessions: Vec::new(),
        }
    }

    /// A bottleneck with a range, one whose ceiling is no more than what was measured, a resource
    /// of which more is not known than fits, and one that holds under a condition alone.
    pub fn all() -> String {
        let mut wide = prediction();
        wide.ceilings[0].range.high = 44e9;
        wide.missing[0].why =
            "what is not known here takes ".to_owned() + &"many words ".repeat(20);
        wide.ceilings
            .push(Ceiling { only_if: Some("it is so".into()), ..wide.ceilings[1].clone() });
        let mut fast = prediction();
        (fast.measured, fast.missing) = (Some(rate(100.0)), Vec::new());
        fast.bottleneck = Some(ResourceName::Wire.into());
        let unmeasured = Prediction { measured: None, ..prediction() };
        [wide, fast, unmeasured].iter().map(draw).collect()
    }

    #[test]
    fn resources_stand_in_the_order_of_the_data() {
        let prediction = prediction();
        let names: Vec<String> =
            sections(&prediction).iter().map(|section| section.resource().to_string()).collect();
        assert_eq!(names, ["memory", "cpu", "pcie", "wire"]);
    }

    #[test]
    fn widths_are_to_scale_and_cut_where_they_would_fill_the_page() {
        let prediction = prediction();
        let halves: Vec<f64> =
            sections(&prediction).iter().map(|section| section.half(120e9)).collect();
        // memory is cut, cpu a third of three times itself, pcie unknown, wire two thirds.
        let half = HEIGHT / 2.0;
        for (drawn, share) in halves.iter().zip([1.0, 1.0 / 3.0, 1.0, 2.0 / 3.0]) {
            assert!((drawn - share * half).abs() < 1e-9, "{halves:?}");
        }
        let drawn = draw(&prediction);
        // A pipe is as far below its middle as above it.
        let shapes = drawn.split("<polygon").skip(1).filter_map(|one| {
            let points = one.split("points=\"").nth(1)?.split('"').next()?;
            points.split(' ').map(|at| at.split_once(',')?.1.parse().ok()).collect()
        });
        let shapes: Vec<Vec<f64>> = shapes.collect();
        assert!(shapes.len() >= 3, "{drawn}");
        for shape in shapes {
            let mean = shape.iter().sum::<f64>() / shape.len() as f64;
            assert!((mean - MIDDLE).abs() < 0.1, "{shape:?}");
        }
        assert!(drawn.contains(r#"class="edge open""#), "{drawn}");
        // 20 of 120 Gb/s of 130 units.
        assert!(drawn.contains(r#"class="flow" x="0.0" y="102.2" width="1040.0" height="21.7""#));
        assert_eq!(drawn.matches("pipe bottleneck").count(), 1);
        assert_eq!(drawn.matches("not stated<").count(), 1);
    }

    #[test]
    fn nothing_is_drawn_where_less_than_two_ceilings_are_known() {
        let unknown = Prediction { range: None, ceilings: Vec::new(), ..prediction() };
        assert_eq!(draw(&unknown), "");
        let one = Prediction { ceilings: vec![ceiling(ResourceName::Cpu, 40.0)], ..prediction() };
        assert_eq!(draw(&one), "", "one alone is no picture");
    }

    #[test]
    fn both_sides_of_a_bend_meet() {
        let pipe =
            Pipe { svg: Svg::new(1.0, ""), length: 1.0, halves: vec![10.0, 40.0], full: 1.0 };
        assert_eq!(pipe.half_at(0, 1.0), 25.0);
        assert_eq!(pipe.half_at(1, 0.0), 25.0);
        assert_eq!(pipe.half_at(0, 0.5), 10.0);
    }
}
