//! PMUs as the kernel describes them in `/sys/bus/event_source/devices` (kernel,
//! Documentation/ABI/testing/sysfs-bus-event_source-devices-*): number, CPUs to count on, fields of
//! an event's code, and named events with scale and unit.

use super::events::{self, Asked, Scale};
use narrows_host::Root;
use narrows_model::Fact;

/// Where all PMUs are.
pub const DEVICES: &str = "sys/bus/event_source/devices";

/// The unit of the cores themselves, where all are alike.
const CORES: &str = "cpu";

/// A unit that counts, as the kernel lists it in sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// Its name: `uncore_imc_3`.
    pub name: String,
    /// What `perf_event_attr.type` must be.
    pub kind: u32,
    /// CPUs on which it is opened, one for each instance: a socket, or a die.
    pub cpus: Vec<u32>,
}

/// An event as `perf_event_open(2)` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// The PMU's number.
    pub kind: u32,
    /// `config`, `config1` and `config2`.
    pub config: [u64; 3],
}

/// What of a PMU's description is missing or not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear(pub String);

/// Whether a name is of a pattern, whose stars stand for numbers.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return name == pattern };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && is_like(&rest[digits..], after)
}

/// Names of the PMUs of any of these patterns.
pub fn named(root: &Root, patterns: &[String]) -> Vec<String> {
    let all = root.names(DEVICES).into_iter();
    all.filter(|name| patterns.iter().any(|pattern| is_like(name, pattern))).collect()
}

fn unclear(fact: &Fact<String>, what: &str) -> Unclear {
    Unclear(match fact {
        Fact::Known { value, .. } => format!("{what} is '{value}'"),
        Fact::Absent { .. } => format!("no {what}"),
        Fact::Denied { .. } => format!("{what} may not be read"),
        Fact::Malformed { text, .. } => format!("{what} is '{text}'"),
    })
}

/// `0-3,8` as its numbers; `None` where it is no such list, or has more than any machine.
pub fn numbers(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 1 << 20;
    let ranges: Option<Vec<_>> = text
        .split(',')
        .map(|part| -> Option<std::ops::RangeInclusive<u32>> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < MOST).then_some(first..=last)
        })
        .collect();
    Some(ranges?.into_iter().flatten().collect())
}

/// CPUs on which a unit counts. The cores' own has no mask and counts on each that is online.
fn mask(root: &Root, name: &str) -> Fact<String> {
    match name {
        CORES => root.text("sys/devices/system/cpu/online"),
        _ => root.text(&format!("{DEVICES}/{name}/cpumask")),
    }
}

impl Pmu {
    /// Reads the unit of a name from sysfs.
    pub fn read(root: &Root, name: &str) -> Result<Self, Unclear> {
        let text = |file: &str| root.text(&format!("{DEVICES}/{name}/{file}"));
        let (kind, mask) = (text("type"), mask(root, name));
        let number = kind.value().and_then(|kind| kind.parse().ok());
        let cpus = mask.value().and_then(|mask| numbers(mask));
        Ok(Self {
            name: name.to_owned(),
            kind: number.ok_or_else(|| unclear(&kind, "type"))?,
            cpus: cpus.filter(|cpus| !cpus.is_empty()).ok_or_else(|| unclear(&mask, "cpumask"))?,
        })
    }

    fn text(&self, root: &Root, file: &str) -> Fact<String> {
        root.text(&format!("{DEVICES}/{}/{file}", self.name))
    }

    /// The code of an event, and bytes of one count.
    pub fn code(&self, root: &Root, asked: &Asked, scale: Scale) -> Result<(Code, f64), Unclear> {
        let (fields, alias) = match asked {
            Asked::Fields(fields) => (fields.clone(), None),
            Asked::Alias(alias) => {
                let what = format!("events/{alias}");
                let text = self.text(root, &what);
                let fields = text.value().and_then(|text| events::fields(text));
                (fields.ok_or_else(|| unclear(&text, &what))?, Some(alias))
            }
        };
        let mut code = Code { kind: self.kind, ..Code::default() };
        for (field, value) in fields {
            self.place(root, &field, value, &mut code)?;
        }
        let bytes = match (scale, alias) {
            (Scale::File(bytes, per), _) => f64::from(bytes) / f64::from(per),
            (Scale::Driver, Some(alias)) => self.bytes_of(root, alias)?,
            (Scale::Driver, None) => return Err(Unclear("no scale".to_owned())),
        };
        Ok((code, bytes))
    }

    /// Bytes of one count of a named event, by the driver's scale and unit.
    fn bytes_of(&self, root: &Root, alias: &str) -> Result<f64, Unclear> {
        let (scale, unit) = (format!("events/{alias}.scale"), format!("events/{alias}.unit"));
        let (number, word) = (self.text(root, &scale), self.text(root, &unit));
        let unit_bytes = match word.value().map(String::as_str) {
            Some("Bytes") => 1.0,
            Some("KiB") => 1024.0,
            Some("MB") => 1e6,
            Some("MiB") => 1_048_576.0,
            _ => return Err(unclear(&word, &unit)),
        };
        let value = number.value().and_then(|number| number.parse::<f64>().ok());
        let value = value.filter(|value| value.is_finite() && *value > 0.0);
        Ok(value.ok_or_else(|| unclear(&number, &scale))? * unit_bytes)
    }

