//! What a source file is once its tests are left out, by its syntax. The house test uses this file
//! too.

use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The Rust files below a folder, but for tests and what is generated.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_test = ["tests", "tests.rs"].contains(&&*name) || name.ends_with("_tests.rs");
        if is_test || name.ends_with("bindings.rs") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A file's text without what only tests see: the items, fields and statements that say
/// `#[cfg(test)]` or `#[test]` are blanks. Lines stay where they are. Each file is read once.
pub fn code(path: &Path) -> io::Result<&'static str> {
    static READ: Mutex<BTreeMap<PathBuf, &'static str>> = Mutex::new(BTreeMap::new());
    let known = || READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = known().get(path) {
        return Ok(code);
    }
    let text = fs::read_to_string(path)?;
    let code = without_tests(&text)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    let code: &str = code.leak();
    known().insert(path.to_owned(), code);
    Ok(code)
}

pub fn without_tests(text: &str) -> syn::Result<String> {
    if !text.contains("test") {
        return Ok(text.to_owned());
    }
    let mut tested = Tested::default();
    tested.visit_file(&syn::parse_file(text)?);
    let mut bytes = text.as_bytes().to_vec();
    for at in tested.0.into_iter().flatten().filter(|at| text.as_bytes()[*at] != b'\n') {
        bytes[at] = b' ';
    }
    Ok(String::from_utf8(bytes).expect("whole items are blanked"))
}

/// Where the things are that only tests see, in bytes.
#[derive(Default)]
struct Tested(Vec<Range<usize>>);

impl Tested {
    /// Whether a thing is for tests, which is noted then.
    fn takes(&mut self, attributes: &[syn::Attribute], whole: &impl Spanned) -> bool {
        let is = attributes.iter().any(is_for_tests);
        if is {
            self.0.push(whole.span().byte_range());
        }
        is
    }
}

/// `#[test]`, and `#[cfg(test)]` also among other conditions, but not `#[cfg(not(test))]`.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    fn needs_test(tokens: TokenStream) -> bool {
        let mut negated = false;
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => {
                negated = word == "not" || word == "any";
                word == "test"
            }
            TokenTree::Group(group) => !negated && needs_test(group.stream()),
            _ => false,
        })
    }
    match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && needs_test(list.tokens.clone()),
        syn::Meta::NameValue(_) => false,
    }
}

/// The attributes of an item.
pub fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_of_impl(item: &syn::ImplItem) -> &[syn::Attribute] {
    match item {
        syn::ImplItem::Const(item) => &item.attrs,
        syn::ImplItem::Fn(item) => &item.attrs,
        syn::ImplItem::Type(item) => &item.attrs,
        syn::ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Tested {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !self.takes(attributes(item), item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if !self.takes(attributes_of_impl(item), item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        self.takes(&field.attrs, field);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        if !self.takes(&local.attrs, local) {
            visit::visit_local(self, local);
        }
    }
}

/// A function's name and its lines, from its signature to its closing brace.
pub struct Function {
    #[allow(dead_code, reason = "the house test tells it")]
    pub name: String,
    pub lines: usize,
}

/// All functions with a body of a file, also those within others, in traits and in `impl`s.
pub fn functions(file: &syn::File) -> Vec<Function> {
    let mut found = Functions(Vec::new());
    found.visit_file(file);
    found.0
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let from = signature.span().start().line;
        let lines = body.brace_token.span.close().end().line + 1 - from;
        self.0.push(Function { name: signature.ident.to_string(), lines });
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// How many lines hold a token; comments and blank lines do not.
pub fn code_lines(tokens: TokenStream) -> usize {
    fn walk(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    lines.insert(group.span_open().start().line);
                    lines.insert(group.span_close().start().line);
                    walk(group.stream(), lines);
                }
                other => lines.extend(lines_of(other.span())),
            }
        }
    }
    let mut lines = BTreeSet::new();
    walk(tokens, &mut lines);
    lines.len()
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}
