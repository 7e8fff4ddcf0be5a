//! What tests stand on: a folder of their own, scripts in place of programs, and themselves as
//! another process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The environment variable by which a test starts itself as what it looks at.
pub const PART: &str = "NARROWS_TEST_PART";

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("narrows-hostctl-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("folder");
        Self(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What every path in it begins with.
    pub fn place(&self) -> String {
        format!("{}/", self.0.display())
    }

    /// A file of that text, by its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    /// A program of these lines of shell. Another process writes it: a child that another test
    /// starts meanwhile would hold a file open that this one wrote, and nobody could run it.
    pub fn script(&self, name: &str, lines: &str) -> PathBuf {
        let text = self.file(&format!("{name}.text"), &format!("#!/bin/sh\n{lines}\n"));
        let path = self.0.join(name);
        let mut install = Command::new("install");
        let made = install.args(["-m", "755", &text]).arg(&path).status().expect("install runs");
        assert!(made.success(), "{}", path.display());
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// This test program as another process that runs one test alone.
pub fn itself(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own program"));
    command.args(["--exact", test, "--nocapture"]).env(PART, part);
    command
}

/// What a part said; it must have ended well.
pub fn said(part: &mut Command) -> String {
    let Output { status, stdout, stderr } = part.output().expect("it runs");
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{said}\n{}", String::from_utf8_lossy(&stderr));
    said
}

/// Which part this process is to be, if it is one.
pub fn part() -> Option<String> {
    std::env::var(PART).ok()
}
