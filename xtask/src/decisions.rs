//! Places that decide by how a text is spelt where a type would know. The house test uses this file
//! too.

use quote::ToTokens;
use syn::visit::{self, Visit};

/// Calls that ask how a text begins or ends.
const ENDS: [&str; 6] = [
    "ends_with",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];
/// Calls that ask for a part of a text, or take it apart.
const PARTS: [&str; 7] =
    ["contains", "find", "rsplit", "rsplit_once", "split", "split_once", "splitn"];
/// Words that names of workloads are made of.
const OF_WORKLOADS: [&str; 16] = [
    "atomic", "connect", "copy", "imm", "latency", "memory", "mpi", "probe", "rdma", "rr", "scale",
    "stream", "tcp", "triad", "udp", "workload",
];
/// What a workload's name is called where it is held.
const HOLDERS: [&str; 7] = ["kernel", "kind", "label", "load", "transport", "trip", "workload"];

/// What one file decides.
#[derive(Default)]
pub struct Decisions {
    /// How often it asks how a word of letters begins or ends.
    pub on_ends: usize,
    /// Where it asks a workload's name: the line, and what is called.
    pub on_workloads: Vec<(usize, String)>,
}

impl Decisions {
    pub fn of(file: &syn::File) -> Self {
        let mut found = Self::default();
        found.visit_file(file);
        found
    }
}

/// The texts and characters that a call is given, also in a list.
fn literals(arguments: impl IntoIterator<Item = impl ToTokens>) -> Vec<String> {
    struct Texts(Vec<String>);
    impl<'a> Visit<'a> for Texts {
        fn visit_lit(&mut self, literal: &'a syn::Lit) {
            match literal {
                syn::Lit::Str(text) => self.0.push(text.value()),
                syn::Lit::Char(mark) => self.0.push(mark.value().to_string()),
                _ => {}
            }
        }
    }
    let mut found = Texts(Vec::new());
    for argument in arguments {
        if let Ok(argument) = syn::parse2::<syn::Expr>(argument.to_token_stream()) {
            found.visit_expr(&argument);
        }
    }
    found.0
}

fn is_word(text: &str) -> bool {
    text.trim_matches('-').len() > 1 && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn is_of_workloads(text: &str) -> bool {
    is_word(text) && text.split('-').any(|part| OF_WORKLOADS.contains(&part))
}

/// Whether what is asked is called as a workload's name is.
fn is_holder(receiver: &syn::Expr) -> bool {
    let text = receiver.to_token_stream().to_string();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.into_iter().any(|word| HOLDERS.contains(&word))
}

impl<'a> Visit<'a> for Decisions {
    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let name = call.method.to_string();
        let texts = literals(&call.args);
        let asks_end = ENDS.contains(&name.as_str());
        self.on_ends += usize::from(asks_end && texts.iter().any(|text| is_word(text)));
        let asks = asks_end || PARTS.contains(&name.as_str());
        let is_holder = !texts.is_empty() && is_holder(&call.receiver);
        if asks && (is_holder || texts.iter().any(|text| is_of_workloads(text))) {
            let line = call.method.span().start().line;
            self.on_workloads.push((line, call.to_token_stream().to_string()));
        }
        visit::visit_expr_method_call(self, call);
    }
}
