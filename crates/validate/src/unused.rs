//! Fields of a table that the questions of its rows do not use. Which are used is not listed
//! anywhere: it is noted as answers read them.

use super::fields;
use super::refused::Refused;
use super::{Answer, Table, figures, links, packets, rdma, sockets, tcp, traffic, trips};
use std::cell::RefCell;
use std::collections::BTreeSet;
use toml::Table as Fields;

/// Names of the fields that were read so far.
#[derive(Clone, Default)]
pub struct Reads(RefCell<BTreeSet<String>>);

impl Reads {
    /// Notes that a question has used this field.
    pub fn note(&self, field: &str) {
        self.0.borrow_mut().insert(field.to_owned());
    }

    /// What was read on the way to nothing was not used.
    pub fn counting<T>(&self, solve: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.0.borrow().clone();
        let solved = solve();
        if solved.is_none() {
            *self.0.borrow_mut() = before;
        }
        solved
    }
}

type Ask = fn(&Table) -> Vec<Answer>;

/// Every question, of a table of one row.
const QUESTIONS: [Ask; 10] = [
    |table| sockets::answers(std::slice::from_ref(table)),
    |table| rdma::answer(table).into_iter().collect(),
    |table| packets::answer(table).into_iter().collect(),
    |table| tcp::answer(table).into_iter().collect(),
    |table| tcp::answer_unnamed(table).into_iter().collect(),
    |table| tcp::answer_datagrams(table).into_iter().collect(),
    |table| trips::answer(table).into_iter().collect(),
    |table| traffic::answer(table).into_iter().collect(),
    |table| figures::answer(table).into_iter().collect(),
    links::answers,
];

/// Refuses a field that stands in a row, or in the system of all rows, and goes into no figure of
/// it: who wrote it would take it for considered. Rows without a figure are left out, for they are
/// told what they lack.
pub fn check(table: &Table) -> Result<(), Refused> {
    let mut by_system = BTreeSet::new();
    let mut all_asked = true;
    for (at, row) in table.rows.iter().enumerate() {
        let (questions, used) = used(table, row);
        all_asked &= !questions.is_empty();
        if questions.is_empty() {
            continue;
        }
        if let Some(field) = first(row, &used) {
            return Err(Refused::Unused {
                at: format!("row {}", at + 1),
                field: field.to_owned(),
                questions,
            });
        }
        by_system.extend(used);
    }
    match first(&table.system, &by_system).filter(|_| all_asked) {
        Some(field) => Err(Refused::Unused {
            at: "[system]".to_owned(),
            field: field.to_owned(),
            questions: Vec::new(),
        }),
        None => Ok(()),
    }
}

/// The first field that was not used and does not only describe.
fn first<'f>(fields: &'f Fields, used: &BTreeSet<String>) -> Option<&'f str> {
    let mut names = fields.keys().map(String::as_str);
    names.find(|name| !used.contains(*name) && !fields::describes(name))
}

/// The questions that a row has a figure of, and the fields that went into it.
fn used(table: &Table, row: &Fields) -> (Vec<&'static str>, BTreeSet<String>) {
    let (mut questions, mut used) = (Vec::new(), BTreeSet::new());
    for ask in QUESTIONS {
        let alone = Table { rows: vec![row.clone()], reads: Reads::default(), ..table.clone() };
        for answer in ask(&alone) {
            // Single figures are told that the model does not speak of them, one by one.
            let single = answer.question == figures::QUESTION;
            if single || answer.cells.iter().any(|cell| cell.predicted.is_some()) {
                questions.push(answer.question);
                used.extend(alone.reads.0.borrow().iter().cloned());
            }
        }
    }
    (questions, used)
}

#[cfg(test)]
mod tests {
    use super::super::Table;

    fn refused(text: &str) -> String {
        Table::parse("t", text).err().map_or_else(String::new, |why| why.to_string())
    }

    #[test]
    fn a_field_that_goes_into_no_figure_is_refused_by_name() {
        let row = |fields: &str| refused(&format!("[[row]]\n{fields}\n"));
        // A known field each, of another question.
        let cases = [
            ("ways = 6\nmts = 2933\nread_gb_s = 1\nmtu = 9000", "mtu"),
            ("ways = 6\nmts = 2933\nread_gb_s = 1\npcie_gen = 3", "pcie_gen"),
            ("pcie_gen = 3\nwidth = 16\ngbps = 1\nlatency_ns = 80", "latency_ns"),
            ("pcie_gen = 3\nwidth = 16\ngbps = 1\nmtu = 1500", "mtu"),
            ("protocol = 'tcp'\nmtu = 1500\nlink_gbps = 10\ngbps = 9\nmessage = 64", "message"),
            ("protocol = 'rocev2'\nlink_gbps = 10\ngbps = 9\ntimestamps = true", "timestamps"),
            ("protocol = 'rocev2'\nlink_gbps = 10\ngbps = 9\nmpps = 3", "mpps"),
            ("protocol = 'rocev2'\nlink_gbps = 10\ngbps = 9\nmtu = 1500\npath_mtu = 512", "mtu"),
            ("frame = 64\nlink_gbps = 10\nmpps = 14\nwidth = 8", "width"),
            ("frame = 64\nframe_bytes = 64\nlink_gbps = 10\nmpps = 14", "frame_bytes"),
            ("name = 'x'\nvalue = 1\nmtu = 1500", "mtu"),
            ("path = 'rdma'\nratio_min = 1.0\nratio_max = 1.0\nmtu = 1500", "mtu"),
            ("mem_mb_s = 9000\nmpps = 14\ncpu_turbo_ghz = 3\nmps = 256", "mps"),
            (
                "cpu = 'Xeon Platinum 8280'\nmts = 2933\nlink_gbps = 100\ndimms = 6\n\
              tcp_gbps = 88\ntimestamps = true",
                "timestamps",
            ),
        ];
        for (fields, unused) in cases {
            let why = row(fields);
            assert!(why.contains(&format!("row 1: {unused} is not used")), "{fields}: {why}");
            let without: Vec<&str> =
                fields.lines().filter(|line| !line.starts_with(&format!("{unused} "))).collect();
            assert_eq!(row(&without.join("\n")), "", "{fields}");
        }
    }

    /// What a case changes nothing of is an answer too.
    #[test]
    fn every_case_of_memory_traffic_is_accepted() {
        for (path, case, buffer) in [
            ("sockets-tx", "worst", "not-in-cache"),
            ("sockets-rx", "best", "in-cache"),
            ("rdma", "any", "any"),
        ] {
            let row = format!("path = '{path}'\ncase = '{case}'\napp_buffer = '{buffer}'");
            assert_eq!(refused(&format!("[[row]]\n{row}\nratio_min = 1\n")), "", "{row}");
        }
    }

    #[test]
    fn a_field_of_the_system_is_used_by_some_row_or_refused() {
        let of = |system: &str| {
            let rows = "[[row]]\nways = 6\ngb_s = 1\n[[row]]\nprotocol = 'tcp'\ngbps = 1\n\
                        link_gbps = 10\nmtu = 1500\n";
            refused(&format!("[system]\nmts = 2933\n{system}\n{rows}"))
        };
        assert_eq!(of("timestamps = false"), "");
        assert_eq!(of("server = 'a server'\ncpu = 'a processor'"), "");
        assert!(
            of("pcie_gen = 3").contains("[system]: pcie_gen is not used"),
            "{}",
            of("pcie_gen = 3")
        );
    }
}
