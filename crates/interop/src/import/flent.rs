//! Flent's data files, of all versions of the format: gzipped JSON with `metadata`, `x_values` and
//! one series of samples each in `results`. What a series is counted in stands in the metadata
//! (`SERIES_META`, `UNITS`) from flent 0.11 on; older files tell by the series' name alone.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::trial::Level;
use narrows_model::units::Unit;
use serde_json::{Map, Value};

/// How output of flent is recognised and read.
pub static TOOL: Tool = Tool { name: "flent", recognises, parse };

/// A factor's level is no longer: commands and counters' texts are none.
const LEVEL_CHARS_MAX: usize = 64;

fn recognises(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"x_values\"")
        && text.contains("\"metadata\"")
}

/// One run a series with a unit that is known: the median of its samples.
fn parse(text: &str) -> Result<Output, Unusable> {
    let json: Value = serde_json::from_str(text)?;
    let series = json["results"].as_object().ok_or(Unusable::Lacks("results"))?;
    let metadata = json["metadata"].as_object().ok_or(Unusable::Lacks("metadata"))?;
    let name = json["metadata"]["NAME"].as_str().unwrap_or("flent");
    let stated = Stated::of(metadata);
    let mut runs = Vec::new();
    for (title, samples) in series {
        let Some((kind, scale, unit)) = quantity(metadata, title) else { continue };
        let Some(median) = median(samples) else { continue };
        let run = Run::new(kind).level("test", name).level("series", title);
        let mut run = run.figure("median", Some(median * scale), unit);
        run.stated.clone_from(&stated.factors);
        run.notes.clone_from(&stated.notes);
        runs.push(run);
    }
    let version = json["metadata"]["FLENT_VERSION"].as_str().map(str::to_owned);
    nothing(runs, version)
}

fn median(samples: &Value) -> Option<f64> {
    let mut values: Vec<f64> = samples.as_array()?.iter().filter_map(Value::as_f64).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The workload of a series, and what makes its samples nanoseconds or bits a second.
fn quantity(metadata: &Map<String, Value>, title: &str) -> Option<(&'static str, f64, Unit)> {
    let units = match metadata.get("SERIES_META").and_then(Value::as_object) {
        // What a runner told of its socket beside (`TCP upload::tcp_cwnd`) has no unit.
        Some(all) => all.get(title)?.get("UNITS")?.as_str()?,
        None => units_by_name(title)?,
    };
    const KINDS: [(&str, &str, Unit); 7] = [
        ("Ping", "ping-latency", Unit::Nanos),
        ("HTTP latency", "http-latency", Unit::Nanos),
        ("TCP upload", "tcp-stream", Unit::BitsPerSecond),
        ("TCP download", "tcp-stream", Unit::BitsPerSecond),
        ("TCP totals", "tcp-stream", Unit::BitsPerSecond),
        ("UDP upload", "udp-stream", Unit::BitsPerSecond),
        ("UDP download", "udp-stream", Unit::BitsPerSecond),
    ];
    let (_, kind, unit) = KINDS.into_iter().find(|(begins, ..)| title.starts_with(begins))?;
    let scale = match (units, unit) {
        ("ms", Unit::Nanos) | ("Mbits/s", Unit::BitsPerSecond) => 1e6,
        ("Kbps" | "Kbits/s", Unit::BitsPerSecond) => 1e3,
        _ => return None,
    };
    Some((kind, scale, unit))
}

/// What flent's tests count in, for files that do not say so. A flow has a number behind its name,
/// and what was told of its socket has a word there.
fn units_by_name(title: &str) -> Option<&'static str> {
    let last = title.rsplit_once("::").map(|(_, last)| last);
    if last.is_some_and(|last| last.parse::<u32>().is_err()) {
        return None;
    }
    if title.starts_with("Ping (ms)") { Some("ms") } else { Some("Mbits/s") }
}

