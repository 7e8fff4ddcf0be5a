//! The known word that an unknown one is nearest to.

/// The word with the fewest letters changed, if at most a third of them are; of two as near, the
/// first.
pub fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = among.into_iter().map(|known| (distance(word, known), known));
    let near = near.filter(|(away, known)| *away * 3 <= known.chars().count());
    near.min_by_key(|(away, _)| *away).map(|(_, known)| known)
}

/// Letters that have to be put in, left out or changed (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (to, second) in other.iter().enumerate() {
            let change = corner + usize::from(letter != *second);
            corner = row[to + 1];
            row[to + 1] = change.min(corner + 1).min(row[to] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_in_left_out_or_changed() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("ab", "ab"), 0);
    }

    #[test]
    fn a_word_is_near_up_to_a_third_of_the_known_ones_letters() {
        let known = ["tcp-stream", "tcp-rr", "udp-rr"];
        let of = |word| nearest(word, known);
        assert_eq!(of("tcp-strem"), Some("tcp-stream"));
        assert_eq!(of("tcp-rr"), Some("tcp-rr"));
        assert_eq!(of("utp-rr"), Some("udp-rr"), "one letter is nearer than two");
        assert_eq!(of("tdp-rr"), Some("tcp-rr"), "of two as near, the first");
        assert_eq!(of("abc-rr"), None, "three of six letters");
        assert_eq!(of(""), None);
        assert_eq!(nearest("x", []), None);
    }
}
