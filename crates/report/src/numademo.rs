//! numademo's table of what was measured here: kernels by where the memory is, and what a copy at
//! that rate lets a core do in smallest packets.

use crate::table;
use narrows_model::result::Estimate;
use narrows_model::workload::Kernel;
use narrows_predict::wire_rate::smallest_packets;
use std::fmt::Write;

/// Of 10 GbE in frames of 64 B, millions a second.
const WIRE_MPPS: f64 = 14.88;
/// Clocks that are told, in GHz.
const CLOCKS_GHZ: [f64; 3] = [2.0, 3.0, 4.0];
/// The kernel whose rate stands for the memory.
const COPY: Kernel = Kernel::Memcpy;

/// One cell of the table.
pub struct KernelRate {
    pub kernel: Kernel,
    /// What numademo calls where its memory is.
    pub place: String,
    pub rate: Option<Estimate>,
}

/// The table and its sentence, which takes its copy from the memory of the thread's own node;
/// `local` is what that is called.
pub fn text(cells: &[KernelRate], local: &str) -> String {
    let mut places: Vec<&str> = Vec::new();
    let mut kernels: Vec<Kernel> = Vec::new();
    for cell in cells {
        if !kernels.contains(&cell.kernel) {
            kernels.push(cell.kernel);
        }
        if !places.contains(&cell.place.as_str()) {
            places.push(&cell.place);
        }
    }
    let mb_s = |kernel: Kernel, place: &str| {
        let mut of = cells.iter().filter(|cell| cell.kernel == kernel && cell.place == place);
        let found = of.find_map(|cell| cell.rate)?;
        Some((found.value / 1e6, found.low / 1e6, found.high / 1e6))
    };
    let mut rows = vec![vec!["MB/s (interval, of few runs the range)".to_owned()]];
    rows[0].extend(kernels.iter().map(|kernel| kernel.name().to_owned()));
    for place in places {
        let figures = kernels.iter().map(|kernel| match mb_s(*kernel, place) {
            Some((value, low, high)) => format!("{value:.0} ({low:.0} to {high:.0})"),
            None => "-".to_owned(),
        });
        rows.push(std::iter::once(place.to_owned()).chain(figures).collect());
    }
    let mut text = format!("\nnumademo\n{}", table::lines(&rows, |at| at > 0));
    text += "  bytes read and written both count, as numademo counted until 2023; its memcpy\n  \
             reads one page of zeroes, here it reads as much memory as it writes\n";
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
    use narrows_model::result::Method;
    use narrows_model::units::Unit;

    #[test]
    fn a_row_is_a_node_and_a_column_a_kernel() {
        let cell = |kernel, place: &str, gb_s: f64| {
            let value = gb_s * 1e9;
            let (low, high, unit, by) = (value, value, Unit::BytesPerSecond, Method::Range);
            let place = place.to_owned();
            KernelRate { kernel, place, rate: Some(Estimate { value, low, high, unit, n: 3, by }) }
        };
        let cells = [
            cell(Kernel::Memcpy, "local", 10.0),
            cell(Kernel::Read, "local", 12.0),
            cell(Kernel::Memcpy, "memory on node 1", 7.0),
        ];
        let text = text(&cells, "local");
        let words = |from: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(from));
            line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(words("MB/s").ends_with("memcpy read"), "{text}");
        assert_eq!(words("local"), "local 10000 (10000 to 10000) 12000 (12000 to 12000)");
        assert_eq!(words("memory on"), "memory on node 1 7000 (7000 to 7000) -");
        assert!(text.contains("12.5 M/s (10.9 to 14.2) at 3 GHz"), "{text}");
    }

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
