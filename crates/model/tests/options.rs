//! The table of options: that it is whole, and that `docs/options.md` is what it says.

use narrows_model::Bytes;
use narrows_model::load::{MemoryParams, Params};
use narrows_model::options::{
    ALL, Command, Declared, Flag, Form, Kept, Refusal, Scene, Section, Takes, Value, WrongValue,
    check, find,
};
use narrows_model::workload::Workload;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const COMMANDS: [Command; 5] =
    [Command::Tcp, Command::Udp, Command::Rdma, Command::Mem, Command::Packets];

/// A workload that the option is for.
fn workload(option: &Declared) -> Workload {
    let loads = [
        "tcp-stream",
        "tcp-rr",
        "udp-stream",
        "rdma-write-stream",
        "memory-copy",
        "memory-latency",
        "packets",
        "mpi-latency",
    ]
    .map(Workload::from);
    loads.into_iter().find(option.fits.holds).expect(option.key)
}

/// A value that the option takes, and that is not the ordinary one.
fn sample(option: &Declared) -> Value {
    match option.takes {
        Takes::Switch => Value::Switch(true),
        Takes::Number(least, most) | Takes::NamedNumber(least, most, _) => {
            Value::Number(most.min(least + 2))
        }
        Takes::OneNumber(known) => Value::Number(known[1]),
        Takes::Seconds(..) => Value::Seconds(2.0),
        Takes::Size(..) => Value::Size(Bytes(4096)),
        Takes::Rate => Value::Rate("3G".parse().expect("a rate")),
        Takes::PacketRate => Value::Text("1000".to_owned()),
        Takes::Word(known) | Takes::WordOfAnyCase(known) => Value::Text(known[1].to_owned()),
        Takes::Span(_) => Value::Size(Bytes(8192)),
        Takes::BytePair => Value::Text("1,2".to_owned()),
        Takes::Text(_) if option.key == "device" => Value::Text("here,there".to_owned()),
        Takes::Text(_) => Value::Text("something".to_owned()),
    }
}

/// Parameters of a workload without options.
fn plain(workload: &Workload) -> Params {
    match workload.is_memory() {
        true => Params::of_memory(1, Bytes::mib(1), MemoryParams::default()),
        false => Params::of_network(Bytes::kib(64), 1),
    }
}

#[test]
fn keys_flags_and_letters_are_each_there_once() {
    let mut keys = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for option in ALL {
        assert!(keys.insert((option.section == Section::Rdma, option.key)), "{}", option.key);
        if matches!(option.kept, Kept::Key) {
            assert!(kept.insert(option.key), "{}: two of this name in orders", option.key);
            assert!(option.capability.is_some(), "{}: older agents know it not", option.key);
        }
        assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{}", option.key);
    }
    for command in COMMANDS {
        let of = |flag: &&Flag| flag.on.contains(&command);
        let flags: Vec<&Flag> = ALL.iter().flat_map(|o| o.flags).filter(of).collect();
        let names: BTreeSet<&str> = flags.iter().map(|flag| flag.long).collect();
        assert_eq!(names.len(), flags.len(), "{command:?}");
        let letters: Vec<char> = flags.iter().filter_map(|flag| flag.letter).collect();
        let once: BTreeSet<&char> = letters.iter().collect();
        assert_eq!(once.len(), letters.len(), "{command:?} {letters:?}");
    }
}

#[test]
fn what_a_workload_is_told_is_read_back_and_within_bounds() {
    for option in ALL.iter().filter(|option| !matches!(option.kept, Kept::Plan)) {
        let workload = workload(option);
        let mut params = plain(&workload);
        let value = sample(option);
        option.put(&mut params, &value, &Scene { workload: &workload, cache: Bytes::mib(1) });
        assert_eq!(option.of(&params), Some(value), "{} of {workload}", option.key);
        assert_eq!(check(&workload, &params), Ok(()), "{} of {workload}", option.key);
        // Nothing else is told by it.
        let others = ALL.iter().filter(|other| !std::ptr::eq(**other, *option));
        for other in others {
            assert_eq!(
                other.of(&params),
                other.of(&plain(&workload)),
                "{} tells {}",
                option.key,
                other.key
            );
        }
    }
}

#[test]
fn what_does_not_fit_or_is_out_of_bounds_is_refused() {
    let told = |load: &str, section: Section, key: &str, value: Value| {
        let load = Workload::from(load);
        let mut params = plain(&load);
        let option = find(section, key).expect(key);
        option.put(&mut params, &value, &Scene { workload: &load, cache: Bytes(0) });
        check(&load, &params).err()
    };
    let dscp = |point| told("udp-stream", Section::Top, "dscp", Value::Number(point));
    assert_eq!(dscp(63), None);
    let wrong = dscp(64).expect("six bits");
    assert_eq!(wrong.to_string(), "dscp: 64 is out of bounds, must be 0 to 63");
    assert!(matches!(wrong, Refusal::Wrong { why: WrongValue::OutOfBounds { .. }, .. }));
    let unfit = told("udp-rr", Section::Top, "nagle", Value::Text("on".into())).expect("UDP");
    assert_eq!(unfit.to_string(), "'nagle' is for TCP, not for udp-rr");
    let depth = told("tcp-stream", Section::Rdma, "depth", Value::Number(9)).expect("no RDMA");
    assert_eq!(depth.to_string(), "'depth' is for RDMA, not for tcp-stream");
}

