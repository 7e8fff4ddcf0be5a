//! A table to begin with: what `narrows predict --published new` prints.

/// A whole table with one row of the commonest kind; a test reads it.
pub const TEMPLATE: &str = r#"# One source a file. Facts only: what was run on what, and what came out.
# docs/validate.md lists the fields; one that is unknown, or goes into no figure, is refused.
[source]
title = "who measured, where it is published, when"
url = "https://..."
part = "held-out"        # or "fitted", once a constant was chosen with it in view

[units]
tcp_gbps = "Gb/s of payload, median of 10 runs of 30 s"

[system]                 # what all rows have in common
cpu = "Intel Xeon Gold 6248"
link_gbps = 100

[[row]]
server = "one stream"    # for people
streams = 1
mtu = 9000
tcp_gbps = 30.0
source = "table 3"       # where this row is from, if not all are from one place
"#;

#[cfg(test)]
mod tests {
    use super::super::{Calibration, Table, predict};
    use super::*;

    #[test]
    fn what_is_printed_is_a_table_that_reads() {
        let table = Table::parse("new", TEMPLATE).expect("a table");
        assert_eq!((table.part(), table.unsourced()), (Calibration::HeldOut, None));
        let answers = predict(&[table]);
        assert!(answers[0].cells[0].predicted.is_some(), "{answers:?}");
    }

    #[test]
    fn a_row_without_a_source_is_found_by_its_number() {
        let text = "[[row]]\nways = 6\nmts = 2933\ngb_s = 1\nsource = 'x'\n\
                    [[row]]\nways = 6\nmts = 2933\ngb_s = 1\n";
        let table = Table::parse("t", text).expect("a table");
        assert_eq!(table.unsourced(), Some(2));
        let part = Table::parse("t", "[source]\npart = 'secret'\n[[row]]\nname = 'x'\nvalue = 1\n");
        assert!(
            part.err().is_some_and(|why| why.to_string().contains("neither held-out nor fitted"))
        );
    }
}
