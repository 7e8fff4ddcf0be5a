//! Requests to one controller: TLS, limits, and what an answer is.

use crate::certificate::Verifier;
use crate::pass::{Pass, TOKEN};
use crate::transport::Tls;
use crate::{Address, BmcError, Fingerprint, Limits};
use rustls::ClientConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Response;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use ureq::{Agent, Body, Error};

/// Redirects that stay on the controller, as for a slash at the end; more go round.
const REDIRECTS_MAX: usize = 3;

/// Asks one controller.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    verifier: Arc<Verifier>,
    address: Address,
    limits: Limits,
}

pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// The session's token, where one was given.
    pub token: Option<String>,
    /// Where it says that something is, as it is written.
    pub location: Option<String>,
    /// The body, as it was sent, undecoded.
    pub body: Vec<u8>,
}

impl Client {
    /// A client of one controller, which believes a pinned certificate or the system's roots.
    pub fn new(
        address: &Address,
        pin: Option<Fingerprint>,
        limits: &Limits,
    ) -> Result<Self, BmcError> {
        let at = address.to_string();
        let unreachable = |why: String| BmcError::Unreachable { at: at.clone(), why };
        let provider = Arc::new(default_provider());
        let verifier = Arc::new(Verifier::new(pin, provider.clone()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unreachable(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        let name = ServerName::try_from(address.host().to_owned())
            .map_err(|error| unreachable(error.to_string()))?;
        let tls = Tls::new(Arc::new(config), name);
        let agent = Agent::with_parts(
            configured(limits),
            TcpConnector::default().chain(tls),
            DefaultResolver::default(),
        );
        Ok(Self { agent, verifier, address: address.clone(), limits: *limits })
    }

    /// The same, for a connection of its own that answers within this time.
    pub fn anew(&self, within: Duration) -> Result<Self, BmcError> {
        let limits = Limits { answer: within, connect: within, ..self.limits };
        Self::new(&self.address, self.verifier.pin(), &limits)
    }

    /// Ends the request that is under way, and all connections.
    pub fn interrupt(&self) {
        self.agent.clone().shutdown();
    }

    /// A resource, through redirects that stay on this controller.
    pub fn get(&self, path: &str, pass: &Pass) -> Result<Answer, BmcError> {
        let mut path = path.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let mut request = self.agent.get(self.address.url(&path));
            request = request.header("Accept", "application/json").header("OData-Version", "4.0");
            if let Some((name, value)) = pass.header() {
                request = request.header(name, value);
            }
            let answer = self.answer(request.call(), &path)?;
            let Some(to) = answer.location.as_ref().filter(|_| (300..400).contains(&answer.status))
            else {
                return Ok(answer);
            };
            let own = self.address.own_path(to);
            path = own.ok_or_else(|| self.elsewhere(&path, to))?;
        }
        Err(self.elsewhere(&path, &path))
    }

    /// Sends a document of JSON.
    pub fn post(&self, path: &str, document: &[u8]) -> Result<Answer, BmcError> {
        let request = self.agent.post(self.address.url(path));
        let request = request.header("Content-Type", "application/json");
        self.answer(request.send(document), path)
    }

    /// Takes a resource away.
    pub fn delete(&self, path: &str, pass: &Pass) -> Result<Answer, BmcError> {
        let mut request = self.agent.delete(self.address.url(path));
        if let Some((name, value)) = pass.header() {
            request = request.header(name, value);
        }
        self.answer(request.call(), path)
    }

    fn elsewhere(&self, path: &str, to: &str) -> BmcError {
        let at = self.address.to_string();
        BmcError::Elsewhere { at, path: path.to_owned(), to: to.to_owned() }
    }

    fn answer(
        &self,
        response: Result<Response<Body>, Error>,
        path: &str,
    ) -> Result<Answer, BmcError> {
        let response = response.map_err(|error| self.failed(error, path))?;
        let text = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let (status, token) = (response.status().as_u16(), text(TOKEN));
        let location = text("Location");
        let body = response.into_body().into_with_config().limit(self.limits.answer_bytes);
        let mut body = body.reader();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut body, &mut bytes)
            .map_err(|error| self.failed(Error::from(error), path))?;
        Ok(Answer { status, token, location, body: bytes })
    }

    /// What an error of the HTTP client means here.
    fn failed(&self, error: Error, path: &str) -> BmcError {
        let at = self.address.to_string();
        let path = path.to_owned();
        if let Some(rejected) = self.verifier.rejected() {
            return BmcError::Certificate { at, seen: rejected.seen, why: rejected.why };
        }
        match error {
            Error::Timeout(_) | Error::BodyStalled => {
                BmcError::Silent { at, path, seconds: self.limits.answer.as_secs() }
            }
            Error::BodyExceedsLimit(bytes) => {
                BmcError::TooMuch { at, what: format!("{bytes} bytes in the answer to {path}") }
            }
            Error::LargeResponseHeader(..) => {
                BmcError::TooMuch { at, what: format!("64 KiB of headers in the answer to {path}") }
            }
            Error::HostNotFound => {
                BmcError::Unreachable { at, why: "no address of that name".to_owned() }
            }
            Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                BmcError::CutShort { at, path, why: "the connection ended".to_owned() }
            }
            Error::Io(error) => BmcError::Unreachable { at, why: error.to_string() },
            Error::ConnectionFailed => {
                BmcError::Unreachable { at, why: "nothing answers".to_owned() }
            }
            other => BmcError::NotRedfish { at, path, why: other.to_string() },
        }
    }
}