fn takes(takes: Takes) -> String {
    match takes {
        Takes::Switch => "`true` or `false`".to_owned(),
        Takes::Number(0, most) if most >= u32::MAX.into() => "a whole number".to_owned(),
        Takes::Number(least, most) => format!("{least} to {most}"),
        Takes::NamedNumber(least, most, _) => format!("{least} to {most}, or a name"),
        Takes::OneNumber(known) => known.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        Takes::Seconds(..) => "seconds".to_owned(),
        Takes::Size(_, u64::MAX) => "bytes".to_owned(),
        Takes::Size(least, most) => format!("bytes, {least} to {most}"),
        Takes::Rate => "bits per second".to_owned(),
        Takes::PacketRate => "packets per second, or `max`".to_owned(),
        Takes::Word(known) | Takes::WordOfAnyCase(known) => format!("`{}`", known.join("`, `")),
        Takes::Span(most) => format!("`hot`, `cold` or bytes up to {most}"),
        Takes::BytePair => "`LOCAL[,REMOTE]`, each 0 to 255".to_owned(),
        Takes::Text(Form::Sender) => "a way to send".to_owned(),
        Takes::Text(Form::Receiver) => "a way to receive".to_owned(),
        Takes::Text(Form::Places | Form::Nodes) => "`LOCAL,REMOTE`".to_owned(),
        Takes::Text(Form::Place) => "a place".to_owned(),
        Takes::Text(Form::BackgroundLoad) => "`KERNEL:THREADS[@WHERE][/memory:NODE]`".to_owned(),
        Takes::Text(Form::Any) => "text".to_owned(),
    }
}

fn flags(option: &Declared, command: Command) -> String {
    let own = option.flags.iter().filter(|flag| flag.on.contains(&command));
    let words = own.map(|flag| {
        let letter = flag.letter.map_or(String::new(), |letter| format!("-{letter} "));
        format!("`{letter}--{}`", flag.long)
    });
    words.collect::<Vec<_>>().join(", ")
}

fn page() -> String {
    let mut text = "# Options\n\nMade from the table in `crates/model/src/options`, which the \
                    commands, study files, agents and reports are\nmade from too; \
                    `NARROWS_GOLDEN=write cargo test -p narrows-model` writes it anew. A key is \
                    what a study's file has.\n\
                    An agent holds a controller to the bounds and to what an option is for.\n"
        .to_owned();
    for (section, title) in [(Section::Top, "Keys"), (Section::Rdma, "Keys of `rdma = { .. }`")] {
        let names = COMMANDS.map(Command::name).join(" | ");
        let _ = write!(text, "\n## {title}\n\n| key | {names} | takes | for | what it does |\n");
        text += "|---|---|---|---|---|---|---|---|---|\n";
        for option in ALL.iter().filter(|option| option.section == section) {
            let Declared { key, help, fits, .. } = option;
            let flags = COMMANDS.map(|command| flags(option, command)).join(" | ");
            let takes = takes(option.takes);
            let _ = writeln!(text, "| `{key}` | {flags} | {takes} | {} | {help} |", fits.what);
        }
    }
    text
}

#[test]
fn the_page_of_options_is_what_the_table_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    if std::env::var("NARROWS_GOLDEN").is_ok_and(|how| how == "write") {
        std::fs::write(&file, page()).expect("docs/options.md");
    }
    let text = std::fs::read_to_string(&file).expect("docs/options.md");
    assert_eq!(text, page(), "NARROWS_GOLDEN=write cargo test -p narrows-model writes it anew");
}

#[test]
fn words_that_older_agents_lack_are_these() {
    let words: BTreeSet<&str> = narrows_model::options::capabilities().collect();
    let known = [
        "after",
        "alternate",
        "chains",
        "gid",
        "imix",
        "interleave",
        "notsent_lowat",
        "overlap",
        "packet-bursts",
        "packets",
        "profile",
        "quickack",
        "ranks",
    ];
    assert_eq!(words, BTreeSet::from(known));
}

#[test]
fn an_option_of_kernels_is_one_that_no_network_workload_has() {
    for (key, of_kernels) in
        [("chains", true), ("vector", true), ("rate", false), ("flows", false), ("mtu", false)]
    {
        let option = find(Section::Top, key).expect(key);
        assert_eq!(option.is_of_kernels(), of_kernels, "{key}");
    }
}

/// A section as it is written down.
struct Written<'a>(&'a narrows_model::options::Options, Section);

impl serde::Serialize for Written<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = to.serialize_map(None)?;
        self.0.write_section(self.1, &mut map)?;
        map.end()
    }
}

/// Identities of studies are made of this text: what is not told is `null`, `false` or left out as
/// older versions had it.
#[test]
fn a_section_is_written_in_the_order_of_the_table_with_what_older_versions_left_unset() {
    let text =
        |options| serde_json::to_string(&Written(&options, Section::Rdma)).expect("a section");
    let mut options = narrows_model::options::Options::default();
    let empty = text(options.clone());
    let option = |key: &str| find(Section::Rdma, key).expect("an option");
    options.set(option("depth"), Value::Number(5));
    options.set(option("gid"), Value::Text("rocev2".to_owned()));
    let before: Vec<String> = [
        "device",
        "ib_port",
        "gid_index",
        "connection",
        "service",
        "depth",
        "post_list",
        "signal_every",
        "inline",
        "path_mtu",
        "service_level",
        "traffic_class",
        "relaxed_ordering",
        "pages",
        "via",
        "provider",
    ]
    .map(|key| match key {
        "relaxed_ordering" => format!("\"{key}\":false"),
        _ => format!("\"{key}\":null"),
    })
    .to_vec();
    let all = before.join(",");
    assert_eq!(empty, format!("{{{all}}}"));
    let told = all.replace("\"depth\":null", "\"depth\":5");
    assert_eq!(text(options), format!("{{{told},\"gid\":\"rocev2\"}}"));
}
