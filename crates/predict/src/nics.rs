//! What models of NICs do: a data file, `nics/models.json`, with where each number is from.

use narrows_model::host::Nic;
use serde::Deserialize;
use std::sync::LazyLock;

/// One model. What is not known of it is `None`, and never guessed from another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Model {
    /// Its name, as people say it.
    pub name: String,
    /// What its name in a list of PCI devices contains, in capitals.
    words: Vec<String>,
    /// Smallest packets a second of one port, in millions.
    pub port_mpps: Option<f64>,
    /// Whether that is its port's line rate, so that its engine does as many at least.
    #[serde(default)]
    pub at_line_rate: bool,
    /// The same of all ports together.
    pub card_mpps: Option<f64>,
    /// RDMA messages a second of all queue pairs, in millions.
    pub message_mpps: Option<f64>,
    /// Writes and sends a second of one queue pair, in millions.
    pub post_mpps: Option<f64>,
    /// Reads a second of one queue pair, in millions.
    pub read_mpps: Option<f64>,
    /// One way from a program to one on the next host, past the kernel, in microseconds.
    pub latency_us: Option<f64>,
    /// Where its numbers are from.
    pub source: String,
}

/// `nics/models.json` as it is written.
#[derive(Deserialize)]
struct File {
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and a test that it is there"))]
    source: String,
    models: Vec<Model>,
}

static FILE: LazyLock<Option<File>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../nics/models.json")).ok());

fn models() -> &'static [Model] {
    FILE.as_ref().map_or(&[], |file| &file.models)
}

/// The model that a word names: the first in the file whose words it contains.
pub fn named(text: &str) -> Option<&'static Model> {
    let text = text.to_uppercase();
    models().iter().find(|model| {
        model.name.to_uppercase() == text
            || model.words.iter().any(|word| text.contains(word.as_str()))
    })
}

/// The model of a port, by its name in the list of PCI devices, else by its driver.
pub fn of(nic: &Nic) -> Option<&'static Model> {
    let by_name = nic.path.last().and_then(|hop| named(&hop.name));
    by_name.or_else(|| nic.driver.value().and_then(|driver| by_driver(driver)))
}

/// Drivers of one model alone.
fn by_driver(driver: &str) -> Option<&'static Model> {
    match driver {
        "ena" => named("ENA"),
        "virtio_net" => named("VIRTIO"),
        _ => None,
    }
}

/// Names of all.
pub fn names() -> Vec<&'static str> {
    models().iter().map(|model| model.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_a_source_and_is_found_by_its_own_name() {
        assert!(FILE.as_ref().expect("the file reads").source.contains("from knowledge"));
        for model in models() {
            assert!(!model.source.is_empty(), "{model:?}");
            assert_eq!(named(&model.name).map(|one| &one.name), Some(&model.name));
            let port = model.port_mpps.zip(model.card_mpps);
            assert!(port.is_none_or(|(port, card)| port <= card), "{model:?}");
        }
        let of = |text: &str| named(text).map(|model| model.name.as_str());
        assert_eq!(of("MT2892 Family [ConnectX-6 Dx]"), Some("ConnectX-6 Dx"));
        assert_eq!(of("MT28908 Family [ConnectX-6]"), Some("ConnectX-6"));
        assert_eq!(of("Ethernet Controller XL710 for 40GbE QSFP+"), Some("XL710"));
        assert_eq!(of("Ethernet Controller E810-XXV for SFP"), Some("E810 25 GbE"));
        assert_eq!(of("82599ES 10-Gigabit SFI/SFP+ Network Connection"), Some("82599"));
        assert_eq!(of("I350 Gigabit Network Connection"), None);
    }
}