/// What the metadata says of a run: what may be a factor, and what is of this one file alone.
#[derive(Default)]
struct Stated {
    factors: Vec<Level>,
    notes: Vec<Level>,
}

impl Stated {
    fn of(metadata: &Map<String, Value>) -> Self {
        let mut stated = Self::default();
        stated.title(metadata.get("TITLE").and_then(Value::as_str).unwrap_or_default());
        for (key, value) in metadata {
            match key.as_str() {
                // What was measured, and what is told elsewhere.
                "SERIES_META" | "NAME" | "TITLE" => {}
                _ => stated.add(&key.to_lowercase(), value),
            }
        }
        stated
    }

    /// Batches name their factors in the title: `qdisc:fq_codel rep:01 rtt:50ms`. The number of a
    /// repetition is no factor.
    fn title(&mut self, title: &str) {
        let words = title.split_whitespace();
        let pairs: Option<Vec<(&str, &str)>> = words.map(|word| word.split_once(':')).collect();
        match pairs.filter(|pairs| !pairs.is_empty()) {
            None => self.put("title", title),
            Some(pairs) => {
                for (factor, level) in pairs {
                    let to = if factor == "rep" { &mut self.notes } else { &mut self.factors };
                    to.push(of(factor, level));
                }
            }
        }
    }

    /// Adds a value, or all below it, by its path: `sysctls.net.core.rmem_max`.
    fn add(&mut self, path: &str, value: &Value) {
        match value {
            Value::String(word) => self.put(path, word),
            Value::Number(number) => self.put(path, &number.to_string()),
            Value::Bool(is_set) => self.put(path, if *is_set { "yes" } else { "no" }),
            Value::Object(below) => {
                below.iter().for_each(|(key, value)| self.add(&format!("{path}.{key}"), value));
            }
            Value::Array(below) => {
                let numbered = below.iter().enumerate();
                numbered.for_each(|(at, value)| self.add(&format!("{path}.{at}"), value));
            }
            Value::Null => {}
        }
    }

    fn put(&mut self, factor: &str, level: &str) {
        let level = level.split_whitespace().collect::<Vec<_>>().join(" ");
        if level.is_empty() || level.chars().count() > LEVEL_CHARS_MAX {
            return;
        }
        let to = if is_of_one_file(&level) { &mut self.notes } else { &mut self.factors };
        to.push(of(factor, &level));
    }
}

fn of(factor: &str, level: &str) -> Level {
    Level { factor: factor.to_owned(), level: level.to_owned() }
}

