//! A trial as files have it. The place of two ends, and a background load among the parameters, are
//! as narrows 0.1 wrote them; ends that this cannot say follow in a list. Ids of trials are made of
//! the same words.

use super::{EndHost, EndSpec, Engine, Level, MemoryLoad, NetworkPath, Placement, Trial, TrialId};
use crate::load::{Bind, Binding, CpuList, Params, Role, StoredLoad, StoredParams, Timeline};
use crate::workload::Workload;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct StoredPlace {
    sink: CpuList,
    source: CpuList,
    #[serde(default, skip_serializing_if = "Binding::is_each")]
    sink_binding: Binding,
    #[serde(default, skip_serializing_if = "Binding::is_each")]
    source_binding: Binding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sink_node: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_node: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    irq: Option<CpuList>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inside: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bind: Option<Bind>,
}

impl StoredPlace {
    /// The places of the first end of each role, and what the controller's runs in.
    fn of(trial: &Trial) -> Self {
        let (sink, source) = (trial.place(Role::Receiver), trial.place(Role::Sender));
        let near = trial.controllers();
        Self {
            sink: sink.cpus.clone(),
            source: source.cpus.clone(),
            sink_binding: sink.binding,
            source_binding: source.binding,
            sink_node: sink.node,
            source_node: source.node,
            irq: near.and_then(|end| end.irq.clone()),
            inside: near.and_then(|end| end.container.clone()),
            bind: near.and_then(|end| end.bind.clone()),
        }
    }

    /// The ends that this stands for.
    fn ends(self, path: NetworkPath, reverse: bool, beside: Option<StoredLoad>) -> Vec<EndSpec> {
        let (cpus, binding, node) = (self.sink, self.sink_binding, self.sink_node);
        let sink = Placement { cpus, binding, node };
        let (cpus, binding, node) = (self.source, self.source_binding, self.source_node);
        let source = Placement { cpus, binding, node };
        let mut ends = match path {
            NetworkPath::Imported => Vec::new(),
            NetworkPath::Memory => EndSpec::of_memory(sink),
            NetworkPath::Loopback
            | NetworkPath::Namespaces
            | NetworkPath::Cable
            | NetworkPath::Devices
            | NetworkPath::Peer => EndSpec::pair(sink, source, reverse),
        };
        if let Some(near) = ends.iter_mut().find(|end| end.host == EndHost::Controller) {
            (near.irq, near.container, near.bind) = (self.irq, self.inside, self.bind);
        }
        ends.extend(beside.map(background));
        ends
    }
}

fn background(stored: StoredLoad) -> EndSpec {
    let StoredLoad { kind, threads, cpus, binding, node, working_set_bytes } = stored;
    let load = MemoryLoad { kind, threads, working_set_bytes };
    EndSpec::background(load, Placement { cpus, binding, node })
}

fn stored_load(trial: &Trial) -> Option<StoredLoad> {
    let end = trial.background()?;
    let MemoryLoad { kind, threads, working_set_bytes } = end.load.clone()?;
    let Placement { cpus, binding, node } = end.place.clone();
    Some(StoredLoad { kind, threads, cpus, binding, node, working_set_bytes })
}

#[derive(Deserialize)]
pub struct Stored {
    id: TrialId,
    label: String,
    kind: Workload,
    params: StoredParams,
    place: StoredPlace,
    path: NetworkPath,
    timeline: Timeline,
    #[serde(default)]
    levels: Vec<Level>,
    #[serde(default)]
    notes: Vec<Level>,
    engine: Option<Engine>,
    ends: Option<Vec<EndSpec>>,
}

impl From<Stored> for Trial {
    fn from(mut stored: Stored) -> Self {
        let beside = stored.params.beside.take();
        let params = Params::from(stored.params);
        let path = stored.path;
        let ends = stored.ends;
        let ends = ends.unwrap_or_else(|| stored.place.ends(path, params.is_reverse(), beside));
        Self {
            id: stored.id,
            label: stored.label,
            kind: stored.kind,
            params,
            ends,
            path,
            timeline: stored.timeline,
            levels: stored.levels,
            notes: stored.notes,
            engine: stored.engine,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Storing<'a> {
    id: &'a TrialId,
    label: &'a str,
    kind: &'a Workload,
    params: StoredParams,
    place: StoredPlace,
    path: NetworkPath,
    timeline: &'a Timeline,
    #[serde(skip_serializing_if = "<[Level]>::is_empty")]
    levels: &'a [Level],
    #[serde(skip_serializing_if = "<[Level]>::is_empty")]
    notes: &'a [Level],
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: &'a Option<Engine>,
    /// Where the place does not say it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<&'a [EndSpec]>,
}

impl JsonSchema for Trial {
    fn schema_name() -> Cow<'static, str> {
        "Trial".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Storing::json_schema(generator)
    }
}

impl Serialize for Trial {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let place = StoredPlace::of(self);
        let beside = stored_load(self);
        let said = place.clone().ends(self.path, self.params.is_reverse(), beside.clone());
        Storing {
            id: &self.id,
            label: &self.label,
            kind: &self.kind,
            params: StoredParams::of(&self.params, beside),
            place,
            path: self.path,
            timeline: &self.timeline,
            levels: &self.levels,
            notes: &self.notes,
            engine: &self.engine,
            ends: (said != self.ends).then_some(&self.ends),
        }
        .serialize(to)
    }
}

