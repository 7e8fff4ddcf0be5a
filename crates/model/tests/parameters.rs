//! What options are told: how it is kept, merged, written and read, and what reports say of it.

use narrows_model::Bytes;
use narrows_model::load::{
    Binding, CpuList, IpVersion, MemoryParams, Params, SocketParams, StreamParams, TripParams, Wait,
};
use narrows_model::options::{
    Effective, Key, KeyOf, Options, Scene, Section, Takes, Value, ValueOf, Written, WrongValue,
    find, flows, packets, runs, trips, words,
};
use narrows_model::rdma::{RdmaConnection, RdmaParams, RdmaPlace, RdmaService};
use narrows_model::workload::Workload;
use serde::de::DeserializeSeed;

fn text(words: &str) -> Value {
    Value::Text(words.to_owned())
}

/// Parameters of a workload that is told these options.
fn told(load: &Workload, options: &[(Section, &str, Value)]) -> Params {
    let mut params = Params::of_network(Bytes::kib(64), 2);
    for (section, key, value) in options {
        let option = find(*section, key).expect(key);
        option.put(&mut params, value, &Scene { workload: load, cache: Bytes::mib(40) });
    }
    params
}

fn top(load: &str, key: &str, value: Value) -> Params {
    told(&Workload::from(load), &[(Section::Top, key, value)])
}

#[test]
fn a_report_says_what_a_workload_was_told_and_what_was_used() {
    let used = Effective { mss_bytes: Some(1428), ..Effective::default() };
    for (load, key, value, says) in [
        ("tcp-stream", "mss", Value::Number(1400), "segments of 1400 B asked for, 1428 B at first"),
        ("tcp-stream", "nagle", text("off"), "Nagle's algorithm off"),
        ("tcp-stream", "dscp", Value::Number(46), "DSCP 46"),
        ("tcp-stream", "reverse", Value::Switch(true), "from the peer to here"),
        ("tcp-stream", "bidirectional", Value::Switch(true), "both ways at once"),
        ("tcp-stream", "touch", Value::Switch(true), "read again on receipt"),
        ("tcp-stream", "quickack", Value::Switch(true), "acknowledged at once (TCP_QUICKACK)"),
        (
            "tcp-stream",
            "notsent_lowat",
            Value::Size(Bytes(131_072)),
            "128 KiB unsent at most (TCP_NOTSENT_LOWAT)",
        ),
        ("tcp-rr", "response", Value::Size(Bytes(4096)), "4 KiB responses"),
        ("tcp-rr", "per_second", Value::Number(500), "open loop, 500 due a second"),
        ("udp-rr", "overlap", Value::Switch(true), "each request when it is due"),
        ("tcp-stream", "profile", Value::Switch(true), "profiled"),
        ("tcp-stream", "after_seconds", Value::Seconds(2.5), "begins after 2.5 s"),
        ("mpi-allreduce-latency", "ranks", Value::Number(8), "8 ranks"),
        ("packets", "flows", Value::Number(64), "64 flows a thread"),
        ("packets", "mac", text("02:00:00:00:00:01"), "to 02:00:00:00:00:01"),
        (
            "packets",
            "imix",
            Value::Switch(true),
            "IMIX: 64, 594 and 1518 B as 7:4:1, 361.83 B on average",
        ),
        ("memory-latency", "chains", Value::Number(4), "4 chains of pointers side by side"),
        ("memory-read", "interleave", Value::Switch(true), "memory spread over all nodes"),
    ] {
        assert_eq!(words(&top(load, key, value), &used), [says], "{key}");
    }
    let mss = top("tcp-stream", "mss", Value::Number(1400));
    let unknown = words(&mss, &Effective::default());
    assert_eq!(unknown, ["segments of 1400 B asked for, unknown at first"]);
    assert!(words(&top("tcp-stream", "sender", text("write")), &used).is_empty());
}

