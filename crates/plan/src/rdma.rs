//! What RDMA is told, as people write it: on the command line, and in a study's file.

use narrows_model::rdma::{RdmaParams, RdmaPlace};
use serde::{Deserialize, Serialize};

/// Words about RDMA. What there are two of, here and at the peer, is written with a comma; one word
/// is for both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RdmaAsked {
    /// Device, `LOCAL[,REMOTE]`.
    pub device: Option<String>,
    /// Port of it, from 1.
    pub ib_port: Option<u8>,
    /// Place in the table of identifiers, `LOCAL[,REMOTE]`.
    pub gid_index: Option<String>,
    /// `cm` or `exchange`.
    pub connection: Option<String>,
    /// `rc`, `uc` or `ud`.
    pub service: Option<String>,
    /// Requests under way.
    pub depth: Option<u32>,
    /// Requests posted with one call.
    pub post_list: Option<u32>,
    /// Every how many requests one is heard of.
    pub signal_every: Option<u32>,
    /// Messages up to so many bytes go inside requests.
    pub inline: Option<u32>,
    /// Largest packet.
    pub path_mtu: Option<u32>,
    /// Service level (InfiniBand).
    pub service_level: Option<u8>,
    /// Traffic class (RoCE).
    pub traffic_class: Option<u8>,
    /// Whether the NIC's writes may pass each other.
    pub relaxed_ordering: bool,
    /// Pages of the buffers.
    pub pages: Option<String>,
    /// `verbs` or `libfabric`.
    pub via: Option<String>,
    /// Provider of libfabric.
    pub provider: Option<String>,
}

/// The word for here and the word for the peer; hosts that are built alike name devices alike.
fn pair(text: &Option<String>) -> (Option<String>, Option<String>) {
    let Some(text) = text else { return (None, None) };
    let some = |word: &str| (!word.trim().is_empty()).then(|| word.trim().to_owned());
    match text.split_once(',') {
        Some((here, there)) => (some(here), some(there)),
        None => (some(text), some(text)),
    }
}

fn index(word: Option<String>) -> Result<Option<u8>, String> {
    let parse =
        |word: String| word.parse().map_err(|_| format!("GID index '{word}' is not 0 to 255"));
    word.map(parse).transpose()
}

impl RdmaAsked {
    /// As a trial has them; `None` when nothing was asked for. With `reverse` the peer asks.
    pub fn params(&self, reverse: bool) -> Result<Option<RdmaParams>, String> {
        let ((here, there), (gid_here, gid_there)) = (pair(&self.device), pair(&self.gid_index));
        let port = self.ib_port;
        let local = RdmaPlace { device: here, port, gid_index: index(gid_here)? };
        let remote = RdmaPlace { device: there, port, gid_index: index(gid_there)? };
        let (source, sink) = if reverse { (remote, local) } else { (local, remote) };
        let via = self.via.clone().filter(|via| via != "verbs");
        if let (None, Some(provider)) = (&via, &self.provider) {
            return Err(format!("'{provider}' is a provider of libfabric: say --via libfabric"));
        }
        let service = self.service.as_ref().map(|service| service.to_lowercase());
        let asked = RdmaParams {
            sink,
            source,
            connection: self.connection.clone(),
            service: service.filter(|service| service != "rc"),
            depth: self.depth,
            post_list: self.post_list,
            signal_every: self.signal_every,
            inline_bytes: self.inline,
            path_mtu_bytes: self.path_mtu,
            service_level: self.service_level,
            traffic_class: self.traffic_class,
            relaxed_ordering: self.relaxed_ordering,
            pages: self.pages.clone(),
            via,
            provider: self.provider.clone(),
        };
        Ok((asked != RdmaParams::default()).then_some(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_for_both_ends_and_nothing_is_nothing() {
        assert_eq!(RdmaAsked::default().params(false), Ok(None));
        let both = RdmaAsked { device: Some("mlx5_0".into()), ..RdmaAsked::default() };
        let asked = both.params(false).expect("words").expect("asked");
        assert_eq!(asked.sink, asked.source);
        let two = RdmaAsked {
            device: Some("siw0,siw1".into()),
            gid_index: Some(",3".into()),
            ..RdmaAsked::default()
        };
        let asked = two.params(false).expect("words").expect("asked");
        assert_eq!(asked.source.device.as_deref(), Some("siw0"));
        assert_eq!((asked.source.gid_index, asked.sink.gid_index), (None, Some(3)));
        // The peer asks: its device is the source's.
        let back = two.params(true).expect("words").expect("asked");
        assert_eq!(back.source.device.as_deref(), Some("siw1"));
        let wrong = RdmaAsked { gid_index: Some("v2".into()), ..RdmaAsked::default() };
        assert!(wrong.params(false).is_err());
        let plain = RdmaAsked { service: Some("RC".into()), ..RdmaAsked::default() };
        assert_eq!(plain.params(false), Ok(None));
    }
}
