//! What `narrows diagnose` changes, one thing at a time, to see what moves the figure.

use crate::trial::{Level, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is other than in the traffic that is diagnosed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Another congestion control.
    Congestion,
    /// Larger socket buffers.
    Buffers,
    /// Larger messages: fewer calls for the same bytes.
    MessageSize,
    /// More flows: more threads, windows and queues.
    Flows,
    /// Segments that pass any path.
    Segments,
    /// Threads on CPUs of their own.
    Placement,
    /// Sent without a copy by the program.
    ZeroCopy,
    /// Threads that do not sleep while they wait.
    BusyPolling,
    /// A pace just below what the probe says the path carries.
    Pace,
    /// Half of the rate that was reached.
    HalfPace,
    /// Sent the other way.
    Direction,
    /// A setting of this host's kernel.
    Setting,
}

/// Under which name a trial's note has its change.
const NOTE: &str = "change";

impl Change {
    const WORDS: [(Self, &'static str); 12] = [
        (Self::Congestion, "congestion"),
        (Self::Buffers, "buffers"),
        (Self::MessageSize, "message-size"),
        (Self::Flows, "flows"),
        (Self::Segments, "segments"),
        (Self::Placement, "placement"),
        (Self::ZeroCopy, "zero-copy"),
        (Self::BusyPolling, "busy-polling"),
        (Self::Pace, "pace"),
        (Self::HalfPace, "half-pace"),
        (Self::Direction, "direction"),
        (Self::Setting, "setting"),
    ];

    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(change, _)| *change == self).map_or("", |(_, word)| word)
    }

    /// What a trial changes; `None` for the traffic itself, and for other trials.
    pub fn of(trial: &Trial) -> Option<Self> {
        let note = trial.notes.iter().find(|note| note.factor == NOTE)?;
        Self::WORDS.iter().find(|(_, word)| *word == note.level).map(|(change, _)| *change)
    }

    /// The trial, with a note that says what it changes.
    pub fn note(self, mut trial: Trial) -> Trial {
        let level = self.word().to_owned();
        trial.notes.push(Level { factor: NOTE.to_owned(), level });
        trial
    }

    /// Whether a higher figure says what to do. The others only tell causes apart: traffic that
    /// goes the other way is other traffic, and half of a pace is less.
    pub fn is_remedy(self) -> bool {
        !matches!(self, Self::Direction | Self::HalfPace)
    }
}
