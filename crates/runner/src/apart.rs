//! Ends that did not meet, or whose frames do not pass, in the words of both.

use crate::steps::Broken;
use narrows_model::record::{Fault, Stage};

/// Two ends that did not meet, in the words of the one that calls, with the fault that it tells,
/// and, over UDP, of the one that listens, where that had heard nothing either. What failed there
/// for another reason is the cause.
pub fn told_by_both(
    at: Stage,
    calls: String,
    fault: Fault,
    listens: Result<(), Broken>,
    is_udp: bool,
) -> Broken {
    match listens {
        Err(Broken::Told(_, what, Fault::Apart)) if is_udp => {
            Broken::Told(at, format!("{calls}; {what}"), fault)
        }
        Err(Broken::Told(there, what, other)) if other != Fault::Apart => {
            Broken::Told(there, what, other)
        }
        Err(Broken::Stopped) => Broken::Stopped,
        _ => Broken::Told(at, calls, fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_did_not_meet_are_told_in_both_ends_words() {
        let of = |listens, is_udp| {
            let told =
                told_by_both(Stage::Start, "no answer".into(), Fault::Apart, listens, is_udp);
            let Broken::Told(at, why, fault) = told else { panic!("told as something else") };
            (at, why, fault)
        };
        let told = |fault| Err(Broken::Told(Stage::Run, "nothing arrived".into(), fault));
        let apart = |why: &str| (Stage::Start, why.to_owned(), Fault::Apart);
        assert_eq!(of(told(Fault::Apart), true), apart("no answer; nothing arrived"));
        assert_eq!(of(told(Fault::Apart), false), apart("no answer"));
        assert_eq!(of(Ok(()), true), apart("no answer"), "it has nothing to say");
        for is_udp in [false, true] {
            let cause = of(told(Fault::OutOfFiles), is_udp);
            assert_eq!(cause, (Stage::Run, "nothing arrived".to_owned(), Fault::OutOfFiles));
        }
        let stopped = Err(Broken::Stopped);
        let stopped = told_by_both(Stage::Start, "no answer".into(), Fault::Apart, stopped, false);
        let heard_nothing = told(Fault::Apart);
        let proof =
            told_by_both(Stage::Start, "no frame".into(), Fault::Machine, heard_nothing, true);
        let Broken::Told(_, why, fault) = proof else { panic!("told as something else") };
        assert_eq!((why.as_str(), fault), ("no frame; nothing arrived", Fault::Machine));
        assert!(matches!(stopped, Broken::Stopped), "the user stopped it");
    }
}
