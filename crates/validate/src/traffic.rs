//! Bytes that cross the memory bus for each byte on the wire, counted as in "Sockets vs. RDMA
//! Interface over 10-Gigabit Networks" (Balaji, Shah, Panda): rows with `path`, `case`,
//! `app_buffer`, and `ratio_min` and `ratio_max`.
//! The counting itself is `narrows_predict::bus`.

use super::{Answer, Comparison, Kind, Row, Table};
use narrows_predict::bus::{self, Buffer, Way};

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    if !table.rows().any(|row| is_of_traffic(&row)) {
        return None;
    }
    let mut answer = Answer {
        question: "memory bytes for each network byte",
        files: vec![table.name.clone()],
        ..Answer::default()
    };
    for row in table.rows().filter(is_of_traffic) {
        let range = ratio(&row);
        for (quantity, value) in
            [("ratio_min", range.map(|range| range.0)), ("ratio_max", range.map(|range| range.1))]
        {
            let mut cell = Comparison::new(&row, quantity, row.own(quantity));
            cell.predicted = value;
            if value.is_none() {
                cell.says = "path is none of rdma, zero-copy, sockets-rx, sockets-tx".to_owned();
            } else {
                cell.kind = Kind::Consistency;
                cell.bottleneck = "memory".to_owned();
            }
            answer.cells.push(cell);
        }
    }
    answer
        .remarks
        .push("the same counting as the source's: a check of the code, no prediction".into());
    Some(answer)
}

fn is_of_traffic(row: &Row<'_>) -> bool {
    row.has("path") && row.has("ratio_min")
}

/// Least and most bytes.
fn ratio(row: &Row<'_>) -> Option<(f64, f64)> {
    // Both are used, whatever comes of them: of a path without copies they change nothing, which is
    // an answer too.
    let is = |field: &str, word: &str| {
        row.text(field).is_some_and(|text| text.eq_ignore_ascii_case(word))
    };
    let (is_in, is_out) = (is("app_buffer", "in-cache"), is("app_buffer", "not-in-cache"));
    let all_well = is("case", "best") && is_in;
    let moves = match row.text("path")? {
        "rdma" | "zero-copy" => bus::DIRECT,
        "sockets-rx" => copied(Way::Receive, is_out, all_well),
        "sockets-tx" => copied(Way::Transmit, is_out, all_well),
        _ => return None,
    };
    Some((moves.least, moves.most))
}

/// What sockets move: at worst a program's buffer that would fit in the cache is not there, and
/// neither is the socket's.
fn copied(way: Way, is_out: bool, all_well: bool) -> bus::Moves {
    if all_well {
        return bus::copied(way, Buffer::Cached, Buffer::Cached);
    }
    bus::copied(way, if is_out { Buffer::Uncached } else { Buffer::Either }, Buffer::Either)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_sources() {
        let read = |path: &str, case: &str, buffer: &str| {
            let text = format!(
                "[[row]]\npath = '{path}'\ncase = '{case}'\napp_buffer = '{buffer}'\nratio_min = 1\n"
            );
            let table = Table::parse("t", &text).expect("a table");
            let row = table.rows().next().expect("a row");
            ratio(&row)
        };
        let of = |path: &str, case: &str, buffer: &str| read(path, case, buffer).expect("a range");
        assert_eq!(of("sockets-tx", "worst", "in-cache"), (1.0, 4.0));
        assert_eq!(of("sockets-tx", "worst", "not-in-cache"), (2.0, 4.0));
        assert_eq!(of("sockets-tx", "best", "in-cache"), (1.0, 1.0));
        assert_eq!(of("sockets-tx", "best", "not-in-cache"), (2.0, 4.0));
        assert_eq!(of("sockets-rx", "worst", "in-cache"), (2.0, 4.0));
        assert_eq!(of("sockets-rx", "worst", "not-in-cache"), (4.0, 4.0));
        assert_eq!(of("sockets-rx", "best", "in-cache"), (2.0, 2.0));
        assert_eq!(of("sockets-rx", "best", "not-in-cache"), (4.0, 4.0));
        assert_eq!(of("rdma", "any", "any"), (1.0, 1.0));
        // A word that begins or ends like one of these is another.
        assert_eq!(read("rdma-like", "any", "any"), None);
        assert_eq!(read("kernel-rx", "best", "in-cache"), None);
    }
}
