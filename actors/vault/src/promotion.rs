//! Entities that were recalled in other projects than their own: the projects share one note of each, linked both ways.

use std::collections::{BTreeMap, BTreeSet};

use baton_events::projection::table::SessionTable;
use baton_graph::{Label, node_uuid};
use baton_notes::knowledge;
use baton_notes::knowledge::EntityIdentity;
use baton_notes::layout::Place as Lies;
use baton_notes::name;
use uuid::Uuid;

use super::Scribe;
use super::index::Index;
use super::open_vault::{Desk, Open, Written, day};
use super::vault_fs::Refused;
use crate::Surroundings;
use baton_config::settings::Settings;

/// Labels that are never shared, because they belong to one project or are no knowledge.
const NEVER: [Label; 6] =
    [Label::Session, Label::Project, Label::Person, Label::Preference, Label::Branch, Label::Commit];

impl Scribe {
    /// Records that entities were recalled in a project other than their own. Only the first recall becomes an event.
    pub async fn recalled(&self, project: &str, entities: Vec<(Uuid, Label)>) {
        let around = &self.around;
        for (entity, label) in entities {
            if NEVER.contains(&label) {
                continue;
            }
            if let Err(error) = around.memos.recalled(entity, project).await {
                tracing::warn!(%error, "recall in another project not recorded");
            }
        }
        self.wake.notify_one();
    }
}

/// The groups of each project folder, which are part of an entity's id: the project's directory, and groups of its
/// sessions.
fn groups(open: &Open, table: &SessionTable) -> BTreeMap<String, BTreeSet<String>> {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (directory, folder) in open.register.folders() {
        groups.entry(folder.to_owned()).or_default().insert(directory.to_owned());
    }
    for (_, row) in table.iter() {
        if let (Some(group), Some(place)) = (&row.state.group, &row.state.place)
            && let Some(folder) = open.register.folder(&place.project)
        {
            groups.entry(folder.to_owned()).or_default().insert(group.clone());
        }
    }
    groups
}

/// Writes the shared notes of entities that were recalled often enough. `is_news` is true if notes were written since
/// the last call, possibly of such entities. Blocks for the disk.
pub(super) fn promote(
    desk: &mut Desk,
    around: &Surroundings,
    settings: &Settings,
    table: &SessionTable,
    is_news: bool,
) -> Result<(), Refused> {
    let often = usize::try_from(settings.vault.promote_recalls).unwrap_or(usize::MAX);
    let recalled = &table.home().state.recalled;
    let wanted: BTreeSet<Uuid> =
        recalled.iter().filter(|(_, projects)| projects.len() >= often).map(|(entity, _)| entity).collect();
    if wanted.is_empty() && !is_news {
        return Ok(());
    }
    let today = day(around.clock.now());
    let (open, _) = desk.at(&settings.vault)?;
    if open.promoted == wanted && !is_news {
        return Ok(());
    }
    open.look(false)?;
    if wanted.is_empty() && open.index()?.shared_count() == 0 {
        return Ok(());
    }
    let groups = groups(open, table);
    let mut found = meant(open.index()?, &groups, &wanted);
    let places = |(folder, entity, file): &(String, EntityIdentity, String)| {
        let shared = open.known_names().and_then(|names| names.shared(&entity.kind, &entity.name));
        let own = Lies::Entity(folder.clone(), file.clone());
        shared.map(|shared| Lies::Shared(shared.to_owned())).into_iter().chain([own])
    };
    let places: Vec<Lies> = found.iter().flat_map(places).collect();
    if !open.are_there(&places)? {
        found = meant(open.index()?, &groups, &wanted);
    }
    let turn = open.place.turn()?;
    open.follow_entities()?;
    let mut written = Written::default();
    for (folder, entity, file) in found {
        let before = written.files;
        let names = open.index()?;
        let shared = match names.shared(&entity.kind, &entity.name) {
            Some(known) => known.to_owned(),
            None => name::free(&name::safe(&entity.name), |key| names.is_shared(key)),
        };
        let own = Lies::Entity(folder, file);
        let notes = knowledge::shared_entity_notes(&own, &entity, &shared, &open.layout, today);
        open.put(&notes, &mut written)?;
        if written.files > before {
            tracing::info!(kind = %entity.kind, "entity is shared by projects");
        }
    }
    drop(turn);
    open.settle()?;
    if written.left.is_empty() {
        open.promoted = wanted;
    }
    Ok(())
}

/// Returns the entities to be shared, each with its project folder and the name of its note.
fn meant(
    index: &Index,
    groups: &BTreeMap<String, BTreeSet<String>>,
    wanted: &BTreeSet<Uuid>,
) -> Vec<(String, EntityIdentity, String)> {
    let is_wanted = |(folder, kind, name): (&str, &str, &str)| {
        let Some(label) = Label::parse(kind) else { return false };
        let of_folder = groups.get(folder).into_iter().flatten();
        of_folder.into_iter().any(|group| wanted.contains(&node_uuid(group, label, name)))
    };
    let meant: BTreeSet<(&str, &str)> =
        index.entities().filter(|(known, _)| is_wanted(*known)).map(|((_, kind, name), _)| (kind, name)).collect();
    // Packages, commands and topics of one name are the same in every project, but a file belongs to one. A shared
    // entity stays shared, because only the latest recalls are remembered.
    let is_meant = |known: (&str, &str, &str)| match known.1 == Label::File.as_str() {
        true => is_wanted(known),
        false => meant.contains(&(known.1, known.2)) || index.shared(known.1, known.2).is_some(),
    };
    index
        .entities()
        .filter(|(known, _)| is_meant(*known))
        .map(|((folder, kind, name), file)| {
            let (kind, name, project) = (kind.to_owned(), name.to_owned(), folder.to_owned());
            (folder.to_owned(), EntityIdentity { kind, name, project }, file.to_owned())
        })
        .collect()
}
