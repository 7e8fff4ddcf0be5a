//! `narrows serve`: the agent on the other host.

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::{cmd, output, stop};
use narrows_run::agent::{Agent, Event};
use narrows_run::key::Key;
use narrows_run::{address, wire};

/// Runs the command until it is stopped.
pub fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let key = match &args.key {
        Some(key) => Key::parse(key)?,
        None => Key::random()?,
    };
    let stop = stop::flag()?;
    let agent = Agent::listen(args.bind, args.port, key.clone(), cmd::own_binary()?)?;
    let address = if args.bind.is_unspecified() { address::own() } else { Some(args.bind) };
    let host = address.map_or_else(|| "THIS-HOST".to_owned(), |address| address.to_string());
    let port = match agent.port() {
        wire::PORT => String::new(),
        port => format!(" -p {port}"),
    };
    let text = format!(
        "listening on {} port {}; run on the other host:\n\n    NARROWS_KEY={} narrows tcp {host}{port}\n\n\
         (or udp in place of tcp); Ctrl-C ends it\n",
        args.bind,
        agent.port(),
        key.show()
    );
    output::print(&text)?;
    agent.serve(&stop, |event| match event {
        Event::Session(from) => eprintln!("{from}: a controller with the key"),
        Event::TurnedAway(why) => eprintln!("turned away: {why}"),
        Event::Ended(from) => eprintln!("{from}: done"),
    });
    Ok(0)
}
