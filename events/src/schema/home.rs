//! Stored shapes of the home's events. [`super::session`] describes how to change one.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::version::{Encoded, Error, Shape, first_version, read, write};
use crate::home::{Event, NamedRoot};
use baton_conversation::record::{Position, Timestamp};

/// Every event type of the home.
pub const KINDS: [&str; 8] = [
    RootAddedV1::KIND,
    GroupClearedV1::KIND,
    GroupRestoredV1::KIND,
    FactDeletedV1::KIND,
    FactRestoredV1::KIND,
    EntityRecalledV1::KIND,
    ModelEnabledV1::KIND,
    ModelDisabledV1::KIND,
];

#[derive(Serialize, Deserialize)]
struct RootAddedV1 {
    config_dir: String,
    named_by: String,
}

#[derive(Serialize, Deserialize)]
struct GroupClearedV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    up_to: u64,
}

#[derive(Serialize, Deserialize)]
struct GroupRestoredV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct FactDeletedV1 {
    fact: String,
}

#[derive(Serialize, Deserialize)]
struct FactRestoredV1 {
    fact: String,
}

#[derive(Serialize, Deserialize)]
struct EntityRecalledV1 {
    entity: String,
    project: String,
}

#[derive(Serialize, Deserialize)]
struct ModelEnabledV1 {
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct ModelDisabledV1 {}

first_version! {
    RootAddedV1 = "root_added",
    GroupClearedV1 = "group_cleared",
    GroupRestoredV1 = "group_restored",
    FactDeletedV1 = "fact_deleted",
    FactRestoredV1 = "fact_restored",
    EntityRecalledV1 = "entity_recalled",
    ModelEnabledV1 = "model_enabled",
    ModelDisabledV1 = "model_disabled",
}

/// Writes an event in the newest shape of its type.
pub fn encode(event: &Event) -> Encoded {
    match event {
        Event::RootAdded(root) => {
            write(&RootAddedV1 { config_dir: root.config_dir.clone(), named_by: root.named_by.clone() })
        }
        Event::GroupCleared { group, up_to } => write(&GroupClearedV1 { group: group.clone(), up_to: up_to.0 }),
        Event::GroupRestored { group } => write(&GroupRestoredV1 { group: group.clone() }),
        Event::FactDeleted { fact } => write(&FactDeletedV1 { fact: fact.to_string() }),
        Event::FactRestored { fact } => write(&FactRestoredV1 { fact: fact.to_string() }),
        Event::EntityRecalled { entity, project } => {
            write(&EntityRecalledV1 { entity: entity.to_string(), project: project.clone() })
        }
        Event::ModelEnabled { at } => write(&ModelEnabledV1 { at: at.0 }),
        Event::ModelDisabled => write(&ModelDisabledV1 {}),
    }
}

/// Reads an event of any version ever written.
pub fn decode(kind: &str, v: u32, data: &str) -> Result<Event, Error> {
    match kind {
        RootAddedV1::KIND => {
            let RootAddedV1 { config_dir, named_by } = read(v, data)?;
            Ok(Event::RootAdded(NamedRoot { config_dir, named_by }))
        }
        GroupClearedV1::KIND => {
            let GroupClearedV1 { group, up_to } = read(v, data)?;
            Ok(Event::GroupCleared { group, up_to: Position(up_to) })
        }
        GroupRestoredV1::KIND => {
            let GroupRestoredV1 { group } = read(v, data)?;
            Ok(Event::GroupRestored { group })
        }
        FactDeletedV1::KIND => {
            let shape: FactDeletedV1 = read(v, data)?;
            Ok(Event::FactDeleted { fact: uuid::<FactDeletedV1>(v, "fact", &shape.fact)? })
        }
        FactRestoredV1::KIND => {
            let shape: FactRestoredV1 = read(v, data)?;
            Ok(Event::FactRestored { fact: uuid::<FactRestoredV1>(v, "fact", &shape.fact)? })
        }
        EntityRecalledV1::KIND => {
            let EntityRecalledV1 { entity, project } = read(v, data)?;
            Ok(Event::EntityRecalled { entity: uuid::<EntityRecalledV1>(v, "entity", &entity)?, project })
        }
        ModelEnabledV1::KIND => {
            let ModelEnabledV1 { at } = read(v, data)?;
            Ok(Event::ModelEnabled { at: Timestamp(at) })
        }
        ModelDisabledV1::KIND => read::<ModelDisabledV1>(v, data).map(|_| Event::ModelDisabled),
        other => Err(Error::UnknownType { kind: other.to_owned() }),
    }
}

fn uuid<S: Shape>(v: u32, field: &str, text: &str) -> Result<Uuid, Error> {
    let reason = || format!("{field} has no such value");
    Uuid::try_parse(text).map_err(|_| Error::Malformed { kind: S::KIND, v, reason: reason() })
}
