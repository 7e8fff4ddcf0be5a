//! Searches as JSON has them: keys end in the unit, which is packets a second of a rate and frames
//! of a burst.

use super::{RatePoint, SearchEnd, Searched};
use crate::Percentiles;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;

/// A figure's key in a search for a rate, and in one for a burst.
type Keys = [&'static str; 2];

const PASSES: Keys = ["passes_packets_per_second", "passes_frames"];
const LOSES: Keys = ["loses_packets_per_second", "loses_frames"];
const ASKED: Keys = ["asked_packets_per_second", "asked_frames"];
const SENT: Keys = ["sent_packets_per_second", "sent_frames"];

/// The keys of a search, for the schema: of those of a rate and of a burst one is there.
#[derive(JsonSchema)]
#[schemars(rename = "Searched")]
#[expect(dead_code, reason = "for the schema alone")]
struct Written {
    of: String,
    /// Whether what is searched for is a burst.
    back_to_back: bool,
    /// Of a burst: the rate at which frames followed one another.
    #[schemars(default)]
    throughput_packets_per_second: Option<f64>,
    frame_bytes: u64,
    end: SearchEnd,
    /// The most that passed.
    #[schemars(default)]
    passes_packets_per_second: Option<u64>,
    #[schemars(default)]
    passes_frames: Option<u64>,
    /// The least that lost some.
    #[schemars(default)]
    loses_packets_per_second: Option<u64>,
    #[schemars(default)]
    loses_frames: Option<u64>,
    confidence_percent: f64,
    loss_percent: f64,
    runs: u32,
    curve: Vec<WrittenPoint>,
}

/// The keys of a point of its curve.
#[derive(JsonSchema)]
#[schemars(rename = "RatePoint")]
#[expect(dead_code, reason = "for the schema alone")]
struct WrittenPoint {
    #[schemars(default)]
    asked_packets_per_second: Option<u64>,
    #[schemars(default)]
    asked_frames: Option<u64>,
    #[schemars(default)]
    sent_packets_per_second: Option<f64>,
    #[schemars(default)]
    sent_frames: Option<f64>,
    runs: u32,
    passed: u32,
    lost_share: Option<f64>,
    lost_share_max: Option<f64>,
    delays: Option<Percentiles>,
}

impl JsonSchema for Searched {
    fn schema_name() -> Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

impl Serialize for Searched {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unit = usize::from(self.back_to_back);
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("of", &self.of)?;
        map.serialize_entry("back_to_back", &self.back_to_back)?;
        if let Some(throughput) = self.throughput_packets_per_second {
            map.serialize_entry("throughput_packets_per_second", &throughput)?;
        }
        map.serialize_entry("frame_bytes", &self.frame_bytes)?;
        map.serialize_entry("end", &self.end)?;
        map.serialize_entry(PASSES[unit], &self.passes)?;
        map.serialize_entry(LOSES[unit], &self.loses)?;
        map.serialize_entry("confidence_percent", &self.confidence_percent)?;
        map.serialize_entry("loss_percent", &self.loss_percent)?;
        map.serialize_entry("runs", &self.runs)?;
        let curve = self.curve.iter().map(|point| Point { point, unit });
        map.serialize_entry("curve", &curve.collect::<Vec<_>>())?;
        map.end()
    }
}

/// A point of the curve, and the place of its unit among the keys.
struct Point<'a> {
    point: &'a RatePoint,
    unit: usize,
}

impl Serialize for Point<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { point, unit } = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry(ASKED[*unit], &point.asked)?;
        map.serialize_entry(SENT[*unit], &point.sent)?;
        map.serialize_entry("runs", &point.runs)?;
        map.serialize_entry("passed", &point.passed)?;
        map.serialize_entry("lost_share", &point.lost_share)?;
        map.serialize_entry("lost_share_max", &point.lost_share_max)?;
        map.serialize_entry("delays", &point.delays)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_burst_are_frames_and_those_of_a_rate_packets_a_second() {
        let point = RatePoint {
            asked: 9,
            sent: Some(8.0),
            runs: 1,
            passed: 1,
            lost_share: Some(0.0),
            lost_share_max: Some(0.0),
            delays: None,
        };
        let mut searched = Searched {
            of: "64 B".to_owned(),
            back_to_back: true,
            throughput_packets_per_second: None,
            frame_bytes: 64,
            end: SearchEnd::Found,
            passes: Some(9),
            loses: None,
            confidence_percent: 95.0,
            loss_percent: 0.0,
            runs: 1,
            curve: vec![point],
        };
        let burst = serde_json::to_string(&searched).expect("JSON");
        assert!(burst.contains("\"passes_frames\":9") && burst.contains("\"asked_frames\":9"));
        assert!(!burst.contains("packets_per_second"), "{burst}");
        searched.back_to_back = false;
        let rate = serde_json::to_string(&searched).expect("JSON");
        assert!(rate.contains("\"passes_packets_per_second\":9"), "{rate}");
        assert!(!rate.contains("_frames"), "{rate}");
    }
}
