//! Versions of stored event shapes, and how an old one is lifted to the newest.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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

/// One version of an event's stored shape.
pub(super) trait Shape: Serialize + DeserializeOwned {
    /// The event's type in the log.
    const KIND: &'static str;
    /// This shape's version, from 1.
    const V: u32;
    /// The previous version; [`Oldest`] for version 1.
    type Older: Shape + Into<Self>;
}

/// The end of every chain of versions: there is no version 0.
#[derive(Serialize, Deserialize)]
pub(super) enum Oldest {}

impl Shape for Oldest {
    const KIND: &'static str = "";
    const V: u32 = 0;
    type Older = Self;
}

/// Reads data of any version up to `S`'s and lifts it, version by version, to `S`.
pub(super) fn read<S: Shape>(v: u32, data: &str) -> Result<S, Error> {
    let malformed = |reason: String| Error::Malformed { kind: S::KIND, v, reason };
    if v > S::V {
        return Err(Error::NewerVersion { kind: S::KIND, found: v, known: S::V });
    }
    if v == S::V {
        return serde_json::from_str(data).map_err(|error| malformed(error.to_string()));
    }
    if v == 0 {
        return Err(malformed("there is no version 0".to_owned()));
    }
    read::<S::Older>(v, data).map(Into::into)
}

macro_rules! first_version {
    ($($shape:ident = $kind:literal),+ $(,)?) => {
        $(
            impl $crate::schema::version::Shape for $shape {
                const KIND: &'static str = $kind;
                const V: u32 = 1;
                type Older = $crate::schema::version::Oldest;
            }
            impl From<$crate::schema::version::Oldest> for $shape {
                fn from(never: $crate::schema::version::Oldest) -> Self {
                    match never {}
                }
            }
        )+
    };
}
pub(super) use first_version;

/// Writes an event in the newest shape of its type.
pub(super) fn write<S: Shape>(shape: &S) -> Encoded {
    // A struct of strings and integers always has a JSON form.
    let data = serde_json::to_string(shape).unwrap_or_default();
    Encoded { kind: S::KIND, v: S::V, data }
}

#[cfg(test)]
mod tests;
