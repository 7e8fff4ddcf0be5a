//! One text that holds many outputs: the files of a supportconfig, `nvidia-bug-report.log`, and the
//! page of a sysinfo-snapshot.

use std::borrow::Cow;

/// A piece of such a text: what was run or which file was copied, and the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The command or file that it shows: `/usr/sbin/dmidecode`, `/proc/cpuinfo`.
    pub what: &'a str,
    /// What the program printed, or the file held, without the line that announces it.
    pub text: &'a str,
    /// Whether it is a copy of a file and not the output of a program.
    pub is_file: bool,
}

/// How supportconfig begins a piece: `#==[ Command ]====#`, and `# WHAT` in the next line.
const SUPPORTCONFIG: &str = "#==[ ";
/// How nvidia-bug-report begins one, with `*** FILE` or the command in one of the next lines.
const RULE: &str = "____________________________________________";

/// How its last line begins.
const LOG_END: &str = "End of NVIDIA bug report log file";

/// How the page of a sysinfo-snapshot begins: a title, and sections with a heading each.
const SNAPSHOT: [&str; 2] = ["<h1>Mellanox Technologies</h1>", "<h2>"];

/// True for text in such pieces.
pub fn is_divided(text: &str) -> bool {
    if is_snapshot(text) {
        return true;
    }
    let lines = text.lines();
    lines.clone().any(|line| line.starts_with(SUPPORTCONFIG))
        || (text.contains("nvidia-bug-report") && lines.into_iter().any(|line| line == RULE))
}

/// True for the page that sysinfo-snapshot writes.
fn is_snapshot(text: &str) -> bool {
    SNAPSHOT.iter().all(|mark| text.contains(mark))
}

/// The page of a sysinfo-snapshot as plain text in pieces; any other text as it is. Sections that
/// put several outputs together have names with an underscore (`ethtool_all_interfaces`): they are
/// left out, for an output must be whole and one.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !is_snapshot(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for section in text.split("<h2>").skip(1) {
        let Some((what, rest)) = section.split_once("</h2>") else { continue };
        let body = rest.split_once("<p>").and_then(|(_, body)| body.split_once("</p>"));
        let Some((body, _)) = body else { continue };
        let what = decoded(what);
        if what.split(' ').next().is_some_and(|word| !word.contains('_')) {
            out += &format!("{SUPPORTCONFIG}Command ]====#\n# {what}\n{}\n", decoded(body));
        }
    }
    Cow::Owned(out)
}

/// Text of the page without its marks. The ampersand comes last, or `&amp;lt;` would be a mark.
fn decoded(html: &str) -> String {
    let marks = [
        ("<br/>", "\n"),
        ("&nbsp;&nbsp;&nbsp;&nbsp;", "\t"),
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    let text = marks.iter().fold(html.to_owned(), |text, (mark, is)| text.replace(mark, is));
    text.trim_end().to_owned()
}

/// True for a log that ends before its own last line: its last piece is not whole.
pub fn is_cut(text: &str) -> bool {
    text.lines().any(|line| line == RULE) && !text.contains(LOG_END)
}

/// The pieces of a text; what stands before the first is none, and a log that is cut short loses
/// its last, which may tell of less than there is.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(SUPPORTCONFIG) || line.trim_end() == RULE {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(text.len());
    let whole = starts.len() - usize::from(is_cut(text));
    let spans = starts[..whole].windows(2).map(|pair| &text[pair[0]..pair[1]]);
    spans.filter_map(piece).collect()
}

fn piece(span: &str) -> Option<Piece<'_>> {
    let (head, rest) = span.split_once('\n')?;
    if let Some(begun) = head.strip_prefix(SUPPORTCONFIG) {
        let (what, text) = rest.split_once('\n')?;
        let what = what.strip_prefix('#')?.split(" - ").next()?.trim();
        return Some(Piece { what, text, is_file: !begun.starts_with("Command") });
    }
    let rest = rest.trim_start_matches('\n');
    let (what, text) = rest.split_once('\n')?;
    match what.strip_prefix("*** ") {
        Some(file) => {
            // The listing of the file follows in lines of the same mark.
            let text = text.trim_start_matches('\n');
            let after = text.split_once('\n').filter(|(line, _)| line.starts_with("*** ls:"));
            Some(Piece {
                what: file.trim(),
                text: after.map_or(text, |(_, text)| text),
                is_file: true,
            })
        }
        None => Some(Piece { what: what.trim(), text, is_file: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_told_apart() {
        let text = "=== supportutils\n#==[ Command ]======================================#\n\
            # /usr/bin/lscpu\nArchitecture: x86_64\n\n\
            #==[ Configuration File ]===========================#\n# /proc/cpuinfo\nprocessor : 0\n";
        assert!(is_divided(text));
        let all = pieces(text);
        assert_eq!((all[0].what, all[0].is_file), ("/usr/bin/lscpu", false));
        assert_eq!(
            (all[1].what, all[1].text, all[1].is_file),
            ("/proc/cpuinfo", "processor : 0\n", true)
        );
        let text = format!(
            "Start of NVIDIA bug report log file. nvidia-bug-report.sh\n{RULE}\n\n\
             *** /proc/cpuinfo\n*** ls: -r--r--r-- 1 root root 0 /proc/cpuinfo\nprocessor : 0\n\
             {RULE}\n\n/usr/bin/lspci -nntv\n\n-[0000:00]-+-00.0\n{RULE}\n\n{LOG_END}.\n"
        );
        assert!(is_divided(&text));
        let all = pieces(&text);
        assert_eq!((all[0].what, all[0].text), ("/proc/cpuinfo", "processor : 0\n"));
        assert_eq!((all[1].what, all[1].is_file), ("/usr/bin/lspci -nntv", false));
        let cut = text.split("-[0000").next().expect("a log that ends early");
        assert_eq!(pieces(cut).len(), 1);
    }

    #[test]
    fn the_page_of_a_snapshot_is_its_outputs() {
        let page = "<html><body><pre><a name=\"index\"></a><h1>Mellanox Technologies</h1>\
            <h2>1. Server Commands: </h2><a name=\"sec1\"></a><h2>lscpu</h2>\
            <p>Architecture:&nbsp;&nbsp;&nbsp;&nbsp;x86_64<br/>CPU(s): 2<br/></p>\
            <a name=\"sec2\"></a><h2>ethtool_all_interfaces</h2><p>ethtool eth0<br/></p>\
            <h2>numactl --hardware</h2><p>available: 1 nodes (0) &lt;x&gt;<br/></p><h2>cut</h2><p>no end";
        assert!(is_divided(page));
        let text = plain(page);
        let all: Vec<(&str, &str)> =
            pieces(&text).iter().map(|piece| (piece.what, piece.text.trim_end())).collect();
        assert_eq!(
            all,
            [
                ("lscpu", "Architecture:\tx86_64\nCPU(s): 2"),
                ("numactl --hardware", "available: 1 nodes (0) <x>")
            ]
        );
        let other = "<h2>a page of something else</h2><p>x</p>";
        assert!(!is_divided(other) && matches!(plain(other), Cow::Borrowed(_)));
    }
}
