//! What is said of a server before and after a change, of figures that are planted.

mod planted;

use narrows_model::host::Host;
use narrows_model::result::{Provenance, ResourceName};
use narrows_predict::calibration::Calibration;
use narrows_predict::prices::Cost;
use narrows_predict::{Measured, Parameter, Predictor, Reach, Resource, Said, of_nic};
use narrows_report::whatif::{Change, population, svg, text};

fn resource(name: ResourceName, value: f64, says: &str) -> Resource {
    Resource {
        name,
        value,
        low: value * 0.9,
        high: value * 1.1,
        says: says.to_owned(),
        only_if: None,
        parameters: Vec::new(),
    }
}

/// A path whose first resource is its bottleneck.
fn reach(path: &str, unit: &'static str, resources: Vec<Resource>) -> Reach {
    let least = &resources[0];
    Reach {
        path: path.to_owned(),
        unit,
        is_sum: false,
        value: least.value,
        low: least.low,
        high: least.high,
        bottleneck: Some(least.name),
        missing: Vec::new(),
        resources,
    }
}

fn engine() -> Predictor {
    let host = planted::host([16, 16, 0, 16, 0, 0]);
    of_nic(&host, None, &Said::new(), &Calibration::default()).expect("a host that is known")
}

/// TCP that memory holds at 40 Gb/s, with where its numbers are from.
fn tcp(gbps: f64) -> Reach {
    let mut memory = resource(ResourceName::Memory, gbps, "three channels");
    let eta = |from| Parameter { name: "eta", value: 0.5, unit: "", from };
    let rate =
        Parameter { name: "MT/s", value: 2933.0, unit: "", from: Provenance::Read("DMI".into()) };
    memory.parameters = vec![eta(Provenance::Assumed("a guess".into())), rate.clone(), rate];
    let mut pcie = resource(ResourceName::Pcie, 2.0 * gbps, "x8 of generation 3");
    pcie.only_if = Some("the slot is shared".to_owned());
    reach("tcp", "Gb/s", vec![memory, pcie])
}

#[test]
fn a_change_stands_beside_today_with_its_worth_and_its_numbers() {
    let engine = engine();
    let (before, after) = ([tcp(20.0)], [tcp(40.0)]);
    let mut measured = Calibration::default();
    let copy = Measured { value: 12.5, low: 12.0, high: 13.0, from: "memory-copy, 6 runs".into() };
    measured.copy_gb_s = Some(copy);
    let parts = vec![("dimm".to_owned(), 3, 50.0)];
    let cost = Cost { total: 150.0, parts, unpriced: vec!["1 nic".to_owned()] };
    let change = Change {
        engine: &engine,
        before: Some(&before),
        after: &after,
        measured: &measured,
        cost: Some(&cost),
        unmoved: &[],
    };
    let told = text(&change);
    let family = &engine.server.platform.expect("a family").name;
    // Of 44 Gb/s, the most that is drawn, 24 columns: 20 Gb/s is the 11th, 40 the 22nd, and 36 the
    // 20th.
    let wanted = format!(
        "{family}: modules by channel 1,1,0,1,0,0\n\
         tcp  ==========|===========--  40.0 Gb/s (36.0 to 44.0), bottleneck memory; \
         today 20.0, +100 %\n\
         {:5}| today, = after the change, - its 80 % range\n\
         \n\
         tcp (Gb/s, headroom)\n  \
           memory          40.0, 1.00 x: three channels\n  \
           pcie            80.0, 2.00 x: x8 of generation 3 (if the slot is shared)\n\
         \n\
         Numbers\n  \
           eta (share of the peak that a copy reaches) 0.500: assumed: a guess\n  \
           MT/s 2933: read from the host\n  \
           copy over the bus 12.5 GB/s (12.0 to 13.0), measured here: memory-copy, 6 runs\n\
         cost: 150 (3 dimm at 50); without a price: 1 nic; 100 of it buy +13.33 Gb/s of tcp\n",
        ""
    );
    let told = told.split_inclusive('\n').collect::<Vec<_>>();
    let (last, all) = told.split_last().expect("lines");
    assert_eq!(all.concat(), wanted);
    assert!(last.starts_with("a model, not a measurement"), "{last}");
}

fn asked(engine: &Predictor, after: &[Reach]) -> String {
    let measured = Calibration::default();
    text(&Change { engine, before: None, after, measured: &measured, cost: None, unmoved: &[] })
}

/// Packets of a slot ask neither a family nor modules; streams do.
#[test]
fn what_is_not_known_of_a_server_is_told_where_an_answer_needs_it() {
    let none = Calibration::default();
    let unknown = of_nic(&Host::default(), None, &Said::new(), &none).expect("no facts");
    let wire = resource(ResourceName::Wire, 14.88, "10 Gb/s");
    let packets = reach("packets", "M packets/s", vec![wire]);
    let told = asked(&unknown, std::slice::from_ref(&packets));
    assert!(told.starts_with("packets ") && !told.contains("not known"), "{told}");
    let told = asked(&unknown, &[packets.clone(), tcp(40.0)]);
    let head = "a processor whose family is not known: its modules are not known\n";
    assert!(told.starts_with(head), "{told}");
    // What is known is told in any case.
    let told = asked(&engine(), &[packets]);
    assert!(told.contains(": modules by channel 1,1,0,1,0,0\n"), "{told}");
}

