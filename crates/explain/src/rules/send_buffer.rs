//! `send-buffer`: did the sender's buffer hold TCP back?
//!
//! What is not acknowledged yet must stay in the send buffer. The kernel counts the time in which
//! the buffer was full and the network would have taken more (`tcpi_sndbuf_limited`,
//! include/uapi/linux/tcp.h). With a CPU full at either end the buffer is not the cause.

use crate::measured::{self, Cell, finding};
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "send-buffer",
    asks: "Did the sender's buffer hold TCP back?",
    of_host: false,
    judge,
};

/// Share of the time from which the limit counts. Planted windows of 8 to 128 KiB between
/// namespaces gave 0.38 to 0.47 (the rest is the wake-ups), buffers left to the kernel none.
const LIMITED_SHARE: f64 = 0.25;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "no flow waited for its send buffer a quarter of the time", look)
}

fn look(cell: &Cell<'_>) -> Option<Option<Finding>> {
    let share = cell.limited_share("limited_by_send_buffer_ns")?;
    // A receiver or sender without CPU to give fills its buffers too: then they are not the cause.
    let limited = share >= LIMITED_SHARE && !cell.is_busy();
    Some(limited.then(|| {
        let buffer = cell.summary.effective.send_buffer_bytes;
        let rtt = cell.of_source(|end| Some(end.readings.sum("tcp-info", "rtt_ns")? as f64));
        let mut seen = format!(
            "the send buffer was full and the window open in {:.0} % of the time, counted by TCP",
            100.0 * share
        );
        seen += &buffer.map_or(String::new(), |bytes| format!("; buffer in force {bytes}"));
        seen += &rtt.map_or(String::new(), |ns| format!("; round trip {:.0} us", ns / 1e3));
        let says = format!(
            "The sender's buffer held TCP back in {}: neither end's CPU was full",
            cell.trial.label
        );
        finding(
            &RULE,
            cell,
            Weight::Advice,
            says,
            seen,
            match cell.trial.params.socket_buffer_bytes {
                Some(_) => {
                    "ask for a larger buffer (--window), or none: the kernel then sizes it itself"
                }
                None => "raise net.ipv4.tcp_wmem's largest at the sender",
            },
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found};

    #[test]
    fn time_at_the_limit_is_found_and_a_busy_end_is_another_matter() {
        let study = |share: u64, busy: bool| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.limited_by_send_buffer_ns", share * 10_000_000);
            for record in study.records.iter_mut().filter(|_| busy) {
                for end in [&mut record.sink, &mut record.source].into_iter().flatten() {
                    end.threads[0].system_ns = end.threads[0].wall_ns;
                }
            }
            study
        };
        assert!(is_found(&of_study(&RULE, &study(93, false))));
        assert!(is_clear(&of_study(&RULE, &study(20, false))));
        assert!(is_clear(&of_study(&RULE, &study(93, true))));
        assert!(is_clear(&of_study(&RULE, &stream("udp-stream"))));
    }
}
