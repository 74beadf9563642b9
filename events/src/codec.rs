//! How events are declared, written and read.
//!
//! `events!` declares all events of one kind of stream. An event is one entry: its recorded type, the version of its
//! stored shape, its fields, its one-line text and, if it is always the same, why it happens. The entry's
//! fields are the stored shape: `{"field":…}`, with the attributes of serde.
//!
//! A shape that has shipped is frozen. To change one, raise its version. If the new version only adds fields that may be
//! absent, what older versions wrote reads as it is. Anything else is the work of the entry's `upcast`, which edits the
//! older JSON (pure, no defaults from configuration). If the *meaning* changes it is a new event.

use serde::de::value::EnumAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer as _, EnumAccess, Error as _, IntoDeserializer, VariantAccess,
    Visitor,
};
use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Value};

/// Why a stored event could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This version and older ones have no such event.
    #[error("event type {kind:?} is unknown to this version; a newer version of Baton wrote it")]
    UnknownType {
        /// The type.
        kind: String,
    },
    /// A newer version of the program wrote a newer shape.
    #[error("event {kind} has version {found}, this version of Baton reads up to {known}")]
    NewerVersion {
        /// The type.
        kind: &'static str,
        /// Version in the log.
        found: u32,
        /// Newest version known here.
        known: u32,
    },
    /// The data does not have the shape of its type and version.
    #[error("event {kind} version {v} is not readable: {reason}")]
    Malformed {
        /// The type.
        kind: &'static str,
        /// Version of the shape.
        v: u32,
        /// What is wrong.
        reason: String,
    },
}

/// An encoded event: its type, the version of its shape, and its data as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The type.
    pub kind: &'static str,
    /// Version of the shape.
    pub v: u32,
    /// One JSON object.
    pub data: String,
}

