//! numademo's table of what was measured here: kernels by where the memory is, and what a copy at
//! that rate lets a core do in smallest packets.

use crate::table;
use narrows_predict::wire_rate::smallest_packets;
use narrows_stats::Summary;
use std::fmt::Write;

/// Of 10 GbE in frames of 64 B, millions a second.
const WIRE_MPPS: f64 = 14.88;
/// Clocks that are told, in GHz.
const CLOCKS_GHZ: [f64; 3] = [2.0, 3.0, 4.0];
/// The kernel whose rate stands for the memory.
const COPY: &str = "memcpy";

/// The table and its sentence; `local` is where the sentence takes its copy from.
pub fn text(summaries: &[Summary], local: &str) -> String {
    let mut places: Vec<&str> = Vec::new();
    let mut kernels: Vec<&str> = Vec::new();
    for (kernel, place) in summaries.iter().filter_map(|one| one.label.split_once(", ")) {
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mb_s = |kernel: &str, place: &str| {
        let label = format!("{kernel}, {place}");
        let found = summaries.iter().find(|one| one.label == label)?.estimate.as_ref()?;
        Some((found.value / 1e6, found.low / 1e6, found.high / 1e6))
    };
    let mut rows = vec![vec!["MB/s (interval, of few runs the range)".to_owned()]];
    rows[0].extend(kernels.iter().map(|kernel| (*kernel).to_owned()));
    for place in &places {
        rows.push(
            std::iter::once((*place).to_owned())
                .chain(kernels.iter().map(|kernel| match mb_s(kernel, place) {
                    Some((value, low, high)) => format!("{value:.0} ({low:.0} to {high:.0})"),
                    None => "-".to_owned(),
                }))
                .collect(),
        );
    }
    let mut text = format!("\nnumademo\n{}", table::lines(&rows, |at| at > 0));
    text += "  bytes read and written both count, as numademo counted until 2023; its memcpy\n  \
             reads one page of zeroes, here it reads as much memory as it writes; memory that\n  \
             is spread over nodes (interleave) is not measured\n";
    match mb_s(COPY, local) {
        Some((copy, ..)) => text += &packets(copy / 1e3),
        None => text += "  packets: unknown: needs a rate of memcpy\n",
    }
    text
}

/// What a core does in smallest packets where it copies so many GB/s.
fn packets(copy_gb_s: f64) -> String {
    let each = CLOCKS_GHZ.map(|ghz| {
        let (value, low, high) = smallest_packets(ghz, copy_gb_s);
        format!("{value:.1} M/s ({low:.1} to {high:.1}) at {ghz} GHz")
    });
    let mut text = format!("  smallest packets by poll mode, one core: {}\n", each.join(", "));
    let enough = (10..=60).map(|tenths| f64::from(tenths) / 10.0);
    let enough = enough.into_iter().find(|ghz| smallest_packets(*ghz, copy_gb_s).0 >= WIRE_MPPS);
    let _ = match enough {
        Some(ghz) => writeln!(text, "  {WIRE_MPPS} M/s, 10 GbE's, from {ghz:.1} GHz on"),
        None => writeln!(text, "  {WIRE_MPPS} M/s, 10 GbE's, at no clock up to 6 GHz"),
    };
    text + "  (a model of ntop's servers, docs/validate.md; narrows predict --set path=packets \
            --set cpu.ghz=GHZ)\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_the_clock_and_the_copy() {
        // 188.5 cycles and 174.5 B: 1e3 / (62.83 + 17.45) at 3 GHz and 10 GB/s.
        let text = packets(10.0);
        assert!(text.contains("12.5 M/s (10.9 to 14.2) at 3 GHz"), "{text}");
        // 1e3 / 14.88 less 17.45 ns leaves 49.75 for 188.5 cycles: 3.79 GHz.
        assert!(text.contains("10 GbE's, from 3.8 GHz on"), "{text}");
        // 87 ns of waiting are more than the wire's 67.
        assert!(packets(2.0).contains("at no clock"), "{}", packets(2.0));
    }
}
