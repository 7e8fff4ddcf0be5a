//! Whatever is accepted of published tables gives figures above zero with a range around them. By a
//! seeded loop.

use narrows_validate::{Table, predict};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn of<'a, T>(random: &mut Pcg64, all: &'a [T]) -> &'a T {
    &all[random.random_range(0..all.len())]
}

/// A number of any size: in a key's bound, at its ends, just beyond them or anywhere.
fn number(random: &mut Pcg64, low: f64, high: f64, whole: bool) -> f64 {
    let inside = low * (high / low.max(1e-9)).powf(random.random::<f64>());
    let inside = inside.clamp(low, high);
    let value = match random.random_range(0..24u32) {
        0 => low,
        1 => high,
        2 => low - 1.0,
        3 => high * 1.01 + 1.0,
        4 => -inside,
        5 => 0.0,
        _ => inside,
    };
    if whole { value.round() } else { value }
}

fn good((low, value, high): (f64, f64, f64)) -> bool {
    let all = [low, value, high];
    all.iter().all(|n| n.is_finite() && *n > 0.0) && low <= value && value <= high
}

/// Rows of every question, with numbers of any size.
#[test]
fn tables_that_are_accepted_give_ranges_around_figures() {
    let shapes: &[&[&str]] = &[
        &["pcie_gen", "width", "mps", "size", "gbps"],
        &["pcix_mhz", "bits", "read_gb_s"],
        &["upi_links", "gt_s", "gb_s"],
        &["ways", "mts", "read_gb_s"],
        &["channels", "mts", "sockets", "triad_gb_s"],
        &["idle_ns", "utilisation", "ns"],
        &["idle_ns", "channels", "mts", "gb_s", "latency_ns"],
        &["link_gbps", "frame", "pcie_gen", "width", "mpps"],
        &["link_gbps", "mtu", "message", "tcp_gbps", "udp_gbps"],
        &["link_gbps", "mtu", "message", "protocol", "gbps"],
        &["cpu", "mts", "link_gbps", "dimms", "sockets", "tcp_gbps", "udp_gbps"],
        &["mem_mb_s", "cpu_turbo_ghz", "mpps"],
    ];
    let mut random = Pcg64::seed_from_u64(18);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let shape = of(&mut random, shapes);
        let mut text = "[[row]]\n".to_owned();
        for field in *shape {
            let value = match *field {
                "cpu" => "'Xeon Platinum 8280'".to_owned(),
                "protocol" => of(&mut random, &["'rocev2'", "'iwarp'", "'ib-edr'"]).to_string(),
                "utilisation" => random.random::<f64>().to_string(),
                "pcie_gen" | "sockets" => number(&mut random, 1.0, 5.0, true).to_string(),
                "upi_links" => number(&mut random, 1.0, 8.0, true).to_string(),
                "width" => of(&mut random, &[1, 4, 8, 16, -8, 64]).to_string(),
                "ways" | "channels" | "dimms" => number(&mut random, 1.0, 24.0, true).to_string(),
                "mts" => number(&mut random, 800.0, 9_000.0, false).to_string(),
                "mtu" => number(&mut random, 576.0, 65_535.0, true).to_string(),
                "frame" => number(&mut random, 64.0, 9_216.0, true).to_string(),
                "message" | "size" => number(&mut random, 1.0, 1e6, true).to_string(),
                "mps" => of(&mut random, &[128, 256, 4096, 64]).to_string(),
                "bits" => of(&mut random, &[32, 64]).to_string(),
                "pcix_mhz" => of(&mut random, &[66, 133, 533]).to_string(),
                "mem_mb_s" => number(&mut random, 100.0, 90_000.0, false).to_string(),
                "cpu_turbo_ghz" => number(&mut random, 0.5, 6.0, false).to_string(),
                "gt_s" | "link_gbps" | "idle_ns" => {
                    number(&mut random, 1.0, 100.0, false).to_string()
                }
                _ => number(&mut random, 0.1, 400.0, false).to_string(),
            };
            text += &format!("{field} = {value}\n");
        }
        let Ok(table) = Table::parse("t", &text) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        for cell in predict(&[table]).iter().flat_map(|answer| &answer.cells) {
            let Some(value) = cell.predicted else { continue };
            let low = cell.low.unwrap_or(value);
            let high = cell.high.unwrap_or(value);
            assert!(good((low, value, high)), "{text}: {cell:?}");
            if let Some((value, low, high)) = cell.uncalibrated {
                assert!(good((low, value, high)), "{text}: {cell:?}");
            }
        }
    }
    assert!(accepted > 1_000 && refused > 500, "{accepted} accepted, {refused} refused");
}
