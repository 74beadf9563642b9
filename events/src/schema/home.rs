//! Stored shapes of the home's events. How to change one is told in [`super::session`].

use serde::{Deserialize, Serialize};

use super::session::shape::{Oldest, Shape, read};
use super::session::{Encoded, Error};
use crate::home::{Event, NamedRoot};

/// Every event type of the home.
pub const KINDS: [&str; 1] = [RootAddedV1::KIND];

#[derive(Serialize, Deserialize)]
struct RootAddedV1 {
    config_dir: String,
    named_by: String,
}

impl Shape for RootAddedV1 {
    const KIND: &'static str = "root_added";
    const V: u32 = 1;
    type Older = Oldest;
}

impl From<Oldest> for RootAddedV1 {
    fn from(never: Oldest) -> Self {
        match never {}
    }
}

/// Writes an event in the newest shape of its type.
pub fn encode(event: &Event) -> Encoded {
    let Event::RootAdded(root) = event;
    let shape = RootAddedV1 { config_dir: root.config_dir.clone(), named_by: root.named_by.clone() };
    // A struct of strings always has a JSON form.
    let data = serde_json::to_string(&shape).unwrap_or_default();
    Encoded { kind: RootAddedV1::KIND, v: RootAddedV1::V, data }
}

/// Reads an event of any version ever written.
pub fn decode(kind: &str, v: u32, data: &str) -> Result<Event, Error> {
    match kind {
        RootAddedV1::KIND => {
            let RootAddedV1 { config_dir, named_by } = read(v, data)?;
            Ok(Event::RootAdded(NamedRoot { config_dir, named_by }))
        }
        other => Err(Error::UnknownType { kind: other.to_owned() }),
    }
}
