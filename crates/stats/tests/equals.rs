//! Searches of RDMA on a simulated machine of two devices: a verb that a peer delays and a device
//! that is slower than the other are found in few runs, though some of these fail; nothing is
//! claimed where reads are slower than writes by nature.

use narrows_model::BitsPerSecond;
use narrows_model::explored::{Explored, Point};
use narrows_plan::anomalies::{Shared, Space, Traffic, Wanted};
use narrows_stats::{Claim, Exploration, Look};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Runs that a minute has in a guest of the lab.
const RUNS: u32 = 36;
/// The share of runs that fail with nothing wrong: nothing completed within the window.
const FAILING: f64 = 0.1;

/// The options of RDMA with two devices that both hosts have.
fn space(rates: [Option<f64>; 2]) -> Explored {
    let device = |(name, rate): (&str, Option<f64>)| Shared {
        name: name.to_owned(),
        rate: rate.map(BitsPerSecond),
    };
    let wanted = Wanted {
        minutes: 0.6,
        traffic: vec![Traffic::Rdma],
        controls: Vec::new(),
        mtu_bytes: 9000,
        has_nodes: false,
        devices: ["rxe0", "siw0"].into_iter().zip(rates).map(device).collect(),
        sleeps: false,
    };
    Space::of(&wanted).expect("a space").explored
}

/// The choice of an option at a point, by its name.
fn choice<'a>(explored: &'a Explored, point: &Point, option: &str) -> &'a str {
    let of = explored.of(point);
    let at = of.options.iter().position(|one| one.name == option).expect(option);
    &of.choice(point, at).name
}

fn amount(explored: &Explored, point: &Point, option: &str) -> f64 {
    let of = explored.of(point);
    let at = of.options.iter().position(|one| one.name == option).expect(option);
    of.choice(point, at).amount.expect(option)
}

/// What a point carries: a call of 3 us a message, 2.4 Gb/s at most, reads at half of it.
fn healthy(explored: &Explored, point: &Point) -> f64 {
    let bytes = amount(explored, point, "message size");
    let message = 8e9 * bytes / (3000.0 + 8.0 * bytes / 2.4);
    let waiting = amount(explored, point, "depth") * amount(explored, point, "queue pairs");
    let window = 8.0 * bytes * waiting / 20e-6;
    let verb = if choice(explored, point, "verb") == "read" { 0.48 } else { 1.0 };
    verb * message.min(window)
}

/// What is planted: the factor of the rate at a point.
type Plant = fn(&Explored, &Point) -> f64;

fn search(explored: &Explored, plant: Plant, seed: u64) -> Vec<Claim> {
    let mut random = Pcg64::seed_from_u64(seed + 5_000);
    let mut exploration = Exploration::new(explored, seed);
    // Runs that fail take time as well.
    let mut tried = 0;
    loop {
        let block = exploration.next(RUNS.saturating_sub(tried));
        if block.is_empty() {
            return exploration.claims().to_vec();
        }
        tried += block.len() as u32;
        let looks: Vec<Option<Look>> = block
            .iter()
            .map(|point| {
                let noise = 1.0 + 0.05 * (random.random::<f64>() - 0.5);
                let rate = noise * healthy(explored, point) * plant(explored, point);
                (!random.random_bool(FAILING)).then_some(Look { rate, trouble: 0.0 })
            })
            .collect();
        exploration.take(&block, &looks);
    }
}

/// An odd point in words, and what is put back.
fn words(explored: &Explored, claim: &Claim) -> String {
    let of = explored.of(&claim.odd);
    let mut pairs = claim.odd.choices.iter().zip(&claim.plain.choices);
    let at = pairs.position(|(odd, plain)| odd != plain).expect("one option differs");
    let plain = &of.choice(&claim.plain, at).name;
    format!("{}, {} for {plain}", of.name_of(&claim.odd), of.choice(&claim.odd, at).name)
}

/// In how many of a hundred searches this is claimed, and in how many anything else is.
fn claimed(explored: &Explored, plant: Plant, wanted: &str) -> (usize, usize) {
    let (mut count, mut others) = (0, 0);
    for seed in 0..100 {
        let claims = search(explored, plant, seed);
        let all: Vec<String> = claims.iter().map(|claim| words(explored, claim)).collect();
        count += usize::from(all.iter().any(|one| one == wanted));
        others += usize::from(all.iter().any(|one| one != wanted));
        println!("seed {seed}: {all:?}");
    }
    println!("{wanted}: {count}, others {others}");
    (count, others)
}

fn nothing(_: &Explored, _: &Point) -> f64 {
    1.0
}

fn late_sends(explored: &Explored, point: &Point) -> f64 {
    if choice(explored, point, "verb") == "send" { 0.1 } else { 1.0 }
}

/// The usual verb is the slow one: all else is faster than what is usual.
fn late_writes(explored: &Explored, point: &Point) -> f64 {
    if choice(explored, point, "verb") == "write" { 0.05 } else { 1.0 }
}

/// The peer's address leads to the slow device.
fn slow_by_address(explored: &Explored, point: &Point) -> f64 {
    if choice(explored, point, "device") == "siw0" { 1.0 } else { 0.3 }
}

fn slow_other(explored: &Explored, point: &Point) -> f64 {
    if choice(explored, point, "device") == "siw0" { 0.3 } else { 1.0 }
}

#[test]
fn a_verb_that_a_peer_delays_is_found_in_few_runs() {
    let explored = space([None, None]);
    let (found, others) = claimed(&explored, late_sends, "the verb send, send for write");
    assert!(found >= 95 && others <= 2, "{found}, {others}");
    let (found, _) = claimed(&explored, late_writes, "as usual, write for send");
    assert!(found >= 95, "{found}");
}

#[test]
fn a_device_slower_than_another_is_found_the_usual_one_too() {
    let explored = space([None, Some(10e9)]);
    let (found, others) = claimed(&explored, slow_other, "the device siw0, siw0 for by address");
    assert!(found >= 95 && others <= 2, "{found}, {others}");
    let (found, others) = claimed(&explored, slow_by_address, "as usual, by address for siw0");
    assert!(found >= 95 && others <= 2, "{found}, {others}");
}

#[test]
fn a_device_of_a_slower_port_may_carry_less() {
    // 3 and 10 Gb/s: the faster is the usual one, by its name.
    let explored = space([Some(10e9), Some(3e9)]);
    let of = &explored.traffic[0];
    assert_eq!(of.options[0].name, "device");
    assert_eq!(of.options[0].choices[of.options[0].usual].name, "rxe0");
    assert_eq!(claimed(&explored, slow_other, "nothing"), (0, 0));
}

#[test]
fn nothing_is_claimed_of_reads_that_are_slower_by_nature() {
    assert_eq!(claimed(&space([None, None]), nothing, "nothing"), (0, 0));
}
