//! The chain: every row of a study, as it was stored, has a link whose hash is made of the row and
//! of the link before it; the last hash stands once more by itself, as the head.
//!
//! What it proves: that no row was changed, taken out, added or put in another order since it was
//! stored, by a fault or by hand, unless the chain from there on was made anew. It is no seal:
//! whoever knows the procedure can compute a new chain. Against that helps only a head that was
//! noted elsewhere when the study was made.

use blake2::{Blake2s256, Digest};
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use rusqlite::{Connection, Error};
use std::collections::BTreeMap;
use std::fmt;

/// Words that begin what is hashed, so that a hash of ours is no hash of anything else.
const OF_ROW: &str = "narrows row 1";
const OF_LINK: &str = "narrows link 1";

/// A row that is to be stored.
pub enum Row<'a> {
    /// A part of the study's head by name. May be replaced.
    Part { name: &'a str, json: String },
    /// A cell, with its place in the order of the study.
    Trial { trial: &'a Trial, position: i64, json: String },
    /// A session. May be replaced: how it ended is known later.
    Session { number: u32, json: String },
    /// A run that was made, as its row holds it.
    Record { record: &'a Record, json: String },
}

/// What a link is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A part of the study's head.
    Part,
    /// A row of the table of cells.
    Trial,
    /// A row of the table of sessions.
    Session,
    /// A row of the table of runs.
    Record,
    /// So many runs were there before the chain began: an older narrows had made them.
    Adopted,
}

impl What {
    const ALL: [Self; 5] = [Self::Part, Self::Trial, Self::Session, Self::Record, Self::Adopted];

    fn name(self) -> &'static str {
        match self {
            Self::Part => "part",
            Self::Trial => "trial",
            Self::Session => "session",
            Self::Record => "record",
            Self::Adopted => "adopted",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }

    /// Rows of this kind, as a key and the columns under the hash.
    fn query(self) -> Option<&'static str> {
        match self {
            Self::Part => Some("SELECT name, json FROM part"),
            Self::Trial => Some("SELECT id, position, label, json FROM trial"),
            Self::Session => Some("SELECT number, json FROM session"),
            Self::Record => {
                Some("SELECT number, trial, repeat, outcome, json FROM record ORDER BY number")
            }
            Self::Adopted => None,
        }
    }

    /// Whether a later row may take the place of an earlier one.
    fn is_replaced(self) -> bool {
        matches!(self, Self::Part | Self::Session)
    }
}

impl fmt::Display for What {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Part => "part",
            Self::Trial => "cell",
            Self::Session => "session",
            Self::Record => "run",
            Self::Adopted => "count of earlier runs",
        })
    }
}

