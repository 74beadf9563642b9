//! The files of an agent that are changed: what is put into each, and how each becomes what it was before.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::{self, Document};
use super::hooks::{self, AllHooks};
use super::locations::Scope;
use super::plan::{Change, Kind};
use super::target::Target;
use super::{Error, Installer, Unfit, UnfitKind};

/// What is put into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Hooks,
    Server,
}

/// A file, and what is put into it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) parts: Vec<Part>,
}

impl Installer {
    /// The files that are changed, each with what is put into it.
    pub(super) fn places(&self) -> Vec<Place> {
        let hooks = self.setup.hooks.map(|_| (&self.files.settings, Part::Hooks));
        let server = self.files.servers.as_ref().map(|path| (path, Part::Server));
        let mut places: Vec<Place> = Vec::new();
        for (path, part) in hooks.into_iter().chain(server) {
            match places.iter_mut().find(|place| place.path == *path) {
                Some(place) => place.parts.push(part),
                None => places.push(Place { path: path.clone(), parts: vec![part] }),
            }
        }
        places
    }

    pub(super) fn put_in(&self, parts: &[Part], document: &mut Document) -> Result<(), document::Error> {
        parts.iter().try_for_each(|part| match (part, self.setup.hooks) {
            (Part::Hooks, Some(form)) => hooks::put_in(document, AllHooks { form, command: &self.hook_command }),
            (Part::Hooks, None) => Ok(()),
            (Part::Server, _) => self.server.put_in(document),
        })
    }

    pub(super) fn take_out(&self, parts: &[Part], document: &mut Document) -> Result<(), document::Error> {
        parts.iter().try_for_each(|part| match (part, self.setup.hooks) {
            (Part::Hooks, Some(form)) => hooks::take_out(document, form),
            (Part::Hooks, None) => Ok(()),
            (Part::Server, _) => self.server.take_out(document),
        })
    }

    /// What is put into a file, as a file of its own.
    pub(super) fn by_hand(&self, parts: &[Part]) -> String {
        let made = Document::read("").and_then(|mut made| self.put_in(parts, &mut made).map(|()| made.text()));
        made.unwrap_or_default().trim_end().to_owned()
    }

    /// Plans a file without our entries: restored from the backup it was made from, removed if there was none before
    /// us, or otherwise only without the entries. `None` if it has none.
    pub(super) fn undone(&self, place: &Place) -> Result<Option<Change>, Error> {
        let target = Target::read(&place.path)?;
        if target.text.is_none() {
            return Ok(None);
        }
        let mut document = self.document(&target)?;
        let had = document.text();
        self.take_out(&place.parts, &mut document).map_err(|source| self.content(&target, source))?;
        if document.text() == had {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        let put_in = |text: &str| {
            let added = |mut then: Document| self.put_in(&place.parts, &mut then).map(|()| then);
            Document::read(text).and_then(added).ok()
        };
        let taken_out = |text: &str| {
            let removed = |mut then: Document| self.take_out(&place.parts, &mut then).map(|()| then);
            Document::read(text).and_then(removed).ok()
        };
        let backups = target.backups();
        // The origin is the backup without our entries that becomes the current text when they are added.
        let origin = backups.iter().rev().find(|(_, copy)| {
            let is_without = taken_out(copy).is_some_and(|then| Document::read(copy).is_ok_and(|now| now == then));
            is_without && put_in(copy).is_some_and(|then| then.text() == target.text())
        });
        if let Some((_, copy)) = origin {
            let text = copy.clone();
            return Ok(Some(Change(Kind::Write { target, text, is_undone: true })));
        }
        let text = document.text();
        let is_known = backups.iter().any(|(_, copy)| *copy == text);
        // What is left of a file that holds nothing but our entries.
        let left = [Some(json!({})), put_in("").and_then(|made| taken_out(&made.text())?.value().ok())];
        let is_of_ours = |copy: &str| left.contains(&taken_out(copy).and_then(|then| then.value().ok()));
        // The backups are removed as well, so they must contain only our entries.
        let are_ours = backups.iter().all(|(_, copy)| is_of_ours(copy));
        if !is_known && are_ours && put_in("").is_some_and(|made| is_same_form(&made.text(), target.text())) {
            let folder = target.path.parent().filter(|_| self.files.scope == Scope::Project);
            let folder = folder.filter(|folder| folder.ends_with(".claude")).map(Path::to_owned);
            return Ok(Some(Change(Kind::Remove { target, folder })));
        }
        Ok(Some(Change(Kind::Write { target, text, is_undone: is_known })))
    }

    /// Plans a change; `None` if the file is up to date.
    pub(super) fn write(&self, target: Target, text: String) -> Result<Option<Change>, Error> {
        let is_different = target.text.as_deref().map_or(!text.is_empty(), |before| before != text);
        if !is_different {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        Ok(Some(Change(Kind::Write { target, text, is_undone: false })))
    }

    /// In project scope, refuses a file outside the project: a repository may contain links to anywhere. For a user,
    /// refuses a link unless the agent's files have always been changed through links.
    pub(super) fn must_be_ours_to_change(&self, target: &Target) -> Result<(), Error> {
        if let Some(top) = &self.files.top {
            return Ok(target.must_lie_below(top)?);
        }
        match std::fs::read_link(&target.path) {
            Ok(leads_to) if !self.setup.follows_links() => Err(self.unfit(&target.path, UnfitKind::Link(leads_to))),
            _ => Ok(()),
        }
    }

    pub(super) fn document(&self, target: &Target) -> Result<Document, Error> {
        Document::read(target.text()).map_err(|source| self.content(target, source))
    }

    pub(super) fn value(&self, target: &Target) -> Result<Value, Error> {
        self.document(target)?.value().map_err(|source| self.content(target, source))
    }

    pub(super) fn content(&self, target: &Target, source: document::Error) -> Error {
        self.unfit(&target.path, source.into())
    }

    /// The error that a file's content cannot be used, with the text to add by hand.
    fn unfit(&self, path: &Path, kind: UnfitKind) -> Error {
        let parts: Vec<Part> =
            self.places().into_iter().filter(|place| place.path == *path).flat_map(|place| place.parts).collect();
        let remedy = format!("fix it, or add this by hand:\n{}", self.by_hand(&parts));
        Error::Content { path: path.to_owned(), source: Unfit(kind), remedy }
    }
}

/// True if a file is what we would create from nothing, as this or another installation makes it: paths may differ.
fn is_same_form(made: &str, there: &str) -> bool {
    let is_path = |line: &str| {
        let keys = ["\"command\":", "\"bash\":", "\"BATON_HOME\":", "\"/"];
        keys.iter().any(|key| line.trim_start().starts_with(key))
    };
    let is_same = |(made, line): (&str, &str)| made == line || is_path(made) && is_path(line);
    made.lines().count() == there.lines().count() && made.lines().zip(there.lines()).all(is_same)
}
