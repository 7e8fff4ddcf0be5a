//! Which certificate is believed: one that the system's roots vouch for, or the one whose
//! fingerprint was given. Controllers come with one that they signed themselves.

use ring::digest;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of SHA-256.
const BYTES: usize = 32;

/// SHA-256 of a certificate as it goes over the wire (DER), as browsers and openssl show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint([u8; BYTES]);

/// A text that is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a SHA-256 fingerprint: 64 hexadecimal digits, with or without colons")]
pub struct BadFingerprint(String);

impl Fingerprint {
    /// Reads `AB:CD:...` or `abcd...`, also behind `SHA256:` and `sha256 Fingerprint=`.
    pub fn parse(text: &str) -> Result<Self, BadFingerprint> {
        let bad = || BadFingerprint(text.to_owned());
        let lower = text.trim().to_ascii_lowercase();
        let bare = ["sha256 fingerprint=", "sha-256:", "sha256:"]
            .iter()
            .find_map(|head| lower.strip_prefix(head))
            .unwrap_or(&lower);
        let digits: Vec<char> = bare.chars().filter(|c| *c != ':').collect();
        if digits.len() != 2 * BYTES || !digits.iter().all(char::is_ascii_hexdigit) {
            return Err(bad());
        }
        let mut bytes = [0; BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair: String = pair.iter().collect();
            *byte = u8::from_str_radix(&pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }

    /// That of a certificate.
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        f.write_str(&pairs.join(":"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A certificate that was not believed, and why.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The one that the controller showed.
    pub seen: Fingerprint,
    /// What is wrong with it.
    pub why: String,
}

/// Judges the controller's certificate.
#[derive(Debug)]
pub struct Verifier {
    pin: Option<Fingerprint>,
    /// None where the system has no roots: then only a pin can be believed.
    roots: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    rejected: Mutex<Option<Rejected>>,
}

impl Verifier {
    /// By the fingerprint, or else by the system's roots.
    pub fn new(pin: Option<Fingerprint>, provider: Arc<CryptoProvider>) -> Self {
        let roots = match pin {
            Some(_) => None,
            None => system_roots(&provider),
        };
        Self { pin, roots, provider, rejected: Mutex::new(None) }
    }

    /// The fingerprint that was given.
    pub fn pin(&self) -> Option<Fingerprint> {
        self.pin.clone()
    }

    /// The certificate that was rejected last.
    pub fn rejected(&self) -> Option<Rejected> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reject(&self, seen: Fingerprint, error: Error) -> Error {
        let why = match &error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                "no authority that this system trusts has signed it".to_owned()
            }
            Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
                "it is not the one of --tls-fingerprint".to_owned()
            }
            other => other.to_string(),
        };
        let rejected = Some(Rejected { seen, why });
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = rejected;
        error
    }
}

fn system_roots(provider: &Arc<CryptoProvider>) -> Option<Arc<WebPkiServerVerifier>> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone()).build().ok()
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let seen = Fingerprint::of(certificate);
        let judged = match (&self.pin, &self.roots) {
            (Some(pin), _) if *pin == seen => Ok(ServerCertVerified::assertion()),
            (Some(_), _) => Err(CertificateError::ApplicationVerificationFailure.into()),
            (None, Some(roots)) => roots.verify_server_cert(certificate, between, name, ocsp, now),
            (None, None) => Err(CertificateError::UnknownIssuer.into()),
        };
        judged.map_err(|error| self.reject(seen, error))
    }

    // A pinned certificate is public: that the controller has its key is what these prove.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_programs_write_it() {
        // FIPS 180-4, the digest of the empty message.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let of = Fingerprint::of(b"");
        assert!(of.to_string().starts_with("E3:B0:C4:42:98"));
        for text in [empty.to_owned(), of.to_string(), format!("SHA256:{empty}")] {
            assert_eq!(Fingerprint::parse(&text), Ok(of.clone()), "{text}");
        }
        let openssl = format!("sha256 Fingerprint={of}");
        assert_eq!(Fingerprint::parse(&openssl), Ok(of));
        for text in ["", &empty[1..], &empty.replace('e', "g"), "da39a3ee5e6b4b0d3255bfef95601890"]
        {
            assert!(Fingerprint::parse(text).is_err(), "{text}");
        }
    }
}
