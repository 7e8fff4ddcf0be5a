//! What a path should reach: of which workload, by which resources, and what cannot be stated.

use super::{Estimate, Provenance, ResourceAt};
use crate::workload::{RdmaVerb, Transport, Workload};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ceiling {
    pub resource: ResourceAt,
    /// Most payload it can carry.
    pub range: Estimate,
    /// The arithmetic in words.
    pub says: String,
    /// Under which condition it holds, when that is not the condition of the measured trials; such
    /// a ceiling is never named as the bottleneck.
    pub only_if: Option<String>,
    /// Sources of the numbers in it.
    pub provenance: Vec<Provenance>,
}

/// A resource that cannot be stated, and what is missing for it; programs read `RESOURCE: WHY`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Unstated {
    /// The resource whose ceiling nobody can state, and at which end.
    pub resource: ResourceAt,
    /// What is missing, and how to say it.
    pub why: String,
}

impl fmt::Display for Unstated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.resource, self.why)
    }
}

impl Serialize for Unstated {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Where what is predicted goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub enum PredictedPath {
    /// Between two agents' hosts, by their names.
    Between([String; 2]),
    /// By an interface of this host, and on to the peer where one was met.
    Interface(String),
    /// Over the loopback device.
    Loopback,
    /// Between CPUs and memory.
    Memory,
    /// Through this host's stack, whatever joins its ends.
    Stack,
    /// To the peer, by an interface that is not known.
    ToPeer,
    /// Between two namespaces of this host.
    Veth,
}

impl PredictedPath {
    /// Whether nothing of it leaves the host.
    pub fn is_inside(&self) -> bool {
        matches!(self, Self::Loopback | Self::Memory | Self::Stack | Self::Veth)
    }
}

impl fmt::Display for PredictedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Between([from, to]) => write!(f, "{from} to {to}"),
            Self::Interface(name) => f.write_str(name),
            Self::Loopback => f.write_str("this host's stack (loopback)"),
            Self::Memory => f.write_str("memory"),
            Self::Stack => f.write_str("this host's stack"),
            Self::ToPeer => f.write_str("to the peer"),
            Self::Veth => f.write_str("this host's stack (veth)"),
        }
    }
}

impl Serialize for PredictedPath {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What a path should reach.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "Written")]
pub struct Prediction {
    pub path: PredictedPath,
    pub workload: Workload,
    /// Label of the cell whose parameters it is of; `None` of a path that no cell went.
    pub cell: Option<String>,
    /// The lowest ceiling with its range; `None` when no ceiling is known.
    pub range: Option<Estimate>,
    /// Name of the resource with the lowest ceiling.
    pub bottleneck: Option<ResourceAt>,
    /// All ceilings that could be stated, lowest first.
    pub ceilings: Vec<Ceiling>,
    /// What was measured on this very path, when it was.
    pub measured: Option<Estimate>,
    /// What could not be stated, and what is missing for it.
    pub missing: Vec<Unstated>,
    /// Numbers of the sessions whose host it is of, from 0; empty where a study has one session or
    /// none.
    pub sessions: Vec<u32>,
}

impl Prediction {
    /// What goes there in words, for people: `tcp`, `tcp cubic` of such a cell inside the host, of
    /// other workloads the cell's label.
    pub fn protocol(&self) -> String {
        let Workload::Stream(transport) = &self.workload else {
            return self.cell.clone().unwrap_or_else(|| self.workload.to_string());
        };
        let name = match transport {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
            Transport::Rdma(RdmaVerb::Atomic) => "rdma-atomic",
            Transport::Rdma(RdmaVerb::Read) => "rdma-read",
            Transport::Rdma(RdmaVerb::Send) => "rdma-send",
            Transport::Rdma(RdmaVerb::Write) => "rdma-write",
            Transport::Rdma(RdmaVerb::WriteImm) => "rdma-write-imm",
        };
        // Of one path inside the host there are as many as cells.
        let cell = self.cell.as_deref().filter(|_| self.path.is_inside());
        let variant = cell.and_then(|cell| cell.strip_prefix(self.workload.as_str()));
        format!("{name}{}", variant.unwrap_or_default())
    }

