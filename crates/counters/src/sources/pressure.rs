//! `pressure`: time in which tasks of the whole host waited for CPU, memory or I/O, from
//! `/proc/pressure` (kernel, Documentation/accounting/psi.rst). "some": at least one task waited.

use crate::{Sample, Source};

pub static SOURCE: Source = Source {
    name: "pressure",
    says: "time in which some or all tasks of the host waited for cpu, memory or io",
    take: |_| {
        let mut sample = Sample::default();
        for resource in ["cpu", "io", "memory"] {
            if let Ok(text) = std::fs::read_to_string(format!("/proc/pressure/{resource}")) {
                parse(&text, resource, &mut sample);
            }
        }
        (!sample.counters.is_empty()).then_some(sample)
    },
};

fn parse(text: &str, resource: &str, sample: &mut Sample) {
    for line in text.lines() {
        let kind = line.split_whitespace().next().unwrap_or_default();
        let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="));
        if let (true, Some(micros)) = (!kind.is_empty(), total.and_then(|t| t.parse::<u64>().ok()))
        {
            let key = format!("{resource}.{kind}_ns");
            sample.counters.insert(key, micros.saturating_mul(1000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_microseconds() {
        let text = "some avg10=0.00 avg60=0.04 avg300=0.26 total=27\nfull avg10=0.00 total=1\n\nx";
        let mut sample = Sample::default();
        parse(text, "cpu", &mut sample);
        assert_eq!(sample.counters["cpu.some_ns"], 27_000);
        assert_eq!(sample.counters["cpu.full_ns"], 1_000);
        assert_eq!(sample.counters.len(), 2);
    }
}
