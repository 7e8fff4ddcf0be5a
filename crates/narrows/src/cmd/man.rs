//! `narrows man`: manual pages.

use crate::args::{ManArgs, help};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use clap::{Arg, Command};
use std::path::Path;

/// Prints a page as roff, or writes all of them as files.
pub fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut whole = help::command();
    whole.build();
    if let Some(dir) = &args.dir {
        output::check_folder(dir)?;
        write_all(&whole, dir)?;
        return Ok(0);
    }
    let mut command = &whole;
    for name in &args.command {
        let found = command.find_subcommand(name).filter(|found| !found.is_hide_set());
        command = found.ok_or_else(|| {
            Failure::of(Cause::NO_PAGE, format!("there is no command '{}'", args.command.join(" ")))
        })?;
    }
    output::print_exact(&page(command)?)?;
    Ok(0)
}

/// A page of a command and of each below it.
fn write_all(command: &Command, dir: &Path) -> Result<(), Failure> {
    let file = dir.join(format!("{}.1", name(command)));
    output::write_whole(&file, &page(command)?)?;
    command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        .try_for_each(|sub| write_all(sub, dir))
}

/// Name of a command's page: `narrows-tcp`.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let whole = command.clone().mut_args(whole_option);
    let written = clap_mangen::Man::new(whole).render(&mut page);
    written.map_err(|error| Failure::of(Cause::FAULT, error.to_string()))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The option as pages show it, with its other names in its help: the writer of pages leaves them
/// out, and the text of what `-h` does not show as well.
fn whole_option(option: Arg) -> Arg {
    let option = option.hide_short_help(false);
    let aliases = option.get_visible_aliases().unwrap_or_default();
    let Some(help) = option.get_help().filter(|_| !aliases.is_empty()) else { return option };
    let help = format!("{help} [alias: --{}]", aliases.join(", --"));
    option.help(help)
}
