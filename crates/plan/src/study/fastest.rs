//! How packets go between two ends of this host where nobody says: the fastest way that there is.
//! `narrows packets` without a host and a study's cells have the same.

use super::Settings;
use narrows_model::calls;
use narrows_model::options::{flows, packets};
use narrows_model::workload::Workload;

impl Settings {
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
        let own = "load = 'packets'\nsender = 'gso'\nreceiver = 'recvmmsg'";
        assert_eq!(of(own), told("gso", "recvmmsg"));
        assert_eq!(of("load = 'udp-stream'"), told("", ""));
        assert_eq!(of("load = 'packets'\nengine = 'trafgen'"), told("", ""));
    }
}
