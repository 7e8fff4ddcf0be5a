//! Signing in and out: a session with a token (DSP0266, 13.3.4), which ends with the asking; for
//! controllers without sessions, basic authentication.

use crate::client::Client;
use crate::pass::Pass;
use crate::{BmcError, LEAVE_WITHIN, Order};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::atomic::Ordering;
use zeroize::Zeroizing;

/// Where sessions are begun, on all services since version 1.0.
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// A controller that knows who asks.
pub struct Session {
    pass: Pass,
    /// The session's resource, which is taken away at the end.
    resource: Option<String>,
}

impl Session {
    /// Signs in where there is a user to sign in.
    pub fn begin(client: &Client, order: &Order) -> Result<Self, BmcError> {
        let Some((user, password)) = &order.access.user else {
            return Ok(Self { pass: Pass::Nobody, resource: None });
        };
        let document = serde_json::json!({ "UserName": user, "Password": password.reveal() });
        let document = Zeroizing::new(document.to_string());
        let answer = client.post(SESSIONS, document.as_bytes())?;
        let at = order.address.to_string();
        match (answer.status, answer.token) {
            (200..=204, Some(token)) => {
                let location = answer.location.or_else(|| named(&answer.body));
                let resource = location.and_then(|link| order.address.own_path(&link));
                Ok(Self { pass: Pass::Token(Zeroizing::new(token)), resource })
            }
            // Services without sessions: the resource is not there, or takes no POST.
            (404 | 405 | 501, _) => {
                let words = Zeroizing::new(format!("{user}:{}", password.reveal()));
                let words = Zeroizing::new(format!("Basic {}", STANDARD.encode(words.as_bytes())));
                Ok(Self { pass: Pass::Basic(words), resource: None })
            }
            (status @ 400..=499, _) => Err(BmcError::Denied { at, user: user.clone(), status }),
            (300..=399, _) => Err(BmcError::Elsewhere {
                at,
                path: SESSIONS.to_owned(),
                to: answer.location.unwrap_or_default(),
            }),
            (status, _) => Err(BmcError::NotRedfish {
                at,
                path: SESSIONS.to_owned(),
                why: format!("signing in was answered with {status} and no token"),
            }),
        }
    }

    /// What requests are allowed by.
    pub fn pass(&self) -> &Pass {
        &self.pass
    }

    /// Signs out. A session that is left behind ends by itself after some minutes, but many
    /// controllers have room for few: after a stop it is ended over a connection of its own.
    pub fn end(self, client: &Client, order: &Order) {
        let Some(resource) = &self.resource else { return };
        let own = if order.stopped.load(Ordering::Relaxed) {
            client.anew(LEAVE_WITHIN)
        } else {
            Ok(client.clone())
        };
        // Nothing is left to do where the controller does not take it.
        let _ = own.and_then(|own| own.delete(resource, &self.pass));
    }
}

/// The session's own address in its body, where no header tells it.
fn named(body: &[u8]) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(document.get("@odata.id")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_its_body_where_that_is_one() {
        let own = "/redfish/v1/SessionService/Sessions/7";
        let body = format!("{{\"Id\":\"7\",\"@odata.id\":\"{own}\"}}");
        assert_eq!(named(body.as_bytes()).as_deref(), Some(own));
        for body in ["", "{}", "[]", "{\"@odata.id\":7}", "{\"@odata.id\":\"/redfish"] {
            assert_eq!(named(body.as_bytes()), None, "{body}");
        }
    }
}