#[test]
fn streams_that_nobody_told_stand_beside_their_figure() {
    let streams = |from| Parameter { name: "streams", value: 4.0, unit: "", from };
    let with = |from| {
        let mut tcp = tcp(40.0);
        tcp.resources[0].parameters.push(streams(from));
        asked(&engine(), &[tcp])
    };
    let says = "bottleneck memory, with 4 streams, assumed\n";
    assert!(with(Provenance::Assumed("as others".into())).contains(says));
    assert!(!with(Provenance::Given(String::new())).contains("with 4 streams"));
    // As the engine tells it.
    let said: Said = [("nic.gbps".to_owned(), "100".to_owned())].into_iter().collect();
    let of = |said: &Said| {
        let engine = of_nic(&planted::host([16; 6]), None, said, &Calibration::default());
        let engine = engine.expect("a server");
        let tcp = engine.reach(narrows_predict::Traffic::Tcp).expect("TCP");
        asked(&engine, &[tcp])
    };
    let told = of(&said);
    assert!(told.contains(", with 4 streams, assumed\n"), "{told}");
    let mut given = said;
    given.insert("streams".to_owned(), "8".to_owned());
    let told = of(&given);
    assert!(!told.contains("streams, assumed"), "{told}");
}

#[test]
fn many_paths_have_a_line_each_and_what_is_missing_is_named() {
    let engine = engine();
    let mut packets = reach(
        "packets",
        "M packets/s",
        vec![
            resource(ResourceName::Wire, 14.88, "10 Gb/s"),
            resource(ResourceName::Pcie, 30.0, "x8"),
        ],
    );
    (packets.low, packets.high) = (14.88, 14.88);
    let trip = Reach { is_sum: true, ..reach("tcp-rr", "us", vec![tcp(20.0).resources.remove(0)]) };
    let after = [packets, trip, tcp(40.0), Reach { path: "udp".into(), ..tcp(30.0) }];
    let told = asked(&engine, &after);
    for line in [
        "packets at the wire's rate, 14.88 M packets/s: yes\n",
        "tcp-rr   ======================--  20.0 us (18.0 to 22.0), most of it memory\n",
        "udp      ================--        30.0 Gb/s (27.0 to 33.0), bottleneck memory\n",
        "\nHeadroom (--set path=tcp shows how each arises)\n",
        "  packets: wire 1.00 x, pcie 2.02 x\n",
        "  udp: memory 1.00 x, pcie 2.00 x if the slot is shared\n",
    ] {
        assert!(told.contains(line), "{line:?} in\n{told}");
    }
    assert!(!told.contains("today") && !told.contains("cost"), "{told}");
}

#[test]
fn a_picture_has_a_bar_to_its_value_and_a_line_at_today() {
    let engine = engine();
    let (before, after) = ([tcp(20.0)], [tcp(40.0)]);
    let measured = Calibration::default();
    let change = Change {
        engine: &engine,
        before: Some(&before),
        after: &after,
        measured: &measured,
        cost: None,
        unmoved: &[],
    };
    let drawn = svg(&change);
    assert!(drawn.contains("tcp: memory") && drawn.contains("40.0 Gb/s, today 20.0"), "{drawn}");
    let of = |class: &str, key: &str| -> f64 {
        let element = drawn.split('<').find(|one| one.contains(&format!("class=\"{class}\"")));
        let value = element.and_then(|one| one.split(&format!(" {key}=\"")).nth(1));
        value.and_then(|rest| rest.split('"').next()?.parse().ok()).expect("a number")
    };
    // From the left edge at 8: the line of today is half as far as the bar is wide.
    let (width, today) = (of("bar", "width"), of("measured", "x1") - 8.0);
    assert!((2.0 * today - width).abs() < 0.5, "{today} of {width}");
    assert_eq!(population(&[vec![1, 0], vec![2, 1]]), "modules by channel 1,0 | 2,1");
}

fn said_of(cpu: &str, more: &[(&str, &str)]) -> String {
    let given = [
        ("cpu", cpu),
        ("path", "rdma-write rocev2"),
        ("nic.gbps", "100"),
        ("nic.pcie", "3x16"),
        ("mtu", "9000"),
        ("memory.mts", "2933"),
        ("memory.socket0", "1,0,0/1,0,0"),
        ("neighbours", "6"),
        ("neighbours.work", "read-write"),
    ];
    let said: Said =
        given.iter().chain(more).map(|(key, word)| ((*key).into(), (*word).into())).collect();
    let engine = of_nic(&Host::default(), None, &said, &Calibration::default());
    let engine = engine.expect("an engine");
    asked(&engine, &engine.reaches())
}

#[test]
fn what_nobody_said_of_devices_writes_stands_under_the_figures() {
    let unsaid = said_of("Xeon Gold 6234", &[]);
    let lines: Vec<&str> = unsaid.lines().collect();
    assert!(lines[1].ends_with("bottleneck wire"), "{unsaid}");
    let if_cached = "rdma-write rocev2 if the cache takes what the NIC writes (DDIO)";
    assert!(lines[2].starts_with(if_cached), "{unsaid}");
    assert!(lines[2].contains("else 80.7 (58.1 to 89.2), bottleneck device-writes"), "{unsaid}");
    for said in ["yes", "no"] {
        let text = said_of("Xeon Gold 6234", &[("ddio", said)]);
        assert!(!text.contains("if the cache takes"), "{text}");
    }
    // A family that nobody published: the neighbours are in no figure.
    let unknown = said_of("Xeon Gold 6148", &[]);
    let third = unknown.lines().nth(2).expect("a line under the figures");
    let none = "device-writes are in no figure of rdma-write rocev2: credits of Skylake-SP";
    assert!(third.starts_with(none), "{unknown}");
}
