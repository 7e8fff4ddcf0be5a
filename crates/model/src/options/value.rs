//! What an option is told, how that is written, and its bounds.

use crate::packets::PacketRate;
use crate::{BitsPerSecond, Bytes};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};

/// What an option is told.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(with = "InJson")]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Number(u64),
    /// A time in seconds.
    Seconds(f64),
    /// A size in bytes.
    Size(Bytes),
    /// A rate in bits per second.
    Rate(BitsPerSecond),
    /// A word, a name or a list.
    Text(String),
}

// Every reader below refuses what is not a number, so that equality holds for each value.
impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Seconds(seconds) => seconds.fmt(f),
            Self::Size(bytes) => bytes.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A value as JSON has it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the schema alone")]
enum InJson {
    Switch(bool),
    Number(f64),
    Text(String),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Switch(on) => to.serialize_bool(*on),
            Self::Number(number) => to.serialize_u64(*number),
            Self::Seconds(seconds) => to.serialize_f64(*seconds),
            Self::Size(bytes) => to.serialize_u64(bytes.0),
            Self::Rate(rate) => to.serialize_f64(rate.0),
            Self::Text(text) => to.serialize_str(text),
        }
    }
}

/// A type that an option's value has in the program.
pub trait Told: Sized {
    /// This type's value; `None` for a value of another sort or out of the type's range.
    fn of(value: &Value) -> Option<Self>;
    /// The option's value.
    fn told(self) -> Value;
}

/// A sort of value and the type that holds it.
macro_rules! told {
    ($($held:ty: $sort:ident)*) => {$(
        impl Told for $held {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::$sort(held) => Some(held.clone()),
                    _ => None,
                }
            }

            fn told(self) -> Value {
                Value::$sort(self)
            }
        }
    )*};
}

told! { bool: Switch u64: Number f64: Seconds Bytes: Size BitsPerSecond: Rate String: Text }

/// Whole numbers that are held in fewer bits than a value has.
macro_rules! told_number {
    ($($held:ty)*) => {$(
        impl Told for $held {
            fn of(value: &Value) -> Option<Self> {
                u64::of(value).and_then(|number| Self::try_from(number).ok())
            }

            fn told(self) -> Value {
                Value::Number(self.into())
            }
        }
    )*};
}

told_number! { u8 u32 }

/// What an option can be told: its sort of value, with the bounds that an agent holds it to.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Nothing on the command line, true or false in a file.
    Switch,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// A whole number from the first to the second, or a name of one, in small or capital letters.
    NamedNumber(u64, u64, &'static [(&'static str, u64)]),
    /// One of these numbers.
    OneNumber(&'static [u64]),
    /// Seconds from the first to the second, fractions allowed.
    Seconds(f64, f64),
    /// Bytes from the first to the second; K, M and G are powers of two.
    Size(u64, u64),
    /// Bits per second from 0 on, which means unlimited; K, M and G are powers of ten.
    Rate,
    /// Packets a second from 1 on, or `max`; K, M and G are powers of ten.
    PacketRate,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, in small or capital letters.
    WordOfAnyCase(&'static [&'static str]),
    /// `hot`, `cold`, or bytes up to so many.
    Span(u64),
    /// `LOCAL[,REMOTE]`, two numbers from 0 to 255; either may be empty.
    BytePair,
    /// Text whose reader is elsewhere.
    Text(Form),
}

/// Texts that are read outside of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any text, which its effect checks.
    Any,
    /// A way to send, from the list of the workload's transport.
    Sender,
    /// A way to receive, from the list of the workload's transport.
    Receiver,
    /// Places of both ends' threads, `LOCAL,REMOTE`.
    Places,
    /// One place: CPUs or a node.
    Place,
    /// Nodes of both ends, `LOCAL,REMOTE`.
    Nodes,
    /// A background load, `KERNEL:THREADS[@WHERE][/memory:NODE]`.
    BackgroundLoad,
}