/// Declares the events of one kind of stream: the enumeration, `KINDS`, `encode`, `decode`, the one-line text as
/// `Display`, and `usual_reason`.
macro_rules! events {
    (
        $(#[$attribute:meta])*
        $visible:vis enum $event:ident;
        $(
            $(#[$doc:meta])*
            $kind:literal $v:literal $(upcast $upcast:path)? => $variant:ident
            $({ $($(#[$field_attribute:meta])* $field:ident: $type:ty,)* })?
            $(($inner:ident: $inner_type:ty))?
            text ($($text:tt)*)
            $(because $reason:literal)?;
        )*
    ) => {
        $(#[$attribute])*
        #[derive(serde::Serialize, serde::Deserialize)]
        $visible enum $event {
            $(
                $(#[$doc])*
                #[serde(rename = $kind)]
                $variant $({ $($(#[$field_attribute])* $field: $type,)* })? $(($inner_type))?,
            )*
        }

        /// Every event type, in the order of the events.
        $visible const KINDS: [&str; [$($kind),*].len()] = [$($kind),*];

        /// Writes an event in the newest shape of its type.
        $visible fn encode(event: &$event) -> $crate::codec::Encoded {
            let (kind, v) = match event { $($event::$variant { .. } => ($kind, $v),)* };
            $crate::codec::encode(event, kind, v)
        }

        /// Reads an event of any version ever written.
        $visible fn decode(kind: &str, v: u32, data: &str) -> Result<$event, $crate::codec::Error> {
            let known = match kind {
                $($kind => ($kind, $v, $crate::codec::events!(@optional $($upcast as $crate::codec::Upcast)?)),)*
                other => return Err($crate::codec::Error::UnknownType { kind: other.to_owned() }),
            };
            $crate::codec::decode(known, v, data)
        }

        impl std::fmt::Display for $event {
            /// One line. The caller must redact it before showing it: paths and groups are printed as recorded.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant $({ $($field),* })? $(($inner))? => {
                        $($(let _ = $field;)*)?
                        write!(f, $($text)*)
                    })*
                }
            }
        }

        impl $event {
            /// Why it happens, if that is always the same.
            $visible fn usual_reason(&self) -> Option<&'static str> {
                match self { $(Self::$variant { .. } => $crate::codec::events!(@optional $($reason)?),)* }
            }
        }
    };
    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
}
pub(crate) use events;

/// Edits the data that an older version wrote until it has the newest shape.
pub(crate) type Upcast = fn(u32, &mut Value);

/// Writes an event of this type and version.
pub(crate) fn encode(event: &impl Serialize, kind: &'static str, v: u32) -> Encoded {
    // Strings, integers and lists of them always have a JSON form: `{"kind":{…}}`, or `"kind"` without fields.
    let tagged = serde_json::to_string(event).unwrap_or_default();
    let data =
        tagged.strip_prefix("{\"").and_then(|rest| rest.strip_prefix(kind)?.strip_prefix("\":")?.strip_suffix('}'));
    Encoded { kind, v, data: data.unwrap_or("{}").to_owned() }
}

/// Reads an event, given its type, the newest version of its shape, and what lifts older ones.
pub(crate) fn decode<E: DeserializeOwned>(
    (kind, known, upcast): (&'static str, u32, Option<Upcast>),
    v: u32,
    data: &str,
) -> Result<E, Error> {
    let malformed = |reason: String| Error::Malformed { kind, v, reason };
    if v > known {
        return Err(Error::NewerVersion { kind, found: v, known });
    }
    if v == 0 {
        return Err(malformed("there is no version 0".to_owned()));
    }
    let read = |data: &str| E::deserialize(EnumAccessDeserializer::new(Tagged { kind, data }));
    let event = match upcast.filter(|_| v < known) {
        None => read(data),
        Some(upcast) => serde_json::from_str(data).and_then(|mut value| {
            upcast(v, &mut value);
            read(&value.to_string())
        }),
    };
    event.map_err(|error| malformed(error.to_string()))
}

/// The data of an event as the content of the variant that its type names.
struct Tagged<'de> {
    kind: &'static str,
    data: &'de str,
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = serde_json::Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Self::Error> {
        Ok((seed.deserialize(self.kind.into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'de> {
    type Error = serde_json::Error;

    fn unit_variant(self) -> Result<(), Self::Error> {
        #[derive(Deserialize)]
        struct NoFields {}
        serde_json::from_str::<NoFields>(self.data).map(|NoFields {}| ())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Self::Error> {
        let mut json = Deserializer::from_str(self.data);
        let value = seed.deserialize(&mut json)?;
        json.end().map(|()| value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("no event is a list"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let mut json = Deserializer::from_str(self.data);
        let value = json.deserialize_struct(self.kind, fields, visitor)?;
        json.end().map(|()| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    events! {
        /// A test's event.
        #[derive(Clone, Debug, PartialEq)]
        enum Event;

        /// It was stored in blocks first, later in bytes, and can be sealed now.
        "stored" 3 upcast lift => Stored {
            /// Its size.
            bytes: u64,
            /// True if it is sealed.
            sealed: bool,
        }
        text ("stored in {bytes} bytes{}", if *sealed { ", sealed" } else { "" })
        because "it was there";

        /// It was dropped, which had no reason first.
        "dropped" 2 => Dropped {
            /// Why.
            #[serde(skip_serializing_if = "Option::is_none")]
            why: Option<String>,
        }
        text ("dropped");

        /// It is gone.
        "gone" 1 => Gone text ("gone");

        /// It has a name.
        "named" 1 => Named(name: Name) text ("named {}", name.name);
    }

    /// A name.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Name {
        name: String,
    }

    fn lift(v: u32, data: &mut Value) {
        if v == 1 {
            data["bytes"] = (data["blocks"].as_u64().unwrap_or_default() * 1024).into();
        }
        data["sealed"] = false.into();
    }

    #[test]
    fn events_come_back_as_they_were() {
        let name = Name { name: "n\"".to_owned() };
        for (event, kind, data, told) in [
            (
                Event::Stored { bytes: 1, sealed: true },
                "stored",
                r#"{"bytes":1,"sealed":true}"#,
                "stored in 1 bytes, sealed",
            ),
            (Event::Dropped { why: None }, "dropped", "{}", "dropped"),
            (Event::Gone, "gone", "{}", "gone"),
            (Event::Named(name), "named", r#"{"name":"n\""}"#, "named n\""),
        ] {
            let encoded = encode(&event);
            assert_eq!((encoded.kind, encoded.data.as_str()), (kind, data));
            assert_eq!(decode(kind, encoded.v, data).unwrap(), event);
            assert_eq!(event.to_string(), told);
            assert_eq!(event.usual_reason().is_some(), kind == "stored");
        }
        assert_eq!(KINDS, ["stored", "dropped", "gone", "named"]);
    }

    #[test]
    fn older_shapes_are_lifted() {
        let stored = |bytes, sealed| Event::Stored { bytes, sealed };
        assert_eq!(decode("stored", 1, r#"{"blocks":2}"#).unwrap(), stored(2048, false));
        assert_eq!(decode("stored", 2, r#"{"bytes":2}"#).unwrap(), stored(2, false));
        assert_eq!(decode("dropped", 1, "{}").unwrap(), Event::Dropped { why: None });
        assert!(matches!(decode("stored", 4, "{}"), Err(Error::NewerVersion { found: 4, known: 3, .. })));
        assert!(matches!(decode("stored", 0, "{}"), Err(Error::Malformed { .. })));
        assert!(matches!(decode("stored", 2, r#"{"blocks":2}"#), Err(Error::Malformed { v: 2, .. })));
        for (kind, data) in [("stored", "{} {}"), ("gone", "null"), ("gone", "{}x"), ("named", "[nonsense")] {
            assert!(matches!(decode(kind, 1, data), Err(Error::Malformed { v: 1, .. })), "{kind} {data}");
        }
    }
}
