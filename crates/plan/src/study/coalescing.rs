//! Interrupt coalescing as a study sets it: ethtool's words, with values of their sort.

use serde::{Deserialize, Serialize};

/// What of the interface's coalescing is set; the rest stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Coalescing {
    /// Whether the driver chooses what is received by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_rx: Option<bool>,
    /// The same of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_tx: Option<bool>,
    /// Packets received until an interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_frames: Option<u32>,
    /// Microseconds from a packet received to its interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_usecs: Option<u32>,
    /// Packets sent until an interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_frames: Option<u32>,
    /// Microseconds from a packet sent to its interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_usecs: Option<u32>,
}

impl Coalescing {
    /// These, with what the other sets in their place.
    #[must_use]
    pub fn with(self, over: Self) -> Self {
        Self {
            adaptive_rx: over.adaptive_rx.or(self.adaptive_rx),
            adaptive_tx: over.adaptive_tx.or(self.adaptive_tx),
            rx_frames: over.rx_frames.or(self.rx_frames),
            rx_usecs: over.rx_usecs.or(self.rx_usecs),
            tx_frames: over.tx_frames.or(self.tx_frames),
            tx_usecs: over.tx_usecs.or(self.tx_usecs),
        }
    }

    /// What is set, by ethtool's words; a driver that adapts by itself is told first to or not to.
    pub fn words(self) -> Vec<(&'static str, String)> {
        let all = [
            ("adaptive-rx", self.adaptive_rx.map(on_or_off)),
            ("adaptive-tx", self.adaptive_tx.map(on_or_off)),
            ("rx-frames", self.rx_frames.map(|n| n.to_string())),
            ("rx-usecs", self.rx_usecs.map(|n| n.to_string())),
            ("tx-frames", self.tx_frames.map(|n| n.to_string())),
            ("tx-usecs", self.tx_usecs.map(|n| n.to_string())),
        ];
        all.into_iter().filter_map(|(word, value)| Some((word, value?))).collect()
    }
}

fn on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_sets_its_own_words_and_keeps_the_others_of_the_base() {
        let read = |text: &str| toml::from_str::<Coalescing>(text);
        let base = read("adaptive-rx = true\nrx-usecs = 8\ntx-frames = 16").expect("words");
        let level = read("adaptive-rx = false\nrx-usecs = 0").expect("words");
        let words = base.with(level).words();
        let words: Vec<_> = words.iter().map(|(word, value)| (*word, value.as_str())).collect();
        assert_eq!(words, [("adaptive-rx", "off"), ("rx-usecs", "0"), ("tx-frames", "16")]);
        assert!(Coalescing::default().words().is_empty());
        for wrong in ["rx = 1", "rx-usecs = true", "adaptive-rx = 1", "rx-usecs = -1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