/// Whether a text names one run and no other: a time of day (ISO 8601), a UUID, a data file.
fn is_of_one_file(text: &str) -> bool {
    let shaped = |shape: &str| {
        let begins = text.get(..shape.len());
        begins.is_some_and(|text| {
            text.bytes().zip(shape.bytes()).all(|(is, wanted)| match wanted {
                b'0' => is.is_ascii_digit(),
                b'f' => is.is_ascii_hexdigit(),
                _ => is == wanted,
            })
        })
    };
    shaped("0000-00-00T00:00:00")
        || text.len() == 36 && shaped("ffffffff-ffff-ffff-ffff-ffffffffffff")
        || text.ends_with(".flent.gz")
        || text.ends_with(".json.gz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A file as flent 1 and 2 write them, of two flows and what was told of the socket of one.
    fn file() -> Value {
        let meta = |units: &str| json!({"UNITS": units, "RUNNER": "NetperfDemoRunner", "IDX": 1});
        let none = json!({"RUNNER": "NullRunner", "IDX": 7});
        json!({
            "version": 4, "x_values": [0.0, 0.5, 1.0], "raw_values": {},
            "metadata": {
                "NAME": "tcp_2up", "TITLE": "qdisc:cake rep:03 rtt:40ms", "LENGTH": 5,
                "TIME": "2031-02-03T04:05:06.789012Z", "NOTE": null,
                "BATCH_UUID": "0123abcd-0123-4567-89ab-0123456789ab",
                "DATA_FILENAME": "batch-x.flent.gz", "FLENT_VERSION": "2.0.1",
                "TEST_PARAMETERS": {"upload_streams": "2"},
                "SYSCTLS": {"net.core.rmem_max": 4096, "net.ipv4.tcp_rmem": "1\t2\t3"},
                "EGRESS_INFO": {"qdiscs": [{"name": "cake", "id": "1:"}], "bql": {},
                    "offloads": {"tcp-segmentation-offload": false}},
                "SERIES_META": {"TCP upload::1": meta("Mbits/s"), "TCP upload::2": meta("Mbits/s"),
                    "TCP upload::2::tcp_rtt": none, "Ping (ms) ICMP": meta("ms"),
                    "HTTP latency": meta("ms"), "VoIP": meta("Kbps")}
            },
            "results": {"TCP upload::1": [10.0, null, 30.0, 20.0], "TCP upload::2": [5.0],
                "TCP upload::2::tcp_rtt": [40.0, 41.0], "Ping (ms) ICMP": [40.5], "VoIP": [64.0],
                "HTTP latency": [120.0], "TCP upload::3": [null, null]}
        })
    }

    fn figures(file: &Value) -> Vec<(String, String, f64, Unit)> {
        let runs = parse(&file.to_string()).expect("runs").runs;
        let of = |run: &Run| {
            let figure = &run.figures[0];
            (run.kind.to_string(), run.levels[1].level.clone(), figure.value, figure.unit)
        };
        runs.iter().map(of).collect()
    }

    #[test]
    fn each_series_with_a_unit_is_a_run_and_its_median() {
        let told =
            |kind: &str, series: &str, value, unit| (kind.into(), series.into(), value, unit);
        let wanted = vec![
            told("http-latency", "HTTP latency", 120e6, Unit::Nanos),
            told("ping-latency", "Ping (ms) ICMP", 40.5e6, Unit::Nanos),
            told("tcp-stream", "TCP upload::1", 20e6, Unit::BitsPerSecond),
            told("tcp-stream", "TCP upload::2", 5e6, Unit::BitsPerSecond),
        ];
        let mut seen = figures(&file());
        seen.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(seen, wanted);
        // Without SERIES_META a flow is told from what is of its socket by its number.
        let mut old = file();
        old["metadata"].as_object_mut().expect("metadata").remove("SERIES_META");
        let mut seen = figures(&old);
        seen.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(seen, wanted[1..]);
    }

    #[test]
    fn what_the_file_says_may_be_a_factor_and_what_names_it_is_a_note() {
        let run = &parse(&file().to_string()).expect("runs").runs[0];
        let all = |levels: &[Level]| -> Vec<String> {
            levels.iter().map(|one| format!("{}={}", one.factor, one.level)).collect()
        };
        let stated = all(&run.stated);
        for one in [
            "qdisc=cake",
            "rtt=40ms",
            "length=5",
            "test_parameters.upload_streams=2",
            "sysctls.net.core.rmem_max=4096",
            "sysctls.net.ipv4.tcp_rmem=1 2 3",
            "egress_info.qdiscs.0.name=cake",
            "egress_info.offloads.tcp-segmentation-offload=no",
            "flent_version=2.0.1",
        ] {
            assert!(stated.contains(&one.to_owned()), "{one} of {stated:?}");
        }
        assert_eq!(stated.len(), 10, "{stated:?}");
        let mut notes = all(&run.notes);
        notes.sort();
        assert_eq!(
            notes,
            [
                "batch_uuid=0123abcd-0123-4567-89ab-0123456789ab",
                "data_filename=batch-x.flent.gz",
                "rep=03",
                "time=2031-02-03T04:05:06.789012Z",
            ]
        );
        let mut plain = file();
        plain["metadata"]["TITLE"] = json!("Friday: at home");
        let run = &parse(&plain.to_string()).expect("runs").runs[0];
        assert!(all(&run.stated).contains(&"title=Friday: at home".to_owned()));
    }
}
