//! Asks a management controller (BMC) for its Redfish resources over TLS.

#![forbid(unsafe_code)]

mod address;
mod certificate;

pub use address::{Address, BadAddress};
pub use certificate::{BadFingerprint, Fingerprint};
