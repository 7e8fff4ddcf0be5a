//! `iperf3`: the keys of iperf3's JSON that scripts read, for one run: of the first stream trial
//! the run whose value is nearest the median. What was not measured is left out, not made up.

use super::Format;
use crate::Analysis;
use narrows_facts::load::{EndReport, FlowTally};
use narrows_facts::record::Record;
use narrows_stats::{Loss, Metric, Summary};
use serde_json::{Map, Value, json};

/// One run with iperf3's keys.
pub static FORMAT: Format = Format { name: "iperf3", write };

fn write(analysis: &Analysis<'_>) -> String {
    let document = chosen(analysis).unwrap_or_else(|| json!({"error": "no stream was measured"}));
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn chosen(analysis: &Analysis<'_>) -> Option<Value> {
    let mut all = analysis.stored.trials.iter().zip(&analysis.summaries);
    let (trial, summary) =
        all.find(|(_, summary)| summary.metric == Metric::Goodput && summary.estimate.is_some())?;
    let median = summary.estimate?.value;
    let far = |value: f64| (value - median).abs();
    let nearest = summary.values.iter().min_by(|a, b| far(a.value).total_cmp(&far(b.value)))?;
    let record = analysis.stored.records_of(trial).find(|r| r.repeat == nearest.repeat)?;
    let params = &trial.params;
    let udp = trial.kind.starts_with("udp");
    Some(json!({
        "start": {
            "version": format!("narrows {}", analysis.stored.study.narrows_version),
            "timestamp": {"timesecs": record.around.began_unix_ns.0 / 1_000_000_000},
            "connecting_to": {"host": analysis.stored.study.peer},
            "test_start": {
                "protocol": if udp { "UDP" } else { "TCP" },
                "num_streams": params.streams,
                "blksize": params.message_bytes.0,
                "omit": trial.timeline.warmup_ns.seconds(),
                "duration": trial.timeline.window_ns.seconds(),
                "reverse": u8::from(params.is_reverse()),
                "target_bitrate": params.rate_bps.unwrap_or(0),
            },
            "narrows_run": {
                "trial": trial.label, "repeat": record.repeat, "runs": summary.values.len(),
            },
        },
        "intervals": intervals(record.sink.as_ref()?),
        "end": end(summary, record, narrows_stats::loss_of(trial, record)),
    }))
}

fn intervals(sink: &EndReport) -> Vec<Value> {
    let of = |slice: &narrows_facts::load::Interval| {
        let (start, seconds) = (slice.start_ns.seconds(), slice.length_ns.seconds());
        let rate = 8.0 * slice.bytes.0 as f64 / seconds.max(1e-9);
        json!({"sum": {
            "start": start, "end": start + seconds, "seconds": seconds,
            "bytes": slice.bytes.0, "bits_per_second": rate, "omitted": false, "sender": false,
        }})
    };
    sink.intervals.iter().map(of).collect()
}

/// Sums of one end; the flows that it sends by, or those that it receives by.
fn sum(end: &EndReport, sends: bool) -> Value {
    let flows: Vec<&FlowTally> = end.flows.iter().filter(|flow| flow.sends == sends).collect();
    let bytes = flows.iter().fold(0u64, |sum, flow| sum.saturating_add(flow.bytes.0));
    let seconds = end.window_ns.seconds();
    json!({
        "start": 0, "end": seconds, "seconds": seconds, "bytes": bytes,
        "bits_per_second": 8.0 * bytes as f64 / seconds.max(1e-9), "sender": sends,
    })
}

fn end(summary: &Summary, record: &Record, loss: Option<Loss>) -> Value {
    let mut end = Map::new();
    if let Some(sink) = &record.sink {
        let mut received = sum(sink, false);
        if let (Some(loss), Value::Object(received)) = (loss, &mut received) {
            let (lost, packets) = (loss.lost_datagrams, loss.all_datagrams());
            received.insert("packets".into(), packets.into());
            received.insert("lost_packets".into(), lost.into());
            let percent = 100.0 * lost as f64 / packets.max(1) as f64;
            received.insert("lost_percent".into(), percent.into());
            if let Some(jitter) = sink.flows.iter().filter_map(|flow| flow.jitter_ns).max() {
                received.insert("jitter_ms".into(), (jitter.seconds() * 1e3).into());
            }
            // Where older scripts look.
            end.insert("sum".into(), Value::Object(received.clone()));
        }
        end.insert("sum_received".into(), received);
    }
    if let Some(source) = &record.source {
        let mut sent = sum(source, true);
        let again = source.readings.sum("tcp-info", ".retransmitted_segments");
        if let (Some(again), Value::Object(sent)) = (again, &mut sent) {
            sent.insert("retransmits".into(), again.into());
        }
        end.insert("sum_sent".into(), sent);
    }
    if let Some(congestion) = &summary.effective.congestion {
        end.insert("sender_tcp_congestion".into(), congestion.clone().into());
    }
    end.into()
}
