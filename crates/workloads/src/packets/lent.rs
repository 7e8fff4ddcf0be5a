//! Proof that frames pass between an interface of this host and one that an agent's owner lends,
//! before any is sent at a rate. The controller's end knows the other's MAC address, as its agent
//! told it, and asks with numbered frames that hold the trial's token; the agent's end answers
//! whoever has the token, and nobody else ever gets a frame of it.

use super::cable::{self, AGAIN, BYTES, Frame, WITHIN};
use super::frame::{Mac, at};
use super::link::Link;
use crate::LoadError;
use crate::harness::meet::Token;
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Frames that have to come back, by their numbers from 0.
const NUMBERED: u8 = 3;
/// The number's place in a frame: behind the token.
const NUMBER: usize = at::IP + size_of::<Token>();
/// How often it is said that all have come back: each may be lost.
const OVER_SAID: usize = 3;
/// Who asks and has not heard the last answer asks again sooner.
const QUIET: Duration = Duration::from_millis(400);

/// The MAC address of the other host's interface, once frames have gone both ways: the one that is
/// told here, and else that of whoever has the token.
pub fn prove(own: &Link, told: Option<Mac>, other: &str, token: &Token) -> Result<Mac, LoadError> {
    let socket = cable::open(own)?;
    let until = Instant::now() + WITHIN;
    let (proved, doing) = match told {
        Some(mac) if mac.is_of_many() => {
            return Err(LoadError::Order(format!("{mac} of {other} is a group address")));
        }
        Some(mac) => (ask(&socket, own.mac, mac, token), "a frame to"),
        None => (answer(&socket, own.mac, token, until), "a frame from"),
    };
    let doing = format!("{doing} {other} of the other host, by {}", own.name);
    let missing = format!(
        "no frame went from {} to {other} of the other host and back within {WITHIN:?}: a cable or \
         a switch has to join the two, and both have to be up",
        own.name
    );
    match (proved, told) {
        (Ok(Some(mac)), _) => Ok(mac),
        (Ok(None), Some(_)) => Err(LoadError::Order(missing)),
        // The end that asks knows more of it.
        (Ok(None), None) => {
            Err(LoadError::Apart(format!("none with the trial's token came to {}", own.name)))
        }
        (Err(why), _) => Err(cable::not_sent(own, doing, why)),
    }
}

/// A frame with a number.
fn numbered(from: Mac, to: Mac, token: &Token, number: u8) -> Frame {
    let mut frame = cable::frame(from, to, token);
    frame[NUMBER] = number;
    frame
}

/// Sends each number until it comes back; `None` where one does not.
fn ask(socket: &File, own: Mac, far: Mac, token: &Token) -> io::Result<Option<Mac>> {
    for number in 0..NUMBERED {
        let asked = numbered(own, far, token, number);
        let answer = numbered(far, own, token, number);
        if !cable::crosses(&asked, &answer, socket, socket)? {
            return Ok(None);
        }
    }
    for _ in 0..OVER_SAID {
        (&*socket).write_all(&numbered(own, far, token, NUMBERED))?;
    }
    Ok(Some(far))
}

/// What the end that answers has heard.
#[derive(Default)]
struct Heard {
    from: Option<Mac>,
    numbers: [bool; NUMBERED as usize],
    is_over: bool,
}

impl Heard {
    /// Takes a frame; what is to be sent for it. Others' frames, and those to others, are left
    /// alone; the first that has the token is the other end.
    fn take(&mut self, frame: &Frame, own: Mac, token: &Token) -> Option<Frame> {
        let from = Mac(frame[6..12].try_into().ok()?);
        let number = frame[NUMBER];
        let is_known = self.from.is_none_or(|known| known == from);
        if *frame != numbered(from, own, token, number) || from.is_of_many() || !is_known {
            return None;
        }
        self.from = Some(from);
        match self.numbers.get_mut(usize::from(number)) {
            Some(heard) => *heard = true,
            None => self.is_over = true,
        }
        (number < NUMBERED).then(|| numbered(own, from, token, number))
    }

    /// The other end's address, when every number has come and it has said that it is over or has
    /// been quiet for so long.
    fn proved(&self, quiet: Duration) -> Option<Mac> {
        let all = self.numbers.iter().all(|heard| *heard);
        self.from.filter(|_| all && (self.is_over || quiet >= QUIET))
    }
}

/// Answers until the other end has heard it; `None` where it does not come.
fn answer(socket: &File, own: Mac, token: &Token, until: Instant) -> io::Result<Option<Mac>> {
    let (mut heard, mut latest) = (Heard::default(), Instant::now());
    loop {
        if let Some(mac) = heard.proved(latest.elapsed()) {
            return Ok(Some(mac));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let Some(frame) = cable::hear(socket, AGAIN.min(left))? else { continue };
        if let Some(back) = heard.take(&frame, own, token) {
            latest = Instant::now();
            (&*socket).write_all(&back)?;
        }
    }
}

const _: () = assert!(NUMBER < BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = [7; 16];

    fn macs() -> [Mac; 3] {
        ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"]
            .map(|mac| mac.parse().expect("a MAC"))
    }

    #[test]
    fn each_number_is_answered_to_whoever_has_the_token_and_to_nobody_else() {
        let [near, far, third] = macs();
        let mut heard = Heard::default();
        for wrong in [
            numbered(near, far, &[8; 16], 0),
            numbered(near, third, &TOKEN, 0),
            numbered("01:00:5e:00:00:01".parse().expect("a MAC"), far, &TOKEN, 0),
            numbered(Mac([0; 6]), far, &TOKEN, 0),
        ] {
            assert_eq!(heard.take(&wrong, far, &TOKEN), None, "{wrong:?}");
            assert_eq!(heard.from, None);
        }
        let mut longer = numbered(near, far, &TOKEN, 0);
        longer[BYTES - 1] = 1;
        assert_eq!(heard.take(&longer, far, &TOKEN), None, "not as the other end makes it");
        for number in [0, 2] {
            let back = heard.take(&numbered(near, far, &TOKEN, number), far, &TOKEN);
            assert_eq!(back, Some(numbered(far, near, &TOKEN, number)));
        }
        assert_eq!(heard.take(&numbered(third, far, &TOKEN, 1), far, &TOKEN), None, "another");
        assert_eq!(heard.take(&numbered(near, far, &TOKEN, NUMBERED), far, &TOKEN), None);
        assert_eq!(heard.proved(QUIET), None, "one is missing");
        heard.take(&numbered(near, far, &TOKEN, 1), far, &TOKEN);
        assert_eq!(heard.proved(Duration::ZERO), Some(near), "it said that it is over");
        heard.is_over = false;
        assert_eq!(heard.proved(QUIET / 2), None, "it may ask again");
        assert_eq!(heard.proved(QUIET), Some(near));
    }

    #[test]
    fn a_frame_has_its_number_behind_the_token() {
        let [near, far, _] = macs();
        let frame = numbered(near, far, &TOKEN, 2);
        assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        assert_eq!(frame[12..31], [&[0x88, 0xb5][..], &[7; 16], &[2]].concat());
    }
}
