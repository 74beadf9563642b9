//! Values that are text in events and on the wire, and enumerations whose values have a name there.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Implements serde for a type that is stored as text: written by `Display`, read by the named function, which returns
/// `None` for what is no value.
#[macro_export]
macro_rules! serde_as_text {
    ($name:ident, $parse:path) => {
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::parse_text(deserializer, stringify!($name), $parse)
            }
        }
    };
}

/// Reads a text without copying it. The error does not repeat the text, which may be anything.
pub fn parse_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let Text(text) = Text::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| D::Error::custom(format_args!("no such {name}")))
}

/// Returns true for 0, which stored shapes and answers leave out.
pub fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Defines an enumeration in which each value has one name: `ALL`, `as_str`, `parse`, `Display` and serde.
#[macro_export]
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// All names, for a message: `a, b`.
            pub fn names() -> String {
                [$($text),+].join(", ")
            }

            /// The name in events and answers.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value of a recorded name; `None` for any other text.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $crate::serde_as_text!($name, $name::parse);
    };
}
