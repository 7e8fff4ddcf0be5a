//! Whatever is accepted of what is said gives figures above zero with a range around them; what
//! cannot be is refused by its name. By a seeded loop.

use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::{KEYS, Said, of_host};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn of<'a, T>(random: &mut Pcg64, all: &'a [T]) -> &'a T {
    &all[random.random_range(0..all.len())]
}

/// A number of any size: in a key's bound, at its ends, just beyond them or anywhere.
fn number(random: &mut Pcg64, low: f64, high: f64, whole: bool) -> f64 {
    let inside = low * (high / low.max(1e-9)).powf(random.random::<f64>());
    let inside = inside.clamp(low, high);
    let value = match random.random_range(0..24u32) {
        0 => low,
        1 => high,
        2 => low - 1.0,
        3 => high * 1.01 + 1.0,
        4 => -inside,
        5 => 0.0,
        _ => inside,
    };
    if whole { value.round() } else { value }
}

fn word(random: &mut Pcg64, key: &str) -> String {
    let modules = |random: &mut Pcg64| {
        let each = (0..6).map(|_| random.random_range(0..4u32).to_string());
        each.collect::<Vec<_>>().join(",")
    };
    let processors = ["Xeon Platinum 8280", "Xeon Gold 6142", "AMD EPYC 7742", "Pentium"];
    match key {
        "cpu" => (*of(random, &processors)).to_owned(),
        "link" => (*of(random, &["ethernet", "infiniband", "token-ring"])).to_owned(),
        "nic.pcie" | "nic.uplink" => {
            let slots = ["3x16", "1x1", "5x32/4096", "4x8/128", "2x4/1", "0x16", "3x-1", "6x16"];
            (*of(random, &slots)).to_owned()
        }
        "nic.socket" => (*of(random, &["0", "1", "0,1", "7", "-1", "0,0"])).to_owned(),
        "nic.direct" => (*of(random, &["yes", "no", "maybe"])).to_owned(),
        "sockets.links" => (*of(random, &["3x10.4", "1x0.1", "0x9", "8x100", "2.5x4"])).to_owned(),
        "path" => (*of(random, &["tcp", "udp", "rdma", "mpi", "packets", "tcp,udp"])).to_owned(),
        _ => modules(random),
    }
}

/// Some keys with something each.
fn said(random: &mut Pcg64) -> Said {
    let base = [("cpu", "Xeon Platinum 8280"), ("memory.mts", "2933"), ("nic.gbps", "100")];
    let mut said: Said =
        base.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
    said.insert("memory.socket0".into(), "1,1,1/1,1,1".into());
    for _ in 0..random.random_range(1..5u32) {
        let key = of(random, KEYS);
        let value = match key.bound {
            Some(bound) => number(random, bound.low, bound.high, bound.whole).to_string(),
            None => word(random, key.name),
        };
        let socket = random.random_range(0..9u32);
        said.insert(key.name.replace("socketN", &format!("socket{socket}")), value);
    }
    said
}

fn good((low, value, high): (f64, f64, f64)) -> bool {
    let all = [low, value, high];
    all.iter().all(|n| n.is_finite() && *n > 0.0) && low <= value && value <= high
}

#[test]
fn what_is_said_and_accepted_gives_ranges_around_figures() {
    let mut random = Pcg64::seed_from_u64(17);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let said = said(&mut random);
        let Ok(server) = of_host(&Host::default(), &said, &Calibration::default()) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        for reach in server.reaches() {
            let (path, own) = (&reach.path, (reach.low, reach.value, reach.high));
            assert!(good(own), "{path} {own:?} of {said:?}: {reach:#?}");
            for one in &reach.resources {
                assert!(good((one.low, one.value, one.high)), "{path} of {said:?}: {one:?}");
                let nobody = one.parameters.iter().find(|p| {
                    p.from.word() == "given"
                        && !said.values().any(|text| text.contains(&p.value.to_string()))
                        && !["rate", "GT/s"].contains(&p.name)
                });
                assert!(nobody.is_none(), "nobody said {nobody:?}: {said:?}");
            }
        }
    }
    assert!(accepted > 2_000 && refused > 2_000, "{accepted} accepted, {refused} refused");
}

/// A key with a number beyond its bound is refused, and named.
#[test]
fn what_is_beyond_its_bound_is_refused_by_name() {
    let ask = |key: &str, value: &str| {
        let mut said: Said = [("cpu", "Xeon Platinum 8280"), ("memory.mts", "2933")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        said.insert("nic.gbps".into(), "100".into());
        said.insert("memory.socket0".into(), "1,1,1/1,1,1".into());
        said.insert(key.to_owned(), value.to_owned());
        let asked = of_host(&Host::default(), &said, &Calibration::default());
        asked.err().map_or(String::new(), |why| why.to_string())
    };
    for key in KEYS {
        let Some(bound) = key.bound else { continue };
        for value in [bound.low - 1.0, bound.high * 1.01 + 1.0, -1.0, f64::NAN, f64::INFINITY] {
            let why = ask(key.name, &value.to_string());
            assert!(why.contains(key.name), "{}={value}: '{why}'", key.name);
        }
    }
    assert!(ask("mtu", "20").contains("RFC 791"), "{}", ask("mtu", "20"));
    assert!(ask("memory.mts", "1e9").contains("JEDEC"));
    assert!(ask("memory.socket7", "1,1,1/1,1,1").contains("memory.socket1"));
    assert!(ask("memory.sockets", "1,1,1/1,1,1").contains("none of"));
    assert!(ask("memory.socketN", "1,1,1/1,1,1").contains("none of"));
    assert!(ask("memory.socket0", "1,1,1/1,1,-1").contains("modules"));
    assert!(ask("work.socket", "3").contains("1 processors"));
    assert!(ask("sockets.links", "-2x4").contains("sockets.links"));
}
