//! How users name the agent of a host.

use std::fmt;

/// A port that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPort(String);

impl fmt::Display for BadPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' has no port from 1 to 65535 behind its colon", self.0)
    }
}

impl std::error::Error for BadPort {}

/// Host and port of `host`, `host:port` and `[2001:db8::1]:port`. An IPv6 address without brackets
/// has no port, for nothing would tell its last group from one. Of `ssh:...` ssh knows the port.
pub fn host_and_port(name: &str) -> Result<(&str, Option<u16>), BadPort> {
    let bad = || BadPort(name.to_owned());
    let read = |port: &str| port.parse().ok().filter(|port| *port > 0).ok_or_else(bad);
    if let Some((host, rest)) = name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(read(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(bad()),
        };
    }
    match name.split_once(':') {
        Some(("ssh", _)) => Ok((name, None)),
        Some((host, port)) if !port.contains(':') => Ok((host, Some(read(port)?))),
        _ => Ok((name, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn a_name_may_have_a_port() {
        for (name, host, port) in [
            ("node7", "node7", None),
            ("node7:7480", "node7", Some(7480)),
            ("ssh:me@node7", "ssh:me@node7", None),
            ("192.0.2.1:1", "192.0.2.1", Some(1)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:65535", "2001:db8::1", Some(65535)),
        ] {
            assert_eq!(host_and_port(name), Ok((host, port)), "{name}");
        }
        for bad in ["node7:", "node7:0", "node7:65536", "node7:x", "[::1]x", "[::1]:"] {
            let says = host_and_port(bad).expect_err(bad).to_string();
            assert!(says.starts_with(&format!("'{bad}' has no port")), "{says}");
        }
    }
}
