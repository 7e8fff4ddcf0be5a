//! Stacks as a tree: who called whom, and how much time went there.

use crate::breakdown::Counted;
use crate::class::{Class, Table};
use narrows_model::profile::{Function, Mode, Profile, Stack};

/// A function with what was called from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Its name; empty at the root.
    pub name: String,
    /// What it is for; `None` where that depends on the caller, or is not known.
    pub class: Option<Class>,
    /// Nanoseconds or cycles of it and of all that it called.
    pub weight: u64,
    /// What it called, the most expensive first.
    pub calls: Vec<Flame>,
}

impl Flame {
    /// Of all stacks of these profiles that count.
    pub(crate) fn of(profiles: &[&Profile], counted: Counted) -> Self {
        let mut root = Self::default();
        for profile in profiles {
            let stacks = profile.stacks.iter();
            for stack in stacks.filter(|stack| counted.has(profile, stack)) {
                root.add(profile, stack);
            }
        }
        root.sort();
        root
    }

    fn add(&mut self, profile: &Profile, stack: &Stack) {
        self.weight = self.weight.saturating_add(stack.weight);
        let mut at = self;
        for function in profile.frames(stack).rev() {
            at = at.call(function);
            at.weight = at.weight.saturating_add(stack.weight);
        }
    }

    fn call(&mut self, function: &Function) -> &mut Self {
        let known = self.calls.iter().position(|call| call.name == function.name);
        let at = known.unwrap_or_else(|| {
            let class = match function.mode {
                Mode::User => Some(Class::User),
                Mode::Kernel => Table::own().class_of_function(function),
            };
            let (name, weight, calls) = (function.name.clone(), 0, Vec::new());
            self.calls.push(Self { name, class, weight, calls });
            self.calls.len() - 1
        });
        &mut self.calls[at]
    }

    fn sort(&mut self) {
        self.calls.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.name.cmp(&b.name)));
        self.calls.iter_mut().for_each(Self::sort);
    }
}
