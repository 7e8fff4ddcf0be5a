//! The key that an agent and its controller share.

use crate::failure::Failure;
use clap::Args as ClapArgs;
use narrows_control::key::Key;
use std::path::PathBuf;

/// The key, as it is given in words, in the environment or in a file.
#[derive(ClapArgs, Clone, Default)]
pub struct KeyArgs {
    /// Key of the agents; better in the environment, where ps does not show it, or in a file
    #[arg(long, env = "NARROWS_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
    /// File that holds the key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The key that was given: that of the file, where there is one.
    pub fn given(&self) -> Result<Option<Key>, Failure> {
        Ok(match (&self.key, &self.key_file) {
            (_, Some(file)) => Some(Key::read(file)?),
            (Some(words), None) => Some(Key::parse(words)?),
            (None, None) => None,
        })
    }
}
