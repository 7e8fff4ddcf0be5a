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
    use crate::guard;
    use crate::scratch::{self, Folder};
    use std::path::Path;

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

    /// In place of ethtool: keeps what it is told of eth0, lets `stubborn` stay as it is, rounds
    /// for `steps`, and knows no other device. It writes down what it was called with.
    const ETHTOOL: &str = r#"cd "${0%/*}"
echo "$*" >> calls
case "$2" in
eth0 | stubborn | steps) ;;
*) echo "netlink error: no device" >&2; exit 75 ;;
esac
case "$1 $2" in
'-k '*) printf '%s\n' "generic-receive-offload: $(cat gro)" 'rx-checksumming: on [fixed]' ;;
'-K eth0') echo "$4" > "$3" ;;
'-c '*) printf '%s\n' 'Adaptive RX: off  TX: on' "rx-usecs:	$(cat rx-usecs)" ;;
'-C eth0') echo "$4" > "$3" ;;
'-C steps') echo $((($4 + 7) / 8 * 8)) > "$3" ;;
esac"#;
    const NSENTER: &str = r#"echo "nsenter $*" >> "${0%/*}/calls"
shift
exec "$@""#;

    /// Not a test: with those two before all other programs.
    #[test]
    fn part() {
        let Some(folder) = scratch::part() else { return };
        let calls = || {
            let path = Path::new(&folder).join("calls");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let _ = std::fs::remove_file(path);
            text
        };
        let why = |came: Result<(), HostError>| came.expect_err("refused").to_string();
        assert!(get("eth0", "gro", None).expect("read"));
        set("eth0", "gro", false, None).expect("switched");
        assert!(!get("eth0", "gro", None).expect("read"));
        assert_eq!(calls(), "-k eth0\n-K eth0 gro off\n-k eth0\n-k eth0\n");
        assert!(why(set("stubborn", "gro", true, None)).contains("does not switch gro on"));
        assert!(why(get("eth0", "lro", None).map(drop)).contains("list large-receive-offload"));
        assert_eq!(
            why(set("eth9", "rx", true, None)),
            "ethtool -K eth9 rx on: netlink error: no device"
        );
        let _ = calls();
        assert!(why(set("eth0", "x", true, None)).contains("gro, gso, lro, rx, sg, tso, tx"));
        assert_eq!(calls(), "", "nothing is called for what is no offload");
        get("eth0", "rx", Some("/proc/7/fd/9")).expect("read");
        assert_eq!(calls(), "nsenter --net=/proc/7/fd/9 ethtool -k eth0\n-k eth0\n");
        let named = guard::read("ethtool:eth0:gro").expect("read");
        assert_eq!((named.as_str(), word(true)), ("off", "on"));
        coalesces(&calls, &why);
    }

    fn coalesces(calls: &dyn Fn() -> String, why: &dyn Fn(Result<(), HostError>) -> String) {
        use crate::coalescing::{get, set};
        let _ = calls();
        assert_eq!(get("eth0", "rx-usecs", None).expect("read"), "3");
        set("eth0", "rx-usecs", "3", None).expect("it is so");
        assert_eq!(calls(), "-c eth0\n-c eth0\n", "nothing is set that is so");
        set("eth0", "rx-usecs", "50", Some("n")).expect("set");
        let in_n = |words: &str| format!("nsenter --net=n ethtool {words}\n{words}\n");
        let all = ["-c eth0", "-C eth0 rx-usecs 50", "-c eth0"].map(in_n);
        assert_eq!(calls(), all.concat());
        assert!(why(set("steps", "rx-usecs", "10", None)).contains("made rx-usecs 16 of 10"));
        assert!(why(get("eth0", "tx-usecs", None).map(drop)).contains("tells no tx-usecs"));
        let named = guard::read("coalescing:eth0:adaptive-tx").expect("read");
        assert_eq!(named, "on");
        let was = ["ethtool:eth0:gro\",\"value\":\"on", "coalescing:eth0:rx-usecs\",\"value\":\"5"];
        let told: String = was.map(|was| format!("{{\"path\":\"{was}\"}}\n")).concat();
        guard::serve(told.as_bytes(), Vec::new()).expect("put back");
        let now = ["ethtool:eth0:gro", "coalescing:eth0:rx-usecs"].map(guard::read);
        assert_eq!(now.map(Result::ok), ["on", "5"].map(|now| Some(now.to_owned())));
    }

    #[test]
    fn what_ethtool_is_called_with_and_says_is_what_is_set_and_told() {
        let folder = Folder::new("ethtool");
        folder.script("ethtool", ETHTOOL);
        folder.script("nsenter", NSENTER);
        folder.file("gro", "on\n");
        folder.file("rx-usecs", "3\n");
        let own = folder.path().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut part = scratch::itself("offloads::tests::part", &own);
        scratch::said(part.env("PATH", format!("{own}:{path}")));
    }
}
