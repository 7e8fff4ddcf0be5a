//! Counts of the house, so that "better" is a number. Every count is made on syntax trees; tests
//! and generated files are left out. The house test uses this file too.
//!
//! A *code line* holds a token, as a doc comment does; other comments and blank lines do not. A
//! *function* is from its signature to its closing brace.

use crate::decisions::Decisions;
use crate::{cycles, sources};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use syn::visit::{self, Visit};

/// The options whose spread over files is counted: words of the command line.
const OPTIONS: &[&str] = &["dscp", "congestion", "mss", "pace", "quickack"];

/// What one pass over one file adds.
#[derive(Debug, Default)]
pub struct Counts {
    pub code_lines: usize,
    pub comment_lines: usize,
    pub function_lines: Vec<usize>,
    pub results: usize,
    pub string_errors: usize,
    pub named_closures: usize,
    pub bool_matches: usize,
    pub panics: usize,
    pub clones: usize,
    pub public_fields: usize,
    /// Doc comments of one or two words.
    pub short_docs: usize,
    /// Places that ask how a word begins or ends, which a type would know.
    pub text_decisions: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.code_lines += other.code_lines;
        self.comment_lines += other.comment_lines;
        self.function_lines.extend(other.function_lines);
        self.results += other.results;
        self.string_errors += other.string_errors;
        self.named_closures += other.named_closures;
        self.bool_matches += other.bool_matches;
        self.panics += other.panics;
        self.clones += other.clones;
        self.public_fields += other.public_fields;
        self.short_docs += other.short_docs;
        self.text_decisions += other.text_decisions;
    }

    /// Of a file's text, its tests left out.
    pub fn of(code: &str) -> syn::Result<Self> {
        let file = syn::parse_file(code)?;
        let mut counts = Self::default();
        counts.visit_file(&file);
        counts.function_lines =
            sources::functions(&file).iter().map(|function| function.lines).collect();
        counts.text_decisions = Decisions::of(&file).on_ends;
        counts.code_lines = sources::code_lines(file.to_token_stream());
        let comments = code.lines().filter(|line| line.trim_start().starts_with("//"));
        counts.comment_lines = comments.count();
        Ok(counts)
    }

    /// So many in a thousand lines of code.
    pub fn per_thousand(&self, count: usize) -> f64 {
        count as f64 * 1000.0 / self.code_lines.max(1) as f64
    }
}

/// The text of a doc comment, all its lines joined.
fn doc_of(attributes: &[syn::Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) => match &pair.value {
                syn::Expr::Lit(literal) => match &literal.lit {
                    syn::Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// The second argument of a type `Result<_, E>`.
fn error_type(output: &syn::ReturnType) -> Option<Option<String>> {
    let syn::ReturnType::Type(_, returned) = output else { return None };
    let syn::Type::Path(path) = returned.as_ref() else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Result" {
        return None;
    }
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return Some(None) };
    Some(arguments.args.iter().nth(1).map(|error| error.to_token_stream().to_string()))
}

impl Counts {
    fn signature(&mut self, signature: &syn::Signature) {
        if let Some(error) = error_type(&signature.output) {
            self.results += 1;
            self.string_errors += usize::from(error.as_deref() == Some("String"));
        }
    }

    fn doc(&mut self, attributes: &[syn::Attribute]) {
        if let Some(text) = doc_of(attributes) {
            self.short_docs += usize::from(text.split_whitespace().count() <= 2);
        }
    }
}

impl<'a> Visit<'a> for Counts {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.signature(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.signature(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        if let Some(start) = &local.init {
            self.named_closures += usize::from(matches!(*start.expr, syn::Expr::Closure(_)));
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_match(&mut self, expression: &'a syn::ExprMatch) {
        let on_bool = expression.arms.iter().any(|arm| match &arm.pat {
            syn::Pat::Lit(literal) => matches!(literal.lit, syn::Lit::Bool(_)),
            _ => false,
        });
        self.bool_matches += usize::from(on_bool);
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let name = call.method.to_string();
        self.panics += usize::from(name == "unwrap" || name == "expect");
        self.clones += usize::from(name == "clone");
        visit::visit_expr_method_call(self, call);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        self.public_fields += usize::from(matches!(field.vis, syn::Visibility::Public(_)));
        self.doc(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.doc(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_item(&mut self, item: &'a syn::Item) {
        self.doc(sources::attributes(item));
        visit::visit_item(self, item);
    }
}

/// What all crates come to.
#[derive(Debug, Default)]
pub struct House {
    pub counts: Counts,
    /// Lines of modules that import each other in a circle.
    pub in_cycles: usize,
    /// Uses of one crate by another.
    pub arrows: usize,
    /// Files and crates that name an option.
    pub spread: BTreeMap<&'static str, (usize, usize)>,
}

impl House {
    /// Of the crates below `top`.
    pub fn count(top: &Path) -> io::Result<Self> {
        let mut house = Self::default();
        for entry in fs::read_dir(top.join("crates"))? {
            house.room(&entry?.path())?;
        }
        house.counts.function_lines.sort_unstable();
        let circles = cycles::of_crates(top)?;
        house.in_cycles = circles.values().flatten().map(|circle| circle.lines).sum();
        Ok(house)
    }

    fn room(&mut self, room: &Path) -> io::Result<()> {
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        for path in sources::files(&room.join("src"))? {
            let code = sources::code(&path)?;
            let counts = Counts::of(code)
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            self.counts.add(counts);
            let code: Vec<&str> =
                code.lines().map(|l| l.split("//").next().unwrap_or("")).collect();
            let code = code.join("\n");
            for option in OPTIONS.iter().filter(|option| mentions(&code, option)) {
                *named.entry(option).or_default() += 1;
            }
        }
        for (option, files) in named {
            let spread = self.spread.entry(option).or_default();
            *spread = (spread.0 + files, spread.1 + 1);
        }
        let manifest = fs::read_to_string(room.join("Cargo.toml"))?;
        let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        self.arrows += normal.lines().filter(|line| line.starts_with("narrows-")).count();
        Ok(())
    }

    /// Lines of the function below which this share of all is.
    pub fn function(&self, share: f64) -> usize {
        let functions = &self.counts.function_lines;
        functions[((functions.len() - 1) as f64 * share).round() as usize]
    }

    pub fn long_functions(&self) -> usize {
        self.counts.function_lines.iter().filter(|lines| **lines > 70).count()
    }

    /// The share of lines in circles, in per cent.
    pub fn circular_percent(&self) -> f64 {
        self.in_cycles as f64 * 100.0 / self.counts.code_lines.max(1) as f64
    }
}

/// Whether a name stands in a text by itself, as an option is called or as its constant is.
pub fn mentions(text: &str, name: &str) -> bool {
    fn goes_on(c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }
    [name.to_lowercase(), name.to_uppercase()].iter().any(|name| {
        text.match_indices(name.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
        })
    })
}
