//! What is said of an option, once.

use super::fits::Fits;
use super::value::{Takes, Told, Value};
use super::{Effective, Params};
use crate::Bytes;
use crate::workload::Workload;
use std::marker::PhantomData;

/// Everything that is said of an option.
pub struct Declared {
    /// Key in a study's file, and in an order that carries it.
    pub key: &'static str,
    /// Which table of a study's file has it.
    pub section: Section,
    /// Its sort of value, with the bounds that an agent holds it to.
    pub takes: Takes,
    /// What it does, for the help, the manual page and `docs/options.md`.
    pub help: &'static str,
    /// How the commands spell it.
    pub flags: &'static [Flag],
    /// The workloads that it is for.
    pub fits: Fits,
    /// Where a trial keeps it.
    pub kept: Kept,
    /// What a study's identity has where the option is not told.
    pub unset: Unset,
    /// What a report says of it; `None` where that goes without saying.
    pub shown: fn(&Value, &Effective) -> Option<String>,
    /// Word that an agent must offer before it is told this; `None` for what every agent of this
    /// protocol knows.
    pub capability: Option<&'static str>,
}

impl Declared {
    /// What most options have in common.
    pub const PLAIN: Self = Self {
        key: "",
        section: Section::Top,
        takes: Takes::Switch,
        help: "",
        flags: &[],
        fits: Fits { what: "every workload", holds: |_| true },
        kept: Kept::Plan,
        unset: Unset::Left,
        shown: |_, _| None,
        capability: None,
    };
}

/// Tables of a study's file that hold options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// A level's own table, or `[base]`.
    Top,
    /// `rdma = { .. }` within that.
    Rdma,
}

/// Where a trial keeps an option.
#[derive(Clone, Copy)]
pub enum Kept {
    /// Not in the parameters of its workload: the plan makes a placement, a time line or a state of
    /// the host of it.
    Plan,
    /// In a field of the parameters that older versions know too.
    Field {
        /// What the field holds; `None` where nothing was asked for.
        read: fn(&Params) -> Option<Value>,
        /// Puts a value there.
        write: fn(&mut Params, &Value, &Scene<'_>),
    },
    /// In the parameters, by its key.
    Key,
}

/// What a value may depend on.
pub struct Scene<'a> {
    /// What the option is asked for.
    pub workload: &'a Workload,
    /// Largest last-level cache of the hosts.
    pub cache: Bytes,
}

/// What a study's identity has in place of an option that is not told. Identities are made of text:
/// what older versions wrote there stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// Nothing: the identity is as it was before there was the option.
    Left,
    /// Its key, and `null`.
    Null,
    /// Its key, and `false`.
    False,
}

/// Commands that have options of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The command `narrows tcp`.
    Tcp,
    /// The command `narrows udp`.
    Udp,
    /// The command `narrows rdma`.
    Rdma,
    /// The command `narrows mem`.
    Mem,
    /// The command `narrows packets`.
    Packets,
    /// The command `narrows diagnose`.
    Diagnose,
}

impl Command {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Rdma => "rdma",
            Self::Mem => "mem",
            Self::Packets => "packets",
            Self::Diagnose => "diagnose",
        }
    }
}

/// How commands spell an option.
pub struct Flag {
    /// Commands that take the flag.
    pub on: &'static [Command],
    /// The long name, without its dashes.
    pub long: &'static str,
    /// Short form of the flag, without its hyphen.
    pub letter: Option<char>,
    /// Another long name.
    pub alias: Option<&'static str>,
    /// What its value is called in the help; empty for a switch.
    pub value: &'static str,
    /// Help of these commands, where it differs.
    pub help: Option<&'static str>,
    /// Its value where it is not given.
    pub default: Option<&'static str>,
    /// The value that a switch stands for, of an option that is none.
    pub means: Option<&'static str>,
    /// Other bounds than an agent's.
    pub takes: Option<Takes>,
    /// Names of arguments that it cannot be given with.
    pub not_with: &'static [&'static str],
    /// Name of an argument that it must be given with.
    pub needs: Option<&'static str>,
}

impl Flag {
    /// A flag with a name and nothing else.
    pub const PLAIN: Self = Self {
        on: &[],
        long: "",
        letter: None,
        alias: None,
        value: "",
        help: None,
        default: None,
        means: None,
        takes: None,
        not_with: &[],
        needs: None,
    };
}

/// An option of the table, with the type that holds its value.
pub struct Opt<T: 'static> {
    /// What is said of it.
    pub declared: Declared,
    held: PhantomData<fn() -> T>,
}

impl<T: Told> Opt<T> {
    /// Declares an option.
    pub const fn new(declared: Declared) -> Self {
        Self { declared, held: PhantomData }
    }

    /// What a trial's workload is told of it.
    pub fn of(&self, params: &Params) -> Option<T> {
        self.declared.of(params).as_ref().and_then(T::of)
    }
}

impl Declared {
    /// What a trial's workload is told of it.
    pub fn of(&self, params: &Params) -> Option<Value> {
        match self.kept {
            Kept::Plan => None,
            Kept::Field { read, .. } => read(params),
            Kept::Key => params.told.get(self.key).cloned(),
        }
    }

    /// Whether no workload of a network has it.
    pub fn is_of_kernels(&self) -> bool {
        !Workload::named().any(|load| load.is_network() && (self.fits.holds)(&load))
    }

    /// Tells a trial's workload.
    pub fn put(&'static self, params: &mut Params, value: &Value, scene: &Scene<'_>) {
        match self.kept {
            Kept::Plan => {}
            Kept::Field { write, .. } => write(params, value, scene),
            // A switch that is off was not asked for: the trial is that of who says nothing.
            Kept::Key if *value == Value::Switch(false) => {}
            Kept::Key => params.told.set(self, value.clone()),
        }
    }
}
