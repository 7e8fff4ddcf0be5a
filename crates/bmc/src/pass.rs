//! What a request is allowed by, and the header that says so.

use zeroize::Zeroizing;

/// The header that carries a session's token (DSP0266, 13.3.4).
pub const TOKEN: &str = "X-Auth-Token";

/// What a request is allowed by.
pub enum Pass {
    Nobody,
    /// A session's token.
    Token(Zeroizing<String>),
    /// User and password with each request.
    Basic(Zeroizing<String>),
}

impl Pass {
    /// Name and value of the header that carries it.
    pub fn header(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Nobody => None,
            Self::Token(token) => Some((TOKEN, token)),
            Self::Basic(words) => Some(("Authorization", words)),
        }
    }
}