/// Why a value cannot be taken.
#[derive(Clone, Debug, PartialEq)]
pub enum WrongValue {
    /// It is no such value at all: what was written, and what is wanted.
    Unreadable {
        text: String,
        /// What is wanted, as it follows "is not".
        wanted: &'static str,
    },
    /// It is none of the words or numbers that there are.
    NoneOf { text: String, known: String },
    /// It is out of bounds.
    OutOfBounds {
        value: Value,
        /// The least and the most.
        bounds: (Value, Value),
    },
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { text, wanted } => write!(f, "'{text}' is not {wanted}"),
            Self::NoneOf { text, known } => write!(f, "'{text}' is none of {known}"),
            Self::OutOfBounds { value, bounds: (least, most) } => {
                let [value, least, most] = [value, least, most].map(exact);
                write!(f, "{value} is out of bounds, must be {least} to {most}")
            }
        }
    }
}

/// A value without rounding.
fn exact(value: &Value) -> String {
    match value {
        Value::Size(bytes) => format!("{} B", bytes.0),
        other => other.to_string(),
    }
}

impl std::error::Error for WrongValue {}

/// A value as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number.
    Whole(i128),
    /// A number with a fraction.
    Fraction(f64),
    /// Text between quotes, or a word of the command line.
    Text(String),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Fraction(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl<'de> de::Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a text, true or false")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Written, E> {
                Ok(Written::Switch(on))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Written, E> {
                Ok(Written::Whole(number.into()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Written, E> {
                Ok(Written::Whole(number.into()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Written, E> {
                Ok(Written::Fraction(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                Ok(Written::Text(text.to_owned()))
            }
        }
        from.deserialize_any(Any)
    }
}

fn unreadable(written: &Written, wanted: &'static str) -> WrongValue {
    WrongValue::Unreadable { text: written.to_string(), wanted }
}

fn unknown_name(text: &str, names: &[(&str, u64)]) -> WrongValue {
    let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    WrongValue::NoneOf {
        text: text.to_owned(),
        known: format!("{}, nor a number", known.join(", ")),
    }
}

/// A size or a rate, which a file may have as a number or as text.
fn quantity<T: std::str::FromStr>(
    written: &Written,
    wanted: &'static str,
) -> Result<T, WrongValue> {
    match written {
        Written::Whole(_) | Written::Text(_) => {
            written.to_string().parse().map_err(|_| unreadable(written, wanted))
        }
        Written::Switch(_) | Written::Fraction(_) => Err(unreadable(written, wanted)),
    }
}

impl Takes {
    /// Reads a value of a file and holds it to its bounds.
    pub fn read(&self, written: &Written) -> Result<Value, WrongValue> {
        let value = match (self, written) {
            (Self::Switch, Written::Switch(on)) => Value::Switch(*on),
            (Self::NamedNumber(_, _, names), Written::Text(text)) => {
                let known = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
                let (_, number) = known.ok_or_else(|| unknown_name(text, names))?;
                Value::Number(*number)
            }
            (Self::Switch, _) => return Err(unreadable(written, "true or false")),
            (
                Self::Number(..) | Self::NamedNumber(..) | Self::OneNumber(_),
                Written::Whole(number),
            ) => {
                let number = u64::try_from(*number);
                Value::Number(number.map_err(|_| unreadable(written, "a number from 0 on"))?)
            }
            (Self::Number(..) | Self::NamedNumber(..) | Self::OneNumber(_), _) => {
                return Err(unreadable(written, "a whole number"));
            }
            (Self::Seconds(..), Written::Whole(number)) => Value::Seconds(*number as f64),
            (Self::Seconds(..), Written::Fraction(number)) if number.is_finite() => {
                Value::Seconds(*number)
            }
            (Self::Seconds(..), _) => return Err(unreadable(written, "a number of seconds")),
            (Self::Size(..), _) => Value::Size(quantity(written, "a size such as 64K")?),
            // A whole rate has a point where this program wrote the file.
            (Self::Rate, Written::Fraction(bps)) if bps.fract() == 0.0 && *bps >= 0.0 => {
                Value::Rate(BitsPerSecond(*bps))
            }
            (Self::Rate, _) => Value::Rate(quantity(written, "a rate such as 10G")?),
            (Self::PacketRate, Written::Switch(_)) => {
                return Err(unreadable(written, PacketRate::WANTED));
            }
            (Self::PacketRate, _) => {
                let rate = written.to_string().parse::<PacketRate>();
                let rate = rate.map_err(|_| unreadable(written, PacketRate::WANTED))?;
                Value::Text(rate.to_string())
            }
            (_, Written::Text(text)) => Value::Text(text.clone()),
            _ => return Err(unreadable(written, "a text between quotes")),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Reads a word of the command line and holds it to its bounds.
    pub fn parse(&self, text: &str) -> Result<Value, WrongValue> {
        let number = |wanted| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| unreadable(&Written::Text(text.to_owned()), wanted))
        };
        let value = match self {
            Self::Switch => Value::Switch(true),
            Self::Number(..) | Self::OneNumber(_) => Value::Number(
                text.parse::<u64>()
                    .map_err(|_| unreadable(&Written::Text(text.to_owned()), "a whole number"))?,
            ),
            Self::Seconds(..) => Value::Seconds(number("a number of seconds")?),
            Self::NamedNumber(..) => match text.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => return self.read(&Written::Text(text.to_owned())),
            },
            _ => return self.read(&Written::Text(text.to_owned())),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is within bounds.
    pub fn check(&self, value: &Value) -> Result<(), WrongValue> {
        let none_of = |known: String| Err(WrongValue::NoneOf { text: value.to_string(), known });
        match (self, value) {
            (
                Self::Number(least, most) | Self::NamedNumber(least, most, _),
                Value::Number(number),
            ) => within(value, least <= number && number <= most, *least, *most),
            (Self::Seconds(least, most), Value::Seconds(seconds)) => {
                within(value, least <= seconds && seconds <= most, *least, *most)
            }
            (Self::Size(least, most), Value::Size(bytes)) => {
                let fits = *least <= bytes.0 && bytes.0 <= *most;
                within(value, fits, Bytes(*least), Bytes(*most))
            }
            (Self::OneNumber(known), Value::Number(number)) if !known.contains(number) => {
                none_of(known.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
            }
            (Self::Word(known), Value::Text(text)) if !known.contains(&text.as_str()) => {
                none_of(known.join(", "))
            }
            (Self::WordOfAnyCase(known), Value::Text(text))
                if !known.iter().any(|word| word.eq_ignore_ascii_case(text)) =>
            {
                none_of(known.join(", "))
            }
            (Self::Span(_), Value::Text(text)) => match text.as_str() {
                "hot" | "cold" => Ok(()),
                size => match size.parse::<Bytes>() {
                    Ok(bytes) => self.check(&Value::Size(bytes)),
                    Err(_) => Err(unreadable(&Written::Text(size.into()), "hot, cold or a size")),
                },
            },
            (Self::Span(most), Value::Size(bytes)) => {
                within(value, bytes.0 <= *most, Bytes(0), Bytes(*most))
            }
            (Self::BytePair, Value::Text(text)) => {
                let words = text.splitn(2, ',').map(str::trim);
                if words.filter(|word| !word.is_empty()).all(|word| word.parse::<u8>().is_ok()) {
                    Ok(())
                } else {
                    Err(unreadable(
                        &Written::Text(text.clone()),
                        "a number from 0 to 255, or two with a comma",
                    ))
                }
            }
            _ => Ok(()),
        }
    }
}

fn within<T: Told>(value: &Value, fits: bool, least: T, most: T) -> Result<(), WrongValue> {
    if fits {
        return Ok(());
    }
    Err(WrongValue::OutOfBounds { value: value.clone(), bounds: (least.told(), most.told()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(takes: Takes, text: &str) -> String {
        takes.parse(text).map_or_else(|wrong| wrong.to_string(), |value| format!("{value:?}"))
    }

    #[test]
    fn words_of_the_command_line_are_read_within_bounds() {
        let number = Takes::Number(1, 63);
        assert_eq!(number.parse("63"), Ok(Value::Number(63)));
        assert_eq!(says(number, "64"), "64 is out of bounds, must be 1 to 63");
        assert_eq!(says(number, "0"), "0 is out of bounds, must be 1 to 63");
        assert_eq!(says(number, "-1"), "'-1' is not a whole number");
        let named = Takes::NamedNumber(0, 63, &[("CS1", 8), ("EF", 46)]);
        assert_eq!(named.parse("ef"), Ok(Value::Number(46)));
        assert_eq!(named.parse("8"), Ok(Value::Number(8)));
        assert_eq!(says(named, "64"), "64 is out of bounds, must be 0 to 63");
        assert_eq!(says(named, "EFF"), "'EFF' is none of CS1, EF, nor a number");
        assert_eq!(says(Takes::OneNumber(&[256, 512]), "300"), "'300' is none of 256, 512");
        assert_eq!(Takes::Size(1, 1 << 20).parse("1M"), Ok(Value::Size(Bytes::mib(1))));
        assert_eq!(says(Takes::Size(1, 2), "3"), "3 B is out of bounds, must be 1 B to 2 B");
        assert_eq!(says(Takes::Size(1, 2), "x"), "'x' is not a size such as 64K");
        assert_eq!(Takes::Rate.parse("3G"), Ok(Value::Rate(BitsPerSecond(3e9))));
        assert_eq!(says(Takes::Seconds(0.5, 2.0), "nan"), "'nan' is not a number of seconds");
        assert_eq!(says(Takes::Seconds(0.5, 2.0), "2.1"), "2.1 is out of bounds, must be 0.5 to 2");
        assert_eq!(says(Takes::Word(&["on", "off"]), "ON"), "'ON' is none of on, off");
        assert_eq!(Takes::WordOfAnyCase(&["rc"]).parse("RC"), Ok(Value::Text("RC".into())));
        assert_eq!(says(Takes::WordOfAnyCase(&["rc"]), "xrc"), "'xrc' is none of rc");
    }

    #[test]
    fn a_file_writes_each_sort_of_value_its_own_way() {
        let read = |takes: Takes, written| takes.read(&written).map_err(|wrong| wrong.to_string());
        let text = |text: &str| Written::Text(text.to_owned());
        assert_eq!(read(Takes::Switch, Written::Switch(false)), Ok(Value::Switch(false)));
        assert!(read(Takes::Switch, text("true")).is_err());
        assert_eq!(read(Takes::Number(0, 9), Written::Whole(9)), Ok(Value::Number(9)));
        assert!(read(Takes::Number(0, 9), text("9")).is_err(), "a number has no quotes");
        assert!(read(Takes::Number(0, 9), Written::Whole(-1)).is_err());
        let named = Takes::NamedNumber(0, 63, &[("EF", 46)]);
        assert_eq!(read(named, text("EF")), Ok(Value::Number(46)));
        assert_eq!(read(named, Written::Whole(5)), Ok(Value::Number(5)));
        assert!(read(named, text("46")).is_err(), "a number has no quotes");
        assert_eq!(read(Takes::Size(0, 9), Written::Whole(9)), Ok(Value::Size(Bytes(9))));
        assert_eq!(read(Takes::Size(0, 9999), text("1K")), Ok(Value::Size(Bytes(1024))));
        assert!(read(Takes::Size(0, 9), Written::Fraction(1.0)).is_err());
        let rate = |bps| read(Takes::Rate, Written::Fraction(bps));
        assert_eq!(rate(1e8), Ok(Value::Rate(BitsPerSecond(1e8))), "as this program writes it");
        assert!(rate(0.5).is_err() && rate(-1.0).is_err() && rate(f64::NAN).is_err());
        for written in [text("20k"), Written::Whole(20_000), Written::Fraction(2e4)] {
            assert_eq!(read(Takes::PacketRate, written), Ok(Value::Text("20000".into())));
        }
        assert_eq!(read(Takes::PacketRate, text("max")), Ok(Value::Text("max".into())));
        assert!(read(Takes::PacketRate, Written::Switch(true)).is_err());
        assert!(read(Takes::PacketRate, Written::Whole(0)).is_err());
        let seconds = Takes::Seconds(0.5, 2.0);
        assert_eq!(read(seconds, Written::Whole(2)), Ok(Value::Seconds(2.0)));
        assert_eq!(read(seconds, Written::Fraction(0.5)), Ok(Value::Seconds(0.5)));
        let beyond = "out of bounds, must be 0.5 to 2";
        for (written, says) in [(Written::Whole(9), "9"), (Written::Fraction(0.4), "0.4")] {
            assert_eq!(read(seconds, written), Err(format!("{says} is {beyond}")));
        }
        assert!(read(seconds, Written::Fraction(f64::NAN)).is_err());
        assert!(read(Takes::Text(Form::Any), Written::Whole(9)).is_err());
    }

    #[test]
    fn a_value_is_held_by_its_type_alone() {
        assert_eq!(u8::of(&Value::Number(255)), Some(255));
        assert_eq!(u8::of(&Value::Number(256)), None);
        assert_eq!(u32::of(&Value::Switch(true)), None);
        assert_eq!(Bytes::of(&5u32.told()), None);
        assert_eq!(Bytes::of(&Bytes(5).told()), Some(Bytes(5)));
    }
}
