//! Lists of CPUs as the kernel writes them.

/// Ascending numbers as ranges: `0-3,8`.
pub fn show(numbers: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let run = rest.iter().zip(*first..).take_while(|(have, want)| *have == want).count();
        let last = rest[run - 1];
        parts.push(if *first == last { format!("{first}") } else { format!("{first}-{last}") });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(show(&[]), "");
        assert_eq!(show(&[4]), "4");
        assert_eq!(show(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }
}
