//! How packets go between two ends of this host where nobody says: the fastest way that there is.
//! `narrows packets` without a host and a study's cells have the same.

use super::Settings;
use narrows_model::calls;
use narrows_model::options::{flows, packets};
use narrows_model::packets::{PacketRate, XDP_FRAME_BYTES_MAX};
use narrows_model::workload::Workload;

/// Frames a second up to which a sender keeps a rate that sleeps between them.
const SLEEPER_MAX: f64 = 200_000.0;

impl Settings {
    /// Tells packets at a low rate a sender that sleeps between frames, where that is untold: one
    /// that spins has its CPU taken away where others want it, and keeps no rate then.
    pub fn steadiest_here(&mut self) {
        let rate = self.packet_rate().ok().flatten();
        let is_low = matches!(rate, Some(PacketRate::PerSecond(rate)) if rate <= SLEEPER_MAX);
        let is_ours = self.engine().is_none() && self.told(&flows::SENDER).is_none();
        if is_low && is_ours && self.told(&packets::IMIX) != Some(true) {
            self.tell(&flows::SENDER, calls::RING.to_owned());
        }
    }

    /// Tells packets that stay between namespaces or ports of this host how they are sent and
    /// received, where that is untold: by XDP, but for what it cannot send. An outside generator is
    /// told nothing of it.
    pub fn fastest_here(&mut self) {
        if self.kind() != Workload::Packets || self.engine().is_some() {
            return;
        }
        let mixes = self.told(&packets::IMIX) == Some(true);
        let sender = match self.told(&packets::BURST) {
            Some(_) => calls::RING,
            None if mixes => calls::AF_XDP,
            None if self.message_bytes().0 > XDP_FRAME_BYTES_MAX => calls::RING,
            None => calls::XDP,
        };
        for (way, fastest) in [(&flows::SENDER, sender), (&flows::RECEIVER, calls::XDP)] {
            if self.told(way).is_none() {
                self.tell(way, fastest.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_untold_is_the_fastest_that_can_send_it() {
        let of = |text: &str| {
            let mut settings: Settings = toml::from_str(text).expect(text);
            settings.fastest_here();
            [&flows::SENDER, &flows::RECEIVER].map(|way| settings.told(way).unwrap_or_default())
        };
        let told = |sender: &str, receiver: &str| [sender.to_owned(), receiver.to_owned()];
        assert_eq!(of("load = 'packets'"), told("xdp", "xdp"));
        assert_eq!(of("load = 'packets'\nimix = true"), told("af-xdp", "xdp"));
        assert_eq!(of("load = 'packets'\nburst = 9"), told("ring", "xdp"));
        assert_eq!(of("load = 'packets'\nlength = 3304"), told("xdp", "xdp"));
        assert_eq!(of("load = 'packets'\nlength = 9018"), told("ring", "xdp"));
        let own = "load = 'packets'\nsender = 'gso'\nreceiver = 'recvmmsg'";
        assert_eq!(of(own), told("gso", "recvmmsg"));
        assert_eq!(of("load = 'udp-stream'"), told("", ""));
        assert_eq!(of("load = 'packets'\nengine = 'trafgen'"), told("", ""));
    }

    #[test]
    fn a_low_rate_is_kept_by_a_sender_that_sleeps() {
        let of = |text: &str| {
            let mut settings: Settings = toml::from_str(text).expect(text);
            settings.steadiest_here();
            settings.told(&flows::SENDER)
        };
        let ring = Some("ring".to_owned());
        assert_eq!(of("load = 'packets'\nrate = '20k'"), ring);
        assert_eq!(of("load = 'packets'\nrate = '200k'"), ring);
        assert_eq!(of("load = 'packets'\nrate = '201k'"), None, "more than it keeps");
        assert_eq!(of("load = 'packets'\nrate = 'max'"), None);
        assert_eq!(of("load = 'packets'"), None);
        let own = "load = 'packets'\nrate = '20k'\nsender = 'xdp'";
        assert_eq!(of(own), Some("xdp".to_owned()));
        assert_eq!(of("load = 'packets'\nrate = '20k'\nengine = 'trafgen'"), None);
        assert_eq!(of("load = 'packets'\nrate = '20k'\nimix = true"), None);
    }
}
