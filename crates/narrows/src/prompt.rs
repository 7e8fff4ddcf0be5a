//! A word that is typed without being shown.

use narrows_bmc::Secret;
use nix::sys::termios::{
    InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use std::fs::File;
use std::io::{self, Read};

/// Longer lines are no passwords; the kernel keeps no more of one.
const LINE_BYTES_MAX: usize = 4096;
/// What Ctrl-C sends.
const INTERRUPT: u8 = 3;
const SWITCHED_OFF: u8 = 0;

/// A line from the terminal, without echo; `None` where Ctrl-C or Ctrl-D ended it. The terminal is
/// put back however it ends: a signal would leave it as it is, so Ctrl-C is read as a key.
pub fn secret() -> io::Result<Option<Secret>> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    Ok(of_terminal(&terminal)?.map(Secret::take))
}

fn of_terminal(terminal: &File) -> io::Result<Option<String>> {
    let was = tcgetattr(terminal)?;
    tcsetattr(terminal, SetArg::TCSAFLUSH, &unseen(was.clone()))?;
    let line = typed(terminal);
    tcsetattr(terminal, SetArg::TCSAFLUSH, &was)?;
    line
}

/// The kernel still edits the line, and Ctrl-C ends it.
fn unseen(mut terminal: Termios) -> Termios {
    terminal.local_flags &= !(LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ISIG);
    terminal.local_flags |= LocalFlags::ICANON;
    terminal.input_flags |= InputFlags::ICRNL | InputFlags::IUTF8;
    terminal.control_chars[SpecialCharacterIndices::VEOL as usize] = INTERRUPT;
    terminal.control_chars[SpecialCharacterIndices::VEOL2 as usize] = SWITCHED_OFF;
    terminal
}

fn typed(mut terminal: &File) -> io::Result<Option<String>> {
    // In one read, so that no shorter copy is left behind.
    let mut line = vec![0; LINE_BYTES_MAX];
    let count = terminal.read(&mut line)?;
    line.truncate(count);
    // What is left at an end that is none was typed before Ctrl-D.
    let is_whole = line.last() == Some(&b'\n');
    let word = String::from_utf8(line).map_err(|_| io::Error::other("what was typed is no UTF-8"));
    match is_whole {
        true => word.map(Some),
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;
    use std::io::Write;
    use std::time::Duration;

    /// What is read where these keys are pressed, and what the screen showed.
    fn pressed(keys: &str) -> (Option<String>, Vec<u8>) {
        let pair = openpty(None, None).expect("a terminal");
        let (mut user, terminal) = (File::from(pair.master), File::from(pair.slave));
        let before = tcgetattr(&terminal).expect("modes");
        let own = terminal.try_clone().expect("a copy");
        let reader = std::thread::spawn(move || of_terminal(&own).expect("a line"));
        // What is typed before the question is thrown away.
        while tcgetattr(&terminal).expect("modes").local_flags.contains(LocalFlags::ECHO) {
            std::thread::sleep(Duration::from_millis(1));
        }
        user.write_all(keys.as_bytes()).expect("typed");
        let line = reader.join().expect("read");
        assert_eq!(tcgetattr(&terminal).expect("modes"), before, "the terminal is not put back");
        drop(terminal);
        let mut shown = Vec::new();
        // The kernel says EIO where nobody holds the other side any more.
        let _ = user.read_to_end(&mut shown);
        (line, shown)
    }

    #[test]
    fn keys_make_a_word_that_no_screen_shows_and_control_c_ends_it() {
        for (keys, word) in [
            ("a\u{e4}\x7fB\r", Some("aB\n")),
            ("a\x15b\n", Some("b\n")),
            ("a\x03", None),
            ("\x04", None),
            ("a\x04", None),
        ] {
            let (line, shown) = pressed(keys);
            assert_eq!(line.as_deref(), word, "{keys:?}");
            assert_eq!(shown, b"", "{keys:?}");
        }
    }
}
