//! No modules of a crate import each other in a circle, at any depth.

use super::{cycles, top};
use std::fs;
use std::path::Path;

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let all = cycles::of_crates(&top()).expect("sources");
    assert!(all.is_empty(), "modules that import each other in a circle: {all:#?}");
}

/// The circles of a crate with these files, as `within: modules`.
fn circles(name: &str, files: &[(&str, &str)]) -> Vec<String> {
    let own = format!("narrows-circles-{}-{name}", std::process::id());
    let dir = std::env::temp_dir().join(own);
    for (file, text) in files {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("folder");
        fs::write(path, text).expect("file");
    }
    let modules = cycles::Modules::read(&dir).expect("sources");
    fs::remove_dir_all(&dir).expect("removed");
    let told = modules.circles();
    told.iter().map(|one| format!("{}: {}", one.within, one.modules.join(" "))).collect()
}

#[test]
fn circles_of_top_modules_are_seen() {
    let mut files = vec![
        ("a.rs", "use crate::{\n    Error,\n    b::{self, inner},\n};\n"),
        ("b.rs", "fn f() { crate::c::g() }\n"),
        (
            "c/mod.rs",
            "// use crate::a;\nuse super::b;\n#[cfg(test)]\nmod tests { use crate::a; }\n",
        ),
    ];
    assert_eq!(circles("tests", &files), [": b c"]);
    files[2].1 = "// use crate::a;\n#[cfg(test)]\nmod tests { use crate::a; }\n";
    assert_eq!(circles("none", &files), [""; 0]);
    files.push(("c/d.rs", "use crate::a::f;\n"));
    assert_eq!(circles("nested", &files), [": a b c"]);
}

#[test]
fn circles_of_nested_modules_are_seen_however_they_name_each_other() {
    for (name, back) in [
        ("super", "use super::a::g;"),
        ("self", "use self::super::a::g;"),
        ("crate", "fn f(x: crate::m::a::X) {}"),
        ("group", "use super::{Own, a::{self, g}};"),
        ("expression", "fn f() { super::a::g() }"),
        ("macro", "fn f() { assert!(super::a::g(), \"{}\", 1) }"),
        ("type", "struct S(Vec<super::a::X>);"),
        ("attribute", "struct S(#[serde(with = \"super::a\")] u8);"),
        ("renamed", "use super as up; fn f() { up::a::g() }"),
        ("whole", "use super::*; fn f() { a::g() }"),
        // What the parent only hands on is the sibling's.
        ("handed on", "use super::X;"),
        ("inline", "mod inner { use super::super::a::g; }"),
        ("after tests", "#[cfg(test)]\nuse b::c;\nuse super::a::g;"),
    ] {
        let files = [
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod a; mod b; pub use a::X; struct Own;"),
            ("m/a.rs", "use super::b::f; pub struct X; pub fn g() {}"),
            ("m/b.rs", back),
        ];
        assert_eq!(circles(name, &files), ["m: a b"], "{name}: {back}");
    }
}

#[test]
fn a_parent_and_its_child_may_name_each_other() {
    let files = [
        ("lib.rs", "mod m; pub struct Top;"),
        ("m/mod.rs", "mod a; mod b; use a::f; pub struct Own; use std::fmt;"),
        ("m/a.rs", "use super::Own; use crate::Top; use super::b::g; use super::fmt::Debug;"),
        ("m/b.rs", "use super::Own; fn a() {} fn h() { a(); b::c() }"),
    ];
    assert_eq!(circles("parents", &files), [""; 0]);
}