/// What a trial's id is a hash of: all but itself, levels and notes. Which peer a pair's far end is
/// at is not in it; the ends of more than one pair are.
pub struct Identity<'a>(pub(super) &'a Trial);

impl Serialize for Identity<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let trial = self.0;
        let many = trial.pairs().count() > 1;
        let mut parts = to.serialize_tuple(if many { 7 } else { 6 })?;
        parts.serialize_element(&trial.label)?;
        parts.serialize_element(&trial.kind)?;
        parts.serialize_element(&StoredParams::of(&trial.params, stored_load(trial)))?;
        parts.serialize_element(&StoredPlace::of(trial))?;
        parts.serialize_element(&trial.path)?;
        parts.serialize_element(&trial.timeline)?;
        if many {
            parts.serialize_element(&trial.ends)?;
        }
        parts.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Nanos};

    fn trial(reverse: bool, path: NetworkPath, ends: Vec<EndSpec>) -> Trial {
        let span = Nanos(1);
        let timeline =
            Timeline { warmup_ns: span, window_ns: span, cooldown_ns: span, interval_ns: None };
        let stream = crate::load::StreamParams { reverse, ..Default::default() };
        let mut params = Params::of_network(Bytes(64), 1);
        params.stream = Some(stream).filter(|stream| stream.reverse);
        let (levels, notes, engine) = (Vec::new(), Vec::new(), None);
        let (id, label, kind) = (TrialId("a".into()), "a".to_owned(), Workload::TCP_STREAM);
        Trial { id, label, kind, params, ends, path, timeline, levels, notes, engine }
    }

    fn load() -> EndSpec {
        let kind = Workload::from("memory-read");
        let load = MemoryLoad { kind, threads: 2, working_set_bytes: Bytes(4096) };
        EndSpec::background(load, Placement { node: Some(1), ..Placement::on([3]) })
    }

    #[test]
    fn two_ends_are_written_as_older_versions_read_them() {
        for reverse in [false, true] {
            let mut ends = EndSpec::pair(Placement::on([1]), Placement::on([2]), reverse);
            let near = usize::from(!reverse);
            assert_eq!(ends[near].host, EndHost::Controller);
            ends[near].irq = Some(CpuList(vec![7]));
            ends[near].container = Some("bwrap".into());
            ends.push(load());
            let trial = trial(reverse, NetworkPath::Peer, ends);
            let text = serde_json::to_string(&trial).expect("text");
            let place = r#""place":{"sink":[1],"source":[2],"irq":[7],"inside":"bwrap"}"#;
            assert!(text.contains(place) && !text.contains("ends"), "{text}");
            let beside = r#""beside":{"kind":"memory-read","threads":2,"cpus":[3],"node":1,"#;
            assert!(text.contains(beside), "{text}");
            assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
        }
    }

    #[test]
    fn all_other_ends_are_written_out() {
        let of =
            |role, peer, cpu: u32| EndSpec::of(role, EndHost::Peer(peer), Placement::on([cpu]));
        let fan_in = vec![
            of(Role::Receiver, 2, 4),
            of(Role::Sender, 0, 5),
            of(Role::Receiver, 2, 6),
            of(Role::Sender, 1, 7),
            EndSpec { host: EndHost::Peer(2), ..load() },
        ];
        let memory = EndSpec::of_memory(Placement::on([1]));
        for (path, ends, plain) in [
            (NetworkPath::Peer, fan_in, false),
            (NetworkPath::Peer, vec![of(Role::Receiver, 1, 4), of(Role::Sender, 0, 4)], false),
            (NetworkPath::Memory, memory.clone(), true),
            (NetworkPath::Loopback, memory, false),
            (NetworkPath::Imported, Vec::new(), true),
        ] {
            let trial = trial(false, path, ends);
            let text = serde_json::to_string(&trial).expect("text");
            assert_eq!(text.contains(r#""ends":["#), !plain, "{text}");
            assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
        }
    }

    #[test]
    fn ends_of_many_pairs_are_part_of_an_id() {
        let place = |cpu: u32| Placement::on([cpu]);
        let pairs = |cpus: [u32; 2]| -> Vec<EndSpec> {
            cpus.into_iter().flat_map(|cpu| EndSpec::pair(place(1), place(cpu), false)).collect()
        };
        let text = |ends: Vec<EndSpec>| {
            let trial = trial(false, NetworkPath::Peer, ends);
            serde_json::to_string(&trial.identity()).expect("text")
        };
        assert_ne!(text(pairs([2, 3])), text(pairs([2, 4])));
        let one = EndSpec::pair(place(1), place(2), false);
        let other = one.iter().cloned();
        let other = other.map(|end| match end.host {
            EndHost::Peer(_) => EndSpec { host: EndHost::Peer(7), ..end },
            EndHost::Controller => end,
        });
        assert_eq!(text(other.collect()), text(one));
    }
}
