//! What `narrows packets --zero-loss` runs: a search for the highest rate without loss, for each
//! size of frames.

use crate::study::Settings;
use narrows_model::options::packets;
use narrows_model::packets::FCS_BYTES;
use narrows_model::study::Search;
use serde::Serialize;
use thiserror::Error;

/// Bytes of a frame that its MTU does not count: Ethernet's header and check sequence.
const AROUND_BYTES: u64 = 14 + FCS_BYTES;
/// The largest MTU that every interface has.
const MTU_BYTES: u64 = 1500;

#[derive(Clone, Debug)]
pub struct ZeroLoss {
    /// How packets are sent and received.
    pub settings: Settings,
    /// Between which rates, and how closely.
    pub search: Search,
    /// Sizes of frames, with the check sequence, in bytes.
    pub frames_bytes: Vec<u64>,
    /// Whether the ends are in namespaces of this host, whose MTU is set as the frames need.
    pub is_local: bool,
}

/// Settings that a study's file has no words for.
#[derive(Debug, Error)]
#[error("a study has no words for these options: {0}")]
pub struct Unworded(#[from] toml::ser::Error);

#[derive(Serialize)]
struct Written<'a> {
    name: &'static str,
    about: String,
    search: &'a Search,
    base: &'a Settings,
    factor: [Frames; 1],
}

/// The sizes of frames, as a factor.
#[derive(Serialize)]
struct Frames {
    name: &'static str,
    levels: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u64>,
}

impl ZeroLoss {
    /// The definition of the study, as a file has it.
    pub fn definition(&self) -> Result<String, Unworded> {
        let frames: Vec<String> = self.frames_bytes.iter().map(|size| self.named(*size)).collect();
        let lost = match self.search.loss_percent {
            0.0 => "no packet is lost".to_owned(),
            share => format!("{share} % of packets are lost at most"),
        };
        let of = if self.search.is_of_bursts() { "burst, back to back," } else { "rate" };
        let levels = self
            .frames_bytes
            .iter()
            .map(|bytes| {
                let mtu = bytes.saturating_sub(AROUND_BYTES);
                let mtu = Some(mtu).filter(|mtu| self.is_local && *mtu > MTU_BYTES);
                Frame { name: self.named(*bytes), length: *bytes, mtu }
            })
            .collect();
        Ok(toml::to_string(&Written {
            name: self.name(),
            about: format!("Up to which {of} {lost}, of frames of {}?", frames.join(", ")),
            search: &self.search,
            base: &self.settings,
            factor: [Frames { name: "frame", levels }],
        })?)
    }

