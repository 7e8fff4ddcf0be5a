//! `cold-buffers`: were the buffers larger than the caches?
//!
//! A sender that reads each message from memory, and a receiver that writes it there, move every
//! byte over the memory bus once more than tools that use one small buffer over and over. No fault:
//! what most programs do. But not to be set beside figures of a hot buffer.

use crate::measured::{self, Blind, finding};
use crate::{Case, Rule};
use narrows_model::result::{Activity, Missing, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "cold-buffers",
    asks: "Were the buffers larger than the caches?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let cache = case.study.study.cache_bytes;
    measured::judge(case, Needed::Stream, Some(Activity::IsStream), |cell| {
        let stream = cell.trial.params.stream.as_ref();
        if stream.is_none() && !cell.is_network_stream() {
            return Err(Blind::OtherKind);
        }
        // Without a span each flow uses its one buffer of a message over and over.
        let span = stream.and_then(|stream| stream.span_bytes);
        let span = span.unwrap_or(cell.trial.params.message_bytes);
        if cache.0 == 0 {
            return Err(Blind::Lacks(Missing::unread("size of the last-level caches")));
        }
        let seen = format!("span {span} at each end, last-level caches {cache}");
        let wrong = (span.0 > cache.0).then(|| {
            let says = format!(
                "{} went through {span} of buffers, the caches are {cache}: every byte came from \
                 memory and went there",
                cell.trial.label
            );
            let remedy =
                "compare only with figures of cold buffers; --buffer hot is what iperf3 does";
            finding(&RULE, cell, Weight::Caution, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found};
    use narrows_model::Bytes;
    use narrows_model::load::StreamParams;

    #[test]
    fn a_span_beyond_the_caches_is_told() {
        let study = |span: Option<u64>| {
            let mut study = stream("tcp-stream");
            study.study.cache_bytes = Bytes(32 << 20);
            study.trials[0].params.stream =
                Some(StreamParams { span_bytes: span.map(Bytes), ..StreamParams::default() });
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(Some(64 << 20)))));
        assert!(is_clear(&of_study(&RULE, &study(Some(1 << 20)))));
        assert!(is_clear(&of_study(&RULE, &study(None))));
    }
}
