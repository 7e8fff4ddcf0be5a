//! How many times the figure of one cell another's is, as others published it, beside the same of
//! a study's own cells.

use super::FILE;
use super::reference::{AGAINST, Cell, Levels, Median, cells, medians};
use crate::words;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A published change, and the study's own for each pair of cells that it is of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
    /// Files that have such a pair each, where several could be meant for that alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Change {
    /// What the source says, and what the study has.
    pub fn says(&self) -> String {
        let Self { cell, against, published, bound, own, files } = self;
        let bound = bound.as_ref().map_or(String::new(), |bound| format!("{bound} "));
        let own: Vec<String> = own.iter().copied().map(times_or_none).collect();
        let own = match (own.as_slice(), files.first()) {
            ([], Some(first)) => format!(
                "here in several files ({}): name the one that it is of, --reference {first}=FILE",
                files.join(", ")
            ),
            ([], None) => "here no such two cells, or several that could be meant".to_owned(),
            (own, _) => format!("here {}", own.join(", ")),
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
    let changes = medians.filter(Median::is_change).map(|one| of(&one, &cells));
    let mut changes: Vec<Change> = changes.collect();
    // As their owner wrote them: cells are joined by small letters.
    let names: BTreeSet<&str> = stored.trials.iter().filter_map(|one| one.level(FILE)).collect();
    for file in changes.iter_mut().flat_map(|change| &mut change.files) {
        let written = names.iter().find(|name| name.to_lowercase() == *file);
        *file = written.map_or_else(|| file.clone(), |name| (*name).to_owned());
    }
    changes
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
    let pairs = within.iter().filter(|_| is_one);
    let own = pairs.filter_map(|of| times(of, &with, cells)).collect();
    let files = if is_one { Vec::new() } else { files(&cell, &within, &with, cells) };
    let (cell, against) = (said(one, false), said(one, true));
    Change { cell, against, published: one.value, bound: one.bound.clone(), own, files }
}

/// The files that have a pair of cells each; none where cells differ in anything else that the
/// source does not name.
fn files(of: &Median, within: &[&Cell], with: &Levels, cells: &[Cell]) -> Vec<String> {
    let others = |cell: &Cell| {
        let all = of.unnamed(&cell.levels).into_iter();
        all.filter(|(factor, _)| *factor != FILE)
            .map(|(factor, level)| (factor.clone(), level.clone()))
            .collect::<Vec<_>>()
    };
    if within.windows(2).any(|two| matches!(two, [a, b] if others(a) != others(b))) {
        return Vec::new();
    }
    let mut files: Vec<String> = Vec::new();
    let paired = within.iter().filter(|cell| times(cell, with, cells).is_some());
    for file in paired.filter_map(|cell| cell.levels.get(FILE)) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files
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
        assert!(unnamed.files.is_empty(), "of one study there is no file to name");
    }

    #[test]
    fn cells_of_several_files_are_told_to_be_named_by_their_file() {
        let in_file = |file: &str, cell: Cell| {
            let mut levels = cell.levels;
            levels.insert(FILE.to_owned(), file.to_owned());
            Cell { levels, ..cell }
        };
        let all = [("100gbe", "near"), ("100gbe", "far"), ("25gbe", "near"), ("25gbe", "far")];
        let cells = all.map(|(file, node)| {
            let us = if node == "near" { 30.0 } else { 40.0 };
            in_file(file, cell(node, "nothing", Some(us)))
        });
        let plain = [("node", "near"), ("beside", "nothing"), ("against node", "far")];
        let change = |levels: &[(&str, &str)]| of(&change(levels), &cells);
        let several = change(&plain);
        assert_eq!(several.files, ["100gbe", "25gbe"]);
        let told = "; here in several files (100gbe, 25gbe): name the one that it is of, \
                    --reference 100gbe=FILE";
        assert!(several.says().ends_with(told), "{}", several.says());
        let named = change(&[&plain[..], &[(FILE, "25gbe")]].concat());
        assert_eq!((named.own, named.files), (vec![Some(0.75)], Vec::new()));
        let vague = change(&[plain[0], plain[2]]);
        assert_eq!(vague.files, ["100gbe", "25gbe"], "what all share need not be named");
    }
}
