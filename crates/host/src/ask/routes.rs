//! Windows that routes bound, from `/proc/net/route`. The file has the addresses of gateways, so
//! that captures keep only what is told here.

use narrows_model::Fact;

const PLACE: &str = "/proc/thread-self/net/route";
/// Where a capture keeps the answer, and where it is looked for when there is none: the same source
/// from the machine and from its capture.
const KEPT: &str = "/narrows/route-windows";
/// Columns of the file (kernel, net/ipv4/fib_trie.c): interface, ..., window.
const INTERFACE: usize = 0;
const WINDOW: usize = 9;

/// `eth0 30000` for every IPv4 route that bounds the window it offers; absent where none does.
pub fn windows() -> Fact<String> {
    match std::fs::read_to_string(PLACE) {
        Ok(text) => {
            parse(&text).map_or_else(|| Fact::absent(KEPT), |windows| Fact::known(windows, PLACE))
        }
        Err(_) => Fact::absent(KEPT),
    }
}

fn parse(text: &str) -> Option<String> {
    let mut bounded: Vec<String> = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let window = words.get(WINDOW).and_then(|word| word.parse::<u64>().ok());
        if let (Some(interface), Some(window @ 1..)) = (words.get(INTERFACE), window) {
            bounded.push(format!("{interface} {window}"));
        }
    }
    bounded.dedup();
    (!bounded.is_empty()).then(|| bounded.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_with_a_window_are_told_and_others_are_not() {
        let head =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let route = |window: u32| {
            format!("b0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t{window}\t0\n")
        };
        assert_eq!(parse(&format!("{head}{}", route(0))), None);
        assert_eq!(
            parse(&format!("{head}{}{}", route(0), route(30_000))).as_deref(),
            Some("b0 30000")
        );
        assert_eq!(parse("nonsense"), None);
    }
}
