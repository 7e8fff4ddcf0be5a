//! Times between sending and arriving, in words.

use narrows_model::Nanos;
use narrows_stats::Summary;

/// The times that packets were on their way, where both ends have the same clock.
pub fn delays(summary: &Summary) -> Option<String> {
    let times = summary.delays.as_ref()?;
    let shown = |ns: Option<Nanos>| ns.map_or("-".to_owned(), |ns| ns.to_string());
    Some(format!(
        "one way (one clock, to an eighth) p50 {}, p99 {}, p99.9 {}, max {}",
        shown(times.p50_ns),
        shown(times.p99_ns),
        shown(times.p999_ns),
        times.max_ns
    ))
}
