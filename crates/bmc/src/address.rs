//! Where a controller is: `redfish://HOST` and `https://HOST/redfish/v1`, which are one.

use std::fmt;
use std::net::Ipv6Addr;
use thiserror::Error;

/// Where the resources of every Redfish service begin (DSP0266, 6.5).
const ROOT: &str = "/redfish/v1/";
/// Where the systems of a service are, by convention of all makers.
const SYSTEMS: &str = "/redfish/v1/Systems/";
/// Port of HTTPS.
const PORT: u16 = 443;
/// A path longer than this is no resource's.
const PATH_BYTES_MAX: usize = 1024;

/// Why a text is no address of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAddress {
    /// Without TLS everybody on the way reads the password.
    #[error("http:// would send the password readable by all: use redfish://HOST")]
    NotSecret,
    /// A user or a password inside an address ends in histories and logs.
    #[error("an address holds no user or password: use --bmc-user")]
    User,
    /// Neither a name nor an address.
    #[error("'{0}' is not a host")]
    Host(String),
    /// No number from 1 to 65535.
    #[error("'{0}' is not a port")]
    Port(String),
    /// A path beside the service and its systems.
    #[error("'{0}' is neither /redfish/v1 nor a system such as /redfish/v1/Systems/1")]
    Path(String),
}

/// A controller, and the one system of it that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address; one of version 6 without brackets.
    host: String,
    port: u16,
    /// The resource to begin at.
    start: String,
}

impl Address {
    /// Whether a text is meant to be one, and not a file's path.
    pub fn is_meant(text: &str) -> bool {
        ["redfish://", "https://", "http://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads `redfish://HOST[:PORT]`, `https://HOST[:PORT]/redfish/v1[/Systems/ID]`.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        if text.starts_with("http://") {
            return Err(BadAddress::NotSecret);
        }
        let rest = text.strip_prefix("redfish://").or_else(|| text.strip_prefix("https://"));
        let rest = rest.ok_or_else(|| BadAddress::Host(text.to_owned()))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(BadAddress::User);
        }
        let (host, port) = host_and_port(authority)?;
        let start = start(path).ok_or_else(|| BadAddress::Path(format!("/{path}")))?;
        Ok(Self { host, port, start })
    }

    /// The name that a certificate has to be for.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The resource to begin at.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// A resource of this controller.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.authority())
    }

    fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port {
            PORT => host,
            port => format!("{host}:{port}"),
        }
    }

    /// The path of a link that leads to this controller's Redfish; `None` for every other, which
    /// may be another host's, or that of something else on this one.
    pub fn own_path(&self, link: &str) -> Option<String> {
        let own = format!("https://{}", self.authority());
        let path = link.strip_prefix(&own).unwrap_or(link);
        // Fragments name a part of the resource.
        let path = path.split('#').next().unwrap_or_default();
        let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let inside = !path.split('/').any(|part| matches!(part, "." | ".."));
        (path.starts_with("/redfish/") && plain && inside && path.len() <= PATH_BYTES_MAX)
            .then(|| path.to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "redfish://{}", self.authority())
    }
}

