//! Fields of a table that cannot be true together. Each alone is within its bound, and a figure of
//! both would be of a machine that nobody has.

use super::refused::{Refused, wrong};
use super::sockets::mts_of;
use super::{Fields, as_number};
use narrows_dimm::platform::{self, Platform};
use narrows_predict::bounds;
use toml::Value;

/// Pairs of fields of which the first is at most as large as the second.
const AT_MOST: [(&str, &str); 2] = [("cpu_base_ghz", "cpu_turbo_ghz"), ("ratio_min", "ratio_max")];

/// Refuses the system, or a row with what it takes from the system, that contradicts itself.
pub fn check(system: Option<&Fields>, rows: &[Value]) -> Result<(), Refused> {
    let none = Fields::new();
    let system = system.unwrap_or(&none);
    agree("[system]", &Both { row: system, system })?;
    for (at, row) in rows.iter().enumerate() {
        let row = row.as_table().unwrap_or(&none);
        agree(&format!("row {}", at + 1), &Both { row, system })?;
    }
    Ok(())
}

/// The fields of a row, and behind them those of the system.
struct Both<'a> {
    row: &'a Fields,
    system: &'a Fields,
}

impl Both<'_> {
    fn value(&self, field: &str) -> Option<&Value> {
        self.row.get(field).or_else(|| self.system.get(field))
    }

    fn number(&self, field: &str) -> Option<f64> {
        self.value(field).and_then(as_number)
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.value(field)?.as_str()
    }
}

fn agree(at: &str, fields: &Both<'_>) -> Result<(), Refused> {
    for (less, more) in AT_MOST {
        if let Some((low, high)) = fields.number(less).zip(fields.number(more))
            && low > high
        {
            return Err(wrong(at, less, &format!("= {low} is above {more} = {high}")));
        }
    }
    speed(at, fields)?;
    let processor = fields.text("cpu").and_then(|cpu| cpu.split('(').next());
    match processor.and_then(platform::named) {
        Some(platform) => attached(at, fields, platform),
        None => Ok(()),
    }
}

/// The speed in a module's name, and the one that memory runs at: it may be lower.
fn speed(at: &str, fields: &Both<'_>) -> Result<(), Refused> {
    let Some(rated) = fields.text("dimm").and_then(mts_of) else { return Ok(()) };
    bounds::MTS.check(rated).map_err(|why| wrong(at, "dimm", &format!("runs at {why}")))?;
    match fields.number("mts").filter(|mts| *mts > rated) {
        Some(mts) => Err(wrong(at, "mts", &format!("= {mts} is above the dimm's {rated}"))),
        None => Ok(()),
    }
}

/// How the memory of a processor of this family is attached.
fn attached(at: &str, fields: &Both<'_>, platform: &Platform) -> Result<(), Refused> {
    let numbered = platform.numbered();
    let grouped = (platform.controllers, platform.channels);
    let said = ["memory_controllers_per_socket", "channels_per_controller"];
    let [controllers, channels] = said.map(|field| fields.number(field));
    let fits = |(of_socket, of_each): (u32, u32)| {
        controllers.is_none_or(|n| n == f64::from(of_socket))
            && channels.is_none_or(|n| n == f64::from(of_each))
    };
    if fits(numbered) || fits(grouped) {
        return Ok(());
    }
    let field = if controllers.is_some() { said[0] } else { said[1] };
    let why = format!(
        "is not of a {}: it has {} controllers of {} channels",
        platform.name, numbered.0, numbered.1
    );
    Err(wrong(at, field, &why))
}

#[cfg(test)]
mod tests {
    use crate::Table;

    #[test]
    fn what_cannot_be_true_together_is_refused() {
        let row = "[[row]]\ndimms = 1\ntcp_gbps = 20.0\n";
        let system = "cpu = 'Xeon Platinum 8280'\nnic = '1x100GbE'\n";
        let why = |fields: &str, of_row: &str| {
            let text = format!("[system]\n{system}{fields}\n{row}{of_row}\n");
            Table::parse("t", &text).err().map(|why| why.to_string())
        };
        assert_eq!(why("dimm = 'DDR4-2933'\nmemory_controllers_per_socket = 2", ""), None);
        assert_eq!(why("dimm = 'DDR4-2933'\nmts = 2666\nchannels_per_controller = 3", ""), None);
        for (fields, of_row, said) in [
            ("dimm = 'DDR4-99999999'", "", "[system]: dimm runs at"),
            ("dimm = 'DDR4-2933'\nmts = 3200", "", "[system]: mts = 3200 is above the dimm's 2933"),
            ("dimm = 'DDR4-2933'", "mts = 3200", "row 1: mts = 3200 is above"),
            ("channels_per_controller = 0", "", "[system]: channels_per_controller = 0"),
            ("channels_per_controller = 4", "", "2 controllers of 3 channels"),
            ("memory_controllers_per_socket = 3", "", "[system]: memory_controllers_per_socket is"),
            ("cpu_base_ghz = 3.0\ncpu_turbo_ghz = 2.0", "", "= 3 is above cpu_turbo_ghz = 2"),
        ] {
            let why = why(fields, of_row).unwrap_or_default();
            assert!(why.contains(said), "{fields} {of_row}: {why}");
        }
    }
}
