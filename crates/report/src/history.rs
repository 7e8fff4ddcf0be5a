//! Figures over many files: their course, where they took a step, and what of the host changed
//! there.

use crate::drawn::Screen;
use crate::table::on_screen;
use crate::views::diff;
use crate::words;
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Trial, TrialId};
use narrows_model::workload::Metric;
use narrows_stats::{Summary, Turn, files_for, summarise, suspected, told_below, turns};
use schemars::JsonSchema;
use serde::Serialize;

/// Files in the order in which they were measured, and the figures that they have.
#[derive(Default)]
pub struct History {
    files: Vec<File>,
    courses: Vec<Course>,
}

/// A file of the folder.
struct File {
    name: String,
    /// When it was begun, and the seed of its order.
    began: (Nanos, u64),
    /// The host that narrows ran on, and those that it measured to.
    hosts: Vec<Host>,
}

/// One figure over files: of one cell between the same hosts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Course {
    /// The cell's label.
    pub cell: String,
    /// The host that narrows ran on, and those that it measured to.
    pub hosts: Vec<String>,
    pub metric: Metric,
    /// Its values, by time.
    pub points: Vec<Point>,
    /// Where it took a step, by time.
    pub turns: Vec<Turn>,
    /// A step that may be one, where none is certain.
    pub suspected: Option<Turn>,
    /// Files that a step takes to be told from chance.
    pub files_needed: usize,
    #[serde(skip)]
    id: TrialId,
}

/// What one file says of a figure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Point {
    /// Path of the file.
    pub file: String,
    /// When it was begun.
    pub began_unix_ns: Nanos,
    /// Median of its runs.
    pub estimate: Estimate,
    /// The peer as it was named, and the interfaces of both ends.
    #[serde(skip)]
    way: String,
    /// Index of the file.
    #[serde(skip)]
    at: usize,
}

impl Course {
    /// Whether the last step was for the worse.
    fn is_worse(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|turn| (turn.ratio() < 1.0) == self.metric.larger_is_better())
    }

    /// The points on either side of a step, one beyond those beside it where it has one there.
    fn around(&self, turn: &Turn) -> (&Point, &Point) {
        let borders = self.turns.iter().map(|turn| turn.at);
        let from = borders.clone().filter(|at| *at < turn.at).max().unwrap_or(0);
        let to = borders.filter(|at| *at > turn.at).min().unwrap_or(self.points.len());
        let first = turn.at.saturating_sub(2).max(from);
        (&self.points[first], &self.points[(turn.at + 1).min(to - 1)])
    }

    fn values(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.estimate.value).collect()
    }

    fn name(&self) -> String {
        words::tame(&format!("{}, {}", self.cell, self.hosts.join(" to ")))
    }

    fn figure(&self, value: f64) -> String {
        words::exact(value, self.metric.unit())
    }
}

impl History {
    /// Takes in what a file says; a copy of one that is known counts once.
    pub fn add(&mut self, file: &str, study: &StoredStudy) {
        let (at, began) = (self.files.len(), (study.study.began_unix_ns, study.study.seed));
        if self.files.iter().any(|known| known.began == began) {
            return;
        }
        let hosts: Vec<Host> =
            std::iter::once(&study.host).chain(&study.peer_hosts).cloned().collect();
        let names: Vec<String> = hosts.iter().map(name).collect();
        self.files.push(File { name: file.to_owned(), began, hosts });
        for (trial, summary) in study.trials.iter().zip(summarise(study)) {
            let Some(estimate) = summary.estimate else { continue };
            let began_unix_ns = study.study.began_unix_ns;
            let way = way(study, &summary);
            let point = Point { file: file.to_owned(), began_unix_ns, estimate, way, at };
            self.course(trial, summary.metric, &names).points.push(point);
        }
    }

    fn course(&mut self, trial: &Trial, metric: Metric, hosts: &[String]) -> &mut Course {
        let known = self.courses.iter().position(|course| {
            course.id == trial.id && course.metric == metric && course.hosts == hosts
        });
        let at = known.unwrap_or_else(|| {
            self.courses.push(Course {
                cell: trial.label.clone(),
                hosts: hosts.to_vec(),
                metric,
                points: Vec::new(),
                turns: Vec::new(),
                suspected: None,
                files_needed: 0,
                id: trial.id.clone(),
            });
            self.courses.len() - 1
        });
        &mut self.courses[at]
    }

    /// Looks for steps, in figures that more than one file has.
    pub fn judged(mut self) -> Self {
        self.courses.retain(|course| course.points.len() > 1);
        let below = told_below(self.courses.len());
        for course in &mut self.courses {
            course.points.sort_by_key(|point| point.began_unix_ns);
            course.files_needed = files_for(below);
            let values = course.values();
            course.turns = turns(&values, below);
            course.suspected = course.turns.is_empty().then(|| suspected(&values, below)).flatten();
        }
        self
    }

    /// The figures that more than one file has.
    pub fn courses(&self) -> &[Course] {
        &self.courses
    }

