//! Times between sending and arriving, in words.

use narrows_stats::Summary;

/// The times that packets were on their way, where both ends have the same clock.
pub fn delays(summary: &Summary) -> Option<String> {
    let times = summary.delays.as_ref()?;
    Some(format!(
        "one way (one clock, to an eighth) p50 {}, p99 {}, p99.9 {}, max {}",
        super::time_or_dash(times.p50_ns),
        super::time_or_dash(times.p99_ns),
        super::time_or_dash(times.p999_ns),
        times.max_ns
    ))
}
