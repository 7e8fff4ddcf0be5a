//! A word that is typed without being shown.

use narrows_bmc::Secret;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io;

/// Longer words are no passwords.
const CHARACTERS_MAX: usize = 1024;

/// What a key does to the word.
#[derive(Debug, PartialEq)]
enum Typed {
    Goes(String),
    Done(String),
    Stopped,
}

/// A line from the terminal, without echo; `None` where Ctrl-C or Ctrl-D ended it. The terminal is
/// put back however it ends: a signal would leave it as it is, so Ctrl-C is read as a key.
pub fn secret() -> io::Result<Option<Secret>> {
    enable_raw_mode()?;
    let line = typed();
    disable_raw_mode()?;
    line
}

fn typed() -> io::Result<Option<Secret>> {
    let mut word = String::with_capacity(CHARACTERS_MAX);
    loop {
        let Event::Key(key) = event::read()? else { continue };
        match press(word, &key) {
            Typed::Goes(more) => word = more,
            Typed::Done(whole) => return Ok(Some(Secret::take(whole))),
            Typed::Stopped => return Ok(None),
        }
    }
}

fn press(mut word: String, key: &KeyEvent) -> Typed {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.kind == KeyEventKind::Release {
        return Typed::Goes(word);
    }
    match key.code {
        KeyCode::Enter => return Typed::Done(word),
        KeyCode::Char('c' | 'd') if with_control => {
            drop(Secret::take(word));
            return Typed::Stopped;
        }
        KeyCode::Char('u') if with_control => word.clear(),
        KeyCode::Char(c) if !with_control && word.len() < CHARACTERS_MAX => word.push(c),
        KeyCode::Backspace => drop(word.pop()),
        _ => {}
    }
    Typed::Goes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_a_word_and_control_c_ends_it() {
        let key = |code, with| KeyEvent::new(code, with);
        let plain = |c| key(KeyCode::Char(c), KeyModifiers::NONE);
        let held = |c| key(KeyCode::Char(c), KeyModifiers::CONTROL);
        let of = |keys: &[KeyEvent]| {
            keys.iter().fold(Typed::Goes(String::new()), |typed, key| match typed {
                Typed::Goes(word) => press(word, key),
                ended => ended,
            })
        };
        let enter = key(KeyCode::Enter, KeyModifiers::NONE);
        let back = key(KeyCode::Backspace, KeyModifiers::NONE);
        let word = |text: &str| Typed::Done(text.to_owned());
        assert_eq!(of(&[plain('a'), plain('\u{e4}'), back, plain('B'), enter]), word("aB"));
        assert_eq!(of(&[plain('a'), held('u'), plain('b'), enter]), word("b"));
        assert_eq!(of(&[plain('a'), held('c')]), Typed::Stopped);
        assert_eq!(of(&[plain('a')]), Typed::Goes("a".to_owned()));
    }
}
