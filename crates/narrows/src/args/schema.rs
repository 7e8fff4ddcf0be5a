//! `--schema`, of commands that print JSON.

use clap::Args as ClapArgs;

/// Whether the schema is asked for in place of everything else.
#[derive(ClapArgs, Clone, Copy, Default)]
pub struct SchemaArgs {
    /// Print the JSON schema of --json
    #[arg(long, exclusive = true)]
    pub schema: bool,
}
