//! Which modules of a crate import each other in a circle, at any depth. Among the children of each
//! module, one uses another where it, or a module inside it, names something in that one: by
//! `crate::`, `super::` or `self::`, by a module's own name, in a `use`, in code or in a macro's
//! arguments. A name that a module only hands on leads to where it is made. A parent and its child
//! may name each other. The house test uses this file too.

use crate::sources;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// A module's names from the crate's root on; the root has none.
type Name = Vec<String>;
type Segments = Vec<String>;

/// How many names that are only handed on are followed, which ends those that lead to themselves.
const HANDS_MAX: usize = 16;

#[derive(Default)]
struct Module {
    lines: usize,
    /// What its `use` items make known: each name, and what it stands for.
    imports: BTreeMap<String, Segments>,
    globs: Vec<Segments>,
    /// The names of what it makes itself.
    items: BTreeSet<String>,
    /// Every path of two names and more.
    paths: BTreeSet<Segments>,
}

/// One crate's modules.
#[derive(Default)]
pub struct Modules(BTreeMap<Name, Module>);

/// Modules below one parent, each of which leads to itself through the others.
#[derive(Debug, PartialEq, Eq)]
pub struct Circle {
    /// The parent with `::` between its names; empty for the crate's root.
    pub within: String,
    pub modules: Vec<String>,
    /// Code lines of the modules and of all inside them.
    pub lines: usize,
    /// Each use that the circle is made of, as `from -> to`.
    pub uses: Vec<String>,
}

impl Modules {
    /// Of the files below a crate's `src`, but for tests and what is generated.
    pub fn read(source: &Path) -> io::Result<Self> {
        let mut modules = Self::default();
        for path in sources::files(source)? {
            let below = path.strip_prefix(source).unwrap_or(&path).with_extension("");
            let mut name: Name = below.iter().map(|n| n.to_string_lossy().into_owned()).collect();
            if name == ["lib"] || name == ["main"] || name.last().is_some_and(|n| n == "mod") {
                name.pop();
            }
            let file = syn::parse_file(sources::code(&path)?)
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            modules.add(name, file.items);
        }
        Ok(modules)
    }

    fn add(&mut self, name: Name, items: Vec<syn::Item>) {
        self.0.entry(name.clone()).or_default();
        for item in items {
            let module = self.0.entry(name.clone()).or_default();
            let tokens = item.to_token_stream();
            match item {
                syn::Item::Mod(inner) => {
                    if let Some((_, items)) = inner.content {
                        self.add(below(&name, &word(&inner.ident)), items);
                    }
                    continue;
                }
                syn::Item::Use(item) => module.import(&mut Vec::new(), &item.tree),
                item => module.items.extend(made_by(&item)),
            }
            module.lines += sources::code_lines(tokens.clone());
            collect(tokens, &mut module.paths);
        }
    }

    /// The module that holds what a path of `from` names, if it is one of this crate.
    fn resolve(&self, from: &[String], path: &[String], hands: usize) -> Option<Name> {
        let mut at = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()?),
            _ => return self.find(from, path, hands),
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|name| name == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        Some(self.descend(at, rest, hands))
    }

    fn descend(&self, at: Name, rest: &[String], hands: usize) -> Name {
        match rest.first() {
            None => at,
            Some(_) => self.find(&at, rest, hands).unwrap_or(at),
        }
    }

    /// What a module's own names lead to: its children, its imports, what it takes as a whole.
    fn find(&self, at: &[String], path: &[String], hands: usize) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        let child = below(at, first);
        if self.0.contains_key(&child) {
            return Some(self.descend(child, rest, hands));
        }
        let module = self.0.get(at)?;
        if module.items.contains(first) || hands == HANDS_MAX {
            return None;
        }
        if let Some(import) = module.imports.get(first) {
            return self.resolve(at, &[import, rest].concat(), hands + 1);
        }
        module.globs.iter().find_map(|glob| {
            let whole = self.resolve(at, glob, hands + 1)?;
            let makes = self.0.get(&whole)?.items.contains(first);
            if makes { Some(whole) } else { self.find(&whole, path, hands + 1) }
        })
    }

    /// Which module names something in which other one.
    fn uses(&self) -> BTreeSet<(&Name, Name)> {
        let mut uses = BTreeSet::new();
        for (name, module) in &self.0 {
            let found = module.paths.iter().filter_map(|path| self.resolve(name, path, 0));
            uses.extend(found.filter(|to| to != name).map(|to| (name, to)));
        }
        uses
    }

    /// All circles, those between a crate's top modules first.
    pub fn circles(&self) -> Vec<Circle> {
        let uses = self.uses();
        let parents: BTreeSet<&[String]> =
            self.0.keys().filter_map(|name| Some(name.split_last()?.1)).collect();
        let mut found: Vec<Circle> = Vec::new();
        for parent in parents {
            let mut of_children: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (from, to) in &uses {
                if let (Some(from), Some(to)) = (child_of(parent, from), child_of(parent, to))
                    && from != to
                {
                    of_children.entry(from).or_default().insert(to);
                }
            }
            for modules in circles(&of_children) {
                found.push(self.circle(parent, &modules, &uses));
            }
        }
        found.sort_by_key(|circle| circle.within.matches("::").count());
        found
    }

    fn circle(
        &self,
        parent: &[String],
        modules: &BTreeSet<&str>,
        uses: &BTreeSet<(&Name, Name)>,
    ) -> Circle {
        let is_inside = |name: &Name| child_of(parent, name).is_some_and(|at| modules.contains(at));
        let inner = self.0.iter().filter(|(name, _)| is_inside(name));
        let told = uses.iter().filter(|(from, to)| {
            let are_others = child_of(parent, from) != child_of(parent, to);
            is_inside(from) && is_inside(to) && are_others
        });
        Circle {
            within: parent.join("::"),
            modules: modules.iter().map(|name| (*name).to_owned()).collect(),
            lines: inner.map(|(_, module)| module.lines).sum(),
            uses: told
                .map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::")))
                .collect(),
        }
    }
}

