//! A machine of a few files for one test, gone with it.

use crate::Root;
use std::path::PathBuf;

/// The folder that holds its files.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A machine of these files, by path and text.
    pub fn of(name: &str, files: &[(&str, &str)]) -> Self {
        let name = format!("narrows-scratch-{name}-{}", std::process::id());
        let of = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&of.0).expect("a folder");
        files.iter().for_each(|(path, text)| of.put(path, text));
        of
    }

    /// One more file.
    pub fn put(&self, path: &str, text: &str) {
        std::fs::write(self.ready(path), text).expect("a file");
    }

    /// A link to a target, written as it is.
    pub fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.ready(path)).expect("a link");
    }

    /// The machine, to be read.
    pub fn root(&self) -> Root {
        Root::at(&self.0)
    }

    fn ready(&self, path: &str) -> PathBuf {
        let file = self.0.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