/// Hash of words; each is preceded by its length, so that no two lists of words are alike.
fn hash<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    use fmt::Write;
    let mut hasher = Blake2s256::new();
    for word in words {
        hasher.update((word.len() as u64).to_le_bytes());
        hasher.update(word.as_bytes());
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn digest(what: What, key: &str, columns: &[String]) -> String {
    let columns = columns.iter().map(String::as_str);
    hash([OF_ROW, what.name(), key].into_iter().chain(columns))
}

fn link(before: &str, number: i64, digest: &str) -> String {
    hash([OF_LINK, before, &number.to_string(), digest])
}

/// Stores a row and its link. Both or none are stored when the caller's transaction ends.
pub fn append(database: &Connection, row: Row<'_>) -> rusqlite::Result<()> {
    let (what, key, columns) = match row {
        Row::Part { name, json } => {
            let put = "INSERT OR REPLACE INTO part VALUES(?1, ?2)";
            one(database.prepare_cached(put)?.execute((name, &json))?)?;
            (What::Part, name.to_owned(), vec![json])
        }
        Row::Trial { trial, position, json } => {
            let put = "INSERT INTO trial VALUES(?1, ?2, ?3, ?4)";
            let row = (&trial.id.0, position, &trial.label, &json);
            one(database.prepare_cached(put)?.execute(row)?)?;
            let columns = vec![position.to_string(), trial.label.clone(), json];
            (What::Trial, trial.id.0.clone(), columns)
        }
        Row::Session { number, json } => {
            let put = "INSERT OR REPLACE INTO session VALUES(?1, ?2)";
            one(database.prepare_cached(put)?.execute((number, &json))?)?;
            (What::Session, number.to_string(), vec![json])
        }
        Row::Record { record, json } => {
            let outcome = record.outcome.word();
            let put = "INSERT INTO record(trial, repeat, outcome, json) VALUES(?1, ?2, ?3, ?4)";
            let row = (&record.trial.0, record.repeat, outcome, &json);
            one(database.prepare_cached(put)?.execute(row)?)?;
            let key = database.last_insert_rowid().to_string();
            let columns =
                vec![record.trial.0.clone(), record.repeat.to_string(), outcome.to_owned(), json];
            (What::Record, key, columns)
        }
    };
    append_link(database, what, &key, &digest(what, &key, &columns))
}

/// One row was changed, or what was said to be stored is not.
fn one(changed: usize) -> rusqlite::Result<()> {
    match changed {
        1 => Ok(()),
        n => Err(Error::StatementChangedRows(n)),
    }
}

fn append_link(database: &Connection, what: What, key: &str, digest: &str) -> rusqlite::Result<()> {
    let (links, before) = head(database)?;
    let number = links + 1;
    let hash = link(&before, number, digest);
    let put = "INSERT INTO link VALUES(?1, ?2, ?3, ?4, ?5)";
    let row = (number, what.name(), key, digest, &hash);
    one(database.prepare_cached(put)?.execute(row)?)?;
    let put = "INSERT OR REPLACE INTO head VALUES(1, ?1, ?2)";
    one(database.prepare_cached(put)?.execute((number, &hash))?)
}

/// How many links there are, and the hash of the last.
pub fn head(database: &Connection) -> rusqlite::Result<(i64, String)> {
    let mut statement = database.prepare_cached("SELECT links, hash FROM head")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => Ok((row.get(0)?, row.get(1)?)),
        None => Ok((0, String::new())),
    }
}

/// Chains what an older narrows has stored; that it was there before is a link too.
pub fn adopt(database: &Connection) -> rusqlite::Result<()> {
    let runs: i64 = database.query_row("SELECT count(*) FROM record", [], |row| row.get(0))?;
    let key = runs.to_string();
    append_link(database, What::Adopted, &key, &digest(What::Adopted, &key, &[]))?;
    for what in [What::Part, What::Trial, What::Session, What::Record] {
        each(database, what, |key, digest| append_link(database, what, &key, &digest))?;
    }
    Ok(())
}

/// Hands over the key and the digest of every row of a kind as it is now.
fn each(
    database: &Connection,
    what: What,
    mut take: impl FnMut(String, String) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let Some(query) = what.query() else { return Ok(()) };
    let mut statement = database.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |at: usize| -> rusqlite::Result<String> {
            use rusqlite::types::ValueRef;
            Ok(match row.get_ref(at)? {
                ValueRef::Integer(number) => number.to_string(),
                other => other.as_str()?.to_owned(),
            })
        };
        let key = text(0)?;
        let values: Vec<String> = (1..columns).map(text).collect::<Result<_, _>>()?;
        let digest = digest(what, &key, &values);
        take(key, digest)?;
    }
    Ok(())
}

/// What looking through a chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chain {
    /// The file is of a layout without one.
    None,
    /// Every row is as it was stored.
    Whole {
        /// How many links the chain has.
        links: i64,
        /// Hash of the last.
        head: String,
        /// Runs that were there before the chain began.
        adopted: u64,
        /// Where the hash that the user had noted stands.
        noted: Option<Noted>,
    },
    /// Something was altered.
    Broken(Vec<Break>),
}

