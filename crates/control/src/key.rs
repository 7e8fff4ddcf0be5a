//! The pre-shared key of an agent, and the tokens of trials: 256 and 128 random bits.

use crate::error::{ControlError, KeyError, KeyFile, MachineError};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A key that controller and agent share; it is never stored or printed except by `serve` itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A new random key.
    pub fn random() -> Result<Self, ControlError> {
        let mut bytes = [0; 32];
        fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, ControlError> {
        let text = text.trim();
        let mut key = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(key))
    }

    /// Reads a file that holds 64 hexadecimal digits and that nobody but its owner can read.
    pub fn read(path: &Path) -> Result<Self, ControlError> {
        Self::read_file(path).map_err(|why| KeyError::File { path: path.to_owned(), why }.into())
    }

    fn read_file(path: &Path) -> Result<Self, KeyFile> {
        let data = std::fs::metadata(path).map_err(KeyFile::Unread)?;
        if !data.is_file() || data.len() > 1024 {
            return Err(KeyFile::NoFile);
        }
        if data.permissions().mode() & 0o077 != 0 {
            return Err(KeyFile::Open);
        }
        let text = std::fs::read_to_string(path).map_err(KeyFile::Unread)?;
        Self::parse(&text).map_err(|_| KeyFile::Digits)
    }

    /// As hexadecimal digits, for the command that `serve` prints.
    pub fn show(&self) -> String {
        hex(&self.0)
    }

    /// The 32 bytes of the key.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn wrong() -> ControlError {
    KeyError::Digits.into()
}

/// A new token for one run.
pub fn token() -> Result<String, ControlError> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(hex(&bytes))
}

/// 64 bits of chance.
pub fn chance() -> Result<u64, ControlError> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

fn fill(bytes: &mut [u8]) -> Result<(), ControlError> {
    getrandom::fill(bytes).map_err(|error| MachineError::Random(error).into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_being_pasted_and_nothing_else_is_a_key() {
        let key = Key::random().expect("random");
        assert!(Key::parse(&format!(" {}\n", key.show())).expect("own key") == key);
        for bad in ["", "12", &"g".repeat(64), &"a".repeat(63), &"é".repeat(32)] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
        assert_ne!(token().expect("token"), token().expect("token"));
    }

    #[test]
    fn a_key_file_is_its_owners_alone_and_small() {
        let path = std::env::temp_dir().join(format!("narrows-key-{}", std::process::id()));
        let key = Key::random().expect("random");
        let read = |text: &str, mode: u32| {
            // What its owner may not write can still be made anew.
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).expect("written");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("permitted");
            Key::read(&path).map_err(|error| error.to_string())
        };
        assert!(read(&key.show(), 0o600).expect("its owner's") == key);
        assert!(read(&key.show(), 0o400).is_ok());
        for mode in [0o640, 0o604, 0o610, 0o601, 0o620, 0o602] {
            let why = read(&key.show(), mode).err().unwrap_or_default();
            assert!(why.contains("chmod 600"), "{mode:o}: {why}");
        }
        let spaces = |length: usize| format!("{:<length$}", key.show());
        assert!(read(&spaces(1024), 0o600).is_ok());
        let why = read(&spaces(1025), 0o600).err().unwrap_or_default();
        assert!(why.contains("not a file of 64 hexadecimal digits"), "{why}");
        let _ = std::fs::remove_file(&path);
        assert!(Key::read(&std::env::temp_dir()).is_err());
        assert_eq!(token().expect("token").len(), 32);
        assert_ne!(chance().expect("chance"), chance().expect("chance"));
    }
}
