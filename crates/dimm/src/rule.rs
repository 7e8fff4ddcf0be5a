//! Rules of where slots are, as makers number them: data files in `slotmaps/`, and those that users
//! bring. docs/dimm.md documents the format.

use crate::pattern::Pattern;
use narrows_model::host::ChannelId;
use serde::Deserialize;
use std::fmt;
use std::sync::LazyLock;
use wildmatch::WildMatch;

/// The bundled files, in the order in which their rules are tried.
const FILES: [&str; 8] = [
    include_str!("../slotmaps/apple.json"),
    include_str!("../slotmaps/dell.json"),
    include_str!("../slotmaps/fujitsu.json"),
    include_str!("../slotmaps/hpe.json"),
    include_str!("../slotmaps/lenovo.json"),
    include_str!("../slotmaps/oracle.json"),
    include_str!("../slotmaps/supermicro.json"),
    include_str!("../slotmaps/zz-any.json"),
];

/// One file: the rules of one maker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// Whose rules these are, for people.
    pub maker: String,
    /// Where the rules are from: manuals, tables they were tried on, knowledge.
    pub source: String,
    /// The rules, tried in this order.
    pub rules: Vec<Rule>,
}

/// How some products number their slots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// Name, as `--explain-slots` shows it.
    pub name: String,
    /// Makers of the machine or of its main board; `?` stands for one character, `*` for any.
    /// Case does not count. None: every maker.
    #[serde(default)]
    pub makers: Vec<String>,
    /// Products or main boards, likewise. None: every product.
    #[serde(default)]
    pub products: Vec<String>,
    /// Products and main boards that it does not hold for.
    #[serde(default)]
    pub except: Vec<String>,
    /// Families of processors that it holds for, by the names in `platforms/`. None: every family.
    #[serde(default)]
    pub families: Vec<String>,
    /// Patterns of slots' locators. Fields: `socket`, `unit`, `channel`, `slot`.
    pub locators: Vec<Pattern>,
    /// Patterns of bank strings, where they tell what locators do not. None: not looked at.
    #[serde(default)]
    pub banks: Vec<Pattern>,
    /// What tells the processor, where no field does.
    #[serde(default)]
    pub sockets: Sockets,
    /// Boards or risers (field `unit`) of a processor.
    #[serde(default = "one")]
    pub units: u32,
    /// Whether bridges in empty sockets join their slots to other processors: then memory in slots
    /// of a socket without a processor is not placed.
    #[serde(default)]
    pub bridged: bool,
    /// How many slots a processor of such a board may have; one has the first. None: any number.
    #[serde(default)]
    pub slots: Vec<usize>,
    /// From a slot's number to its channel.
    pub channels: Channels,
    /// Labels of the channels of each memory controller, where they are not in order.
    #[serde(default)]
    pub controllers: Vec<Vec<ChannelId>>,
    #[serde(default)]
    pub confidence: Confidence,
    /// Its own source, where that of the file is not meant.
    #[serde(default)]
    pub source: String,
}

fn one() -> u32 {
    1
}

/// What tells a slot's processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sockets {
    /// The field `socket`; else the machine has one socket, or as many arrays of slots as sockets.
    #[default]
    Told,
    /// Slots are numbered over the machine, and every processor has as many.
    Even,
    /// Each bank string stands for a processor, in the order of the table.
    Bank,
}

/// From a slot to its channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// The locator names the channel itself.
    Named,
    /// Every slot has a channel of its own: as many slots as the processor has channels.
    Own,
    /// Neighbouring slots share a channel: as many as the slots divide into the channels.
    Neighbours,
    /// Slots count through the processor's channels.
    Through,
    /// Letters name channels and run on from one processor to the next.
    Letters,
    /// Slots count through so many channels.
    Modulo(u32),
    /// So many neighbouring slots share a channel.
    Pair(u32),
    /// Named channels and the numbers of their slots.
    Table(Vec<(ChannelId, Vec<u32>)>),
}