    /// Whether it is of a path that nothing was measured on, out of the host by TCP.
    pub fn is_unmeasured_tcp(&self) -> bool {
        let is_out = self.workload == Workload::TCP_STREAM && !self.path.is_inside();
        is_out && self.measured.is_none()
    }
}

/// A prediction as programs read it.
#[derive(Serialize, JsonSchema)]
struct Written {
    path: PredictedPath,
    protocol: String,
    workload: Workload,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<String>,
    range: Option<Estimate>,
    #[serde(rename = "narrowest")]
    bottleneck: Option<ResourceAt>,
    ceilings: Vec<Ceiling>,
    measured: Option<Estimate>,
    missing: Vec<Unstated>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<u32>,
}

impl From<Prediction> for Written {
    fn from(of: Prediction) -> Self {
        Self {
            protocol: of.protocol(),
            path: of.path,
            workload: of.workload,
            cell: of.cell,
            range: of.range,
            bottleneck: of.bottleneck,
            ceilings: of.ceilings,
            measured: of.measured,
            missing: of.missing,
            sessions: of.sessions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ResourceName;

    fn of(path: PredictedPath, workload: Workload, cell: Option<&str>) -> Prediction {
        Prediction {
            path,
            workload,
            cell: cell.map(str::to_owned),
            range: None,
            bottleneck: None,
            ceilings: Vec::new(),
            measured: None,
            missing: vec![Unstated { resource: ResourceName::Pcie.into(), why: "nic.pcie".into() }],
            sessions: Vec::new(),
        }
    }

    #[test]
    fn programs_read_the_words_of_older_versions() {
        let words = |prediction: Prediction| {
            let json = serde_json::to_value(prediction).expect("JSON");
            assert_eq!(json["missing"][0], "pcie: nic.pcie");
            assert_eq!((json.get("sessions"), &json["narrowest"]), (None, &json["range"]));
            [&json["path"], &json["protocol"]].map(|word| word.as_str().unwrap_or("").to_owned())
        };
        let (tcp, copy) = (Workload::TCP_STREAM, Workload::from("memory-copy"));
        let nic = PredictedPath::Interface("eth0".into());
        let veth = || PredictedPath::Veth;
        let names = || PredictedPath::Between(["a".into(), "b".into()]);
        let stack = "this host's stack (veth)";
        for (prediction, wanted) in [
            (of(nic.clone(), tcp.clone(), None), ["eth0", "tcp"]),
            (of(nic, Workload::UDP_STREAM, Some("udp-stream 9000")), ["eth0", "udp"]),
            (of(veth(), tcp.clone(), Some("tcp-stream cubic")), [stack, "tcp cubic"]),
            (of(veth(), tcp.clone(), Some("64K, 4")), [stack, "tcp"]),
            (of(names(), tcp, Some("tcp-stream a to b")), ["a to b", "tcp"]),
            (
                of(PredictedPath::Memory, copy, Some("copy, 4 threads")),
                ["memory", "copy, 4 threads"],
            ),
            (
                of(PredictedPath::Stack, Workload::TCP_RR, Some("tcp-rr")),
                ["this host's stack", "tcp-rr"],
            ),
        ] {
            assert_eq!(words(prediction), wanted);
        }
    }

    #[test]
    fn a_path_inside_the_host_is_no_nics() {
        let out = of(PredictedPath::ToPeer, Workload::TCP_STREAM, None);
        assert!(out.is_unmeasured_tcp());
        assert!(!of(PredictedPath::Veth, Workload::TCP_STREAM, None).is_unmeasured_tcp());
        assert!(!of(PredictedPath::ToPeer, Workload::UDP_STREAM, None).is_unmeasured_tcp());
    }
}
