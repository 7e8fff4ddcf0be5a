//! Calls and packets behind a figure, in words.

use super::count;
use narrows_model::workload::Metric;
use narrows_stats::Summary;

/// System calls and packets a second, and what else the kernel said of the flows.
pub fn traffic(summary: &Summary) -> Option<String> {
    let traffic = summary.traffic.as_ref()?;
    // A workload that counts no calls has no flows that last.
    traffic.sender_calls_per_second.or(traffic.receiver_calls_per_second)?;
    let mut text = format!(
        "calls/s: sender {}, receiver {}",
        calls_or_dash(traffic.sender_calls_per_second),
        calls_or_dash(traffic.receiver_calls_per_second)
    );
    let (out, into) = (
        traffic.sender_interface_packets_per_second,
        traffic.receiver_interface_packets_per_second,
    );
    if out.is_some() || into.is_some() {
        let (out, into) = (calls_or_dash(out), calls_or_dash(into));
        text += &format!("; interface packets/s: {out} sent, {into} received");
    }
    if summary.metric == Metric::PacketRate {
        let sent = calls_or_dash(traffic.sender_messages_per_second);
        let came = calls_or_dash(traffic.receiver_messages_per_second);
        text += &format!("; counted by the ends: {sent} packets/s sent, {came} received");
    }
    if let Some(zero) = &summary.zero_copy {
        let share = 100.0 * zero.copied as f64 / zero.completed.max(1) as f64;
        let sends = count(zero.completed as f64);
        text += &format!("; of {sends} sends without a copy {share:.0} % were copied");
    }
    if let Some(bytes) = summary.verified_bytes {
        text += &format!("; {}", crate::rdma::compared(bytes));
    }
    Some(text)
}

fn calls_or_dash(calls: Option<f64>) -> String {
    calls.map_or("-".to_owned(), count)
}
