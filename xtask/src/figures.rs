//! `cargo run --manifest-path xtask/Cargo.toml -- figures`: counts the house, so that "better" is
//! a number. Every count is made on syntax trees; tests and generated files are left out.
//!
//! A *code line* holds a token; comments and blank lines do not. A *function* is from its
//! signature to its closing brace.

use crate::cycles;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The options whose spread over files is counted: words of the command line.
const OPTIONS: &[&str] = &["dscp", "congestion", "mss", "pace", "quickack"];

/// What one pass over one file adds.
#[derive(Default)]
struct Counts {
    code_lines: usize,
    comment_lines: usize,
    function_lines: Vec<usize>,
    results: usize,
    string_errors: usize,
    named_closures: usize,
    bool_matches: usize,
    panics: usize,
    clones: usize,
    public_fields: usize,
    /// Doc comments of one or two words.
    short_docs: usize,
    /// Places that ask how a word begins or ends, which a type would know.
    text_decisions: usize,
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
}

fn lines_of(span: Span) -> usize {
    span.end().line - span.start().line + 1
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test")
            || (path.is_ident("cfg") && attribute.to_token_stream().to_string().contains("test"))
    })
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
    fn function(&mut self, signature: &syn::Signature, whole: Span) {
        self.function_lines.push(lines_of(whole));
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
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        self.function(&item.sig, item.sig.span().join(item.block.span()).unwrap_or(item.span()));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        self.function(&item.sig, item.sig.span().join(item.block.span()).unwrap_or(item.span()));
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
        let on_words = call.args.iter().any(|argument| {
            matches!(argument, syn::Expr::Lit(literal) if matches!(&literal.lit,
                syn::Lit::Str(text) if text.value().trim_matches('-').len() > 1
                    && text.value().chars().all(|c| c.is_ascii_lowercase() || c == '-')))
        });
        self.text_decisions +=
            usize::from(on_words && (name == "starts_with" || name == "ends_with"));
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
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            self.doc(attributes);
        }
        visit::visit_item(self, item);
    }
}

/// The file's tokens without what only tests see.
fn lines_with_tokens(file: &syn::File) -> BTreeSet<usize> {
    fn walk(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    lines.insert(group.span_open().start().line);
                    lines.insert(group.span_close().start().line);
                    walk(group.stream(), lines);
                }
                other => lines.extend(other.span().start().line..=other.span().end().line),
            }
        }
    }
    let mut lines = BTreeSet::new();
    for item in &file.items {
        let tested = matches!(item, syn::Item::Mod(module) if is_test(&module.attrs));
        if !tested {
            walk(item.to_token_stream(), &mut lines);
        }
    }
    lines
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let generated = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.ends_with("bindings.rs") || name == "tests.rs" || name == "tests"
        });
        if generated {
            continue;
        }
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read_file(path: &Path) -> Result<(syn::File, Counts), Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let file = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut counts = Counts::default();
    counts.visit_file(&file);
    counts.code_lines = lines_with_tokens(&file).len();
    counts.comment_lines = text.lines().filter(|line| line.trim_start().starts_with("//")).count();
    Ok((file, counts))
}

fn per_thousand(count: usize, lines: usize) -> f64 {
    count as f64 * 1000.0 / lines.max(1) as f64
}

/// Prints the counts of the crates below `top`, one a line.
pub fn print(top: &Path) -> Result<(), Box<dyn Error>> {
    let mut total = Counts::default();
    let mut arrows = 0;
    let mut spread: BTreeMap<&str, (BTreeSet<PathBuf>, BTreeSet<String>)> = BTreeMap::new();
    let mut rooms: Vec<PathBuf> =
        fs::read_dir(top.join("crates"))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    rooms.sort();
    for room in &rooms {
        let source = room.join("src");
        for path in rust_files(&source)? {
            let (file, counts) = read_file(&path)?;
            let tokens: TokenStream = file
                .items
                .iter()
                .filter(|item| !matches!(item, syn::Item::Mod(item) if is_test(&item.attrs)))
                .map(ToTokens::to_token_stream)
                .collect();
            let text = tokens.to_string();
            for option in OPTIONS {
                if mentions(&text, option) {
                    let (files, crates) = spread.entry(option).or_default();
                    files.insert(path.clone());
                    crates.insert(room.to_string_lossy().into_owned());
                }
            }
            total.add(counts);
        }
        let manifest = fs::read_to_string(room.join("Cargo.toml"))?;
        let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        arrows += normal.lines().filter(|line| line.starts_with("narrows-")).count();
    }
    let in_cycles = cycles::of_crates(top)?.values().flatten().map(|circle| circle.lines).sum();
    show(&mut total, in_cycles, arrows);
    for (option, (files, crates)) in &spread {
        let (files, crates) = (files.len(), crates.len());
        println!("option {option}: named in {files} files of {crates} crates");
    }
    Ok(())
}

/// Whether a word stands in a text with no letter before or after it.
fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

fn show(total: &mut Counts, in_cycles: usize, arrows: usize) {
    total.function_lines.sort_unstable();
    let functions = &total.function_lines;
    let at = |share: f64| functions[((functions.len() - 1) as f64 * share).round() as usize];
    let mean = functions.iter().sum::<usize>() as f64 / functions.len() as f64;
    let long = functions.iter().filter(|lines| **lines > 70).count();
    let code = total.code_lines;
    println!("code lines, without tests: {code}; comment lines: {}", total.comment_lines);
    println!(
        "functions: {}; lines: mean {mean:.1}, median {}, p90 {}, max {}; over 70 lines: {long}",
        functions.len(),
        at(0.5),
        at(0.9),
        at(1.0)
    );
    println!("arrows between crates: {arrows}");
    println!(
        "lines in import cycles of a crate's top modules: {in_cycles} ({:.1} %)",
        in_cycles as f64 * 100.0 / code as f64
    );
    println!("Result<_, String>: {} of {} Results", total.string_errors, total.results);
    println!("named closures a 1000 lines: {:.1}", per_thousand(total.named_closures, code));
    println!("matches on a bool a 1000 lines: {:.1}", per_thousand(total.bool_matches, code));
    println!("unwrap and expect: {}", total.panics);
    println!("clones a 1000 lines: {:.1}", per_thousand(total.clones, code));
    println!("public fields a 1000 lines: {:.1}", per_thousand(total.public_fields, code));
    println!("docs of one or two words: {}", total.short_docs);
    println!("decisions on how a word begins or ends: {}", total.text_decisions);
}