#[test]
fn what_is_ordinary_is_kept_as_if_nobody_had_said_it() {
    let sender = |load: &str, name: &str| {
        top(load, "sender", text(name)).stream.and_then(|stream| stream.sender)
    };
    assert_eq!(sender("tcp-stream", "write"), None);
    assert_eq!(sender("tcp-stream", "send").as_deref(), Some("send"));
    assert_eq!(sender("udp-stream", "send"), None);
    assert_eq!(sender("udp-stream", "write").as_deref(), Some("write"));
    assert_eq!((sender("packets", "send"), sender("packets", "write")), (None, None));
    let span = |value| top("tcp-stream", "buffer", value).stream.and_then(|of| of.span_bytes);
    assert_eq!(span(text("hot")), None);
    assert_eq!(span(text("cold")), Some(Bytes::mib(80)), "twice the cache of 40 MiB");
    assert_eq!(
        (span(text("1M")), span(Value::Size(Bytes(9)))),
        (Some(Bytes::mib(1)), Some(Bytes(9)))
    );
    let switch = |on| top("tcp-stream", "quickack", Value::Switch(on)).told.is_empty();
    assert_eq!((switch(true), switch(false)), (false, true));
}

#[test]
fn a_device_of_each_end_follows_who_asks() {
    let load = Workload::from("rdma-write-stream");
    let of = |reverse, devices: &str| {
        let params = told(
            &load,
            &[
                (Section::Top, "reverse", Value::Switch(reverse)),
                (Section::Rdma, "device", text(devices)),
            ],
        );
        let rdma = params.rdma.expect("RDMA");
        (rdma.sender.device, rdma.receiver.device)
    };
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(of(false, "here, there"), (some("here"), some("there")));
    assert_eq!(of(true, "here, there"), (some("there"), some("here")));
    assert_eq!(of(false, "mlx5_0"), (some("mlx5_0"), some("mlx5_0")));
    assert_eq!(of(false, ",there"), (None, some("there")));
}

