//! What the ends of a probe say to each other over UDP. All but the packets that are sent to be
//! large are small enough to pass any path: a probe of a path that loses large packets must not
//! lose its own words.

use crate::harness::meet::Token;
use narrows_model::probe::REST;

/// Bytes of a word without what follows it; the rest of a packet that is sent to be large is
/// padding.
pub const HEAD: usize = 32;
/// Packets of a volley whose arrival is told one by one.
pub const TOLD_MAX: usize = 256;
/// Most sizes of one volley.
pub const SIZES_MAX: usize = 64;

/// What a word is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Says {
    /// From the end that asks: answer at once.
    Ping = 1,
    /// The answer to a ping, sent at once.
    Pong,
    /// One packet of a volley; its index follows.
    Packet,
    /// From the end that asks: what came of a volley?
    Report,
    /// The answer: a [`Heard`].
    Outcome,
    /// From the end that asks: send a volley back; an order follows.
    Send,
    /// From the end that answers: the volley was sent; a [`Sent`] follows.
    Sent,
    /// From the end that asks: it is over.
    Over,
}

impl Says {
    const ALL: [Self; 8] = [
        Self::Ping,
        Self::Pong,
        Self::Packet,
        Self::Report,
        Self::Outcome,
        Self::Send,
        Self::Sent,
        Self::Over,
    ];
}

/// The head of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub says: Says,
    /// Number of the question or volley that it belongs to.
    pub round: u32,
    /// Index of a packet in its volley.
    pub index: u16,
}

impl Word {
    /// Its bytes, with room for what follows up to `length`.
    pub fn bytes(self, token: &Token, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.max(HEAD)];
        bytes[..8].copy_from_slice(&token[..8]);
        bytes[8] = self.says as u8;
        bytes[10..12].copy_from_slice(&self.index.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.round.to_be_bytes());
        bytes
    }

    /// The word that a datagram is, and what follows its head.
    pub fn read<'a>(datagram: &'a [u8], token: &Token) -> Option<(Self, &'a [u8])> {
        let (head, rest) = datagram.split_at_checked(HEAD)?;
        let says = Says::ALL.into_iter().find(|says| *says as u8 == head[8])?;
        let index = u16::from_be_bytes([head[10], head[11]]);
        let round = u32::from_be_bytes([head[12], head[13], head[14], head[15]]);
        (head[..8] == token[..8]).then_some((Self { says, round, index }, rest))
    }
}

/// Numbers of eight bytes, one after the other.
fn pack(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn unpack<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().take(N).map(|each| u64::from_be_bytes(*each)).collect();
    numbers.try_into().ok()
}

/// Packets that came first, whose spacing tells a queue from a bucket.
pub const HEAD_PACKETS: usize = 8;

/// What an end heard of a volley.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Packets that came, each index of them as often as it came.
    pub came: u64,
    /// Of those, how many came after one of a higher index.
    pub late: u64,
    /// From the first to the last, in nanoseconds.
    pub came_ns: u64,
    /// Packets that came after the middle one.
    pub tail: u64,
    /// From the middle one to the last, in nanoseconds.
    pub tail_ns: u64,
    /// A bit for each of the first [`TOLD_MAX`] indices that came.
    pub indices: [u64; TOLD_MAX / 64],
    /// Packets after the first, of the [`HEAD_PACKETS`] that came first; 0 of an older agent.
    pub head: u64,
    /// From the first to the last of those, in nanoseconds.
    pub head_ns: u64,
    /// What an agent of today says of gaps between arrivals.
    pub gaps: Option<Gaps>,
}

/// Gaps between arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Those of [`REST`] or more.
    pub rests: u64,
    /// Time of all of these, in nanoseconds.
    pub rests_ns: u64,
    /// The longest of all, in nanoseconds.
    pub longest_ns: u64,
}

impl Gaps {
    fn of(arrivals: &[(u16, u64)]) -> Self {
        let gaps = arrivals.windows(2).map(|two| two[1].1.saturating_sub(two[0].1));
        let rests = gaps.clone().filter(|ns| *ns >= REST.0);
        Self {
            rests: rests.clone().count() as u64,
            rests_ns: rests.sum(),
            longest_ns: gaps.max().unwrap_or(0),
        }
    }

    /// Told with one more than their number: 0 is what an older agent's silence reads as.
    fn numbers(self) -> [u64; 3] {
        [self.rests + 1, self.rests_ns, self.longest_ns]
    }

    fn read([rests, rests_ns, longest_ns]: [u64; 3]) -> Option<Self> {
        Some(Self { rests: rests.checked_sub(1)?, rests_ns, longest_ns })
    }
}

