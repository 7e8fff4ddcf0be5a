use super::*;
use crate::scratch::{self, Folder};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::thread;

impl Ground {
    /// All files of a folder are settings; the journals are in a folder beside them.
    fn of(folder: &Folder) -> Self {
        Self { journals: folder.path().join("journals"), places: vec![folder.place()] }
    }
}

fn line(path: &str, value: &str) -> String {
    let was = Was { path: path.to_owned(), value: value.to_owned() };
    serde_json::to_string(&was).expect("JSON")
}

fn journals(ground: &Ground) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&ground.journals).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn only_settings_are_written() {
    let ground = Ground::default();
    assert_eq!(ground.journals, Path::new("/run/narrows"));
    for setting in [
        "/proc/irq/41/smp_affinity_list",
        "/proc/sys/net/ipv4/tcp_rmem",
        "/proc/sys/vm/nr_hugepages",
        "/sys/class/net/eth0/queues/rx-0/rps_cpus",
        "ethtool:eth0:gro",
        "coalescing:eth0:rx-usecs",
    ] {
        assert!(ground.is_setting(setting), "{setting}");
    }
    for other in [
        "/proc/sys/vm/swappiness",
        "/proc/sys/kernel/core_pattern",
        "/sys/class/block/sda/queue/scheduler",
        "/etc/passwd",
        "/proc/irq/../../etc/passwd",
        "ethtool:eth0:x",
        "coalescing:eth0:x",
        "",
    ] {
        assert!(!ground.is_setting(other), "{other}");
    }
    let words = "{\"path\":\"/etc/passwd\",\"value\":\"x\"}\nnonsense\n";
    let mut said = Vec::new();
    assert!(serve(words.as_bytes(), &mut said).is_ok());
    assert!(said.is_empty(), "nothing was noted");
}

#[test]
fn settings_are_what_they_were_before_the_first_change_and_the_last_one_goes_back_first() {
    let folder = Folder::new("order");
    let ground = Ground::of(&folder);
    let (one, two) = (folder.file("one", "3\n"), folder.file("two", "9\n"));
    // A second name of the first file: what is written last stays.
    let alias = folder.path().join("alias").display().to_string();
    std::os::unix::fs::symlink(&one, &alias).expect("a link");
    let told =
        [line(&one, "1"), line(&two, "5\t6"), line(&alias, "2"), line(&one, "7"), String::new()];
    let mut said = Vec::new();
    ground.serve(told.join("\n").as_bytes(), &mut said).expect("put back");
    assert_eq!(said, b"noted\n".repeat(4), "once for each that is a setting");
    assert_eq!((folder.read("one"), folder.read("two")), ("1".into(), "5\t6".into()));
    assert!(journals(&ground).is_empty(), "the journal is gone with its need");
}

#[test]
fn one_that_cannot_be_put_back_is_told_and_keeps_no_other_from_it() {
    let folder = Folder::new("cannot");
    let ground = Ground::of(&folder);
    let one = folder.file("one", "2");
    let gone = folder.path().join("gone/setting").display().to_string();
    let told = [line(&one, "1"), line(&gone, "4")].join("\n");
    let why = ground.serve(told.as_bytes(), Vec::new()).expect_err("one is gone").to_string();
    assert!(why.contains(&format!("{gone} was 4 and cannot be put back: ")), "{why}");
    assert!(!why.contains(&one), "{why}");
    assert_eq!(folder.read("one"), "1");
}

#[test]
fn a_journal_stands_while_settings_are_changed_and_is_restored_once_its_guard_is_dead() {
    let folder = Folder::new("journal");
    let ground = Ground::of(&folder);
    assert_eq!(ground.restore().expect("no folder yet"), 0);
    let (one, two) = (folder.file("one", "2"), folder.file("two", "2"));
    let (tell, heard) = UnixStream::pair().expect("a socketpair");
    let copy = tell.try_clone().expect("a copy");
    thread::scope(|scope| {
        // Closed where this thread fails, so that the guard ends too.
        let mut tell = tell;
        let guard = scope.spawn(|| ground.serve(BufReader::new(&heard), &heard));
        let mut noted = String::new();
        let mut answers = BufReader::new(copy);
        for told in [line(&one, "1"), line(&two, "1"), line(&one, "2")] {
            writeln!(tell, "{told}").expect("told");
            answers.read_line(&mut noted).expect("noted");
        }
        let all = journals(&ground);
        let [path] = &all[..] else { panic!("{all:?}") };
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!((mode(&ground.journals) & 0o777, mode(path) & 0o777), (0o700, 0o600));
        let text = std::fs::read_to_string(path).expect("a journal");
        let origin = serde_json::to_string(&Origin::here().expect("here")).expect("JSON");
        assert_eq!(text, format!("{origin}\n{}\n{}\n", line(&one, "1"), line(&two, "1")));
        assert_eq!(ground.restore().expect("its guard lives"), 0);
        assert_eq!(folder.read("one"), "2");
        // As it is left where its guard was killed, with two of another; and what is no setting.
        for (name, more) in [("settings-1", &one), ("settings-2", &two)] {
            let foreign = line("/etc/passwd", "x");
            let text = format!("{origin}\n{}\n{foreign}\n", line(more, "0"));
            std::fs::write(ground.journals.join(name), text).expect("a journal");
        }
        assert_eq!(ground.restore().expect("restored"), 2);
        assert_eq!((folder.read("one"), folder.read("two")), ("0".into(), "0".into()));
        assert_eq!(journals(&ground), all, "they are gone, and the living one's is not");
        tell.shutdown(std::net::Shutdown::Write).expect("over");
        guard.join().expect("a thread").expect("put back");
    });
    assert_eq!((folder.read("one"), folder.read("two")), ("1".into(), "1".into()));
    assert!(journals(&ground).is_empty());
}

