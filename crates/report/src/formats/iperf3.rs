//! `iperf3`: the keys of iperf3's JSON that scripts read, for one run: of the first stream trial
//! the run whose value is nearest the median. What was not measured is left out or `null`, not made
//! up; keys that parsers of iperf3's JSON take for granted are always there.

use super::Format;
use crate::{Analysis, words};
use narrows_model::Nanos;
use narrows_model::load::{EndReport, FlowTally, ThreadUsage};
use narrows_model::reading::keys;
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use narrows_model::workload::Metric;
use narrows_stats::Summary;
use serde_json::{Map, Value, json};

/// One run with iperf3's keys.
pub static FORMAT: Format = Format { name: "iperf3", for_people: false, write };

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
    let udp = trial.kind.is_udp();
    Some(json!({
        "start": {
            "version": format!("narrows {}", analysis.stored.study.narrows_version),
            "system_info": analysis.stored.host.name.value(),
            "timestamp": {
                "time": words::when(record.around.began_unix_ns),
                "timesecs": record.around.began_unix_ns.0 / 1_000_000_000,
            },
            "connecting_to": {"host": analysis.stored.study.peer},
            "connected": connected(analysis, params.flows()),
            "test_start": {
                "protocol": if udp { "UDP" } else { "TCP" },
                "num_streams": params.streams,
                "blksize": params.message_bytes.0,
                "omit": trial.timeline.warmup_ns.seconds(),
                "duration": trial.timeline.window_ns.seconds(),
                "reverse": u8::from(params.is_reverse()),
                "bidir": u8::from(params.is_bidirectional()),
                "target_bitrate": params.rate_bps.unwrap_or(0),
            },
            "narrows_run": {
                "trial": trial.label, "repeat": record.repeat, "runs": summary.values.len(),
            },
        },
        "intervals": intervals(record.receiver()?),
        "end": end(summary, record, trial),
    }))
}

/// One line a flow; addresses and ports of this end are not kept.
fn connected(analysis: &Analysis<'_>, flows: u32) -> Vec<Value> {
    let one = json!({
        "local_host": null, "local_port": null,
        "remote_host": analysis.stored.study.peer, "remote_port": null,
    });
    vec![one; flows.clamp(1, 128) as usize]
}

/// CPU time of the threads of the end that connects (here) and of the one that listens (there), in
/// per cent of one CPU.
fn cpu(record: &Record, reverse: bool) -> Value {
    let (here, there) = if reverse {
        (record.receiver(), record.sender())
    } else {
        (record.sender(), record.receiver())
    };
    let of = |end: Option<&EndReport>| {
        let user = percent(end, |thread| thread.user_ns);
        let system = percent(end, |thread| thread.system_ns);
        (user.zip(system).map(|(user, system)| user + system), user, system)
    };
    let (here, there) = (of(here), of(there));
    json!({
        "host_total": here.0, "host_user": here.1, "host_system": here.2,
        "remote_total": there.0, "remote_user": there.1, "remote_system": there.2,
    })
}

fn percent(end: Option<&EndReport>, time: fn(&ThreadUsage) -> Nanos) -> Option<f64> {
    let end = end.filter(|end| !end.threads.is_empty())?;
    let used: f64 = end.threads.iter().map(|thread| time(thread).seconds()).sum();
    Some(100.0 * used / end.window_ns.seconds().max(1e-9))
}

fn intervals(receiver: &EndReport) -> Vec<Value> {
    receiver
        .intervals
        .iter()
        .map(|slice| {
            let (start, seconds) = (slice.start_ns.seconds(), slice.length_ns.seconds());
            let rate = 8.0 * slice.bytes.0 as f64 / seconds.max(1e-9);
            json!({"sum": {
                "start": start, "end": start + seconds, "seconds": seconds,
                "bytes": slice.bytes.0, "bits_per_second": rate, "omitted": false, "sender": false,
            }})
        })
        .collect()
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

fn end(summary: &Summary, record: &Record, trial: &Trial) -> Value {
    let loss = narrows_stats::loss_of(trial, record);
    let mut end = Map::new();
    end.insert("cpu_utilization_percent".into(), cpu(record, trial.params.is_reverse()));
    if trial.params.is_bidirectional() {
        if let Some(sender) = record.sender() {
            end.insert("sum_received_bidir_reverse".into(), sum(sender, false));
        }
        if let Some(receiver) = record.receiver() {
            end.insert("sum_sent_bidir_reverse".into(), sum(receiver, true));
        }
    }
    if let Some(receiver) = record.receiver() {
        let mut received = sum(receiver, false);
        if let (Some(loss), Value::Object(received)) = (loss, &mut received) {
            let (lost, packets) = (loss.lost_datagrams, loss.all_datagrams());
            received.insert("packets".into(), packets.into());
            received.insert("lost_packets".into(), lost.into());
            let percent = 100.0 * lost as f64 / packets.max(1) as f64;
            received.insert("lost_percent".into(), percent.into());
            let jitter = receiver.flows.iter().filter_map(|flow| flow.jitter_ns).max();
            let jitter = jitter.map(|jitter| jitter.seconds() * 1e3);
            received.insert("jitter_ms".into(), jitter.into());
            // Where older scripts look.
            end.insert("sum".into(), Value::Object(received.clone()));
        }
        end.insert("sum_received".into(), received);
    }
    if let Some(sender) = record.sender() {
        let mut sent = sum(sender, true);
        let again = sender.readings.total(keys::RETRANSMITTED);
        if let (Some(again), Value::Object(sent)) = (again, &mut sent) {
            sent.insert("retransmits".into(), again.into());
        }
        end.insert("sum_sent".into(), sent);
    }
    if let Some(congestion) = summary.congestion() {
        end.insert("sender_tcp_congestion".into(), congestion.into());
    }
    end.into()
}
