//! Interrupt coalescing of an interface, read and set by ethtool(8), which must be there.

use crate::HostError;
use crate::offloads::{ethtool, is_device};

/// Words of `ethtool -C` that are set here.
pub const WORDS: [&str; 6] =
    ["adaptive-rx", "adaptive-tx", "rx-frames", "rx-usecs", "tx-frames", "tx-usecs"];

/// The value of a word, `on`, `off` or a number, as `ethtool -c` shows it.
pub fn get(device: &str, word: &str, namespace: Option<&str>) -> Result<String, HostError> {
    let text = ethtool(&["-c", device], namespace)?;
    value(&text, word)
        .map(str::to_owned)
        .ok_or_else(|| HostError::Machine(format!("ethtool -c {device} tells no {word}")))
}

/// `Adaptive RX: off  TX: on`, `rx-usecs: 3`; `None` where it is not told, or as `n/a`.
fn value<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let adaptive = || text.lines().find_map(|line| line.trim().strip_prefix("Adaptive RX:"));
    let told = match word {
        "adaptive-rx" => adaptive()?.split("TX:").next()?,
        "adaptive-tx" => adaptive()?.split("TX:").nth(1)?,
        word => text.lines().find_map(|line| line.trim().strip_prefix(word)?.strip_prefix(':'))?,
    };
    Some(told.trim()).filter(|told| is_value(told))
}

fn is_value(text: &str) -> bool {
    matches!(text, "on" | "off") || text.parse::<u32>().is_ok()
}

/// Sets a word, and sees that it is so: drivers round, or know steps alone.
pub fn set(
    device: &str,
    word: &str,
    value: &str,
    namespace: Option<&str>,
) -> Result<(), HostError> {
    if !WORDS.contains(&word) || !is_value(value) {
        return Err(HostError::Order(format!("'{word} {value}' is not a setting of coalescing")));
    }
    let had = get(device, word, namespace)?;
    if had == value {
        return Ok(());
    }
    ethtool(&["-C", device, word, value], namespace)?;
    let has = get(device, word, namespace)?;
    if has == value {
        Ok(())
    } else {
        Err(HostError::Machine(format!("{device} made {word} {has} of {value}")))
    }
}

/// A word as the guard's journal names it: `coalescing:eth0:rx-usecs`.
pub fn path(device: &str, word: &str) -> String {
    format!("coalescing:{device}:{word}")
}

/// Device and word of such a name, if it is one.
pub fn parts(path: &str) -> Option<(&str, &str)> {
    let (device, word) = path.strip_prefix("coalescing:")?.split_once(':')?;
    (is_device(device) && WORDS.contains(&word)).then_some((device, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_of_old_and_new_ethtools_and_names_are_checked() {
        let text = "Coalesce parameters for eth0:\nAdaptive RX: off  TX: on\n\
                    stats-block-usecs:\tn/a\nrx-usecs:\t3\nrx-frames:\tn/a\nrx-usecs-irq: 9\n\
                    tx-usecs: 16\n\nCQE mode RX: n/a  TX: n/a\n";
        let all = WORDS.map(|word| value(text, word));
        assert_eq!(all, [Some("off"), Some("on"), None, Some("3"), None, Some("16")]);
        assert_eq!(value("Adaptive RX: n/a  TX: n/a\nrx-usecs: many", "adaptive-rx"), None);
        assert_eq!(value("rx-usecs: many", "rx-usecs"), None);
        assert_eq!(parts(&path("eth0", "rx-usecs")), Some(("eth0", "rx-usecs")));
        for bad in ["coalescing:-x:rx-usecs", "coalescing:eth0:rx", "ethtool:eth0:rx-usecs"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
        for (word, value) in [("rx", "3"), ("rx-usecs", "3 tx-usecs 4"), ("rx-usecs", "-1")] {
            assert!(set("none", word, value, None).is_err_and(|e| e.to_string().contains("is no")));
        }
    }
}
