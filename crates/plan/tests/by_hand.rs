//! Levels that are changed by hand: at which a machine is, what would tell, and what to move.

use narrows_model::host::{Host, Module, Slot};
use narrows_model::study::Found;
use narrows_model::{Bytes, Fact};
use narrows_plan::study::{
    Change, Definition, Factor, LevelUnknown, Machine, NoLevel, Unread, change, standing,
};
use std::collections::BTreeMap;

/// What a definition has before its factors.
const HEAD: &str = "name = 's'\nrepeats = 3\n";
const SLOTS: [&str; 4] = ["A1", "A2", "B1", "B2"];

/// A host with modules in these of its four slots.
fn host(populated: &[&str]) -> Host {
    let module = |is_dram| Some(Module { is_dram, ..Module::default() });
    let slot = |locator: &str| Slot {
        locator: locator.to_owned(),
        // What is no DRAM is no population.
        module: if populated.contains(&locator) { module(true) } else { module(false) },
        ..Slot::default()
    };
    let mut host = Host::default();
    host.memory.slots = Fact::known(SLOTS.map(slot).to_vec(), "test");
    host.memory.available_bytes = Fact::known(Bytes(5), "test");
    host
}

/// A factor `f` with these levels.
fn factor(levels: &str) -> Factor {
    let text = format!("{HEAD}[[factor]]\nname = 'f'\nby = 'hand'\nlevels = [{levels}]");
    Definition::parse(&text).expect("a definition").factors.remove(0)
}

fn at(levels: &str, host: &Host, said: Option<&str>) -> Result<Found, NoLevel> {
    let text = format!("{HEAD}[[factor]]\nname = 'f'\nby = 'hand'\nlevels = [{levels}]");
    let definition = Definition::parse(&text).expect("a definition");
    let said = said.map(|said| ("f".to_owned(), said.to_owned())).into_iter().collect();
    let machine = Machine { host, peer: None, said: &said };
    let (mut found, mut unread) = standing(&definition, &machine);
    match found.remove("f") {
        Some(found) => Ok(found),
        None => {
            let Unread { factor, why } = unread.remove(0);
            assert_eq!(factor, "f");
            Err(why)
        }
    }
}

const POPULATED: &str = "{ name = 'one', when = { populated = ['A1'] } }, \
                         { name = 'two', when = { populated = ['A1', 'B1'] } }";

fn found(level: &str, read: bool) -> Result<Found, NoLevel> {
    Ok(Found { level: level.to_owned(), read })
}

#[test]
fn what_is_read_goes_before_what_is_said() {
    let one = host(&["A1"]);
    assert_eq!(at(POPULATED, &one, None), found("one", true));
    assert_eq!(at(POPULATED, &one, Some("one")), found("one", true));
    let (at_one, said) = ("one".to_owned(), "two".to_owned());
    let other = NoLevel::Other { at: at_one, said: said.clone() };
    assert_eq!(at(POPULATED, &one, Some("two")), Err(other));
    let neither = host(&["B2"]);
    assert_eq!(at(POPULATED, &neither, Some("two")), Err(NoLevel::NotAt { said }));
    let levels = vec!["one".to_owned(), "two".to_owned()];
    let no_such = NoLevel::NoSuch { said: "three".to_owned(), levels };
    assert_eq!(at(POPULATED, &one, Some("three")), Err(no_such));
}

#[test]
fn what_no_fact_tells_is_taken_as_it_is_said_and_marked() {
    let said_only = "{ name = 'cold' }, { name = 'hot' }";
    let one = host(&["A1"]);
    assert_eq!(at(said_only, &one, Some("hot")), found("hot", false));
    let untold = |missing, levels: &[&str]| NoLevel::LevelUnknown {
        factor: "f".to_owned(),
        missing,
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
    };
    assert_eq!(at(said_only, &one, None), Err(untold(None, &["cold", "hot"])));
    // Facts that would tell and cannot be read leave it to the user's word.
    let mut unread = host(&[]);
    unread.memory.slots = Fact::Denied { from: narrows_model::Source("/dmi".to_owned()) };
    assert_eq!(at(POPULATED, &unread, Some("two")), found("two", false));
    let gap = "no permission to read /dmi".to_owned();
    let missing = Some(LevelUnknown::Slots(gap));
    let unknown = untold(missing, &["one", "two"]);
    let says = "memory slots are not known: no permission to read /dmi; say it with --at f=LEVEL, \
                one of one, two";
    assert_eq!(unknown.to_string(), says);
    assert_eq!(at(POPULATED, &unread, None), Err(unknown));
    let fact = "{ name = 'a', when = { facts = { '/memory/cgroup_limit_bytes' = 5 } } }";
    let missing = Some(LevelUnknown::NoValue {
        pointer: "/memory/cgroup_limit_bytes".to_owned(),
        state: "absent".to_owned(),
    });
    let unknown = untold(missing, &["a"]);
    assert_eq!(at(fact, &one, None), Err(unknown));
}

