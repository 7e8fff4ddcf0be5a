//! Options of `host` and `predict` for a management controller.

use clap::Args as ClapArgs;
use narrows_bmc::Fingerprint;
use std::path::PathBuf;

/// Who asks a controller, and which certificate of it is believed.
#[derive(ClapArgs, Default)]
pub struct BmcArgs {
    /// The account at a management controller (redfish://HOST)
    ///
    /// Its password is taken from --bmc-password-file, else from NARROWS_BMC_PASSWORD, else it is
    /// asked for on the terminal, without echo. It is stored nowhere.
    #[arg(long, value_name = "NAME", requires = "described")]
    pub bmc_user: Option<String>,
    /// File whose first line is the password, for its owner alone (chmod 600); - is standard input
    #[arg(long, value_name = "FILE", requires = "bmc_user")]
    pub bmc_password_file: Option<PathBuf>,
    /// Accept the controller's certificate if it has this SHA-256 fingerprint, whoever signed it
    #[arg(long, value_name = "SHA256", requires = "from", value_parser = Fingerprint::parse)]
    pub tls_fingerprint: Option<Fingerprint>,
}