#[test]
fn later_options_take_the_place_of_earlier_ones() {
    let (mut base, mut over) = (Options::default(), Options::default());
    assert!(base.is_empty());
    base.tell(&packets::FLOWS, 2);
    base.tell(&flows::QUICKACK, true);
    over.tell(&packets::FLOWS, 8);
    over.tell(&runs::AFTER, 1.5);
    let mut both = base.with(&over);
    assert_eq!(both.told(&packets::FLOWS), Some(8));
    assert_eq!((both.told(&flows::QUICKACK), both.told(&runs::AFTER)), (Some(true), Some(1.5)));
    assert_eq!(both.get("flows"), Some(&Value::Number(8)));
    assert_eq!(both.take("flows"), Some(Value::Number(8)));
    assert_eq!((both.take("flows"), both.told(&packets::FLOWS)), (None, None));
    let stored = r#"{"after_seconds":1.5,"quickack":true}"#;
    assert_eq!(serde_json::to_string(&both).expect("JSON"), stored);
    assert_eq!(serde_json::from_str::<Options>(stored).expect("options"), both);
    let unknown = serde_json::from_str::<Options>(r#"{"warp":true}"#).expect_err("newer");
    assert!(unknown.to_string().starts_with("this version knows no option 'warp'"), "{unknown}");
    // A field of older versions is no key of its own.
    assert!(serde_json::from_str::<Options>(r#"{"mss":1400}"#).is_err());
    let wrong = serde_json::from_str::<Options>(r#"{"flows":3}"#).expect_err("no such number");
    let says = "flows: '3' is none of 1, 2, 4, 8, 16, 32, 64, 128, 256";
    assert!(wrong.to_string().starts_with(says), "{wrong}");
}

#[test]
fn a_key_of_a_table_is_an_options_or_one_of_the_others() {
    let key = |section, key: &str| {
        let json = format!("\"{key}\"");
        let of = KeyOf { section, others: &["levels"] };
        match of.deserialize(&mut serde_json::Deserializer::from_str(&json)) {
            Ok(Key::Option(option)) => Ok(option.key),
            Ok(Key::Other(other)) => Ok(other),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(key(Section::Top, "mss").as_deref(), Ok("mss"));
    assert_eq!(key(Section::Rdma, "depth").as_deref(), Ok("depth"));
    assert_eq!(key(Section::Top, "levels").as_deref(), Ok("levels"));
    let wrong = key(Section::Rdma, "mss").expect_err("no key of RDMA's");
    assert!(wrong.starts_with("unknown field `mss`, expected one of "), "{wrong}");
    assert!(wrong.contains(", depth, ") && wrong.contains(", levels"), "{wrong}");
    let dscp = |json: &str| {
        let option = find(Section::Top, "dscp").expect("dscp");
        let value = ValueOf(option).deserialize(&mut serde_json::Deserializer::from_str(json));
        value.map_err(|error| error.to_string())
    };
    assert_eq!((dscp("46"), dscp("\"ef\"")), (Ok(Value::Number(46)), Ok(Value::Number(46))));
    let wrong = dscp("64").expect_err("six bits");
    assert!(wrong.starts_with("dscp: 64 is out of bounds, must be 0 to 63"), "{wrong}");
}

#[test]
fn a_written_value_has_the_sort_that_a_file_gives_it() {
    for (json, written, shown) in [
        ("true", Written::Switch(true), "true"),
        ("7", Written::Whole(7), "7"),
        ("-7", Written::Whole(-7), "-7"),
        ("1.5", Written::Fraction(1.5), "1.5"),
        ("\"64K\"", Written::Text("64K".to_owned()), "64K"),
    ] {
        let read: Written = serde_json::from_str(json).expect(json);
        assert_eq!((read.to_string(), read), (shown.to_owned(), written));
    }
    let wrong = serde_json::from_str::<Written>("[1]").expect_err("a list");
    assert!(wrong.to_string().contains("expected a number, a text, true or false"), "{wrong}");
    for (value, json, shown) in [
        (Value::Switch(true), "true", "true"),
        (Value::Number(7), "7", "7"),
        (Value::Seconds(1.5), "1.5", "1.5"),
        (Value::Size(Bytes(4096)), "4096", "4 KiB"),
        (Value::Rate(narrows_model::BitsPerSecond(2.5e9)), "2500000000.0", "2.50 Gb/s"),
        (text("off"), "\"off\"", "off"),
    ] {
        assert_eq!(serde_json::to_string(&value).expect("JSON"), json);
        assert_eq!(value.to_string(), shown);
    }
}

#[test]
fn spans_and_pairs_are_held_to_their_bounds() {
    let says = |takes: Takes, words: &str| match takes.parse(words) {
        Ok(value) => format!("{value:?}"),
        Err(wrong) => wrong.to_string(),
    };
    let span = Takes::Span(1024);
    assert_eq!((span.parse("hot"), span.parse("cold")), (Ok(text("hot")), Ok(text("cold"))));
    assert_eq!(span.parse("1K"), Ok(text("1K")));
    assert_eq!(says(span, "1025"), "1025 B is out of bounds, must be 0 B to 1024 B");
    assert_eq!(says(span, "warm"), "'warm' is not hot, cold or a size");
    assert_eq!(span.check(&Value::Size(Bytes(1024))), Ok(()));
    for pair in ["0", "255", "1,2", ",2", "1,", " 1 , 2 ", ","] {
        assert_eq!(Takes::BytePair.parse(pair), Ok(text(pair)), "{pair}");
    }
    for pair in ["256", "1,256", "-1", "1,2,3", "a"] {
        let wanted = format!("'{pair}' is not a number from 0 to 255, or two with a comma");
        assert_eq!(says(Takes::BytePair, pair), wanted);
    }
    assert_eq!(says(Takes::OneNumber(&[2, 4]), "2"), "Number(2)");
    assert_eq!(Takes::Switch.parse("on"), Ok(Value::Switch(true)));
    let unreadable = WrongValue::Unreadable { text: "x".to_owned(), wanted: "a text" };
    assert_eq!(unreadable.to_string(), "'x' is not a text");
}

#[test]
fn parameters_know_their_directions_flows_and_responses() {
    let stream = |reverse, bidirectional| Params {
        stream: Some(StreamParams { reverse, bidirectional, ..StreamParams::default() }),
        ..Params::of_network(Bytes(100), 3)
    };
    let plain = Params::of_network(Bytes(100), 3);
    let told = |of: &Params| (of.is_reverse(), of.is_bidirectional(), of.flows());
    assert_eq!(told(&plain), (false, false, 3));
    assert_eq!(told(&stream(true, false)), (true, false, 3));
    assert_eq!(told(&stream(false, true)), (false, true, 6));
    let trip = TripParams { response_bytes: Some(Bytes(5)), per_second: None };
    assert_eq!(plain.response_bytes(), Bytes(100));
    assert_eq!(Params { trip: Some(trip), ..plain.clone() }.response_bytes(), Bytes(5));
    let memory = Params::of_memory(4, Bytes::mib(1), MemoryParams::default());
    assert_eq!((memory.streams, memory.message_bytes), (4, Bytes(0)));
    assert_eq!((memory.working_set_bytes, memory.memory.is_some()), (Bytes::mib(1), true));
    assert_eq!((plain.working_set_bytes, plain.memory.is_some()), (Bytes(0), false));
    // Groups in which nothing is asked for are as none; what is asked for stays.
    let mut said = stream(false, false);
    said.trip = Some(TripParams::default());
    said.socket = Some(SocketParams::default());
    said.rdma = Some(RdmaParams::default());
    assert_eq!(said.tidied(), plain);
    let mut asked = stream(true, false);
    asked.trip = Some(TripParams { per_second: Some(9), ..TripParams::default() });
    asked.socket = Some(SocketParams { dscp: Some(1), ..SocketParams::default() });
    asked.rdma = Some(RdmaParams { depth: Some(8), ..RdmaParams::default() });
    assert_eq!(asked.clone().tidied(), asked);
    assert_eq!(trips::PER_SECOND.of(&asked), Some(9));
}

#[test]
fn only_queue_pairs_have_words_of_their_own() {
    let of = |change: fn(&mut RdmaParams)| {
        let mut params = RdmaParams::default();
        change(&mut params);
        params.has_queue_pair_words()
    };
    assert!(!RdmaParams::default().has_queue_pair_words());
    assert!(!of(|of| of.depth = Some(8)) && !of(|of| of.pages = Some("2M".to_owned())));
    assert!(!of(|of| of.via = Some("libfabric".to_owned())));
    assert!(!of(|of| of.provider = Some("tcp".to_owned())));
    assert!(!of(|of| of.sender.device = Some("mlx5_0".to_owned())));
    assert!(of(|of| of.sender.port = Some(1)) && of(|of| of.receiver.gid_index = Some(3)));
    assert!(of(|of| of.post_list = Some(2)) && of(|of| of.signal_every = Some(4)));
    assert!(of(|of| of.inline_bytes = Some(0)) && of(|of| of.relaxed_ordering = true));
    assert!(of(|of| of.connection = Some(RdmaConnection::Manager)));
    assert!(RdmaPlace::default().is_default());
    assert!(!RdmaPlace { port: Some(1), ..RdmaPlace::default() }.is_default());
    let services = RdmaService::ALL.iter().map(RdmaService::as_str).collect::<Vec<_>>();
    assert_eq!(services, ["rc", "uc", "ud", "rdm"]);
    assert_eq!(
        RdmaConnection::ALL.iter().map(RdmaConnection::as_str).collect::<Vec<_>>(),
        ["cm", "exchange"]
    );
    assert_eq!((RdmaConnection::default().as_str(), RdmaService::default().as_str()), ("", ""));
}

#[test]
fn a_receiver_that_drops_a_header_and_a_set_of_cpus_are_what_they_say() {
    let receiver =
        |name: &str| StreamParams { receiver: Some(name.to_owned()), ..StreamParams::default() };
    assert!(receiver("truncate").drops());
    assert!(!receiver("recv").drops() && !StreamParams::default().drops());
    assert_eq!((IpVersion::V4.header_bytes(), IpVersion::V6.header_bytes()), (20, 40));
    assert!(CpuList::default().is_empty() && !CpuList(vec![0]).is_empty());
    assert!(Binding::Each.is_each() && !Binding::All.is_each());
    let wait = |word| top("tcp-rr", "wait", text(word)).socket.and_then(|socket| socket.wait);
    assert_eq!((wait("block"), wait("spin")), (None, Some(Wait::Spin)));
    let imix = top("packets", "imix", Value::Switch(true));
    assert_eq!(packets::frames_bytes(&Params::of_network(Bytes(128), 1)), [128]);
    let frames = packets::frames_bytes(&imix);
    let count = |bytes: u64| frames.iter().filter(|of| **of == bytes).count();
    assert_eq!((count(64), count(594), count(1518), frames.len()), (7, 4, 1, 12));
}
