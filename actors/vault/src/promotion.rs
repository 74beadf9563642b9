//! Entities that were recalled in other projects than their own: the projects share one note of each, linked both ways.

use std::collections::{BTreeMap, BTreeSet};

use baton_events::projection::table::SessionTable;
use baton_graph::{Label, node_uuid};
use baton_notes::knowledge;
use baton_notes::knowledge::EntityIdentity;
use baton_notes::layout::NoteRole;
use baton_notes::name;
use uuid::Uuid;

use super::NoteWriter;
use super::index::Index;
use super::open_vault::{OpenVault, Vaults, Written, day};
use super::vault_fs::Refused;
use crate::Options;
use baton_config::settings::Settings;

/// Labels that are never shared, because they belong to one project or carry no knowledge.
const NEVER_SHARED: [Label; 6] =
    [Label::Session, Label::Project, Label::Person, Label::Preference, Label::Branch, Label::Commit];

impl NoteWriter {
    /// Records that entities were recalled in a project other than their own. Only the first recall becomes an event.
    pub async fn record_recalls(&self, project: &str, entities: Vec<(Uuid, Label)>) {
        let options = &self.options;
        for (entity, label) in entities {
            if NEVER_SHARED.contains(&label) {
                continue;
            }
            if let Err(error) = options.memos.record_recall(entity, project).await {
                tracing::warn!(%error, "recall in another project not recorded");
            }
        }
        self.wake.notify_one();
    }
}

/// The groups of each project folder, which are part of an entity's id: the project's directory, and groups of its
/// sessions.
fn groups(open: &OpenVault, table: &SessionTable) -> BTreeMap<String, BTreeSet<String>> {
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
    vaults: &mut Vaults,
    options: &Options,
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
    let today = day(&*options.clock);
    let (open, _) = vaults.open(&settings.vault)?;
    if open.promoted == wanted && !is_news {
        return Ok(());
    }
    open.check(false)?;
    if wanted.is_empty() && open.index()?.shared_count() == 0 {
        return Ok(());
    }
    let groups = groups(open, table);
    let mut found = entities_to_share(open.index()?, &groups, &wanted);
    let places = |(folder, entity, file): &(String, EntityIdentity, String)| {
        let shared = open.known_index().and_then(|names| names.shared_note(&entity.kind, &entity.name));
        let own = NoteRole::Entity(folder.clone(), file.clone());
        shared.map(|shared| NoteRole::Shared(shared.to_owned())).into_iter().chain([own])
    };
    let places: Vec<NoteRole> = found.iter().flat_map(places).collect();
    if !open.check_places(&places)? {
        found = entities_to_share(open.index()?, &groups, &wanted);
    }
    let lock = open.vault_fs.lock()?;
    open.relink_entity_notes()?;
    let mut written = Written::default();
    for (folder, entity, file) in found {
        let before = written.files;
        let names = open.index()?;
        let shared = match names.shared_note(&entity.kind, &entity.name) {
            Some(known) => known.to_owned(),
            None => name::free_name(&name::safe_file_name(&entity.name), |key| names.has_shared_name(key)),
        };
        let own = NoteRole::Entity(folder, file);
        let notes = knowledge::shared_entity_notes(&own, &entity, &shared, &open.layout, today);
        open.merge_notes(&notes, &mut written)?;
        if written.files > before {
            tracing::info!(kind = %entity.kind, "entity is shared by projects");
        }
    }
    drop(lock);
    open.sync()?;
    if written.left.is_empty() {
        open.promoted = wanted;
    }
    Ok(())
}

/// Returns the entities to be shared, each with its project folder and the name of its note.
fn entities_to_share(
    index: &Index,
    groups: &BTreeMap<String, BTreeSet<String>>,
    wanted: &BTreeSet<Uuid>,
) -> Vec<(String, EntityIdentity, String)> {
    let is_wanted = |(folder, kind, name): (&str, &str, &str)| {
        let Some(label) = Label::named(kind) else { return false };
        let of_folder = groups.get(folder).into_iter().flatten();
        of_folder.into_iter().any(|group| wanted.contains(&node_uuid(group, label, name)))
    };
    let entities_to_share: BTreeSet<(&str, &str)> =
        index.entities().filter(|(known, _)| is_wanted(*known)).map(|((_, kind, name), _)| (kind, name)).collect();
    // Packages, commands and topics of one name are the same in every project, but a file belongs to one. A shared
    // entity stays shared, because only the latest recalls are remembered.
    let is_meant = |known: (&str, &str, &str)| match known.1 == Label::File.as_str() {
        true => is_wanted(known),
        false => entities_to_share.contains(&(known.1, known.2)) || index.shared_note(known.1, known.2).is_some(),
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