/// `name`, `name:8443`, `[2001:db8::1]:8443`.
fn host_and_port(authority: &str) -> Result<(String, u16), BadAddress> {
    let bad = || BadAddress::Host(authority.to_owned());
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(bad)?;
            host.parse::<Ipv6Addr>().map_err(|_| bad())?;
            (host, after.strip_prefix(':').or((!after.is_empty()).then_some(after)))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty()
        || !(host.contains(':')
            || host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')))
    {
        return Err(bad());
    }
    match port {
        None => Ok((host.to_owned(), PORT)),
        Some(port) => match port_number(port) {
            Some(port) => Ok((host.to_owned(), port)),
            None => Err(BadAddress::Port(port.to_owned())),
        },
    }
}

fn port_number(port: &str) -> Option<u16> {
    port.parse().ok().filter(|port| *port > 0)
}

fn start(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    if matches!(path, "" | "redfish" | "redfish/v1") {
        return Some(ROOT.to_owned());
    }
    let whole = format!("/{path}");
    let id = whole.strip_prefix(SYSTEMS)?;
    (!id.is_empty()
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | ':'))
        && !matches!(id, "." | ".."))
    .then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_refused() {
        let url = |text: &str| Address::parse(text).map(|address| address.url(address.start()));
        for (text, want) in [
            ("redfish://bmc", "https://bmc/redfish/v1/"),
            ("https://bmc.example:8443/redfish/v1/", "https://bmc.example:8443/redfish/v1/"),
            ("https://10.0.0.1/redfish", "https://10.0.0.1/redfish/v1/"),
            ("redfish://[2001:db8::1]:444", "https://[2001:db8::1]:444/redfish/v1/"),
            ("https://bmc/redfish/v1/Systems/1", "https://bmc/redfish/v1/Systems/1"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(want), "{text}");
        }
        for (text, why) in [
            ("http://bmc/redfish/v1", BadAddress::NotSecret),
            ("https://root:calvin@bmc/redfish/v1", BadAddress::User),
            ("redfish://", BadAddress::Host(String::new())),
            ("redfish://a b", BadAddress::Host("a b".to_owned())),
            ("redfish://bmc:0", BadAddress::Port("0".to_owned())),
            ("redfish://bmc:99999", BadAddress::Port("99999".to_owned())),
            ("https://bmc/login", BadAddress::Path("/login".to_owned())),
            (
                "https://bmc/redfish/v1/Systems/../x",
                BadAddress::Path("/redfish/v1/Systems/../x".to_owned()),
            ),
        ] {
            assert_eq!(url(text), Err(why), "{text}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_its_port_a_number() {
        let read = |text: &str| host_and_port(text).map_err(|error| error.to_string());
        for (text, host, port) in [
            ("bmc", "bmc", 443),
            ("bmc:1", "bmc", 1),
            ("bmc:65535", "bmc", 65_535),
            ("a-b_c.d9", "a-b_c.d9", 443),
            ("[::1]", "::1", 443),
            ("[::1]:8443", "::1", 8443),
        ] {
            assert_eq!(read(text), Ok((host.to_owned(), port)), "{text}");
        }
        for host in ["", ":443", "b\u{e4}", "a/b", "[::1", "[bmc]", "[::1", "[]"] {
            assert_eq!(read(host), Err(format!("'{host}' is not a host")), "{host}");
        }
        for (text, port) in
            [("bmc:", ""), ("bmc:65536", "65536"), ("bmc:-1", "-1"), ("[::1]x", "x")]
        {
            assert_eq!(read(text), Err(format!("'{port}' is not a port")), "{text}");
        }
        let shown = |text: &str| Address::parse(text).expect(text).to_string();
        assert_eq!(shown("https://bmc:443/redfish"), "redfish://bmc");
        assert_eq!(shown("redfish://[::1]:8443"), "redfish://[::1]:8443");
        assert_eq!(Address::parse("redfish://[::1]").expect("an address").host(), "::1");
    }

    #[test]
    fn an_asking_begins_at_the_service_or_at_one_system() {
        for root in ["", "/", "redfish", "redfish/", "redfish/v1", "redfish/v1/"] {
            assert_eq!(start(root).as_deref(), Some("/redfish/v1/"), "{root}");
        }
        for id in ["1", "437XR1138R2", "a.b-c_d~e:f", "..."] {
            let whole = format!("/redfish/v1/Systems/{id}");
            assert_eq!(start(&whole[1..]).as_deref(), Some(&*whole));
            assert_eq!(start(&format!("{}/", &whole[1..])).as_deref(), Some(&*whole));
        }
        for path in [
            "redfish/v2",
            "redfish/v1/Systems",
            "redfish/v1/Systems/",
            "redfish/v1/Systems/.",
            "redfish/v1/Systems/..",
            "redfish/v1/Systems/1/Memory",
            "redfish/v1/Systems/a b",
            "redfish/v1/Chassis/1",
        ] {
            assert_eq!(start(path), None, "{path}");
        }
    }

    #[test]
    fn an_address_is_told_from_a_file_by_its_scheme() {
        for text in ["redfish://bmc", "https://bmc", "http://bmc"] {
            assert!(Address::is_meant(text), "{text}");
        }
        for text in ["bmc", "./redfish://bmc", "file://bmc", "redfish:/bmc", ""] {
            assert!(!Address::is_meant(text), "{text}");
        }
    }

    #[test]
    fn a_path_of_a_kilobyte_is_the_longest() {
        let address = Address::parse("redfish://[::1]:8443").expect("an address");
        let long = |bytes: usize| format!("/redfish/{}", "x".repeat(bytes - 9));
        assert_eq!(address.own_path(&long(1024)), Some(long(1024)));
        assert_eq!(address.own_path(&long(1025)), None);
        assert_eq!(address.own_path("https://[::1]:8443/redfish/v1/./a"), None);
        assert_eq!(
            address.own_path("https://[::1]:8443/redfish/.a").as_deref(),
            Some("/redfish/.a")
        );
        assert_eq!(address.own_path("https://[::1]/redfish/v1"), None, "another port");
        assert_eq!(address.url("/p"), "https://[::1]:8443/p");
    }

    #[test]
    fn links_lead_to_this_host_or_nowhere() {
        let address = Address::parse("https://bmc/redfish/v1").expect("an address");
        let own = |link: &str| address.own_path(link);
        let path = "/redfish/v1/Systems/1";
        assert_eq!(own(path).as_deref(), Some(path));
        assert_eq!(own("https://bmc/redfish/v1/Systems/1").as_deref(), Some(path));
        assert_eq!(own("/redfish/v1/Systems/1#/Memory").as_deref(), Some(path));
        for link in [
            "https://evil.example/redfish/v1/Systems/1",
            "https://bmc.evil.example/redfish/v1",
            "https://bmc:444/redfish/v1",
            "http://bmc/redfish/v1",
            "//evil.example/redfish/v1",
            "/redfish/../admin",
            "/admin",
            "redfish/v1",
            "/redfish/v1/\r\nHost: evil",
            "/redfish/v1/\\evil",
            "",
        ] {
            assert_eq!(own(link), None, "{link}");
        }
    }
}
