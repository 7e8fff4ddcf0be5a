//! The default congestion control where another was measured beside it and moved more: it leads
//! what is said, unless something else holds both.

use super::holds::Holds;
use super::named::NAMED;
use super::of_ends::full_cpu;
use super::{Answer, Second, Sureness, concerns};
use crate::Case;
use crate::controls;
use crate::measured::{Cell, cells, waited_share};
use crate::names;
use crate::rules::tcp_retransmits;
use narrows_model::result::Finding;

/// What losses allow is reached within these, as a stream's rate that they hold.
const REACHED: std::ops::RangeInclusive<f64> = 0.25..=4.0;
/// Threads that would have run for so much longer wait for a CPU under any congestion control.
const WAITED_SHARE: f64 = 0.25;

/// The default congestion control, where one that slows down at each loss moves more on the same
/// path. One that does not mind loss and is faster shows nothing of the kind.
pub struct Slower<'a> {
    name: String,
    other: String,
    /// By how much the other one moves more.
    gain: f64,
    /// What was measured with the other one.
    beside: Option<Cell<'a>>,
}

impl<'a> Slower<'a> {
    pub fn of(case: &'a Case<'a>, cell: &Cell<'_>) -> Option<Self> {
        let (default, other) = controls::compared(case.study, case.summaries)?;
        let name = default.congestion()?;
        let (used, gain) = controls::faster(name, default, other)?;
        let is_it = controls::slows_down(&used) && default.label == cell.summary.label;
        is_it.then(|| Self {
            name: name.to_owned(),
            other: used,
            gain: gain.value,
            beside: cells(case).find(|beside| beside.summary.label == other.label),
        })
    }

    pub fn answer(&self) -> Answer {
        let what = format!("the congestion control, {},", self.name);
        Answer::named(names::CONGESTION_CONTROL, what, Sureness::Compared)
    }

    pub fn second(self) -> Second {
        Second {
            rule: names::CONGESTION_CONTROL.to_owned(),
            says: format!("{} moves {:.1} times what {} does", self.other, self.gain, self.name),
        }
    }

    /// What also holds the faster one: the path, an interface or a CPU, and not the choice between
    /// the two. Losses hold one that minds them where the other does not.
    pub fn shared(&self, case: &Case<'_>, cell: &Cell<'_>, found: &[&Finding]) -> Option<Answer> {
        let beside = self.beside.as_ref()?;
        let holding = NAMED.iter().find(|named| {
            let is_sure = matches!(named.sureness, Sureness::Counted | Sureness::Inferred);
            let is_found = found
                .iter()
                .any(|one| one.rule == named.rule && concerns(one, cell) && concerns(one, beside));
            let may = match named.rule {
                // That losses hold it is not known where nobody knows what they allow.
                names::TCP_RETRANSMITS => {
                    tcp_retransmits::reached(beside).is_some_and(|it| REACHED.contains(&it))
                }
                _ => (named.holds)(cell) != Holds::No,
            };
            is_sure && is_found && may && (named.holds)(beside) == Holds::Yes
        });
        if let Some(named) = holding {
            return Some(named.answer(named.sureness, case, cell));
        }
        let is_waiting = [cell, beside].into_iter().all(|cell| {
            let waits = [cell.of_sender(waited_share), cell.of_receiver(waited_share)];
            waits.into_iter().flatten().any(|waited| waited >= WAITED_SHARE)
        });
        full_cpu(beside).and_then(|_| full_cpu(cell)).filter(|_| is_waiting)
    }
}