impl Module {
    fn import(&mut self, before: &mut Segments, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(word(&path.ident));
                self.import(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.name(before, &word(&name.ident), None),
            syn::UseTree::Rename(name) => {
                self.name(before, &word(&name.ident), Some(word(&name.rename)));
            }
            syn::UseTree::Glob(_) => self.globs.push(before.clone()),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(before, tree));
            }
        }
    }

    fn name(&mut self, before: &[String], name: &str, rename: Option<String>) {
        let path = if name == "self" { before.to_vec() } else { below(before, name) };
        let known = rename.or_else(|| path.last().cloned());
        self.imports.extend(known.map(|known| (known, path)));
    }
}

fn below(parent: &[String], name: &str) -> Name {
    let mut child = parent.to_vec();
    child.push(name.to_owned());
    child
}

/// The child of `parent` that a module is, or is inside of.
fn child_of<'a>(parent: &[String], name: &'a [String]) -> Option<&'a str> {
    Some(name.strip_prefix(parent)?.first()?.as_str())
}

/// The groups of nodes that lead to themselves and to each other.
fn circles<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|start| (*start, reached(uses, start))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|all| all.contains(to));
    let circular = uses.keys().filter(|name| leads(name, name));
    circular
        .map(|name| uses.keys().filter(|to| leads(name, to) && leads(to, name)).copied().collect())
        .collect()
}

fn reached<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = uses.get(start).into_iter().flatten().copied().collect();
    while let Some(name) = next.pop() {
        if seen.insert(name) {
            next.extend(uses.get(name).into_iter().flatten());
        }
    }
    seen
}

fn word(name: &impl ToString) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// The name that an item gives to what it makes.
fn made_by(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(word(name))
}

/// Every path of two names and more, groups of a `use` taken apart.
fn collect(tokens: TokenStream, found: &mut BTreeSet<Segments>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(first) => at = path(vec![word(first)], &tokens, at, found),
            // Attributes name functions in text: `#[serde(with = "crate::x")]`.
            TokenTree::Literal(text) => {
                let text = text.to_string();
                let text = text.trim_matches('"');
                if text.starts_with("crate::") || text.starts_with("super::") {
                    found.insert(text.split("::").map(str::to_owned).collect());
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Follows a path from its first names on, and says where it ends.
fn path(
    mut names: Segments,
    tokens: &[TokenTree],
    mut at: usize,
    found: &mut BTreeSet<Segments>,
) -> usize {
    let is_colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    while is_colon(at) && is_colon(at + 1) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(name)) => names.push(word(name)),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                entries(&names, group.stream(), found);
                return at + 3;
            }
            _ => break,
        }
        at += 3;
    }
    if names.len() > 1 {
        found.insert(names);
    }
    at
}

/// The entries of a group, each behind the names before it.
fn entries(before: &[String], group: TokenStream, found: &mut BTreeSet<Segments>) {
    let tokens: Vec<TokenTree> = group.into_iter().collect();
    let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    for entry in tokens.split(comma) {
        match entry.first() {
            Some(TokenTree::Ident(first)) if first != "self" => {
                path(below(before, &word(first)), entry, 1, found);
            }
            Some(_) => drop(found.insert(before.to_vec())),
            None => {}
        }
    }
}

/// Of every crate below `top`, its circles.
pub fn of_crates(top: &Path) -> io::Result<BTreeMap<String, Vec<Circle>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(top.join("crates"))? {
        let room = entry?;
        let circles = Modules::read(&room.path().join("src"))?.circles();
        if !circles.is_empty() {
            found.insert(room.file_name().to_string_lossy().into_owned(), circles);
        }
    }
    Ok(found)
}
