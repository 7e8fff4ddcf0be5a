//! Arguments of commands made from the table of options.

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use narrows_model::options::runs;
use narrows_model::options::{
    ALL, Command, Declared, Flag, Form, Section, Takes, Value, WrongValue,
};
use narrows_model::workload::Workload;
use narrows_plan::study::{Settings, nodes, seats};
use narrows_plan::{BackgroundLoad, ByEnd, Seat, Where};
use narrows_workloads::{packets, tcp, udp};
use std::error::Error;
use std::marker::PhantomData;

/// A command whose options are in the table.
pub trait Of {
    /// Command whose options are made of the table.
    const COMMAND: Command;
}

/// Options of `narrows tcp`.
pub struct Tcp;
/// Options of `narrows udp`.
pub struct Udp;
/// Options of `narrows rdma`.
pub struct Rdma;
/// Options of `narrows mem`.
pub struct Mem;
/// Options of `narrows diagnose`.
pub struct Diagnose;
/// The options of `narrows packets`.
pub struct Packets;

impl Of for Tcp {
    const COMMAND: Command = Command::Tcp;
}

impl Of for Udp {
    const COMMAND: Command = Command::Udp;
}

impl Of for Rdma {
    const COMMAND: Command = Command::Rdma;
}

impl Of for Diagnose {
    const COMMAND: Command = Command::Diagnose;
}

impl Of for Packets {
    const COMMAND: Command = Command::Packets;
}

impl Of for Mem {
    const COMMAND: Command = Command::Mem;
}

/// What a command's options of the table are told.
pub struct CommandOptions<C> {
    /// As a cell of a study has them.
    pub settings: Settings,
    command: PhantomData<C>,
}

fn of_option(
    option: &'static Declared,
) -> impl Iterator<Item = (&'static Declared, &'static Flag)> {
    option.flags.iter().map(move |flag| (option, flag))
}

/// The flags of a command, in the order of the table.
fn flags(command: Command) -> impl Iterator<Item = (&'static Declared, &'static Flag)> {
    ALL.iter().copied().flat_map(of_option).filter(move |(_, flag)| flag.on.contains(&command))
}

impl<C> CommandOptions<C> {
    /// The same, of a workload.
    pub fn of_load(&self, load: &Workload) -> Settings {
        let mut settings = self.settings.clone();
        settings.tell(&runs::LOAD, load.to_string());
        settings
    }
}

impl<C: Of> Args for CommandOptions<C> {
    fn augment_args(command: clap::Command) -> clap::Command {
        flags(C::COMMAND).fold(command, |command, (option, flag)| {
            command.arg(argument(option, flag, C::COMMAND))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<C: Of> FromArgMatches for CommandOptions<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut told = Self { settings: Settings::default(), command: PhantomData };
        told.update_from_arg_matches(matches)?;
        Ok(told)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (option, flag) in flags(C::COMMAND) {
            let value = if !flag.value.is_empty() {
                matches.get_one::<Value>(flag.long).cloned()
            } else if matches.get_flag(flag.long) {
                let means = flag.means.map(|word| Value::Text(word.to_owned()));
                Some(means.unwrap_or(Value::Switch(true)))
            } else {
                None
            };
            match (value, option.section) {
                (Some(value), Section::Top) => self.settings.options.set(option, value),
                (Some(value), Section::Rdma) => {
                    self.settings.rdma.get_or_insert_default().set(option, value);
                }
                (None, _) => {}
            }
        }
        Ok(())
    }
}

fn argument(option: &'static Declared, flag: &'static Flag, command: Command) -> Arg {
    let mut argument = Arg::new(flag.long)
        .long(flag.long)
        .help(flag.help.unwrap_or(option.help))
        .conflicts_with_all(flag.not_with);
    if let Some(letter) = flag.letter {
        argument = argument.short(letter);
    }
    if let Some(alias) = flag.alias {
        argument = argument.visible_alias(alias);
    }
    if let Some(needs) = flag.needs {
        argument = argument.requires(needs);
    }
    if let Some(default) = flag.default {
        argument = argument.default_value(default);
    }
    if flag.value.is_empty() {
        return argument.action(ArgAction::SetTrue);
    }
    let takes = flag.takes.unwrap_or(option.takes);
    let any_case = matches!(takes, Takes::WordOfAnyCase(_));
    argument.value_name(flag.value).ignore_case(any_case).value_parser(parser(takes, command))
}

fn words(names: impl IntoIterator<Item = &'static str>) -> ValueParser {
    PossibleValuesParser::new(names).map(Value::Text).into()
}

/// A text that has this reader.
fn readable<T: 'static, E>(read: fn(&str) -> Result<T, E>) -> ValueParser
where
    E: Into<Box<dyn Error + Send + Sync + 'static>> + 'static,
{
    let parser = move |text: &str| read(text).map(|_| Value::Text(text.to_owned()));
    ValueParser::new(parser)
}

/// Places of two ends, or of a pattern's by role or host.
fn places(text: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    if text.contains('=') {
        Ok(ByEnd::parse(text, str::parse::<Seat>).map(drop)?)
    } else {
        Ok(seats(text).map(drop)?)
    }
}

/// The same of nodes.
fn memory_nodes(text: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    if text.contains('=') {
        Ok(ByEnd::parse(text, str::parse::<u32>).map(drop)?)
    } else {
        Ok(nodes(text).map(drop)?)
    }
}

fn parser(takes: Takes, command: Command) -> ValueParser {
    match takes {
        Takes::Word(names) | Takes::WordOfAnyCase(names) => words(names.iter().copied()),
        Takes::Text(Form::Sender) if command == Command::Udp => {
            words(udp::senders::SENDERS.iter().map(|sender| sender.name))
        }
        Takes::Text(Form::Sender) if command == Command::Packets => {
            words(packets::senders::names())
        }
        Takes::Text(Form::Sender) => words(tcp::senders::SENDERS.iter().map(|sender| sender.name)),
        Takes::Text(Form::Receiver) if command == Command::Udp => {
            words(udp::receivers::RECEIVERS.iter().map(|receiver| receiver.name))
        }
        Takes::Text(Form::Receiver) if command == Command::Packets => {
            words(packets::receivers::names())
        }
        Takes::Text(Form::Receiver) => {
            words(tcp::receivers::RECEIVERS.iter().map(|receiver| receiver.name))
        }
        Takes::Text(Form::Places) => readable(places),
        Takes::Text(Form::Place) => readable(str::parse::<Where>),
        Takes::Text(Form::Nodes) => readable(memory_nodes),
        Takes::Text(Form::BackgroundLoad) => readable(str::parse::<BackgroundLoad>),
        other => {
            ValueParser::new(move |text: &str| -> Result<Value, WrongValue> { other.parse(text) })
        }
    }
}
