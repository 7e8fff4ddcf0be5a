//! What a search for anomalies varies: the options of each kind of traffic, the choices of each
//! option, and what a choice may cost on a path without an anomaly.

use crate::trial::{Level, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The factor that says which traffic a run is of; options come after it.
pub const TRAFFIC: &str = "traffic";

/// Everything that a search varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explored {
    /// Minutes that it may take.
    pub minutes: f64,
    /// Kinds of traffic, which are not compared with each other.
    pub traffic: Vec<Varied>,
}

/// One kind of traffic and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Varied {
    /// Its name: `TCP`.
    pub name: String,
    /// What is varied of it.
    pub options: Vec<Explorable>,
}

/// One option that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explorable {
    /// Its name: `message size`.
    pub name: String,
    /// What its choices may cost.
    pub law: Law,
    /// Its choices; those with an amount are in the order of it.
    pub choices: Vec<Choice>,
    /// Which of them is the one that nobody asked for.
    pub usual: usize,
}

/// One choice of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What it is called in a table: `1 KiB`.
    pub name: String,
    /// The same in a sentence, after `with`: `1 KiB messages`.
    pub says: String,
    /// How much of it there is: bytes, flows, bits a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// What it may cost each message beside the usual choice.
    #[serde(default)]
    pub message_ns: f64,
    /// Whether it is tried only to find the edge between two others.
    #[serde(default)]
    pub is_fine: bool,
}

/// How much less one choice of an option may carry than another, with nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// As much, but for what the choice costs each message.
    Alike,
    /// Messages of so many bytes: each costs something beside its bytes.
    MessageSize,
    /// As the smaller amount to the larger, and no less with more.
    Proportional,
    /// Fewer flows as their number; more may share what there is, at a loss.
    Flows,
    /// A pace in bits a second: no more than it, and no less than that where the path has it.
    Pace,
    /// One of several devices: as the rate of its port to the other's, and as much where that is
    /// not known. The usual one may be the slow one.
    Device,
    /// One of several verbs: half as much as another, since each costs its ends something else. The
    /// usual one may be the slow one.
    Verb,
}

impl Law {
    /// Whether the choices are equals, of which the usual one is no measure of the others.
    pub fn is_of_equals(self) -> bool {
        matches!(self, Self::Device | Self::Verb)
    }
}

/// One combination of choices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Index of the traffic.
    pub traffic: usize,
    /// Index of the choice of each option.
    pub choices: Vec<usize>,
}

impl Point {
    /// The same with another choice of one option.
    #[must_use]
    pub fn with(&self, option: usize, choice: usize) -> Self {
        let mut changed = self.clone();
        changed.choices[option] = choice;
        changed
    }
}

impl Varied {
    /// The usual choice of every option.
    pub fn usual(&self) -> Vec<usize> {
        self.options.iter().map(|option| option.usual).collect()
    }

    /// Options of a point that are not as usual.
    pub fn changed(&self, point: &Point) -> Vec<usize> {
        let options = self.options.iter().zip(&point.choices).enumerate();
        options.filter(|(_, (option, at))| option.usual != **at).map(|(of, _)| of).collect()
    }

    /// The choice of an option at a point.
    pub fn choice(&self, point: &Point, option: usize) -> &Choice {
        &self.options[option].choices[point.choices[option]]
    }

    /// What a point has that is not as usual, in the words of a table.
    pub fn name_of(&self, point: &Point) -> String {
        let changed = self.changed(point);
        let names = changed.iter().map(|option| self.choice(point, *option).says.as_str());
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "as usual".to_owned() } else { names.join(", ") }
    }
}

impl Explored {
    /// The traffic of a point.
    pub fn of(&self, point: &Point) -> &Varied {
        &self.traffic[point.traffic]
    }

    /// The levels of a point's trial.
    pub fn levels(&self, point: &Point) -> Vec<Level> {
        let of = self.of(point);
        let own = Level { factor: TRAFFIC.to_owned(), level: of.name.clone() };
        let options = of.options.iter().enumerate().map(|(at, option)| Level {
            factor: option.name.clone(),
            level: of.choice(point, at).name.clone(),
        });
        std::iter::once(own).chain(options).collect()
    }

    /// The point that a trial is at; `None` of one that is no point of this search.
    pub fn point_of(&self, trial: &Trial) -> Option<Point> {
        let name = trial.level(TRAFFIC)?;
        let traffic = self.traffic.iter().position(|of| of.name == name)?;
        let choices = self.traffic[traffic].options.iter().map(|option| {
            let level = trial.level(&option.name)?;
            option.choices.iter().position(|choice| choice.name == level)
        });
        Some(Point { traffic, choices: choices.collect::<Option<_>>()? })
    }
}