    /// Puts a field's value where the format says: `config:8-15,32-55`, low bits first.
    fn place(&self, root: &Root, field: &str, value: u64, code: &mut Code) -> Result<(), Unclear> {
        let what = format!("format/{field}");
        let text = self.text(root, &what);
        let bad = || unclear(&text, &what);
        let (word, bits) = text.value().and_then(|text| text.split_once(':')).ok_or_else(bad)?;
        let word = match word {
            "config" => 0,
            "config1" => 1,
            "config2" => 2,
            _ => return Err(bad()),
        };
        let bits = numbers(bits).filter(|bits| bits.iter().all(|bit| *bit < 64));
        let bits = bits.ok_or_else(bad)?;
        if bits.len() < 64 && value >> bits.len() != 0 {
            return Err(Unclear(format!("{field}={value:#x} does not fit into {what}")));
        }
        for (at, bit) in bits.iter().enumerate().take(64) {
            code.config[word] |= (value >> at & 1) << bit;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Machine;
    use super::*;

    #[test]
    fn a_star_is_a_number_and_nothing_else() {
        assert!(is_like("uncore_imc_11", "uncore_imc_*"));
        assert!(is_like("hisi_sccl3_ddrc0", "hisi_sccl*_ddrc*"));
        assert!(is_like("amd_df", "amd_df"));
        for name in ["uncore_imc_free_running_0", "uncore_imc_", "uncore_imc", "uncore_imc_1x"] {
            assert!(!is_like(name, "uncore_imc_*"), "{name}");
        }
        assert!(!is_like("hisi_sccl3_ddrc0_1", "hisi_sccl*_ddrc*"));
    }

    #[test]
    fn lists_of_numbers_are_read_or_refused() {
        assert_eq!(numbers("0-2,28"), Some(vec![0, 1, 2, 28]));
        for text in ["", "3-1", "x", "0-4294967295", "1,,2"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }

    #[test]
    fn a_named_events_count_is_so_many_bytes() {
        let machine = Machine::new("scales");
        let pmu = Pmu { name: "imc".to_owned(), kind: 12, cpus: vec![0] };
        let at = format!("{DEVICES}/imc");
        machine.put(&format!("{at}/format/event"), "config:0-7");
        machine.put(&format!("{at}/events/reads"), "event=0x05");
        let bytes = |scale: &str, unit: &str| {
            machine.put(&format!("{at}/events/reads.scale"), scale);
            machine.put(&format!("{at}/events/reads.unit"), unit);
            pmu.code(&machine.root(), &Asked::Alias("reads".to_owned()), Scale::Driver)
        };
        let code = Code { kind: 12, config: [5, 0, 0] };
        for (scale, unit, size) in [
            ("64", "Bytes", 64.0),
            ("0.0625", "KiB", 64.0),
            ("64e-6", "MB", 64.0),
            ("6.103515625e-5", "MiB", 64.0),
        ] {
            assert_eq!(bytes(scale, unit), Ok((code, size)), "{unit}");
        }
        for (scale, unit) in [("0", "MiB"), ("-1", "MiB"), ("inf", "MiB"), ("1", "GiB")] {
            assert!(bytes(scale, unit).is_err(), "{scale} {unit}");
        }
        let by_file = pmu.code(
            &machine.root(),
            &Asked::Fields(vec![("event".to_owned(), 0xff)]),
            Scale::File(64, 4),
        );
        assert_eq!(by_file, Ok((Code { kind: 12, config: [0xff, 0, 0] }, 16.0)));
        let unscaled = Asked::Fields(vec![("event".to_owned(), 1)]);
        assert!(pmu.code(&machine.root(), &unscaled, Scale::Driver).is_err());
    }

    #[test]
    fn a_fields_value_lies_where_the_format_says_low_bits_first() {
        let machine = Machine::new("fields");
        let pmu = Pmu { name: "imc".to_owned(), kind: 3, cpus: vec![0] };
        let placed = |format: &str, value: u64| {
            machine.put(&format!("{DEVICES}/imc/format/f"), format);
            let mut code = Code::default();
            pmu.place(&machine.root(), "f", value, &mut code).map(|()| code.config)
        };
        for (format, value, config) in [
            ("config:0-7", 0xa5, [0xa5, 0, 0]),
            ("config:8-15", 0xa5, [0xa500, 0, 0]),
            ("config:0-3,32-35", 0xa5, [0xa_0000_0005, 0, 0]),
            ("config1:63", 1, [0, 1 << 63, 0]),
            ("config2:4", 1, [0, 0, 16]),
            ("config:0-63", u64::MAX, [u64::MAX, 0, 0]),
        ] {
            assert_eq!(placed(format, value), Ok(config), "{format}");
        }
        for (format, value) in
            [("config:0-7", 0x100), ("config3:0", 1), ("config:64", 0), ("config", 1)]
        {
            assert!(placed(format, value).is_err(), "{format}");
        }
    }
}