impl Heard {
    /// From arrivals in order: index and the kernel's time stamp.
    pub fn of(arrivals: &[(u16, u64)]) -> Self {
        let mut heard = Self { came: arrivals.len() as u64, ..Self::default() };
        let mut highest = 0;
        for (index, _) in arrivals {
            heard.late += u64::from(*index < highest);
            highest = highest.max(*index);
            if let Some(word) = heard.indices.get_mut(usize::from(*index) / 64) {
                *word |= 1 << (index % 64);
            }
        }
        let middle = arrivals.len() / 2;
        if let (Some(first), Some(mid), Some(last)) =
            (arrivals.first(), arrivals.get(middle), arrivals.last())
        {
            heard.came_ns = last.1.saturating_sub(first.1);
            heard.tail = (arrivals.len() - middle - 1) as u64;
            heard.tail_ns = last.1.saturating_sub(mid.1);
            let head = arrivals.len().min(HEAD_PACKETS) - 1;
            heard.head = head as u64;
            heard.head_ns = arrivals[head].1.saturating_sub(first.1);
        }
        heard.gaps = Some(Gaps::of(arrivals));
        heard
    }

    /// Whether the packet of an index came.
    pub fn has(&self, index: usize) -> bool {
        self.indices.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// As it follows a head.
    pub fn bytes(&self) -> Vec<u8> {
        let numbers = [self.came, self.late, self.came_ns, self.tail, self.tail_ns];
        let gaps = self.gaps.map_or([0; 3], Gaps::numbers);
        pack(&[&numbers[..], &self.indices[..], &[self.head, self.head_ns], &gaps[..]].concat())
    }

    /// From what follows a head. Older agents say nothing of the packets that came first.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [came, late, came_ns, tail, tail_ns, i0, i1, i2, i3] = unpack::<9>(bytes)?;
        let [head, head_ns] = bytes.get(72..).and_then(unpack::<2>).unwrap_or_default();
        let indices = [i0, i1, i2, i3];
        let gaps = bytes.get(88..).and_then(unpack::<3>).and_then(Gaps::read);
        Some(Self { came, late, came_ns, tail, tail_ns, indices, head, head_ns, gaps })
    }
}

/// What an end says of a volley that it sent. 0 stands for what is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets that its kernel took.
    pub packets: u64,
    /// Time that this took, in nanoseconds.
    pub took_ns: u64,
    /// MTU of the interface that they left by.
    pub interface_bytes: u64,
    /// MTU that the kernel used for the way before the first volley.
    pub used_bytes: u64,
    /// The smallest MTU that routers have named so far.
    pub told_bytes: u64,
}

impl Sent {
    /// As it follows a head.
    pub fn bytes(&self) -> Vec<u8> {
        let Self { packets, took_ns, interface_bytes, used_bytes, told_bytes } = *self;
        pack(&[packets, took_ns, interface_bytes, used_bytes, told_bytes])
    }

    /// From what follows a head.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [packets, took_ns, interface_bytes, used_bytes, told_bytes] = unpack::<5>(bytes)?;
        Some(Self { packets, took_ns, interface_bytes, used_bytes, told_bytes })
    }
}

/// Packets that are sent one after the other. Sizes are of IP packets, header included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volley {
    /// The size of each, by index; taken in turn, `copies` times.
    pub sizes: Vec<u16>,
    /// How often the sizes are gone through.
    pub copies: u16,
    /// Time between two packets, in microseconds; 0 is as fast as it goes.
    pub gap_us: u16,
    /// Whether packets may be fragmented, by this host too.
    pub may_fragment: bool,
    /// Whether copies have indices of their own, as in a train.
    pub is_train: bool,
    /// The byte of DSCP and ECN in the IP header, where it is another than the traffic's own.
    pub class: Option<u8>,
}

/// The flag of a volley whose packets have a class of their own. An older agent sends them without.
const CLASSED: u16 = 4;
/// No volley has more packets.
const PACKETS_MAX: usize = 1024;

impl Volley {
    /// Packets of one size, as fast as they go.
    pub fn train(size: u16, packets: u64) -> Self {
        Self {
            sizes: vec![size],
            copies: packets as u16,
            gap_us: 0,
            may_fragment: false,
            is_train: true,
            class: None,
        }
    }

    /// Packets of it.
    pub fn packets(&self) -> usize {
        (self.sizes.len() * usize::from(self.copies)).min(PACKETS_MAX)
    }

    /// The packet of a place in it: index and size.
    pub fn packet(&self, place: usize) -> (u16, u16) {
        let of = place % self.sizes.len().max(1);
        let index = if self.is_train { place } else { of };
        (index as u16, self.sizes.get(of).copied().unwrap_or(0))
    }