/// Nothing but this controller is asked: no proxy of the environment, no redirect.
fn configured(limits: &Limits) -> ureq::config::Config {
    Agent::config_builder()
        .https_only(true)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_connect(Some(limits.connect))
        .timeout_global(Some(limits.answer))
        .user_agent(concat!("narrows/", env!("CARGO_PKG_VERSION")))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use ureq::Timeout;

    fn limits() -> Limits {
        let [answer, connect] = [3, 5].map(Duration::from_secs);
        Limits { answer, connect, answer_bytes: 77, ..Limits::default() }
    }

    fn client() -> Client {
        let address = Address::parse("redfish://bmc:8443").expect("an address");
        Client::new(&address, Some(Fingerprint::of(b"")), &limits()).expect("a client")
    }

    #[test]
    fn each_error_of_the_client_says_what_it_means_here() {
        let io = |kind: io::ErrorKind| Error::Io(io::Error::new(kind, "as the kernel says"));
        let header = "redfish://bmc:8443: more than 64 KiB of headers in the answer to /p";
        let short = "redfish://bmc:8443: the answer to /p is cut short: the connection ended";
        let late = "redfish://bmc:8443: no answer to /p within 3 s";
        for (error, says) in [
            (Error::Timeout(Timeout::Global), late),
            (Error::Timeout(Timeout::Connect), late),
            (Error::BodyStalled, late),
            (
                Error::BodyExceedsLimit(77),
                "redfish://bmc:8443: more than 77 bytes in the answer to /p",
            ),
            (Error::LargeResponseHeader(65_537, 65_536), header),
            (Error::HostNotFound, "redfish://bmc:8443: no address of that name"),
            (Error::ConnectionFailed, "redfish://bmc:8443: nothing answers"),
            (io(ErrorKind::UnexpectedEof), short),
            (io(ErrorKind::ConnectionReset), "redfish://bmc:8443: as the kernel says"),
            (io(ErrorKind::TimedOut), "redfish://bmc:8443: as the kernel says"),
        ] {
            let what = error.to_string();
            assert_eq!(client().failed(error, "/p").to_string(), says, "{what}");
        }
        let other = client().failed(Error::RedirectFailed, "/p");
        assert!(matches!(&other, BmcError::NotRedfish { path, .. } if path == "/p"), "{other}");
    }

    #[test]
    fn nobody_else_is_asked_and_each_answer_has_its_time() {
        let of = configured(&limits());
        assert!(of.https_only() && of.proxy().is_none());
        assert_eq!((of.max_redirects(), of.max_redirects_will_error()), (0, false));
        assert!(!of.http_status_as_error());
        let (times, second) = (of.timeouts(), Duration::from_secs);
        assert_eq!((times.connect, times.global), (Some(second(5)), Some(second(3))));
    }

    #[test]
    fn a_connection_of_its_own_has_its_own_time_and_believes_the_same() {
        let anew = client().anew(Duration::from_secs(1)).expect("a client");
        let Limits { answer, connect, answer_bytes, .. } = anew.limits;
        assert_eq!([answer, connect].map(|time| time.as_secs()), [1, 1]);
        assert_eq!((answer_bytes, anew.verifier.pin()), (77, Some(Fingerprint::of(b""))));
        assert_eq!(anew.address, client().address);
    }
}