    /// Of the study, and of its file.
    pub fn name(&self) -> &'static str {
        if self.search.is_of_bursts() { "back-to-back" } else { "zero-loss" }
    }

    /// What frames of this size are called: those of a mix by its name, since their size is a mean.
    fn named(&self, bytes: u64) -> String {
        match self.settings.told(&packets::IMIX) {
            Some(true) => "IMIX".to_owned(),
            _ => format!("{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Definition, cells};
    use narrows_model::Bytes;
    use narrows_model::options::flows;
    use narrows_model::workload::Workload;

    #[test]
    fn the_definition_is_read_back_with_a_cell_for_each_rate_and_size() {
        let base = "load = 'packets'\nseconds = 0.5\nsender = 'xdp'";
        let search = Search {
            rate_max_packets_per_second: 1e6,
            burst_max_frames: None,
            throughput_packets_per_second: None,
            rate_min_packets_per_second: Some(5e5),
            resolution_percent: 10.0,
            loss_percent: 0.0,
            confidence_percent: 95.0,
            runs_max: 40,
        };
        let wanted = ZeroLoss {
            settings: toml::from_str(base).expect("settings"),
            search,
            frames_bytes: vec![64, 9018],
            is_local: true,
        };
        let text = wanted.definition().expect("a definition");
        let definition = Definition::parse(&text).expect(&text);
        assert_eq!(definition.search, Some(search));
        let all = cells(&definition).expect("cells");
        // Steps of 5 % from a million down to half of it: 1.05^14 is 1.98.
        assert_eq!(all.len(), 2 * 15);
        let top = all.iter().rfind(|cell| cell.level("rate") == Some("1000000/s"));
        let top = top.expect("the highest rate");
        assert_eq!(top.level("frame"), Some("9018 B"));
        assert_eq!(top.settings.kind(), Workload::Packets);
        let rate = top.settings.told(&flows::BITRATE).expect("a rate");
        assert_eq!(rate.0, 1e6 * 8.0 * 9018.0);
        assert_eq!(top.settings.told(&narrows_model::options::places::MTU), Some(9000));
        assert_eq!(all[0].settings.told(&narrows_model::options::places::MTU), None);
    }

    #[test]
    fn a_mix_is_called_so_and_its_rates_are_of_its_mean() {
        let search = Search {
            rate_max_packets_per_second: 1e6,
            burst_max_frames: None,
            throughput_packets_per_second: None,
            rate_min_packets_per_second: Some(9e5),
            resolution_percent: 10.0,
            loss_percent: 0.0,
            confidence_percent: 95.0,
            runs_max: 40,
        };
        let settings = toml::from_str("load = 'packets'\nimix = true").expect("settings");
        let wanted = ZeroLoss { settings, search, frames_bytes: vec![362], is_local: true };
        let text = wanted.definition().expect("a definition");
        assert!(text.contains("of frames of IMIX?"), "{text}");
        let all = cells(&Definition::parse(&text).expect(&text)).expect("cells");
        assert!(all.iter().all(|cell| cell.level("frame") == Some("IMIX")));
        let rates = all.iter().filter_map(|cell| cell.settings.told(&flows::BITRATE));
        let most = rates.map(|rate| rate.0).fold(0.0, f64::max);
        assert_eq!(most, 1e6 * 8.0 * 362.0);
    }

    #[test]
    fn a_study_repeats_what_it_does_not_search() {
        let levels = "[[factor]]\nname = 'test'\nlevels = [
            { name = 'memcpy', load = 'memory-memcpy' },
            { name = 'at a rate', load = 'packets', rate = '20k' },
            { name = '64 B', load = 'packets', length = 64 },
            { name = '594 B', load = 'packets', length = 594 },\n]\n";
        let search = "[search]\nrate_max_packets_per_second = 1e6\nresolution_percent = 10\n";
        let quick = "[quick]\nruns_max = 9\nresolution_percent = 50\n";
        let text = format!("name = 'a'\nrepeats = 7\n{search}{quick}{levels}");
        let definition = Definition::parse(&text).expect(&text);
        let all = cells(&definition).expect("cells");
        let of = |test: &str| -> Vec<&crate::study::Cell> {
            all.iter().filter(|cell| cell.level("test") == Some(test)).collect()
        };
        for repeated in ["memcpy", "at a rate"] {
            let cells = of(repeated);
            assert_eq!(cells.len(), 1, "{repeated}");
            assert_eq!(cells[0].level("rate"), None);
        }
        let rates = definition.search.expect("a search").rates().len();
        assert_eq!((of("64 B").len(), of("594 B").len()), (rates, rates));
        let params = of("at a rate")[0].settings.params(Bytes(0), Bytes(0)).expect("params");
        assert_eq!(params.rate_bps, Some(20_000 * 8 * 64));
        let quick = definition.quickly();
        let short = quick.search.expect("a search");
        assert_eq!((short.runs_max, short.resolution_percent), (9, 50.0));
        assert_eq!(quick.repeats, 3);

        let refused = |text: &str| {
            let read = Definition::parse(text).and_then(|definition| cells(&definition));
            read.expect_err(text).to_string()
        };
        let untold = refused(&format!("name = 'a'\n{search}{levels}"));
        assert!(untold.starts_with("repeats: ") && untold.contains("'memcpy'"), "{untold}");
        let own = "[[factor]]\nname = 'rate'\nset = 'length'\nlevels = [64]\n";
        let own = refused(&format!("name = 'a'\n{search}[base]\nload = 'packets'\n{own}"));
        assert!(own.contains("a factor 'rate' of its own"), "{own}");
        let both = "name = 'a'\nrepeats = 1\n[base]\nload = 'packets'\nrate = 9\nbitrate = '1M'\n";
        let definition = Definition::parse(both).expect(both);
        let cell = &cells(&definition).expect("cells")[0];
        let both = cell.settings.params(Bytes(0), Bytes(0)).expect_err("two paces").to_string();
        assert!(both.contains("leave one out"), "{both}");
    }

    /// The rates of a search were a factor of its file, and are named as one in what is stored.
    #[test]
    fn a_file_may_name_the_rates_of_its_search() {
        let of = |report: &str, exclude: &str| {
            let text = format!(
                "name = 'a'\n[search]\nrate_max_packets_per_second = 1e6\n\
                 rate_min_packets_per_second = 5e5\nresolution_percent = 10\n[base]\n\
                 load = 'packets'\n[report]\n{report}\n[[exclude]]\n{exclude}\n"
            );
            Definition::parse(&text).and_then(|definition| cells(&definition)).map(|all| all.len())
        };
        // Of 15 rates from a million down to half of it.
        assert_eq!(of("across = 'rate'", "rate = '1000000/s'"), Ok(14));
        assert_eq!(of("across = 'rate'\nprices = { '1000000/s' = 2 }", "rate = []"), Ok(15));
        let refused = |report, exclude| of(report, exclude).expect_err(exclude).to_string();
        let why = refused("", "rate = '7/s'");
        assert!(why.contains("factor 'rate' has no level '7/s'"), "{why}");
        let why = refused("across = 'size'", "");
        assert!(why.contains("there is no factor 'size', but rate"), "{why}");
        let none = "name = 'a'\nrepeats = 1\n[report]\nacross = 'rate'";
        assert!(Definition::parse(none).is_err(), "there is no search");
    }

    #[test]
    fn what_quick_says_of_a_search_has_its_bounds() {
        let of = |quick: &str| {
            let text = format!(
                "name = 'a'\n[search]\nrate_max_packets_per_second = 1e6\n[quick]\n{quick}\n"
            );
            Definition::parse(&text).map(|definition| definition.quick.runs_max)
        };
        assert_eq!((of("runs_max = 1"), of("runs_max = 10000")), (Ok(Some(1)), Ok(Some(10_000))));
        for (quick, key) in [
            ("runs_max = 0", "quick.runs_max: "),
            ("runs_max = 10001", "quick.runs_max: "),
            ("resolution_percent = 0.0", "quick.resolution_percent: "),
            ("resolution_percent = 51", "quick.resolution_percent: "),
        ] {
            let why = of(quick).expect_err(quick).to_string();
            assert!(why.starts_with("line 5, column ") && why.contains(key), "{why}");
        }
    }

    #[test]
    fn a_search_is_of_packets_within_bounds_and_chooses_its_rates() {
        let of = |head: &str, base: &str| {
            let text = format!("name = 'a'\n{head}\n[base]\n{base}\n");
            Definition::parse(&text).and_then(|definition| cells(&definition)).map(|all| all.len())
        };
        let search = "[search]\nrate_max_packets_per_second = 1e6";
        assert_eq!(of(search, "load = 'packets'").expect("cells"), 463);
        for (head, base) in [
            ("", "load = 'packets'"),
            (search, "load = 'tcp-stream'"),
            (search, "load = 'packets'\nbitrate = '1G'"),
            ("[search]\nrate_max_packets_per_second = 0", "load = 'packets'"),
            ("[search]\nrate_max_packets_per_second = 1e18", "load = 'packets'"),
            (&format!("{search}\nresolution_percent = 0.0"), "load = 'packets'"),
            (&format!("{search}\nrate_min_packets_per_second = 2e6"), "load = 'packets'"),
            (
                &format!("repeats = 3\n{search}\n[spread]\nsessions = 2\napart_minutes = 1"),
                "load = 'packets'",
            ),
        ] {
            assert!(of(head, base).is_err(), "{head} {base}");
        }
        let none = of(&format!("repeats = 1\n{search}"), "load = 'tcp-stream'");
        let none = none.expect_err("nothing to search").to_string();
        assert!(none.contains("this study has no such cell"), "{none}");
    }

    #[test]
    fn what_a_path_carries_is_of_one_size() {
        let search = "[search]\nburst_max_frames = 40\nthroughput_packets_per_second = 9\n";
        let base = "[base]\nload = 'packets'\nsender = 'ring'\n";
        let of = |sizes: &str| {
            let sizes = format!("[[factor]]\nname = 'size'\nset = 'length'\nlevels = [{sizes}]\n");
            let text = format!("name = 'a'\n{search}{base}{sizes}");
            Definition::parse(&text).and_then(|definition| cells(&definition)).map(|all| all.len())
        };
        assert!(of("64").is_ok());
        let why = of("64, 128, 256").expect_err("three sizes").to_string();
        assert!(why.contains("one size of frames, and 3 are searched"), "{why}");
    }

    #[test]
    fn bursts_are_cells_of_their_own_and_have_no_rate() {
        let search = "[search]\nburst_max_frames = 400\nresolution_percent = 10\n";
        let text = format!("name = 'a'\n{search}[base]\nload = 'packets'\nsender = 'ring'\n");
        let definition = Definition::parse(&text).expect(&text);
        let all = cells(&definition).expect("cells");
        let top = all.iter().find(|cell| cell.level("rate") == Some("400 frames")).expect("most");
        assert_eq!(top.settings.told(&packets::BURST), Some(400));
        let params = top.settings.params(Bytes(0), Bytes(0)).expect("params");
        assert_eq!(params.rate_bps, None);
        let least = all.iter().filter_map(|cell| cell.settings.told(&packets::BURST)).min();
        assert_eq!(least, Some(4));
        for wrong in [
            "[search]\nburst_max_frames = 1\n",
            "[search]\nburst_max_frames = 4\nrate_max_packets_per_second = 1e6\n",
            "[search]\nrate_max_packets_per_second = 1e6\nthroughput_packets_per_second = 9\n",
            "[search]\n",
        ] {
            assert!(Definition::parse(&text.replace(search, wrong)).is_err(), "{wrong}");
        }
    }
}
