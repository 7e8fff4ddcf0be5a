//! What is told and heard over a connection, a shell of this host in place of ssh.

use super::*;

fn line(script: &str) -> Line<'static> {
    let mut shell = child::command(Path::new("sh"));
    let spawned = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut ssh = spawned.expect("a shell");
    let ends = ssh.stdin.take().zip(ssh.stdout.take());
    let (told, heard) = ends.expect("both ends");
    Line { host: "ssh:a", ssh, told, heard: BufReader::new(heard.take(SAID_BYTES_MAX)) }
}

/// What follows `got`.
fn got(line: &str) -> Option<String> {
    line.strip_prefix("got ").map(str::to_owned)
}

#[test]
fn what_is_told_arrives_and_what_a_login_prints_besides_is_passed_over() {
    let mut line = line("read a; read b; echo Welcome; echo; echo \"got $b $a\"");
    line.tell("one\ntwo\n").expect("told");
    assert_eq!(line.hear(got).expect("heard"), "two one");
    let ended = line.hear(got).expect_err("it ended");
    assert!(matches!(&ended, SshError::Ended { host, .. } if host == "ssh:a"), "{ended}");
    assert!(line.tell("more\n").is_err(), "nobody reads");
}

#[test]
fn a_program_is_handed_over_with_its_size_and_only_where_it_is_needed() {
    let path = std::env::temp_dir().join(format!("narrows-line-{}", std::process::id()));
    std::fs::write(&path, "a program").expect("written");
    let needs = "echo narrows-need; read size; echo \"got $size $(head -c \"$size\" 2>&1)\"";
    let mut there = line(needs);
    there.supply(&path).expect("handed over");
    assert_eq!(there.hear(got).expect("heard"), "9 a program");
    std::fs::remove_file(&path).expect("removed");
    let gone = line(needs).supply(&path).expect_err("no file");
    assert!(matches!(&gone, SshError::Program { path: of, .. } if *of == path), "{gone}");
    // Where the same one is, the file is not even opened.
    line("echo narrows-have; read more").supply(&path).expect("nothing to do");
}
