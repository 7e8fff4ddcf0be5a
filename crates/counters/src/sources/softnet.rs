//! `softnet`: packets that the kernel took from devices and could not queue, over all CPUs, from
//! `/proc/net/softnet_stat` (kernel, net/core/net-procfs.c, `softnet_seq_show`).

use crate::{Sample, Source};

pub static SOURCE: Source = Source {
    name: "softnet",
    says: "packets dropped because a CPU's backlog was full, and polls cut short",
    take: |_| {
        let text = std::fs::read_to_string("/proc/net/softnet_stat").ok()?;
        let mut sample = Sample::default();
        parse(&text, &mut sample);
        (!sample.counters.is_empty()).then_some(sample)
    },
};

fn parse(text: &str, sample: &mut Sample) {
    for line in text.lines() {
        let mut columns = line.split_whitespace().map(|word| u64::from_str_radix(word, 16).ok());
        let Some((Some(packets), Some(dropped), Some(squeezed))) =
            columns.next().zip(columns.next()).zip(columns.next()).map(|((a, b), c)| (a, b, c))
        else {
            continue;
        };
        for (key, count) in [
            ("processed_packets", packets),
            ("dropped_packets", dropped),
            ("squeezed_polls", squeezed),
        ] {
            let sum = sample.counters.entry(key.to_owned()).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_hexadecimal_and_summed_over_cpus() {
        let mut sample = Sample::default();
        parse(
            "0000000a 00000002 00000001 0 0\n00000010 00000001 00000000 0\nnonsense\n1\n",
            &mut sample,
        );
        assert_eq!(sample.counters["processed_packets"], 26);
        assert_eq!(sample.counters["dropped_packets"], 3);
        assert_eq!(sample.counters["squeezed_polls"], 1);
    }
}
