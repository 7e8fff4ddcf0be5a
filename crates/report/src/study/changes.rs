//! How many times the figure of one cell another's is, as others published it, beside the same of
//! a study's own cells.

use super::reference::{AGAINST, Cell, Levels, Median, cells, medians};
use crate::words;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_stats::Summary;
use serde::Serialize;

/// A published change, and the study's own for each pair of cells that it is of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The levels of the cell, as the source has them.
    pub cell: String,
    /// The levels in which the other cell differs.
    pub against: String,
    /// The cell's figure is so many times the other's.
    pub published: f64,
    /// `at least` or `at most`, where the source has only a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The study's own, in its order: of each pair of cells, where both were measured. Empty where
    /// it has no such pair, or where several could be meant.
    pub own: Vec<Option<f64>>,
}

impl Change {
    /// What the source says, and what the study has.
    pub fn says(&self) -> String {
        let Self { cell, against, published, bound, own } = self;
        let bound = bound.as_ref().map_or(String::new(), |bound| format!("{bound} "));
        let own: Vec<String> = own.iter().copied().map(times_or_none).collect();
        let own = match own.as_slice() {
            [] => "here no such two cells, or several that could be meant".to_owned(),
            own => format!("here {}", own.join(", ")),
        };
        let published = words::value(*published, Unit::Share);
        format!("reference: {cell} over {against}: {bound}{published}; {own}")
    }
}

fn times_or_none(own: Option<f64>) -> String {
    own.map_or("not measured".to_owned(), |own| words::value(own, Unit::Share))
}

/// All changes of the references, in their order.
pub(super) fn all(
    stored: &StoredStudy,
    summaries: &[Summary],
    others: &[StoredStudy],
) -> Vec<Change> {
    let cells = cells(stored, summaries);
    let medians = others.iter().flat_map(medians);
    medians.filter(Median::is_change).map(|one| of(&one, &cells)).collect()
}

fn of(one: &Median, cells: &[Cell]) -> Change {
    let (mut cell, mut with) = (one.clone(), Levels::new());
    cell.levels.retain(|factor, _| !factor.starts_with(AGAINST));
    for (factor, level) in &one.levels {
        if let Some(factor) = factor.strip_prefix(AGAINST) {
            with.insert(factor.to_owned(), level.clone());
        }
    }
    let within: Vec<&Cell> = cells.iter().filter(|of| cell.is_within(&of.levels)).collect();
    let is_one = within.windows(2).all(|two| match two {
        [a, b] => cell.unnamed(&a.levels) == cell.unnamed(&b.levels),
        _ => true,
    });
    let pairs = within.into_iter().filter(|_| is_one);
    let own = pairs.filter_map(|of| times(of, &with, cells)).collect();
    let (cell, against) = (said(one, false), said(one, true));
    Change { cell, against, published: one.value, bound: one.bound.clone(), own }
}

/// The source's levels of the cell, or of what it is set against.
fn said(one: &Median, is_against: bool) -> String {
    let levels = one.said.iter().filter(|of| of.factor.starts_with(AGAINST) == is_against);
    levels.map(|of| of.level.as_str()).collect::<Vec<_>>().join(", ")
}

/// So many times a cell's median is that of the cell with these levels in the place of its own;
/// `None` where there is no such cell, and nothing in it where one of the two has no median.
fn times(cell: &Cell, with: &Levels, cells: &[Cell]) -> Option<Option<f64>> {
    let mut levels = cell.levels.clone();
    levels.extend(with.clone());
    let other = cells.iter().find(|of| of.levels == levels && of.unit == cell.unit)?;
    let both = cell.value.zip(other.value.filter(|value| *value > 0.0));
    Some(both.map(|(one, other)| one / other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::trial::Level;

    fn cell(node: &str, beside: &str, value: Option<f64>) -> Cell {
        let levels = [("node", node), ("beside", beside)];
        let levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned()));
        Cell { levels: Levels::from(levels), unit: Unit::Nanos, value }
    }

    fn change(levels: &[(&str, &str)]) -> Median {
        let level = |of: &(&str, &str)| Level { factor: of.0.to_owned(), level: of.1.to_owned() };
        let said: Vec<Level> = levels.iter().map(level).collect();
        let levels = said.iter().map(|of| (of.factor.clone(), of.level.to_lowercase())).collect();
        let bound = Some("at most".to_owned());
        Median { levels, said, bound, unit: Unit::Share, value: 0.6 }
    }

    #[test]
    fn a_change_is_the_quotient_of_two_cells() {
        let cells = [
            cell("near", "nothing", Some(30.0)),
            cell("far", "nothing", Some(40.0)),
            cell("near", "streams", Some(90.0)),
            cell("far", "streams", None),
        ];
        let of = |beside: &str| {
            of(&change(&[("node", "Near"), ("beside", beside), ("against node", "Far")]), &cells)
        };
        assert_eq!(of("nothing").own, [Some(0.75)]);
        assert_eq!(
            of("nothing").says(),
            "reference: Near, nothing over Far: at most 0.600 x; here 0.750 x"
        );
        assert!(of("streams").says().ends_with("; here not measured"));
        assert_eq!(of("any").own, [Some(0.75), None], "of each that it holds for");
        assert!(
            of("wind").says().ends_with("here no such two cells, or several that could be meant")
        );
        let unnamed = super::of(&change(&[("node", "Near"), ("against node", "Far")]), &cells);
        assert_eq!(unnamed.own, [], "beside what nobody says");
    }
}