#[test]
fn at_none_the_level_with_the_fewest_modules_to_touch_is_the_nearest() {
    let nearest = |populated: &[&str]| match at(POPULATED, &host(populated), None) {
        Err(NoLevel::None { nearest: Some(Change { factor, to, says, steps }) }) => {
            assert_eq!(factor, "f");
            (to, says, steps)
        }
        other => panic!("{other:?}"),
    };
    let is = |populated: &[&str], to: &str, says: &str, steps| {
        assert_eq!(nearest(populated), (to.to_owned(), says.to_owned(), steps));
    };
    // Of two that one module's move leads to, that with as many modules.
    is(&["A2"], "one", "power down, move the DIMM of A2 to A1", 1);
    is(&["A1", "A2"], "two", "power down, move the DIMM of A2 to B1", 1);
    is(&["B1"], "one", "power down, move the DIMM of B1 to A1", 1);
    let out = "power down, take the DIMM out of A2";
    is(&["A1", "A2", "B1"], "two", out, 1);
    let none = at("{ name = 'a', when = { modules_by_socket = [9] } }", &host(&[]), None);
    assert_eq!(none, Err(NoLevel::None { nearest: None }));
}

#[test]
fn a_reason_is_told_in_words() {
    let of = |text: &str| text.to_owned();
    let change = Change { factor: of("f"), to: of("two"), says: of("power down"), steps: 1 };
    assert_eq!(change.to_string(), "f two: power down");
    let named = |factor: &str, missing| NoLevel::LevelUnknown {
        factor: of(factor),
        missing,
        levels: vec![of("a"), of("b")],
    };
    for (why, says) in [
        (
            NoLevel::NoSuch { said: of("c"), levels: vec![of("a"), of("b")] },
            "it has no level 'c', but a, b",
        ),
        (NoLevel::Other { at: of("a"), said: of("b") }, "the machine is at 'a', and not at 'b'"),
        (NoLevel::NotAt { said: of("b") }, "the machine is not at 'b'"),
        (NoLevel::None { nearest: None }, "the machine is at none of its levels"),
        (
            NoLevel::None { nearest: Some(change) },
            "the machine is at none of its levels; for 'two': power down",
        ),
        (
            NoLevel::Several { levels: vec![of("a"), of("b")] },
            "the machine is at several levels: a, b",
        ),
        (named("f", None), "no fact tells; say it with --at f=LEVEL, one of a, b"),
        (
            named("f", Some(LevelUnknown::Socket)),
            "the socket of a memory slot is not known; say it with --at f=LEVEL, one of a, b",
        ),
    ] {
        assert_eq!(why.to_string(), says);
    }
    for (unknown, says) in [
        (LevelUnknown::NoSlot(of("C3")), "there is no memory slot 'C3'"),
        (
            LevelUnknown::TwoSlots { label: of("1"), either: [of("A1"), of("B1")] },
            "memory slot '1' may be 'A1' or 'B1'",
        ),
        (LevelUnknown::NoFact(of("/x")), "there is no fact /x"),
        (LevelUnknown::NoValue { pointer: of("/x"), state: of("denied") }, "/x is denied"),
        (LevelUnknown::Json(of("depth")), "depth"),
        (
            LevelUnknown::OfPeer(Box::new(LevelUnknown::Socket)),
            "the peer: the socket of a memory slot is not known",
        ),
    ] {
        assert_eq!(unknown.to_string(), says);
    }
}

/// What is to be done for the level `two`, and in how many steps.
fn to_two(here: &Host, there: Option<&Host>, levels: &str) -> (String, usize) {
    let (factor, said) = (factor(levels), BTreeMap::new());
    let to = factor.levels.iter().find(|level| level.name == "two").expect("a level");
    let Change { says, steps, .. } =
        change(&factor, to, &Machine { host: here, peer: there, said: &said });
    (says, steps)
}

#[test]
fn modules_are_moved_on_the_hosts_that_need_it() {
    let (one, two, far) = (host(&["A1"]), host(&["A1", "B1"]), host(&["A1", "B2"]));
    let of = |here: &Host, there: Option<&Host>| to_two(here, there, POPULATED);
    let says = |says: &str, steps| (says.to_owned(), steps);
    assert_eq!(of(&one, None), says("power down, put a DIMM into B1", 1));
    assert_eq!(of(&one, Some(&one)), says("power down, put a DIMM into B1, on both hosts", 2));
    assert_eq!(of(&one, Some(&two)), says("power down, put a DIMM into B1, on this host", 1));
    assert_eq!(
        of(&two, Some(&far)),
        says("power down the peer, move the DIMM of B2 to B1 there", 1)
    );
    let each = "power down both hosts; on this one put a DIMM into B1; on the peer move the DIMM \
                of B2 to B1";
    assert_eq!(of(&one, Some(&far)), says(each, 2));
    let unknown = "power down, put a DIMM into B1, on this host; what the peer needs is not known";
    assert_eq!(of(&one, Some(&Host::default())), says(unknown, 1));
    let slots = says("modules in slots A1, B1, and no others", 1);
    assert_eq!(of(&Host::default(), None), slots);
    let both = says("modules in slots A1, B1, and no others, on both hosts", 1);
    assert_eq!(of(&Host::default(), Some(&one)), both);
    let here_only = "{ name = 'two', when = { here_only = true, populated = ['A1', 'B1'] } }";
    let alone = to_two(&one, Some(&one), here_only);
    assert_eq!(alone, says("power down, put a DIMM into B1", 1));
    let setting = "{ name = 'two', when = { facts = { '/x' = 1 } } }";
    assert_eq!(to_two(&one, None, setting), says("set f to 'two'", 1));
    assert_eq!(to_two(&one, Some(&one), setting), says("set f to 'two', on both hosts", 1));
}