/// How sure a placement is, the surest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The user's own map.
    Given,
    /// Firmware names socket and channel of each slot.
    Named,
    /// The maker's manual, as its text was read.
    Manual,
    /// The maker's rule from knowledge, tried on reports of such machines.
    #[default]
    Knowledge,
    /// Counted, and borne out by the modules: every channel of every processor holds the same.
    Evident,
    /// What follows from counts of slots, channels and processors alone.
    Counted,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given by the user",
            Self::Named => "named by firmware",
            Self::Manual => "from the maker's manual",
            Self::Knowledge => "the maker's rule from knowledge, tried on reports",
            Self::Evident => {
                "counted, and borne out: every channel of every processor holds the same modules"
            }
            Self::Counted => "counted from slots, channels and processors",
        })
    }
}

/// The bundled rules.
pub static BUNDLED: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    FILES.iter().filter_map(|file| read(file).ok()).flat_map(|file| file.rules).collect()
});

/// Reads one file; its rules carry its source.
pub fn read(text: &str) -> Result<RuleFile, serde_json::Error> {
    let mut file: RuleFile = serde_json::from_str(text)?;
    for rule in file.rules.iter_mut().filter(|rule| rule.source.is_empty()) {
        rule.source = file.source.clone();
    }
    Ok(file)
}

/// The rules of a map that a user brings: they are his word.
pub fn given(text: &str) -> Result<Vec<Rule>, serde_json::Error> {
    let rules = read(text)?.rules.into_iter();
    Ok(rules.map(|rule| Rule { confidence: Confidence::Given, ..rule }).collect())
}

impl Rule {
    /// Whether it holds for every maker and product.
    pub fn is_for_all(&self) -> bool {
        self.makers.is_empty() && self.products.is_empty()
    }

    /// Whether it holds for a machine of these makers, products and family of processors.
    pub fn is_for(&self, makers: [&str; 2], products: [&str; 2], family: Option<&str>) -> bool {
        (self.makers.is_empty() || any_like(&self.makers, &makers))
            && (self.products.is_empty() || any_like(&self.products, &products))
            && (self.families.is_empty() || any_like(&self.families, family.as_slice()))
            && !any_like(&self.except, &products)
    }
}

fn any_like(globs: &[String], names: &[&str]) -> bool {
    globs.iter().any(|glob| names.iter().any(|name| is_like(glob, name)))
}

fn is_like(glob: &str, name: &str) -> bool {
    WildMatch::new(&glob.to_uppercase()).matches(&name.trim().to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_reads_and_names_its_source() {
        for text in FILES {
            let file = read(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(!file.source.is_empty() && !file.rules.is_empty(), "{}", file.maker);
        }
        let mut names: Vec<&str> = BUNDLED.iter().map(|rule| rule.name.as_str()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "two rules have one name");
    }

    #[test]
    fn a_rule_knows_its_machines() {
        let text = r#"{"maker": "M", "source": "here", "rules": [{"name": "m", "makers": ["dell*"],
            "products": ["PowerEdge R7*"], "except": ["PowerEdge R715"],
            "locators": ["A{slot}"], "channels": "through"}]}"#;
        let rule = &read(text).expect("a file").rules[0];
        assert_eq!(rule.source, "here");
        assert!(rule.is_for(["Dell Inc.", ""], ["POWEREDGE R730XD", ""], None));
        assert!(rule.is_for(["", "Dell Inc."], ["", "PowerEdge R730"], None));
        assert!(!rule.is_for(["Dell Inc.", ""], ["PowerEdge R715", ""], None));
        assert!(!rule.is_for(["HP", ""], ["PowerEdge R730", ""], None));
        let wrong = given(&text.replace("\"through\"", "\"sideways\""));
        assert!(wrong.is_err_and(|error| error.to_string().contains("sideways")));
    }
}
