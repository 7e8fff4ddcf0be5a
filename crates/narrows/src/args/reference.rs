//! What others measured or published, beside one's own figures.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `--reference`, of all commands that have it.
#[derive(ClapArgs)]
pub struct ReferenceArgs {
    /// Another study whose medians are shown alongside, joined by levels: one of another server, or
    /// what others published (TOML), or an output that can be imported; several times for several.
    /// Of several studies it is of all, of the one that is called as it is, or of NAME in NAME=FILE
    #[arg(id = "reference", long = "reference", value_name = "[NAME=]FILE", alias = "beside")]
    pub files: Vec<PathBuf>,
}
