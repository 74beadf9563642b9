//! Entities that were recalled in several projects besides their own: all projects share a note of each, with links both ways.

use std::sync::Arc;

use baton_events::graph::{Label, node_uuid};
use baton_events::projection::table::SessionTable;
use baton_events::vault::knowledge::{self, EntityIdentity};
use baton_events::vault::layout::Place as Lies;
use baton_events::vault::name;
use uuid::Uuid;

use super::Scribe;
use super::desk::{Desk, Written, day};
use super::place::Refused;
use crate::gateway::Services;
use crate::memos;
use crate::settings::Settings;

/// What a project has of its own, or what is no knowledge of it.
const NEVER: [Label; 6] =
    [Label::Session, Label::Project, Label::Person, Label::Preference, Label::Branch, Label::Commit];

impl Scribe {
    /// Remembers entities, each with its group, that were recalled in a project. Only the first time in a project that is not
    /// their own is an event.
    pub(crate) async fn recalled(&self, services: &Arc<Services>, project: &str, entities: Vec<(Uuid, String, Label)>) {
        for (entity, group, label) in entities {
            if group == project || NEVER.contains(&label) {
                continue;
            }
            match services.memos.recalled(entity, project).await {
                Ok(_) => {}
                Err(memos::Error::Home(why)) => tracing::debug!(%why, "recall in another project not remembered"),
                Err(error) => tracing::warn!(%error, "recall in another project not recorded"),
            }
        }
        self.wake.notify_one();
    }
}

/// Writes the notes of what was recalled often enough. Blocks for the disk.
pub(super) fn promote(
    desk: &mut Desk,
    services: &Services,
    settings: &Settings,
    table: &SessionTable,
) -> Result<(), Refused> {
    let often = usize::try_from(settings.vault.promote_recalls).unwrap_or(usize::MAX);
    let recalled = &table.home().state.recalled;
    let wanted: Vec<Uuid> =
        recalled.iter().filter(|(_, projects)| projects.len() >= often).map(|(entity, _)| *entity).collect();
    if wanted.is_empty() || desk.promoted == wanted {
        return Ok(());
    }
    let today = day(services.clock.now());
    let (open, _) = desk.at(&settings.vault)?;
    open.look(false)?;
    let directories: Vec<(String, String)> =
        open.register.folders().map(|(directory, folder)| (folder.to_owned(), directory.to_owned())).collect();
    let is_wanted = |(folder, kind, name): (&str, &str, &str)| {
        let label = Label::parse(kind)?;
        let (_, directory) = directories.iter().find(|(known, _)| known == folder)?;
        wanted.contains(&node_uuid(directory, label, name)).then_some(())
    };
    let index = open.index()?;
    let found: Vec<(String, EntityIdentity, String)> = index
        .entities()
        .filter(|(known, _)| is_wanted(*known).is_some())
        .map(|((folder, kind, name), file)| {
            let (kind, name, project) = (kind.to_owned(), name.to_owned(), folder.to_owned());
            (folder.to_owned(), EntityIdentity { kind, name, project }, file.to_owned())
        })
        .collect();
    let turn = open.place.turn()?;
    let mut written = Written::default();
    for (folder, entity, file) in found {
        let names = open.index()?;
        let shared = match names.shared(&entity.kind, &entity.name) {
            Some(known) => known.to_owned(),
            None => name::free(&name::safe(&entity.name), |key| names.is_shared(key)),
        };
        let own = Lies::Entity(folder, file);
        let notes = knowledge::promoted(&own, &entity, &shared, &open.layout, today);
        open.put(&notes, &mut written)?;
        if written.files > 0 {
            tracing::info!(kind = %entity.kind, "entity is shared by projects");
        }
    }
    drop(turn);
    open.settle()?;
    if written.left.is_empty() {
        desk.promoted = wanted;
    }
    Ok(())
}
