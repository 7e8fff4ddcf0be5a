use super::*;
use narrows_model::memory_traffic::Quantity;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

/// A machine in a folder, gone with this.
pub(super) struct Machine(PathBuf);

impl Machine {
    pub(super) fn new(name: &str) -> Self {
        let top = std::env::temp_dir().join(format!("narrows-pmu-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        Self(top)
    }

    pub(super) fn put(&self, path: &str, text: &str) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
        self
    }

    pub(super) fn pmu(&self, name: &str, kind: u32, mask: &str, format: &[(&str, &str)]) -> &Self {
        let at = format!("sys/bus/event_source/devices/{name}");
        self.put(&format!("{at}/type"), &format!("{kind}\n"));
        self.put(&format!("{at}/cpumask"), &format!("{mask}\n"));
        for (field, bits) in format {
            self.put(&format!("{at}/format/{field}"), &format!("{bits}\n"));
        }
        self
    }

    pub(super) fn cpus(&self, packages: &[u32]) -> &Self {
        for (cpu, package) in packages.iter().enumerate() {
            let at = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
            self.put(&at, &package.to_string());
        }
        self
    }

    pub(super) fn processor(&self, vendor: &str, family: u32, model: u32) -> &Self {
        let text = format!("vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n");
        self.put("proc/cpuinfo", &text)
    }

    /// Ice Lake-SP with two sockets of one CPU, two channels and one link each.
    pub(super) fn ice_lake(name: &str) -> Self {
        let machine = Self::new(name);
        let format = [("event", "config:0-7"), ("umask", "config:8-15")];
        machine.processor("GenuineIntel", 6, 0x6a).cpus(&[0, 1]);
        machine.pmu("uncore_imc_0", 20, "0-1", &format).pmu("uncore_imc_1", 21, "0-1", &format);
        machine.pmu("uncore_upi_0", 30, "0-1", &format);
        let wide = [("event", "config:0-7"), ("umask", "config:8-15,32-55")];
        machine.pmu("uncore_cha_0", 40, "0-1", &wide);
        machine.pmu("cpu", 4, "", &format).put("sys/devices/system/cpu/online", "0-1\n");
        machine
    }

    pub(super) fn root(&self) -> Root {
        Root::at(&self.0)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.0
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).expect("a file")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What an event answers, one after the other; then it is gone.
pub(super) type Script = VecDeque<EventCount>;

struct Scripted(Script);

impl Counting for Scripted {
    fn told(&mut self) -> io::Result<EventCount> {
        self.0.pop_front().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Decides what an event answers.
pub(super) type Answers = dyn Fn(Code, u32) -> io::Result<Script>;

/// A kernel that keeps what it was asked.
struct Simulated<'a> {
    answers: &'a Answers,
    asked: Rc<RefCell<Vec<(Code, u32)>>>,
}

impl Opens for Simulated<'_> {
    fn open(&self, code: Code, cpu: u32) -> io::Result<Box<dyn Counting>> {
        self.asked.borrow_mut().push((code, cpu));
        Ok(Box::new(Scripted((self.answers)(code, cpu)?)))
    }
}

pub(super) fn told(count: u64, enabled_ns: u64, running_ns: u64) -> EventCount {
    EventCount { count, enabled_ns, running_ns }
}

/// From 1000 on by `by`, counting all the time.
pub(super) fn grows(by: u64) -> Script {
    [told(1000, 50, 50), told(1000 + by, 150, 150)].into()
}

pub(super) fn counted(machine: &Machine, answers: &Answers) -> (MemoryTraffic, Vec<(Code, u32)>) {
    let asked = Rc::default();
    let kernel = Simulated { answers, asked: Rc::clone(&asked) };
    let mut meters = MemoryMeters::open(&machine.root(), &kernel);
    meters.start();
    let traffic = meters.close();
    let asked = asked.borrow().clone();
    (traffic, asked)
}

fn of(traffic: &MemoryTraffic, of: Quantity) -> Vec<(Option<u32>, u64, u32, Option<u32>)> {
    let counts = traffic.counts.iter().filter(|count| count.of == of);
    counts.map(|one| (one.package, one.bytes, one.counters, one.ran_thousandths)).collect()
}

#[test]
fn channels_links_and_slices_add_up_by_socket_in_bytes() {
    let machine = Machine::ice_lake("sums");
    let (traffic, asked) = counted(&machine, &|code, cpu| {
        Ok(grows(match (code.kind, code.config[0]) {
            (20 | 21, 0x0f04) => 10 + u64::from(cpu),
            (20 | 21, 0x3004) => 3,
            (30, 0x0f02) => 90,
            (40, _) => 7,
            (20 | 21, _) => 1,
            (4, 0x412e) => 5 + u64::from(cpu),
            other => panic!("{other:x?}"),
        }))
    });
    let all = |of_what| of(&traffic, of_what);
    assert_eq!(traffic.family.as_deref(), Some("Intel Ice Lake-SP"));
    // Two channels a socket, 64 bytes a count.
    assert_eq!(all(Quantity::Read), [(Some(0), 1280, 2, None), (Some(1), 1408, 2, None)]);
    assert_eq!(all(Quantity::Written), [(Some(0), 384, 2, None), (Some(1), 384, 2, None)]);
    // Nine flits are a line.
    assert_eq!(all(Quantity::SocketLinkSent), [(Some(0), 640, 1, None), (Some(1), 640, 1, None)]);
    assert_eq!(traffic.bytes(Quantity::DeviceWritten), Some(2 * 2 * 7 * 64));
    // The cores' own counters are opened on each CPU.
    assert_eq!(all(Quantity::CacheMissed), [(Some(0), 320, 1, None), (Some(1), 384, 1, None)]);
    assert_eq!((traffic.both_ways(), &*traffic.gaps), (Some(1280 + 1408 + 768), &[][..]));
    // The umask's upper part is where this PMU's format puts it.
    let wide = asked.iter().find(|(code, _)| code.kind == 40).expect("a slice");
    assert_eq!(wide.0.config, [0x35 | 0x04 << 8 | 0x00cc_43ff << 32, 0, 0]);
}

#[test]
fn a_count_that_wraps_is_a_count_and_one_that_was_shared_is_scaled_and_said_so() {
    let machine = Machine::ice_lake("wraps");
    let (traffic, _) = counted(&machine, &|code, cpu| {
        Ok(match (code.config[0], cpu) {
            (0x0f04, 0) => [told(u64::MAX - 9, 0, 0), told(10, 100, 100)].into(),
            (0x0f04, _) => [told(0, 0, 0), told(100, 100, 25)].into(),
            _ => grows(1),
        })
    });
    assert_eq!(
        of(&traffic, Quantity::Read),
        [(Some(0), 2 * 20 * 64, 2, None), (Some(1), 2 * 400 * 64, 2, Some(250))]
    );
}

/// As of 768 GB/s in 0.1 s, of which 22 ms passed at one counter between the looks at it and at
/// the next: the clock of the thread that looks has all of it in.
#[test]
fn a_counter_that_was_looked_at_for_longer_counts_at_its_own_pace() {
    let machine = Machine::ice_lake("paces");
    let (traffic, _) = counted(&machine, &|code, _| {
        Ok(match (code.kind, code.config[0]) {
            (20, 0x0f04) => [told(0, 0, 0), told(3_000, 100, 100)].into(),
            (21, 0x0f04) => [told(0, 0, 0), told(3_660, 122, 122)].into(),
            _ => grows(1),
        })
    });
    // Both by their own time: 30 lines a nanosecond, over the longest time.
    assert_eq!(traffic.span_ns, Nanos(122));
    assert_eq!(of(&traffic, Quantity::Read)[0], (Some(0), 2 * 3_660 * 64, 2, Some(820)));
}

#[test]
fn a_quantity_with_a_counter_missing_is_left_out_and_named() {
    let machine = Machine::ice_lake("lost");
    for (what, script) in [
        ("gone at the end", Script::from([told(5, 1, 1)])),
        ("gone from the start", Script::new()),
        ("set back", [told(500, 1, 1), told(5, 2, 2)].into()),
        ("never ran", [told(5, 1, 1), told(5, 9, 1)].into()),
        ("disabled", [told(5, 1, 1), told(5, 1, 1)].into()),
    ] {
        let (traffic, _) = counted(&machine, &move |code, cpu| {
            let one = (code.kind, code.config[0], cpu) == (21, 0x0f04, 1);
            let written = if code.config[0] == 0x3004 { 10 } else { 20 };
            Ok(if one { script.clone() } else { grows(written) })
        });
        assert_eq!((of(&traffic, Quantity::Read).len(), traffic.both_ways()), (0, None), "{what}");
        assert_eq!(traffic.bytes(Quantity::Written), Some(2560), "{what}");
        let pmu = "uncore_imc_1".to_owned();
        let event = "UNC_M_CAS_COUNT.RD".to_owned();
        assert_eq!(traffic.gaps, [Uncounted::Vanished { pmu, event }], "{what}");
    }
}

#[test]
fn what_the_kernel_refuses_is_named() {
    let machine = Machine::ice_lake("refused");
    machine.put("proc/sys/kernel/perf_event_paranoid", "2\n");
    let (traffic, asked) =
        counted(&machine, &|_, _| Err(io::Error::from_raw_os_error(libc::EACCES)));
    assert_eq!((traffic.counts.len(), asked.len()), (0, 1));
    assert_eq!(traffic.gaps, [Uncounted::Denied { paranoid: Some(2) }]);
    let (traffic, _) = counted(&machine, &|code, _| match code.kind {
        30 => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        _ => Ok(grows(1)),
    });
    assert_eq!(traffic.bytes(Quantity::SocketLinkSent), None);
    let (pmu, event) = ("uncore_upi_0".to_owned(), "UNC_UPI_TxL_FLITS.ALL_DATA".to_owned());
    let gap = Uncounted::NotOpened { pmu, event, errno: libc::ENODEV };
    assert_eq!(traffic.gaps, [gap.clone(), gap]);
    assert!(traffic.both_ways().is_some());
}

#[test]
fn machines_without_what_counts_say_so() {
    let never: &Answers = &|code, cpu| panic!("opened {code:?} on {cpu}");
    let guest = Machine::new("guest");
    guest.put("proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu hypervisor sse\n");
    guest.put("sys/bus/event_source/devices/software/type", "1");
    let (traffic, _) = counted(&guest, never);
    let inside = Some("virtual machine".to_owned());
    assert_eq!(traffic.gaps, [Uncounted::NoPmu { inside }]);
    let later = Machine::new("later");
    later.processor("AuthenticAMD", 0x1b, 3).pmu("amd_df", 9, "0", &[]);
    let (traffic, _) = counted(&later, never);
    let processor = "AuthenticAMD family 0x1b model 0x3".to_owned();
    assert_eq!(traffic.gaps, [Uncounted::UnknownFamily { processor }]);
    assert_eq!(traffic.family, None);
    // The file of Intel's clients has all models that no other names.
    let later = Machine::new("later-intel");
    later.processor("GenuineIntel", 6, 254).pmu("uncore_imc_0", 9, "0", &[]);
    let (traffic, _) = counted(&later, never);
    let processor = "GenuineIntel family 0x6 model 0xfe".to_owned();
    assert_eq!(traffic.gaps, [Uncounted::UnknownFamily { processor }]);
}

#[test]
fn a_description_that_is_damaged_costs_its_quantity_alone() {
    let at = "sys/bus/event_source/devices/uncore_imc_1";
    for (file, text, what) in [
        ("cpumask", "", "no cpumask"),
        ("cpumask", "1-0", "cpumask is '1-0'"),
        ("type", "many", "type is 'many'"),
        ("format/umask", "config9:8-15", "format/umask is 'config9:8-15'"),
        ("format/umask", "config:8-99", "format/umask is 'config:8-99'"),
        ("format/umask", "config:8", "umask=0xf does not fit into format/umask"),
    ] {
        let machine = Machine::ice_lake("damaged");
        machine.put(&format!("{at}/{file}"), text);
        let (traffic, _) = counted(&machine, &|_, _| Ok(grows(9)));
        assert_eq!((traffic.both_ways(), of(&traffic, Quantity::Read).len()), (None, 0), "{what}");
        assert_eq!(traffic.bytes(Quantity::SocketLinkSent), Some(128), "{what}");
        let pmu = "uncore_imc_1".to_owned();
        let gap = Uncounted::PmuUnclear { pmu, what: what.to_owned() };
        assert!(traffic.gaps.contains(&gap), "{what}: {:?}", traffic.gaps);
    }
}

#[test]
fn named_events_have_the_drivers_scale() {
    let machine = Machine::new("client");
    machine.processor("GenuineIntel", 6, 0x9e).cpus(&[0, 0]);
    machine.pmu("uncore_imc", 12, "0", &[("event", "config:0-7")]);
    let at = "sys/bus/event_source/devices/uncore_imc/events";
    for (name, code) in [("data_reads", "event=0x01"), ("data_writes", "event=0x02")] {
        machine.put(&format!("{at}/{name}"), code);
        machine.put(&format!("{at}/{name}.scale"), "6.103515625e-5\n");
        machine.put(&format!("{at}/{name}.unit"), "MiB\n");
    }
    let (traffic, asked) = counted(&machine, &|_, _| Ok(grows(1000)));
    let reads = Code { kind: 12, config: [1, 0, 0] };
    assert_eq!(asked, [(reads, 0), (Code { config: [2, 0, 0], ..reads }, 0)]);
    assert_eq!(of(&traffic, Quantity::Read), [(Some(0), 64_000, 1, None)]);
    machine.put(&format!("{at}/data_reads.unit"), "furlongs");
    let (traffic, _) = counted(&machine, &|_, _| Ok(grows(1000)));
    let what = "events/data_reads.unit is 'furlongs'".to_owned();
    assert!(traffic.gaps.contains(&Uncounted::PmuUnclear { pmu: "uncore_imc".into(), what }));
    assert_eq!((traffic.bytes(Quantity::Read), traffic.both_ways()), (None, None));
}

#[test]
fn an_older_kernel_counts_by_the_pmu_that_it_has() {
    let machine = Machine::new("genoa");
    machine.processor("AuthenticAMD", 0x19, 0x11).cpus(&[0, 1]);
    let format = [("event", "config:0-7,32-37"), ("umask", "config:8-15,24-27")];
    machine.pmu("amd_df", 9, "0-1", &format);
    let (traffic, asked) = counted(&machine, &|_, _| Ok(grows(1)));
    // Twelve channels, for both processors, at two sockets.
    assert_eq!(traffic.bytes(Quantity::Read), Some(12 * 2 * 2 * 64));
    let last = Code { kind: 9, config: [0xdf | 0xfe << 8 | 0x7 << 24 | 0x2 << 32, 0, 0] };
    assert!(asked.iter().any(|(code, _)| *code == last), "{asked:x?}");
    // Two complexes of cores, each with a cache of its own, that the driver counts at one CPU each.
    let cores = [("event", "config:0-7"), ("umask", "config:8-15")];
    machine.pmu("amd_l3", 10, "0-1", &cores);
    let (traffic, asked) = counted(&machine, &|_, cpu| Ok(grows(3 + u64::from(cpu))));
    let missed = Code { kind: 10, config: [0x0104, 0, 0] };
    assert!(asked.contains(&(missed, 0)) && asked.contains(&(missed, 1)), "{asked:x?}");
    assert_eq!(
        of(&traffic, Quantity::CacheMissed),
        [(Some(0), 192, 1, None), (Some(1), 256, 1, None)]
    );
    let umc = [("event", "config:0-7"), ("rdwrmask", "config:8-9")];
    machine.pmu("amd_umc_0", 14, "0", &umc).pmu("amd_umc_12", 15, "1", &umc);
    let (traffic, _) = counted(&machine, &|_, _| Ok(grows(1)));
    assert_eq!(
        of(&traffic, Quantity::Read),
        [(Some(0), 64, 1, None), (Some(1), 64, 1, None)],
        "the memory controllers' own counters come first"
    );
}

#[test]
fn every_event_file_can_be_read_and_hostile_ones_are_refused() {
    let mut names = Vec::new();
    for (file, family) in events::families() {
        let family = family.unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(!family.group.is_empty(), "{file}");
        names.push(file.to_owned());
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/events");
    let there = fs::read_dir(folder).expect("events").flatten();
    let there: BTreeSet<String> =
        there.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let listed: BTreeSet<String> = names.into_iter().chain(["README.md".to_owned()]).collect();
    assert_eq!(there, listed);
    let head = "family = 'X'\nsource = 'Y'\nunsourced = []\n";
    let row = |row: &str| {
        let group = "[[group]]\ncounts = 'memory'\npmus = ['x']\n[[group.event]]\nname = 'E'\n";
        format!("{head}{group}{row}")
    };
    assert!(Family::read(&row("quantity = 'read'\nevent = ['event=1']\nbytes = 64")).is_ok());
    for (text, says) in [
        (row("quantity = 'read'\nbytes = 64"), "one of `event` and `alias`"),
        (row("quantity = 'read'\nevent = ['event=1']\nalias = ['a']\nbytes = 1"), "one of"),
        (row("quantity = 'read'\nevent = ['event=x']\nbytes = 64"), "`event=x` is not"),
        (row("quantity = 'read'\nevent = ['=1']\nbytes = 64"), "`=1` is not"),
        (
            row("quantity = 'read'\nevent = ['event=1']"),
            "a coded event of a quantity needs `bytes`",
        ),
        (row("quantity = 'read'\nevent = ['event=1']\nbytes = 64\nper = 0"), "above 0"),
        (row("quantity = 'read'\nevent = ['event=1']\nbytes = -64"), "-64"),
        (row("quantity = 'speed'\nevent = ['event=1']\nbytes = 64"), "speed"),
        (row("quantity = 'device-written'\nevent = ['event=1']\nbytes = 1"), "not counted by"),
        (row("quantity = 'read'\nevnt = ['event=1']\nbytes = 64"), "evnt"),
        (row("event = ['event=1']\nbytes = 64"), "one of `quantity` and `queue`"),
        (row("quantity = 'read'\nqueue = 'write-full'\nevent = ['event=1']"), "one of `quantity`"),
        (row("queue = 'write-full'\nevent = ['event=1']"), "not counted by"),
        (row("queue = 'write-full'\nevent = ['event=1']\nbytes = 64"), "of a queue has none"),
        (
            format!("{head}group = []\n[[processor]]\nvendor = 'V'\nfamily = 6\nmodels = [[9, 2]]"),
            "0x9 to 0x2",
        ),
        ("family = 'X'\nunsourced = []\ngroup = []".to_owned(), "source"),
        ("\u{0}".to_owned(), "line 1"),
    ] {
        let why = Family::read(&text).expect_err(says).to_string();
        assert!(why.contains(says), "{says}: {why}");
    }
}

#[test]
fn each_file_that_names_processors_is_found_by_them() {
    for (vendor, family, model, named) in [
        ("GenuineIntel", 6, 0x3f, "Intel Haswell-EP"),
        ("GenuineIntel", 6, 0x55, "Intel Skylake-SP and Cascade Lake-SP"),
        ("GenuineIntel", 6, 0xcf, "Intel Sapphire Rapids and Emerald Rapids"),
        ("GenuineIntel", 6, 0xad, "Intel Granite Rapids"),
        ("GenuineIntel", 6, 0x9e, "Intel client processors"),
        ("AuthenticAMD", 0x17, 0x01, "AMD Zen 1 to Zen 3 (Naples, Rome, Milan)"),
        ("AuthenticAMD", 0x19, 0x01, "AMD Zen 1 to Zen 3 (Naples, Rome, Milan)"),
        ("AuthenticAMD", 0x19, 0x11, "AMD Zen 4 (Genoa, Bergamo, Siena)"),
        ("AuthenticAMD", 0x1a, 0x02, "AMD Zen 5 (Turin)"),
    ] {
        let machine = Machine::new("family");
        machine.processor(vendor, family, model).pmu("amd_df", 9, "0", &[]);
        machine.pmu("uncore_imc", 10, "0", &[]);
        let found = family::find(&machine.root()).expect(named);
        assert_eq!(found.family, named);
    }
    let machine = Machine::new("kunpeng");
    machine.put("proc/cpuinfo", "CPU implementer\t: 0x48\nCPU part\t: 0xd01\n");
    machine.pmu("hisi_sccl3_ddrc1", 9, "24", &[]);
    assert!(family::find(&machine.root()).expect("hip08").family.contains("Kunpeng"));
}

#[test]
fn what_the_caches_count_of_own_threads_stands_beside_what_the_controllers_count() {
    let machine = Machine::ice_lake("both");
    let group = format!("sys/fs/resctrl/mon_groups/narrows-{}", std::process::id());
    machine.put("sys/fs/resctrl/info/L3_MON/mon_features", "mbm_total_bytes");
    machine.put(&format!("{group}/tasks"), "");
    let count = format!("{group}/mon_data/mon_L3_00/mbm_total_bytes");
    machine.put(&count, "5000");
    let kernel = Simulated { answers: &|_, _| Ok(grows(1)), asked: Rc::default() };
    let meters =
        || MemoryMeters::open(&machine.root(), &kernel).monitoring(&machine.root(), machine.dir());
    let mut open = meters();
    open.start();
    machine.put(&count, "5640");
    let traffic = open.close();
    assert_eq!((traffic.bytes(Quantity::OwnThreads), &*traffic.gaps), (Some(640), &[][..]));
    assert_eq!(traffic.both_ways(), Some(8 * 64), "the group's bytes are no part of the host's");
    let mut open = meters();
    open.start();
    machine.put(&count, "Unavailable");
    let traffic = open.close();
    assert_eq!((traffic.bytes(Quantity::OwnThreads), traffic.gaps.len()), (None, 1));
    assert_eq!(traffic.both_ways(), Some(8 * 64));
}
