//! `pressure`: time in which tasks of the whole host waited for CPU, memory or I/O, from
//! `/proc/pressure` (kernel, Documentation/accounting/psi.rst). "some": at least one task waited.

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Key, Scope, Source, Unit};

pub static SOURCE: Registered = Registered {
    source: Source::Pressure,
    says: "time in which some or all tasks of the host waited for cpu, memory or io",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    for resource in ["cpu", "io", "memory"] {
        if let Ok(text) = std::fs::read_to_string(format!("/proc/pressure/{resource}")) {
            parse(&text, resource, &mut look);
        }
    }
    look.seen()
}

fn parse(text: &str, resource: &str, look: &mut Look) {
    for line in text.lines() {
        let kind = line.split_whitespace().next().unwrap_or_default();
        let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="));
        if let (true, Some(micros)) = (!kind.is_empty(), total.and_then(|t| t.parse::<u64>().ok()))
        {
            let name = format!("{resource}.{kind}");
            let key = Key::counter(Source::Pressure, Scope::Host, name, Unit::Nanos);
            look.total(key, micros.saturating_mul(1000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_microseconds() {
        let text = "some avg10=0.00 avg60=0.04 avg300=0.26 total=27\nfull avg10=0.00 total=1\n\nx";
        let mut look = Look::default();
        parse(text, "cpu", &mut look);
        assert_eq!(look.of("pressure", "cpu.some_ns"), Some(27_000));
        assert_eq!(look.of("pressure", "cpu.full_ns"), Some(1_000));
        assert_eq!(look.len(), 2);
    }
}