#[test]
fn a_journal_of_elsewhere_is_kept_and_its_settings_are_left() {
    let folder = Folder::new("elsewhere-guard");
    let ground = Ground::of(&folder);
    let one = folder.file("one", "2");
    std::fs::create_dir(&ground.journals).expect("folder");
    let here = Origin::here().expect("here");
    let other = Origin { namespace: here.namespace + 1, ..here };
    let first = serde_json::to_string(&other).expect("JSON");
    for text in [format!("{first}\n{}\n", line(&one, "1")), format!("{}\n", line(&one, "1"))] {
        std::fs::write(ground.journals.join("settings-1"), text).expect("a journal");
        assert!(matches!(ground.restore(), Err(HostError::Elsewhere(_))));
        assert_eq!((folder.read("one"), journals(&ground).len()), ("2".into(), 1));
    }
}

#[test]
fn a_journal_that_holds_no_setting_stops_nobody() {
    let folder = Folder::new("nothing-noted");
    let ground = Ground::of(&folder);
    std::fs::create_dir(&ground.journals).expect("folder");
    let here = Origin::here().expect("here");
    let other = Origin { namespace: here.namespace + 1, ..here };
    let first = serde_json::to_string(&other).expect("JSON");
    for text in [format!("{first}\n"), String::new()] {
        std::fs::write(ground.journals.join("settings-1"), text).expect("a journal");
        assert_eq!(ground.restore().expect("nothing to put back"), 0);
        assert!(journals(&ground).is_empty());
    }
    // Half a line of a setting is one that nobody can put back: it is kept for its owner to see.
    std::fs::write(ground.journals.join("settings-1"), "{\"path\":\"/pr").expect("a journal");
    assert!(matches!(ground.restore(), Err(HostError::Elsewhere(_))));
    assert_eq!(journals(&ground).len(), 1);
}

/// Not a test: the process that puts back, told of its folder by its part's name.
#[test]
fn part() {
    let Some(folder) = scratch::part() else { return };
    let places = vec![format!("{folder}/")];
    let ground = Ground { journals: Path::new(&folder).join("journals"), places };
    // Its standard output has the words of the test program.
    let answers = File::options().write(true).open("/dev/fd/3").expect("where to answer");
    ground.serve(std::io::stdin().lock(), answers).expect("put back");
}

#[test]
fn a_guard_changes_settings_and_puts_them_back_when_it_is_dropped() {
    let folder = Folder::new("guard");
    let own = std::env::current_exe().expect("own program");
    let program = folder.script(
        "narrows",
        &format!(
            "[ \"$*\" = guard ] || exit 9\nexport {}={}\n\
             exec {} --exact guard::tests::part --nocapture 3>&1 >/dev/null",
            scratch::PART,
            folder.path().display(),
            own.display()
        ),
    );
    let setting = folder.file("setting", "1\n");
    let mut guard = Guard::over(Ground::of(&folder), &program).expect("started");
    let other = Path::new("/etc/hostname").display().to_string();
    let why = guard.set(&other, "x").expect_err("no setting").to_string();
    assert!(why.contains("not a setting that is changed"), "{why}");
    guard.set(&setting, "2").expect("changed");
    guard.set(&setting, "3").expect("changed again");
    assert_eq!((folder.read("setting"), read(&setting).expect("read")), ("3".into(), "3".into()));
    drop(guard);
    assert_eq!(folder.read("setting"), "1", "put back before the guard is gone");
    // One that does not note what a setting was keeps it from being changed.
    let deaf = folder.script("deaf", "read line; echo heard; cat > /dev/null");
    let mut guard = Guard::over(Ground::of(&folder), &deaf).expect("started");
    let why = guard.set(&setting, "4").expect_err("not noted").to_string();
    assert!(why.contains("it did not note what a setting was"), "{why}");
    assert_eq!(folder.read("setting"), "1");
}