/// Where a hash that the user had noted stands in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is the hash of this link: all up to there is as it was when the hash was noted.
    Link(i64),
    /// It is none of the chain's: the chain is another than the one that the hash is of.
    Nowhere,
}

/// Where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    /// A row is not what was stored.
    Changed(What, String),
    /// A row that was stored is gone.
    Gone(What, String),
    /// A row is there that was not stored by narrows.
    Added(What, String),
    /// A row that is never replaced has two links.
    Twice(What, String),
    /// A link's hash is not that of the row and the link before it, or a link is missing.
    Link(i64),
    /// The head is not the last link: links at the end were taken away or added.
    Head,
}

impl fmt::Display for Break {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(what, key) => write!(to, "{what} {key} is not what was stored"),
            Self::Gone(what, key) => write!(to, "{what} {key} was stored and is gone"),
            Self::Added(what, key) => write!(to, "{what} {key} is there and was never chained"),
            Self::Twice(what, key) => write!(to, "{what} {key} was chained twice"),
            Self::Link(number) => write!(to, "link {number} does not follow from the one before"),
            Self::Head => write!(to, "the chain does not end where its head says"),
        }
    }
}

/// Goes through the whole chain and all rows.
pub fn check(database: &Connection, noted: Option<&str>) -> rusqlite::Result<Chain> {
    let mut breaks = Vec::new();
    let mut last = BTreeMap::<(What, String), String>::new();
    let (mut number, mut hash, mut adopted, mut found) = (0, String::new(), 0, None);
    let mut statement =
        database.prepare("SELECT number, what, key, digest, hash FROM link ORDER BY number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (at, name, key): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (digest, said): (String, String) = (row.get(3)?, row.get(4)?);
        number += 1;
        let what = What::named(&name);
        if at != number || said != link(&hash, at, &digest) || what.is_none() {
            breaks.push(Break::Link(at));
            number = at;
        }
        if noted.is_some_and(|noted| noted.eq_ignore_ascii_case(&said)) {
            found = Some(at);
        }
        hash = said;
        match what {
            Some(What::Adopted) => {
                adopted = key.parse().unwrap_or(0);
                let right = self::digest(What::Adopted, &key, &[]);
                breaks.extend((digest != right).then_some(Break::Link(at)));
            }
            Some(what) => {
                let twice = last.insert((what, key.clone()), digest).is_some();
                breaks.extend((twice && !what.is_replaced()).then_some(Break::Twice(what, key)));
            }
            None => {}
        }
    }
    if head(database)? != (number, hash.clone()) {
        breaks.push(Break::Head);
    }
    compare(database, last, &mut breaks)?;
    let noted = noted.map(|_| found.map_or(Noted::Nowhere, Noted::Link));
    Ok(if breaks.is_empty() {
        Chain::Whole { links: number, head: hash, adopted, noted }
    } else {
        Chain::Broken(breaks)
    })
}

/// Compares the rows as they are with the last link of each.
fn compare(
    database: &Connection,
    mut last: BTreeMap<(What, String), String>,
    breaks: &mut Vec<Break>,
) -> rusqlite::Result<()> {
    for what in What::ALL {
        each(database, what, |key, digest| {
            match last.remove(&(what, key.clone())) {
                Some(stored) if stored == digest => {}
                Some(_) => breaks.push(Break::Changed(what, key)),
                None => breaks.push(Break::Added(what, key)),
            }
            Ok(())
        })?;
    }
    breaks.extend(last.into_keys().map(|(what, key)| Break::Gone(what, key)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_words_that_join_alike_hash_apart() {
        assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
        assert_ne!(hash(["a"]), hash(["a", ""]));
        assert_eq!(hash(["a"]).len(), 64);
        assert!(What::ALL.iter().all(|what| What::named(what.name()) == Some(*what)));
    }
}
