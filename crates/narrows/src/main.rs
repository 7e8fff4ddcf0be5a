//! `narrows`: whether a server's memory, NUMA layout, PCIe path and CPU hold its network back, by
//! how much, and what to change. The only crate that prints.

#![forbid(unsafe_code)]

/// One line on standard error, as `eprintln!` makes it, and with nothing in it that acts on a
/// terminal.
macro_rules! note {
    ($($text:tt)*) => { $crate::said::note(&format!($($text)*)) };
}

mod args;
mod bar;
mod cause;
mod cmd;
#[cfg_attr(not(feature = "parquet"), path = "without/columns.rs")]
mod columns;
mod failure;
mod input;
#[cfg(test)]
mod kept;
mod live;
mod output;
mod progress;
mod prompt;
#[cfg_attr(not(feature = "png"), path = "without/raster.rs")]
mod raster;
mod said;
mod screen;
mod stop;
#[cfg_attr(not(feature = "tui"), path = "without/watch.rs")]
mod watch;

use args::{Args, Command, habits, help};
use clap::FromArgMatches;
use failure::Failure;
use nix::sys::prctl;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Workers of an agent are run from an open file, whose number ps and top would show.
    let _ = prctl::set_name(c"narrows");
    let matches = help::command().try_get_matches_from(habits::told(std::env::args_os()));
    let matches = matches.unwrap_or_else(|error| habits::exit(error));
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(args.command) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.print(),
    }
}

fn run(command: Command) -> Result<u8, Failure> {
    // The other processes of a measurement end with it, and not by what the terminal sends.
    if !matches!(command, Command::Become(_) | Command::Guard | Command::Listener | Command::Worker)
    {
        stop::at_once()?;
    }
    match command {
        Command::App(args) => cmd::app::run(&args),
        Command::Become(args) => cmd::become_other::run(&args),
        Command::Check(args) => cmd::check::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Credits(args) => cmd::credits::run(&args),
        Command::Diagnose(args) => cmd::diagnose::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Fabric(args) => cmd::fabric::run(&args),
        Command::Guard => cmd::guard::run(),
        Command::Host(args) => cmd::host::run(&args),
        Command::Import(args) => cmd::import::run(&args),
        Command::History(args) => cmd::history::run(&args),
        Command::Latency(args) => cmd::latency::run(&args),
        Command::List(args) => cmd::list::run(&args),
        Command::Listener => cmd::listener::run(),
        Command::Man(args) => cmd::man::run(&args),
        Command::Mem(args) => cmd::mem::run(&args),
        Command::Mesh(args) => cmd::mesh::run(&args),
        Command::Mpi(args) => cmd::mpi::run(&args),
        Command::Packets(args) => cmd::packets::run(&args),
        Command::Neighbours(args) => cmd::neighbours::run(&args),
        Command::Paths(args) => cmd::paths::run(&args),
        Command::Placement(args) => cmd::placement::run(&args),
        Command::Predict(args) => cmd::predict::run(&args),
        Command::Rdma(args) => cmd::rdma::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Search(args) => cmd::search::run(&args),
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Study(args) => cmd::study::run(&args),
        Command::Tcp(args) => cmd::direct::tcp(&args),
        Command::Tune(args) => cmd::tune::run(&args),
        Command::Udp(args) => cmd::direct::udp(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Worker => cmd::worker::run(),
    }
}
