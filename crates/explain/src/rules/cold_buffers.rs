//! `cold-buffers`: were the buffers larger than the caches?
//!
//! A sender that reads each message from memory, and a receiver that writes it there, move every
//! byte over the memory bus once more than tools that use one small buffer over and over. No fault:
//! what most programs do. But not to be set beside figures of a hot buffer.

use crate::measured::{self, finding};
use crate::{Case, Rule};
use narrows_facts::result::{Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "cold-buffers",
    asks: "Were the buffers larger than the caches?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let cache = case.study.study.cache_bytes;
    measured::judge(case, "buffers fitted the caches", |cell| {
        let stream = cell.trial.params.stream.as_ref();
        let span = stream.and_then(|stream| stream.span_bytes);
        if cache.0 == 0 {
            return None;
        }
        let cold = span.filter(|span| span.0 > cache.0);
        Some(cold.map(|span| {
            let says = format!(
                "{} went through {span} of buffers, the caches are {cache}: every byte came from \
                 memory and went there",
                cell.trial.label
            );
            let seen = format!("span {span} at each end, last-level caches {cache}");
            let remedy =
                "compare only with figures of cold buffers; --buffer hot is what iperf3 does";
            finding(&RULE, cell, Weight::Caution, says, seen, remedy)
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found};
    use narrows_facts::Bytes;
    use narrows_facts::load::StreamParams;

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
