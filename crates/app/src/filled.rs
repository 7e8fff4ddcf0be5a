//! Words in a study's texts that differ by the number of ranks: `@ranks@`, and the process grid of
//! `@rows@` by `@columns@` that dense solvers want.

/// A text for this number of ranks. Other words between `@` stay as they are.
pub fn filled(text: &str, ranks: u32) -> String {
    let rows = rows(ranks);
    let words = [("@ranks@", ranks), ("@rows@", rows), ("@columns@", ranks / rows)];
    words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, &value.to_string()))
}

/// Rows of the squarest grid of all ranks that is no higher than wide.
fn rows(ranks: u32) -> u32 {
    let at_most = f64::from(ranks).sqrt() as u32;
    (1..=at_most).rev().find(|rows| ranks.is_multiple_of(*rows)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_use_all_ranks_and_are_as_square_as_they_can_be() {
        for (ranks, grid) in
            [(1, "1 x 1"), (2, "1 x 2"), (4, "2 x 2"), (12, "3 x 4"), (13, "1 x 13"), (16, "4 x 4")]
        {
            assert_eq!(filled("@rows@ x @columns@", ranks), grid);
        }
        assert_eq!(filled("n@ranks@ user@host @other@", 8), "n8 user@host @other@");
    }
}
