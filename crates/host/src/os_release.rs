//! The text of os-release(5): the line with the name of a system.

use crate::garbled::Garbled;

/// What the line begins with, before its `=`.
pub(crate) const KEY: &str = "PRETTY_NAME";

/// The line that holds the name, as it stands; the last one counts, as in a shell.
pub(crate) fn line(text: &str) -> Option<&str> {
    text.lines().rfind(|line| line.trim_start().split('=').next() == Some(KEY))
}

/// The name without its quotes; `None` where no line tells one. An error is a quote without end.
pub(crate) fn name(text: &str) -> Result<Option<String>, Garbled> {
    let Some((_, value)) = line(text).and_then(|line| line.split_once('=')) else {
        return Ok(None);
    };
    let value = value.trim();
    let open = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let plain = match open {
        None => unescaped(value),
        Some(quote) => {
            let inside = &value[1..];
            let inside = inside.strip_suffix(quote);
            let inside = inside.ok_or_else(|| Garbled::Quote(value.to_owned()))?;
            // Nothing is escaped between single quotes.
            if quote == '"' { unescaped(inside) } else { inside.to_owned() }
        }
    };
    Ok((!plain.is_empty()).then_some(plain))
}

/// What a shell makes of it: a character behind a backslash is itself.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_with_quotes_and_without() {
        for (text, wanted) in [
            (
                "NAME=\"A\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
                "Debian GNU/Linux 12 (bookworm)",
            ),
            ("PRETTY_NAME='CentOS Linux 7 (Core)'\nID=c\n", "CentOS Linux 7 (Core)"),
            ("PRETTY_NAME=Alpine\n", "Alpine"),
            ("PRETTY_NAME=\"a \\\"b\\\" \\$c\"", "a \"b\" $c"),
            ("PRETTY_NAME='a\\b'", "a\\b"),
            ("PRETTY_NAME=first\nPRETTY_NAME=last\n", "last"),
        ] {
            assert_eq!(name(text).expect(text).as_deref(), Some(wanted), "{text}");
        }
        for none in ["", "NAME=x\n", "PRETTY_NAME=\n", "PRETTY_NAME=\"\"\n", "#PRETTY_NAME=x\n"] {
            assert_eq!(name(none).expect(none), None, "{none}");
        }
        for cut in ["PRETTY_NAME=\"Debian\n", "PRETTY_NAME=\"", "PRETTY_NAME='"] {
            assert!(name(cut).is_err(), "{cut}");
        }
    }
}
