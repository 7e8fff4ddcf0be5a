//! The table of servers for a wiki and as a page.

use crate::formats::{html, markdown as tables};
use crate::servers::{ServerRecord, origins, rows};
use maud::html;
use std::fmt::Write;

/// What the table is called.
const TITLE: &str = "Servers by what they do of the wire's rate";
/// What its figures are.
const SAYS: &str = "Millions of packets a second, of frames of the size that is named below; what is \
                    allowed is the model's.";

/// The table in Markdown.
pub fn markdown(all: &[ServerRecord]) -> String {
    let mut text = format!("# {TITLE}\n\n{SAYS}\n\n");
    tables::table(&mut text, &rows(all));
    for line in origins(all) {
        let _ = writeln!(text, "- {line}");
    }
    tables::without_markup(&text)
}

/// The table as a page.
pub fn page(all: &[ServerRecord]) -> String {
    let rows = rows(all);
    let (head, rest) = rows.split_at(rows.len().min(1));
    let content = html! {
        h1 { (TITLE) }
        p { (SAYS) }
        div class="scroll" { table {
            thead { @for row in head { tr { @for cell in row { th { (cell) } } } } }
            tbody { @for row in rest { tr { @for cell in row { td { (cell) } } } } }
        } }
        ul { @for line in origins(all) { li { (line) } } }
    };
    html::page_of(TITLE, &content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::{Source, record};
    use crate::wire::Asked;
    use narrows_model::host::Host;
    use narrows_predict::Said;

    #[test]
    fn the_table_is_also_markdown_and_a_page_whose_names_are_no_markup() {
        let (host, said) =
            (Host::default(), Said::from([("memory.core_gb_s".into(), "34.9".into())]));
        let asked = Asked { host: &host, analysis: None, also: None, said: &said, nic: None };
        let mut one = record(&Source { name: "direct".to_owned(), asked }).expect("a server");
        one.server = "a|b <b>c</b>".to_owned();
        let published = ServerRecord { published: true, file: "t.toml".to_owned(), ..one.clone() };
        let all = [one, published.clone(), published];
        let text = markdown(&all);
        let row = text.lines().find(|line| line.starts_with("| a")).expect("a row");
        assert!(row.starts_with("| a\\|b &lt;b>c") && row.ends_with(" (model) |"), "{text}");
        assert_eq!(text.matches("- published, not measured here: t.toml").count(), 1, "{text}");
        let page = page(&all);
        assert!(page.contains("<td>a|b &lt;b&gt;c&lt;/b&gt;</td>"), "{page}");
        assert_eq!(page.matches("<tr>").count(), 4, "{page}");
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("34.90 said"), "{page}");
    }
}
