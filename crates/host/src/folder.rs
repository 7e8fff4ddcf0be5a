//! One folder of a machine, whose files are read by their names in it.

use crate::Root;
use crate::list;
use narrows_model::Fact;

/// A folder of `/sys` or `/proc`.
pub(crate) struct Folder<'r> {
    root: &'r Root,
    path: String,
}

impl<'r> Folder<'r> {
    /// The folder of this path, which need not be there.
    pub fn of(root: &'r Root, path: impl Into<String>) -> Self {
        Self { root, path: path.into() }
    }

    /// The path of a file in it.
    pub fn path_of(&self, file: &str) -> String {
        format!("{}/{file}", self.path)
    }

    pub fn text(&self, file: &str) -> Fact<String> {
        self.root.text(&self.path_of(file))
    }

    /// What a file says; `None` for whatever reason it tells nothing.
    pub fn told(&self, file: &str) -> Option<String> {
        self.text(file).value().cloned()
    }

    /// A file that holds one number.
    pub fn number(&self, file: &str) -> Fact<i64> {
        self.root.number(&self.path_of(file))
    }

    /// The number of a file, where there is one that fits.
    pub fn fitting<T: TryFrom<i64>>(&self, file: &str) -> Option<T> {
        self.number(file).value().and_then(|number| T::try_from(*number).ok())
    }

    /// A list such as `0-3,8`.
    pub fn list(&self, file: &str) -> Fact<Vec<u32>> {
        self.text(file).and_then(|text| list::parse(&text))
    }

    /// Where a link leads to: the last name of it.
    pub fn link_name(&self, file: &str) -> Fact<String> {
        self.root.link_name(&self.path_of(file))
    }

    /// Whether a file is there.
    pub fn has(&self, file: &str) -> bool {
        self.root.has(&self.path_of(file))
    }
}
