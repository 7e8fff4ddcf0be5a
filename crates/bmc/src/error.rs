//! Why a controller could not be asked.

use crate::Fingerprint;
use thiserror::Error;

/// Why a controller gave no description.
#[derive(Debug, Error)]
pub enum BmcError {
    /// No connection, or one that broke off.
    #[error("{at}: {why}")]
    Unreachable {
        /// Address of the controller that was asked.
        at: String,
        why: String,
    },
    /// Connected, and no answer in time.
    #[error("{at}: no answer to {path} within {seconds} s")]
    Silent {
        /// Address of the controller that was asked.
        at: String,
        path: String,
        /// How long it was waited.
        seconds: u64,
    },
    /// A certificate that is not believed. Nothing was sent.
    #[error("{at}: the certificate is not trusted, {why}; its SHA-256 fingerprint is {seen}")]
    Certificate {
        /// Address of the controller that was asked.
        at: String,
        /// The certificate that it showed.
        seen: Fingerprint,
        /// What is wrong with it.
        why: String,
    },
    /// The account is not known, or the password is another.
    #[error("{at}: {user} may not sign in ({status})")]
    Denied {
        /// Address of the controller that was asked.
        at: String,
        /// Account that the controller refused.
        user: String,
        /// The answer's status.
        status: u16,
    },
    /// It tells nothing without an account.
    #[error("{at}: it answers nothing without signing in ({status} for {path})")]
    NeedsUser {
        /// Address of the controller that was asked.
        at: String,
        path: String,
        /// The answer's status.
        status: u16,
    },
    /// It answers, and not as Redfish does.
    #[error("{at}: {path} is not a Redfish resource: {why}")]
    NotRedfish {
        /// Address of the controller that was asked.
        at: String,
        path: String,
        why: String,
    },
    /// An answer that ends early.
    #[error("{at}: the answer to {path} is cut short: {why}")]
    CutShort {
        /// Address of the controller that was asked.
        at: String,
        path: String,
        why: String,
    },
    /// More than any server has.
    #[error("{at}: more than {what}")]
    TooMuch {
        /// Address of the controller that was asked.
        at: String,
        /// Which limit, with its unit.
        what: String,
    },
    /// It sends us to another place.
    #[error("{at}: {path} leads to '{to}', which is not followed")]
    Elsewhere {
        /// Address of the controller that was asked.
        at: String,
        path: String,
        to: String,
    },
    /// The user stopped it.
    #[error("stopped; the session at the controller was ended")]
    Stopped,
}
