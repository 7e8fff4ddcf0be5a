//! Which resources are asked for: the systems, their memory, processors, PCIe devices and network
//! adapters, by the links of the controller, each once, on that controller alone.

use crate::client::{Answer, Client};
use crate::session::Session;
use crate::{BmcError, Order, Progress};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Instant;

#[derive(Debug, Default)]
pub struct Found {
    /// Its resources, in the order in which they were asked for.
    pub resources: Vec<Value>,
    /// What it names and does not give, or what was not asked for.
    pub unread: Vec<Unread>,
}

/// A link that gave no resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The link as the controller wrote it.
    pub link: String,
    /// Why there is nothing of it.
    pub why: String,
}

/// Properties whose links are followed, by the kind of resource that has them.
const FOLLOWED: &[(&str, &[&str])] = &[
    ("ServiceRoot", &["Systems", "Chassis"]),
    ("ComputerSystem", &["Memory", "Processors", "PCIeDevices", "PCIeFunctions"]),
    ("Chassis", &["NetworkAdapters", "PCIeDevices"]),
    ("NetworkAdapter", &["NetworkPorts", "Ports"]),
    ("PCIeDevice", &["PCIeFunctions"]),
];
/// The same, inside `Links`.
const FOLLOWED_LINKS: &[(&str, &[&str])] =
    &[("ComputerSystem", &["Chassis"]), ("PCIeDevice", &["PCIeFunctions"])];

/// The way through a controller's resources.
pub struct Walk<'a> {
    client: &'a Client,
    session: &'a Session,
    order: &'a Order,
    told: &'a Sender<Progress>,
    waiting: VecDeque<String>,
    seen: BTreeSet<String>,
    found: Found,
    bytes: u64,
    begun: Instant,
}

impl<'a> Walk<'a> {
    /// From the address that was given.
    pub fn new(
        client: &'a Client,
        session: &'a Session,
        order: &'a Order,
        told: &'a Sender<Progress>,
    ) -> Self {
        let start = order.address.start().to_owned();
        Self {
            client,
            session,
            order,
            told,
            seen: [key(&start)].into(),
            waiting: [start].into(),
            found: Found::default(),
            bytes: 0,
            begun: Instant::now(),
        }
    }

    /// Asks for all of them.
    pub fn all(mut self) -> Result<Found, BmcError> {
        let mut asked = 0;
        while let Some(path) = self.waiting.pop_front() {
            self.within_limits(asked)?;
            let answer = self.client.get(&path, self.session.pass())?;
            self.bytes += answer.body.len() as u64;
            if let Some(resource) = self.resource(&path, &answer, asked == 0)? {
                self.follow(&resource);
                self.found.resources.push(resource);
            }
            asked += 1;
            let since = self.begun.elapsed();
            let progress = Progress { done: asked, waiting: self.waiting.len(), since };
            // Whoever has gone away does not want to know.
            let _ = self.told.send(progress);
        }
        Ok(self.found)
    }

    fn within_limits(&self, asked: usize) -> Result<(), BmcError> {
        let limits = &self.order.limits;
        if self.order.stopped.load(Ordering::Relaxed) {
            return Err(BmcError::Stopped);
        }
        let what = if asked >= limits.requests {
            format!("{} resources", limits.requests)
        } else if self.bytes > limits.all_bytes {
            format!("{} bytes in all", limits.all_bytes)
        } else if self.begun.elapsed() > limits.all {
            format!("{} s for all resources", limits.all.as_secs())
        } else {
            return Ok(());
        };
        Err(BmcError::TooMuch { at: self.order.address.to_string(), what })
    }

    /// The resource of an answer; none where the controller does not give it. The first must be
    /// there.
    fn resource(
        &mut self,
        path: &str,
        answer: &Answer,
        is_first: bool,
    ) -> Result<Option<Value>, BmcError> {
        let (at, path) = (self.order.address.to_string(), path.to_owned());
        match answer.status {
            200 => {}
            status @ (401 | 403) if self.order.access.user.is_none() => {
                return Err(BmcError::NeedsUser { at, path, status });
            }
            status @ 401 => {
                let user = self.order.access.user.as_ref();
                let user = user.map(|(name, _)| name.clone()).unwrap_or_default();
                return Err(BmcError::Denied { at, user, status });
            }
            status if is_first => {
                return Err(BmcError::NotRedfish { at, path, why: format!("status {status}") });
            }
            status => {
                self.unread(&path, format!("answered with status {status}"));
                return Ok(None);
            }
        }
        let resource: Value = serde_json::from_slice(&answer.body).map_err(|error| {
            let why = error.to_string();
            if error.is_eof() && !answer.body.is_empty() {
                BmcError::CutShort { at: at.clone(), path: path.clone(), why }
            } else {
                BmcError::NotRedfish { at: at.clone(), path: path.clone(), why }
            }
        })?;
        if resource.is_object() && (!is_first || kind(&resource).is_some()) {
            Ok(Some(resource))
        } else {
            let why = "an object with @odata.type is missing".to_owned();
            Err(BmcError::NotRedfish { at, path, why })
        }
    }

    /// Queues what a resource links to.
    fn follow(&mut self, resource: &Value) {
        let Some(what) = kind(resource) else { return };
        let mut links: Vec<&Value> = Vec::new();
        if what.ends_with("Collection") {
            links.extend(resource.get("Members"));
            links.extend(resource.get("Members@odata.nextLink"));
        }
        links.extend(of(FOLLOWED, what).filter_map(|name| resource.get(name)));
        let inside = resource.get("Links");
        links.extend(of(FOLLOWED_LINKS, what).filter_map(|name| inside?.get(name)));
        let mut texts = Vec::new();
        links.into_iter().for_each(|link| gather(link, &mut texts));
        for text in texts {
            match self.order.address.own_path(text) {
                Some(path) if self.seen.insert(key(&path)) => self.waiting.push_back(path),
                Some(_) => {}
                None => self.unread(text, "leads away from the controller".to_owned()),
            }
        }
    }

    fn unread(&mut self, link: &str, why: String) {
        self.found.unread.push(Unread { link: link.to_owned(), why });
    }
}

/// One resource has one key, with or without a slash at the end.
fn key(path: &str) -> String {
    path.trim_end_matches('/').to_owned()
}

fn of(table: &'static [(&str, &[&str])], kind: &str) -> impl Iterator<Item = &'static str> {
    let found = table.iter().find(|(name, _)| *name == kind);
    found.into_iter().flat_map(|(_, names)| names.iter().copied())
}

/// The links of a property: one, a list, or the text that leads to a collection's next page.
/// What is there whole needs no request.
fn gather<'a>(link: &'a Value, into: &mut Vec<&'a str>) {
    match link {
        Value::String(text) => into.push(text),
        Value::Array(all) => all.iter().for_each(|one| gather(one, into)),
        Value::Object(one) if !one.contains_key("@odata.type") => {
            into.extend(one.get("@odata.id").and_then(Value::as_str));
        }
        _ => {}
    }
}

/// `Memory` of `#Memory.v1_7_1.Memory`.
fn kind(resource: &Value) -> Option<&str> {
    let text = resource.get("@odata.type")?.as_str()?;
    text.trim_start_matches('#').split('.').next()
}

#[cfg(test)]
mod tests;
