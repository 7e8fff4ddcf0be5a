//! Management controllers among what `narrows host --from` is given: each is asked for its Redfish
//! resources.

use crate::args::BmcArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::{progress, prompt, said, stop};
use narrows_bmc::{Access, Address, BmcError, Found, Limits, Secret};
use narrows_host::STANDARD_INPUT;
use narrows_host::parts::PartialHost;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where a password is looked for that no file has.
const VARIABLE: &str = "NARROWS_BMC_PASSWORD";
/// Longer lines are no passwords.
const PASSWORD_BYTES_MAX: u64 = 4096;

/// Whether a path is meant as a controller's address.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(Address::is_meant)
}

/// Whether these are addresses of several controllers and nothing else: a host has one.
pub fn are_several(paths: &[PathBuf]) -> bool {
    paths.len() > 1 && paths.iter().all(|path| is_address(path))
}

/// What the controllers tell, each by itself.
pub fn parts(paths: &[PathBuf], args: &BmcArgs) -> Result<Vec<PartialHost>, Failure> {
    let texts = paths.iter().filter_map(|path| path.to_str());
    let addresses: Vec<Address> = texts
        .map(|text| Address::parse(text).map_err(|error| refused(&error.to_string())))
        .collect::<Result<_, _>>()?;
    if addresses.is_empty() {
        return if args.bmc_user.is_some() || args.tls_fingerprint.is_some() {
            Err(refused("no path is the address of a management controller"))
        } else {
            Ok(Vec::new())
        };
    }
    addresses.into_iter().map(|address| part(address, args)).collect()
}

fn refused(why: &str) -> Failure {
    Failure::of(Cause::BMC_ADDRESS, why)
}

fn part(address: Address, args: &BmcArgs) -> Result<PartialHost, Failure> {
    let from = address.to_string();
    let user = match &args.bmc_user {
        Some(user) => Some((user.clone(), password(user, &from, args)?)),
        None => None,
    };
    let access = Access { user, pin: args.tls_fingerprint.clone() };
    let stop = stop::flag()?;
    let mut shown = progress::Resources::new(&from);
    let found = narrows_bmc::ask(address, access, Limits::default(), &stop, |progress| {
        shown.step(&progress);
    });
    shown.clear();
    told(&found?, &from)
}

/// What was found, with what a controller names and did not give.
fn told(found: &Found, from: &str) -> Result<PartialHost, Failure> {
    let part = narrows_host::of_redfish(&found.resources, from);
    let mut part = part.map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))?;
    found.unread.iter().for_each(|one| part.unused(format!("{}: {}", one.link, one.why)));
    Ok(part)
}

/// From a file, from the environment, or from whoever sits at the terminal.
fn password(user: &str, at: &str, args: &BmcArgs) -> Result<Secret, Failure> {
    if let Some(file) = &args.bmc_password_file {
        return first_line(file);
    }
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => Ok(Secret::of(&text)),
        _ if std::io::stderr().is_terminal() => {
            said::begin(&format!("password of {user} at {at}: "));
            let typed = prompt::secret();
            said::note("");
            match typed {
                Ok(Some(text)) => Ok(text),
                Ok(None) => Err(BmcError::Stopped.into()),
                Err(error) => Err(Failure::of(Cause::BMC_PASSWORD, error.to_string())),
            }
        }
        _ => Err(Failure::of(Cause::BMC_PASSWORD, format!("no password of {user} is given"))),
    }
}

fn first_line(path: &Path) -> Result<Secret, Failure> {
    let from: Box<dyn Read> = if path == Path::new(STANDARD_INPUT) {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path).map_err(|error| Failure::unread(path, &error))?;
        let data = file.metadata().map_err(|error| Failure::unread(path, &error))?;
        let kept = data.is_file() && data.permissions().mode() & 0o077 != 0;
        if kept || !(data.is_file() || data.file_type().is_fifo()) {
            let why = if kept { "others can read it; `chmod 600` it" } else { "it is no file" };
            let text = format!("{}: {why}", path.display());
            return Err(Failure::of(Cause::BMC_PASSWORD, text));
        }
        Box::new(file)
    };
    let mut line = String::new();
    let read = BufReader::new(from.take(PASSWORD_BYTES_MAX)).read_line(&mut line);
    read.map_err(|error| Failure::unread(path, &error))?;
    if line.trim_end_matches(['\r', '\n']).is_empty() {
        let text = format!("{}: its first line is empty", path.display());
        Err(Failure::of(Cause::BMC_PASSWORD, text))
    } else {
        Ok(Secret::take(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_bmc::Unread;
    use std::fs::{self, Permissions};

    #[test]
    fn what_a_controller_did_not_give_is_kept_of_it() {
        let system = serde_json::json!({
            "@odata.id": "/redfish/v1/Systems/1",
            "@odata.type": "#ComputerSystem.v1_0_0.ComputerSystem",
            "Manufacturer": "Contoso",
        });
        let unread = |link: &str| Unread { link: link.into(), why: "status 500".into() };
        let resources = vec![system];
        let before = told(&Found { resources: resources.clone(), unread: vec![] }, "bmc7");
        let before = before.expect("a host").host.unused.len();
        let found = Found { resources, unread: vec![unread("/a"), unread("/b")] };
        let unused = told(&found, "bmc7").expect("a host").host.unused;
        let unused: Vec<&str> = unused[before..].iter().map(|one| one.what.as_str()).collect();
        assert_eq!(unused, ["/a: status 500", "/b: status 500"]);
        assert!(told(&Found::default(), "bmc7").is_err(), "no resource is no host");
    }

    #[test]
    fn a_password_is_the_first_line_of_a_file_that_nobody_else_reads() {
        let file = std::env::temp_dir().join(format!("narrows-password-{}", std::process::id()));
        let read = |text: &str, mode: u32| {
            let _ = fs::remove_file(&file);
            fs::write(&file, text).expect("written");
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
            first_line(&file).map(drop).map_err(|why| why.says().to_owned())
        };
        assert_eq!(read("secret\nmore\n", 0o600), Ok(()));
        assert_eq!(read("secret", 0o400), Ok(()));
        for mode in [0o640, 0o604, 0o660] {
            let why = read("secret", mode).expect_err("others can");
            assert!(why.ends_with("others can read it; `chmod 600` it"), "{why}");
        }
        for text in ["", "\n", "\r\nsecret"] {
            let why = read(text, 0o600).expect_err("empty");
            assert!(why.ends_with("its first line is empty"), "{why}");
        }
        fs::remove_file(&file).expect("removed");
        let why = first_line(&std::env::temp_dir()).map(drop).expect_err("a folder");
        assert!(why.says().ends_with("it is no file"), "{}", why.says());
        assert!(first_line(&file).is_err(), "it is gone");
    }

    #[test]
    fn a_controller_is_meant_by_an_address_and_several_by_addresses_alone() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<PathBuf>>();
        assert!(is_address(Path::new("redfish://bmc")) && !is_address(Path::new("bmc.txt")));
        assert!(are_several(&paths(&["redfish://a", "https://b"])));
        assert!(!are_several(&paths(&["redfish://a"])));
        assert!(!are_several(&paths(&["redfish://a", "b.txt"])));
    }
}
