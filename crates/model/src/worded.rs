//! Closed sets whose members have words in files. A word of another version of narrows is kept as
//! it is, and equals none that this one knows.

/// Declares such a set: `name: Word = "word", ...`.
macro_rules! worded {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A word of another version of narrows.
            Other(Box<str>),
        }

        impl $name {
            /// All that this version knows, in the order of their words in the options.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in files and reports.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other.into()),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words: Vec<&str> = Self::ALL.iter().map(Self::as_str).collect();
                schemars::json_schema!({ "type": "string", "examples": words })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(|word| Self::from(word.as_str()))
            }
        }
    };
}

pub(crate) use worded;

#[cfg(test)]
mod tests {
    use crate::load::Wait;
    use crate::rdma::RdmaTransport;

    #[test]
    fn the_words_are_those_of_older_files() {
        let waits: Vec<&str> = Wait::ALL.iter().map(Wait::as_str).collect();
        assert_eq!(waits, ["block", "busy-poll", "spin"]);
        let transports: Vec<&str> = RdmaTransport::ALL.iter().map(RdmaTransport::as_str).collect();
        let wanted = ["InfiniBand", "iWARP", "libfabric", "RoCE", "RoCE v1", "RoCE v2"];
        assert_eq!(transports, wanted);
        for (wait, word) in Wait::ALL.iter().zip(waits) {
            let text = serde_json::to_string(wait).expect("a word");
            assert_eq!(text, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<Wait>(&text).expect("a way"), *wait);
        }
    }

    #[test]
    fn a_word_of_another_version_is_kept_and_is_none_of_these() {
        let other: Wait = serde_json::from_str("\"umwait\"").expect("a word");
        assert!(!Wait::ALL.contains(&other));
        assert_eq!(serde_json::to_string(&other).expect("a word"), "\"umwait\"");
        assert_eq!(RdmaTransport::default().as_str(), "");
    }
}