    /// As it follows a head.
    pub fn bytes(&self) -> Vec<u8> {
        let class = self.class.map_or(0, |class| u16::from(class) << 8 | CLASSED);
        let flags = u16::from(self.may_fragment) | u16::from(self.is_train) << 1 | class;
        let head = [self.copies, self.gap_us, flags, self.sizes.len() as u16];
        head.iter().chain(&self.sizes).flat_map(|number| number.to_be_bytes()).collect()
    }

    /// From what follows a head; nothing that a peer may not ask for is read.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, _) = bytes.as_chunks::<2>();
        let mut numbers = numbers.iter().map(|each| u16::from_be_bytes(*each));
        let mut next = || numbers.next();
        let (copies, gap_us, flags, count) = (next()?, next()?, next()?, next()?);
        let sizes: Vec<u16> = numbers.take(usize::from(count)).collect();
        let fits = sizes.len() == usize::from(count)
            && (1..=SIZES_MAX).contains(&sizes.len())
            && sizes.len() * usize::from(copies) <= PACKETS_MAX;
        let (may_fragment, is_train) = (flags & 1 != 0, flags & 2 != 0);
        let class = (flags & CLASSED != 0).then_some((flags >> 8) as u8);
        fits.then_some(Self { sizes, copies, gap_us, may_fragment, is_train, class })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_said() {
        let token = [7; 16];
        let word = Word { says: Says::Packet, round: 70_000, index: 300 };
        let bytes = word.bytes(&token, 100);
        assert_eq!(
            (bytes.len(), Word::read(&bytes, &token).map(|(word, _)| word)),
            (100, Some(word))
        );
        assert_eq!(Word::read(&bytes, &[8; 16]), None, "a stranger's");
        assert_eq!(Word::read(&bytes[..31], &token), None);
        let volley = Volley {
            sizes: vec![1500, 576],
            copies: 4,
            gap_us: 100,
            may_fragment: true,
            is_train: false,
            class: Some(0xb8),
        };
        assert_eq!(Volley::read(&volley.bytes()), Some(volley.clone()));
        assert_eq!(
            (0..4).map(|n| volley.packet(n)).collect::<Vec<_>>(),
            [(0, 1500), (1, 576), (0, 1500), (1, 576)]
        );
        let sent =
            Sent { packets: 1, took_ns: 2, interface_bytes: 3, used_bytes: 4, told_bytes: 5 };
        assert_eq!(Sent::read(&sent.bytes()), Some(sent));
        assert_eq!(Sent::read(&sent.bytes()[1..]), None);
    }

    #[test]
    fn a_peer_cannot_ask_for_more_than_a_volley_may_be() {
        let volley = |sizes: usize, copies: u16| Volley {
            sizes: vec![1500; sizes],
            copies,
            gap_us: 0,
            may_fragment: false,
            is_train: true,
            class: None,
        };
        assert!(Volley::read(&volley(1, 1024).bytes()).is_some());
        assert!(Volley::read(&volley(1, 1025).bytes()).is_none());
        assert!(Volley::read(&volley(65, 1).bytes()).is_none());
        assert!(Volley::read(&volley(0, 1).bytes()).is_none());
        assert!(Volley::read(&volley(4, 1).bytes()[..10]).is_none(), "cut short");
    }

    #[test]
    fn arrivals_are_counted_by_order_and_half() {
        let heard = Heard::of(&[(0, 100), (2, 200), (1, 300), (3, 1000)]);
        assert_eq!((heard.came, heard.late, heard.came_ns), (4, 1, 900));
        assert_eq!((heard.tail, heard.tail_ns), (1, 700));
        assert!(heard.has(3) && !heard.has(4) && !heard.has(9999));
        assert_eq!((heard.head, heard.head_ns), (3, 900));
        assert_eq!(Heard::read(&heard.bytes()), Some(heard));
        let older = Heard { head: 0, head_ns: 0, gaps: None, ..heard };
        assert_eq!(heard.gaps, Some(Gaps { rests: 0, rests_ns: 0, longest_ns: 700 }));
        assert_eq!(Heard::read(&heard.bytes()[..72]), Some(older), "an older agent's");
        let silent = Heard { gaps: None, ..heard };
        assert_eq!(Heard::read(&silent.bytes()), Some(silent), "no gaps are known");
        assert_eq!(Heard::read(&heard.bytes()[..88]), Some(Heard { gaps: None, ..heard }));
        let rests = Heard::of(&[(0, 0), (1, 20_000_000), (2, 20_000_100), (3, 40_000_000)]).gaps;
        let both = Gaps { rests: 2, rests_ns: 39_999_900, longest_ns: 20_000_000 };
        assert_eq!(rests, Some(both));
        assert_eq!(Heard::of(&[]), Heard { gaps: Some(Gaps::default()), ..Heard::default() });
    }
}
