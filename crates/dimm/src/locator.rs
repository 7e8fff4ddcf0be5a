//! Socket, controller and channel of a slot, from names that spell them out.
//!
//! Only what a board says in so many words is believed: `P1-DIMMA1` names socket and channel, `A1`
//! does not (on a Dell it is CPU 1, on others channel A). A name is read as a row of words with a
//! number or a letter behind each (`CPU 1`, `CHANNEL A`, `DIMM A1`), all of which must be known.
//! Where the slot's own locator and the bank string disagree, the slot's locator wins: it is
//! printed on the board, and bank strings of real boards carry typing errors. Everything else stays
//! unplaced.

use narrows_model::host::{ChannelId, Label, SlotPlace};

/// What a name spells out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spelt {
    /// The board's number of the socket.
    pub socket: Option<u32>,
    /// Node inside the socket or over the machine.
    node: Option<u32>,
    /// Memory controller inside the socket.
    controller: Option<u32>,
    /// Label of the channel.
    channel: Option<String>,
    /// True when the word "channel" stands before the label.
    named: bool,
}

impl Spelt {
    /// Label of the channel inside its node or controller.
    pub fn label(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// Whether the word "channel" stands before the label.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// As a place; the socket keeps the board's number.
    pub fn placed(self) -> SlotPlace {
        let channel = self.channel.unwrap_or_default();
        // Boards number nodes over the machine or inside a socket, and channels inside a
        // controller: the pair is what is unique.
        let label = Label::from(channel.as_str());
        let channel = match (self.node, self.controller) {
            (Some(node), _) if self.socket.is_some() => ChannelId::OfNode { node, label },
            (_, Some(controller)) => ChannelId::OfController { controller, label },
            _ => ChannelId::OfSocket(label),
        };
        let socket = self.socket.or(self.node).unwrap_or(0);
        SlotPlace { socket, channel, controller: self.controller }
    }
}

/// Reads a name that spells out both socket and channel.
pub fn read(text: &str) -> Option<Spelt> {
    let spelt = spell(text)?;
    // A node stands for the socket only where the channel is called one.
    let socket = spelt.socket.is_some() || spelt.node.is_some() && spelt.named;
    (socket && spelt.channel.is_some()).then_some(spelt)
}

/// Reads a channel of the locator with a socket of the bank string (`DIMM_A1` and `NODE 1`), or the
/// other way round.
pub fn together(locator: &str, bank: &str) -> Option<Spelt> {
    let (locator, bank) = (spell(locator), spell(bank));
    let (of, told) = match (has_channel(&locator), has_channel(&bank)) {
        (true, _) => (&locator, socket_of(&locator).or_else(|| socket_of(&bank))),
        (false, true) => (&bank, socket_of(&bank).or_else(|| socket_of(&locator))),
        (false, false) => return None,
    };
    Some(Spelt { socket: Some(told?), node: None, ..of.clone()? })
}

/// Reads the number of a node, where the bank string says nothing but that.
pub fn node(bank: &str) -> Option<u32> {
    spell(bank).filter(|spelt| spelt.channel.is_none() && spelt.socket.is_none())?.node
}

fn socket_of(spelt: &Option<Spelt>) -> Option<u32> {
    spelt.as_ref().and_then(|one| one.socket.or(one.node))
}

fn has_channel(spelt: &Option<Spelt>) -> bool {
    spelt.as_ref().is_some_and(|one| one.channel.is_some())
}

/// Reads a channel alone, for a machine with one socket.
pub fn channel(locator: &str, bank: &str) -> Option<Spelt> {
    let named = [locator, bank].into_iter().filter_map(spell);
    named.into_iter().find(|spelt| spelt.channel.is_some())
}

/// Reads what a name spells out; `None` when a word in it is not known.
fn spell(text: &str) -> Option<Spelt> {
    let words = words(text);
    let mut spelt = Spelt::default();
    let mut rest = words.iter().map(String::as_str).peekable();
    let (mut numbered, mut lettered) = (false, false);
    let counts_channels = words
        .windows(4)
        .any(|four| four[0] == "C" && is_number(&four[1]) && four[2] == "D" && is_number(&four[3]));
    while let Some(word) = rest.next() {
        let mut number = || rest.next_if(|next| is_number(next)).and_then(|n| n.parse().ok());
        match word {
            "P" | "CPU" | "PROC" | "PROCESSOR" | "SOCKET" | "SKT" | "SRCID"
                if word != "P" || spelt.socket.is_none() =>
            {
                // "CPU_SrcID#0" and "CPU1 Channel": a bare word may stand before the number's own.
                match number() {
                    Some(socket) => spelt.socket = Some(socket),
                    None if matches!(word, "CPU" | "PROC" | "PROCESSOR") => {}
                    None => return None,
                }
            }
            "NODE" => spelt.node = Some(number()?),
            "MC" | "IMC" | "HA" | "CONTROLLER" => spelt.controller = Some(number()?),
            "CHANNEL" | "CHAN" | "CHN" | "CH" => {
                let label = rest.next().filter(|next| is_label(next))?;
                spelt.channel = Some(label.to_owned());
                spelt.named = true;
                // `CH_A0`: the slot's number stands behind a channel's letter.
                if is_letter(label) {
                    let _ = rest.next_if(|next| is_number(next));
                }
            }
            // `C7D1`: channel and slot. `C1` alone is a letter with the slot's number.
            "C" if spelt.channel.is_none() && counts_channels => {
                spelt.channel = Some(rest.next().filter(|next| is_number(next))?.to_owned());
            }
            "D" if spelt.channel.is_some() => {
                let _: u32 = number()?;
            }
            "DIMM" | "DIM" | "SLOT" => {
                let slot: Option<u32> = number();
                // `A1_DIMM0` of AMI's reference firmware: slot 0 of the first array, no channel A.
                if slot.is_some() && lettered && spelt.socket.is_none() {
                    return None;
                }
                numbered |= slot.is_some();
            }
            // `DIMM151 J45`: the board's reference of a socket that was numbered already.
            "J" if numbered => {
                let _: u32 = number()?;
            }
            // A letter with the slot's number, `A1`; the letter alone is none.
            letter if is_letter(letter) && spelt.channel.is_none() => {
                let _: u32 = number()?;
                spelt.channel = Some(letter.to_owned());
                lettered = true;
            }
            // What drivers put before: the processor's family; where boards print a reference.
            "SKYLAKE" | "INTEL" | "BROADWELL" | "HASWELL" | "IVY" | "SANDY" | "BRIDGE"
            | "KNIGHTS" | "LANDING" | "NM" => {}
            number if is_number(number) && spelt.socket.is_none() && spelt.channel.is_none() => {}
            _ => return None,
        }
    }
    Some(spelt)
}

/// Runs of letters and runs of digits, in capitals. A word that begins with a known one is two:
/// `DIMMA` is `DIMM` and `A`, `CHANNELB` is `CHANNEL` and `B`.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in text.trim().to_ascii_uppercase().chars() {
        let joins = last.is_ascii_alphabetic() && c.is_ascii_alphabetic()
            || last.is_ascii_digit() && c.is_ascii_digit();
        match words.last_mut() {
            Some(word) if joins => word.push(c),
            _ if c.is_ascii_alphanumeric() => words.push(c.to_string()),
            _ => {}
        }
        last = c;
    }
    words
        .into_iter()
        .flat_map(|word| {
            let glued = ["CHANNEL", "DIMM", "CH"].into_iter().find_map(|known| {
                let letter = word.strip_prefix(known).filter(|rest| is_letter(rest))?;
                Some(vec![known.to_owned(), letter.to_owned()])
            });
            glued.unwrap_or_else(|| vec![word])
        })
        .collect()
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_letter(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_label(word: &str) -> bool {
    is_number(word) || is_letter(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(locator: &str, bank: &str) -> Option<(u32, ChannelId)> {
        let spelt = read(locator).or_else(|| read(bank))?.placed();
        Some((spelt.socket, spelt.channel))
    }

    #[test]
    fn spelt_out_locators_are_placed_and_others_are_not() {
        let placed = |socket: u32, channel: &str| Some((socket, ChannelId::from(channel)));
        assert_eq!(at("P2-DIMMF1", "NO DIMM"), placed(2, "F"));
        assert_eq!(at("P1_DIMMA1", ""), placed(1, "A"));
        assert_eq!(at("CPU2_DIMM_F2", "_Node1_Channel6_Dimm1"), placed(2, "F"));
        assert_eq!(at("DIMM_P1_L1", ""), placed(1, "L"));
        assert_eq!(at("CPU1_C7D1", "NODE 7"), placed(1, "7"));
        assert_eq!(at("DIMM151 J45", "_Node1_Channel5_Dimm1"), placed(1, "5"));
        assert_eq!(at("DIMM000 J27", "SOCKET 0 CHANNEL 0 DIMM 0"), placed(0, "0"));
        assert_eq!(at("DIMM 0", "P0 CHANNEL A"), placed(0, "A"));
        assert_eq!(at("P1-DIMM1A", "P0_Node1_Channel0_Dimm0"), placed(0, "N1C0"));
        for unplaced in ["A1", "PROC 1 DIMM 1", "DIMM 0", "", "P-DIMMA1", "P1-DIMMA1x", "BANK 0"] {
            assert_eq!(at(unplaced, "Not Specified"), None, "{unplaced}");
        }
    }

    #[test]
    fn every_letter_is_a_channel() {
        for letter in ["A", "C", "D", "H", "J", "L", "P"] {
            let placed = Some((1, ChannelId::from(letter)));
            assert_eq!(at(&format!("CPU1_DIMM_{letter}1"), ""), placed, "{letter}");
            assert_eq!(at(&format!("DIMM_P1_{letter}0"), ""), placed, "{letter}");
        }
    }

    #[test]
    fn other_ways_to_spell_it_are_read_alike() {
        let placed = |socket: u32, channel: &str| Some((socket, ChannelId::from(channel)));
        for text in ["CPU1-DIMM-A2", "CPU1_A2", "PROC 1 DIMM A2", "Cpu1 Channel A Dimm 2"] {
            assert_eq!(at(text, ""), placed(1, "A"), "{text}");
        }
        assert_eq!(at("CPU0_CH3_DIMM1", ""), placed(0, "3"));
        assert_eq!(at("P1_MC2_CHANNEL1_DIMM0", ""), placed(1, "M2C1"));
        assert_eq!(at("CPU_SrcID#1_Ha#0_Chan#3_DIMM#0", ""), placed(1, "M0C3"));
        assert_eq!(channel("A1_DIMM0", "A1_BANK0"), None);
        assert_eq!(
            (node("NODE 3"), node("NO DIMM"), node("NODE 0 CHANNEL 1")),
            (Some(3), None, None)
        );
        // A node and a letter: on some boards the node is no socket.
        assert_eq!(at("NODE 1 DIMM A1", ""), None);
        assert_eq!(at("ChannelA-DIMM0", "BANK 0"), None);
        for text in
            ["CPU99999999999999999999 CHANNEL A", "CHANNEL", "CPU1 CHANNEL", "\u{0}\u{ffff}"]
        {
            assert_eq!(at(text, ""), None, "{text}");
        }
    }
}
