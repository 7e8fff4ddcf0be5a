//! Offloads of an interface, read and switched by ethtool(8), which must be there.

use crate::HostError;

/// Words of `ethtool -K` and the names under which `ethtool -k` lists them.
pub const FEATURES: [(&str, &str); 7] = [
    ("gro", "generic-receive-offload"),
    ("gso", "generic-segmentation-offload"),
    ("lro", "large-receive-offload"),
    ("rx", "rx-checksumming"),
    ("sg", "scatter-gather"),
    ("tso", "tcp-segmentation-offload"),
    ("tx", "tx-checksumming"),
];

/// The name under which a feature is listed.
fn listed(feature: &str) -> Result<&'static str, HostError> {
    let found = FEATURES.iter().find(|(word, _)| *word == feature);
    found.map(|(_, name)| *name).ok_or_else(|| {
        let words: Vec<&str> = FEATURES.iter().map(|(word, _)| *word).collect();
        HostError::Order(format!("'{feature}' is not an offload; there are {}", words.join(", ")))
    })
}

/// Runs ethtool, in a network namespace where one is given by its file.
pub(crate) fn ethtool(words: &[&str], namespace: Option<&str>) -> Result<String, HostError> {
    let wrong = |why: String| HostError::Machine(format!("ethtool {}: {why}", words.join(" ")));
    let mut command = match namespace {
        None => crate::child::command("ethtool"),
        Some(file) => {
            let mut command = crate::child::command("nsenter");
            command.arg(format!("--net={file}")).arg("ethtool");
            command
        }
    };
    let ran = command.args(words).output().map_err(|error| wrong(error.to_string()))?;
    if ran.status.success() {
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    } else {
        Err(wrong(String::from_utf8_lossy(&ran.stderr).trim().to_owned()))
    }
}

/// Whether an offload is on.
pub fn get(device: &str, feature: &str, namespace: Option<&str>) -> Result<bool, HostError> {
    let name = listed(feature)?;
    let text = ethtool(&["-k", device], namespace)?;
    state(&text, name)
        .ok_or_else(|| HostError::Machine(format!("ethtool -k {device} does not list {name}")))
}

/// `generic-receive-offload: off [fixed]`.
fn state(text: &str, name: &str) -> Option<bool> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "))?;
    match rest.split(' ').next()? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Switches an offload, and sees that it is so: a driver may refuse in silence.
pub fn set(
    device: &str,
    feature: &str,
    on: bool,
    namespace: Option<&str>,
) -> Result<(), HostError> {
    listed(feature)?;
    ethtool(&["-K", device, feature, word(on)], namespace)?;
    if get(device, feature, namespace)? == on {
        Ok(())
    } else {
        Err(HostError::Machine(format!("{device} does not switch {feature} {}", word(on))))
    }
}

/// `on` or `off`.
pub fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// An offload as the guard's journal names it: `ethtool:eth0:gro`.
pub fn path(device: &str, feature: &str) -> String {
    format!("ethtool:{device}:{feature}")
}

/// Device and feature of such a name, if it is one.
pub fn parts(path: &str) -> Option<(&str, &str)> {
    let (device, feature) = path.strip_prefix("ethtool:")?.split_once(':')?;
    (is_device(device) && listed(feature).is_ok()).then_some((device, feature))
}

/// Whether this can name an interface. One that begins with a hyphen would be read as an option.
pub(crate) fn is_device(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_and_names_are_checked() {
        let text = "Features for v0:\nrx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n\
                    generic-receive-offload: off\nlarge-receive-offload: off [fixed]\n";
        assert_eq!(state(text, "rx-checksumming"), Some(true));
        assert_eq!(state(text, "generic-receive-offload"), Some(false));
        assert_eq!(state(text, "large-receive-offload"), Some(false));
        assert_eq!(state(text, "scatter-gather"), None);
        assert_eq!(parts(&path("eth0", "gro")), Some(("eth0", "gro")));
        for bad in
            ["ethtool:-x:gro", "ethtool:eth0:x", "ethtool::gro", "ethtool:a b:gro", "/proc/x"]
        {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }
}