    /// Whether any figure's last step was for the worse.
    pub fn is_worse(&self) -> bool {
        self.courses.iter().any(Course::is_worse)
    }

    /// The answer, the steps with what changed there, and the figures.
    pub fn text(&self, screen: &Screen) -> String {
        if self.courses.is_empty() {
            let files = words::counted(self.files.len(), "file");
            return format!("no figure is in more than one of {files}\n");
        }
        let mut text = self.answer() + "\n\n";
        for course in &self.courses {
            for turn in &course.turns {
                text += &self.step(course, turn, screen);
            }
        }
        text + &self.table(screen)
    }

    fn answer(&self) -> String {
        let all = self.courses.len();
        let stepped = self.courses.iter().filter(|course| !course.turns.is_empty()).count();
        let worse = self.courses.iter().filter(|course| course.is_worse()).count();
        let longest = self.courses.iter().map(|course| course.points.len()).max().unwrap_or(0);
        let needed = files_for(told_below(all));
        if longest < needed {
            let longest = words::counted(longest, "file");
            return format!(
                "inconclusive: at most {longest} have the same figure, a step takes {needed}"
            );
        }
        let figures = words::counted(all, "figure");
        match (stepped, worse) {
            (0, _) => match self.courses.iter().filter(|one| one.suspected.is_some()).count() {
                0 => format!("no step in {figures}"),
                some => format!(
                    "inconclusive: {some} of {figures} may have taken a step; more files would tell"
                ),
            },
            (_, 0) => {
                format!("{stepped} of {figures} took a step, the last of each for the better")
            }
            _ => format!("{worse} of {figures} became worse with its last step"),
        }
    }

    /// A step, and how the hosts of the files around it differ: chance may move the border by a
    /// file, so that one more on either side is looked at.
    fn step(&self, course: &Course, turn: &Turn, screen: &Screen) -> String {
        let (first, last) = course.around(turn);
        let (before, after) = (&self.files[first.at], &self.files[last.at]);
        let dates = [first, last].map(|point| words::when(point.began_unix_ns));
        let mut text = format!(
            "{}: {}\n  what differs between {} and {}:\n",
            course.name(),
            says(course, turn),
            words::tame(&before.name),
            words::tame(&after.name)
        );
        if first.way != last.way {
            text += &words::tame(&format!("the way: {} before, {} after", first.way, last.way));
            text += "\n";
        }
        let mut told = Vec::new();
        for (name, hosts) in course.hosts.iter().zip(before.hosts.iter().zip(&after.hosts)) {
            let sides = [(dates[0].as_str(), hosts.0), (dates[1].as_str(), hosts.1)];
            let says = format!("on {}:\n{}", words::tame(name), diff::write(&sides, screen));
            // Both ends may be on one host.
            if !told.contains(&says) {
                text += &says;
                told.push(says);
            }
        }
        text + "\n"
    }

    fn table(&self, screen: &Screen) -> String {
        let rows: Vec<Vec<String>> = self.courses.iter().map(row).collect();
        let head = ["figure", "files", "from", "to", "first", "latest", ""];
        on_screen(&head, &rows, screen) + "\n"
    }
}

/// `to 192.0.2.7 by eth0 and eth1`: another way is another figure, though the hosts are the same.
fn way(study: &StoredStudy, summary: &Summary) -> String {
    let mut interfaces: Vec<&str> = summary.settings.interfaces().collect();
    interfaces.dedup();
    let to = study.study.peer.as_deref().map(|peer| format!("to {peer}"));
    let by = (!interfaces.is_empty()).then(|| format!("by {}", interfaces.join(" and ")));
    let both: Vec<String> = to.into_iter().chain(by).collect();
    if both.is_empty() { "not told".to_owned() } else { both.join(" ") }
}

fn name(host: &Host) -> String {
    host.name.value().cloned().unwrap_or_else(|| "unknown".to_owned())
}

fn says(course: &Course, turn: &Turn) -> String {
    format!(
        "{} from {} on, {} before: {:+.1} % ({:.1} % by chance)",
        course.figure(turn.after),
        words::when(course.points[turn.at].began_unix_ns),
        course.figure(turn.before),
        100.0 * (turn.ratio() - 1.0),
        100.0 * turn.p
    )
}

fn row(course: &Course) -> Vec<String> {
    let ends = course.points.first().zip(course.points.last());
    let of = |say: fn(&Course, &Point) -> String| {
        ends.map_or([String::new(), String::new()], |(a, b)| [say(course, a), say(course, b)])
    };
    let [from, to] = of(|_, point| words::when(point.began_unix_ns));
    let [first, latest] = of(|course, point| course.figure(point.estimate.value));
    let verdict = if course.points.len() < course.files_needed {
        format!("too few files, a step takes {}", course.files_needed)
    } else if let Some(turn) = &course.suspected {
        format!("perhaps one: {}", says(course, turn))
    } else if course.turns.is_empty() {
        "no step".to_owned()
    } else {
        words::counted(course.turns.len(), "step")
    };
    vec![course.name(), course.points.len().to_string(), from, to, first, latest, verdict]
}
