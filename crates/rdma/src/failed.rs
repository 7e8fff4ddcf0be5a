//! Why a request failed, in the words of the library that had it.

use crate::work::{Completion, Status};
use crate::{fabric, verbs};

impl Completion {
    /// Why it failed, in the library's words; `None` when it did not.
    #[inline]
    pub fn failed(&self) -> Option<String> {
        match self.status {
            Status::Good => None,
            Status::Verbs(status) => Some(verbs::status_words(status)),
            Status::Fabric(number) => Some(fabric::words(number)),
        }
    }
}
