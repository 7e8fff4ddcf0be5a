//! Text files that the user names.

use crate::cause::Cause;
use crate::failure::Failure;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No study, table or description of a server is as long; a device such as /dev/zero has no end.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The text of a file, or why it cannot be read.
pub fn text(path: &Path) -> Result<String, Failure> {
    text_of(path, TEXT_BYTES_MAX)
}

fn text_of(path: &Path, bytes_max: u64) -> Result<String, Failure> {
    let unread = |error| Failure::unread(path, &error);
    let mut text = String::new();
    let file = File::open(path).map_err(unread)?;
    file.take(bytes_max + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > bytes_max {
        let says = format!("{} is longer than {bytes_max} B, or has no end", path.display());
        return Err(Failure::of(Cause::NOT_TEXT, says));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_not_read() {
        let endless = text_of(Path::new("/dev/zero"), 1000);
        let why = endless.err().map_or_else(String::new, |why| format!("{why:?}"));
        assert!(why.contains("longer than 1000 B, or has no end"), "{why}");
        let file = std::env::temp_dir().join(format!("narrows-input-{}", std::process::id()));
        std::fs::write(&file, "123").expect("a file");
        assert_eq!(text_of(&file, 3).ok().as_deref(), Some("123"));
        assert!(text_of(&file, 2).is_err());
        std::fs::remove_file(&file).expect("what was made");
        assert!(text(&file).is_err(), "it is gone");
    }
}
