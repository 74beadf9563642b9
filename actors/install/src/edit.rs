//! The files of an agent that are changed: what is added to each, and how each is restored.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agents::Host;
use super::codex_config;
use super::document::{self, Document};
use super::entry_form;
use super::foreign_file::Target;
use super::hooks::{self, AllHooks};
use super::locations::Scope;
use super::plan::{Change, Kind};
use super::{Error, Installer, Unfit, UnfitKind};

/// A part that is added to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Hooks,
    Server,
}

/// A file, and the parts added to it.
#[derive(Debug, Clone)]
pub(super) struct FileParts {
    pub(super) path: PathBuf,
    pub(super) parts: Vec<Part>,
}

impl FileParts {
    /// True for Codex's file.
    fn is_toml(&self) -> bool {
        self.path.ends_with(entry_form::CODEX_FILE)
    }

    /// The parsed value of a text of the file.
    pub(super) fn value(&self, text: &str) -> Result<Value, document::Error> {
        if self.is_toml() { codex_config::value(text) } else { Document::read(text)?.value() }
    }

    /// A text of the file after an edit that changes nothing.
    fn normal(&self, text: &str) -> Result<String, document::Error> {
        if self.is_toml() { Ok(text.to_owned()) } else { Document::read(text).map(|document| document.text()) }
    }

    /// True unless the file has comments or trailing commas in JSON, which its agent may not accept.
    pub(super) fn is_strict(&self, text: &str) -> bool {
        self.is_toml() || Document::read(text).is_ok_and(|document| document.is_strict())
    }
}

impl Installer {
    /// The files that are changed, each with the parts added to it.
    pub(super) fn places(&self) -> Vec<FileParts> {
        let hooks = self.setup.hooks.map(|_| (&self.files.settings, Part::Hooks));
        let server = self.files.servers.as_ref().map(|path| (path, Part::Server));
        let mut places: Vec<FileParts> = Vec::new();
        for (path, part) in hooks.into_iter().chain(server) {
            match places.iter_mut().find(|place| place.path == *path) {
                Some(place) => place.parts.push(part),
                None => places.push(FileParts { path: path.clone(), parts: vec![part] }),
            }
        }
        places
    }

    /// A text of the file with the parts added.
    pub(super) fn put_in(&self, place: &FileParts, text: &str) -> Result<String, document::Error> {
        if place.is_toml() {
            return codex_config::put_in(&self.server, text);
        }
        let mut document = Document::read(text)?;
        for part in &place.parts {
            match (part, self.setup.hooks) {
                (Part::Hooks, Some(form)) => {
                    hooks::put_in(&mut document, AllHooks { form, command: &self.hook_command })?;
                }
                (Part::Hooks, None) => {}
                (Part::Server, _) => self.server.put_in(&mut document)?,
            }
        }
        Ok(document.text())
    }

    /// A text of the file without the parts.
    fn take_out(&self, place: &FileParts, text: &str) -> Result<String, document::Error> {
        if place.is_toml() {
            return codex_config::take_out(&self.server, text);
        }
        let mut document = Document::read(text)?;
        for part in &place.parts {
            match (part, self.setup.hooks) {
                (Part::Hooks, Some(form)) => hooks::take_out(&mut document, form)?,
                (Part::Hooks, None) => {}
                (Part::Server, _) => self.server.take_out(&mut document)?,
            }
        }
        Ok(document.text())
    }

    /// The added parts, as a file of their own.
    pub(super) fn manual_text(&self, place: &FileParts) -> String {
        self.put_in(place, "").unwrap_or_default().trim_end().to_owned()
    }

    /// Plans a file without our entries: restored from the backup it was made from, removed if there was none before
    /// us, or otherwise only without the entries. `None` if it has none.
    pub(super) fn plan_undo(&self, place: &FileParts) -> Result<Option<Change>, Error> {
        let target = Target::read(&place.path)?;
        let Some(had) = target.text.as_deref().map(|text| place.normal(text)) else { return Ok(None) };
        let content = |source| self.content(&target, source);
        let text = self.take_out(place, target.text()).map_err(content)?;
        if text == had.map_err(content)? {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        let put_in = |text: &str| self.put_in(place, text).ok();
        let taken_out = |text: &str| self.take_out(place, text).ok();
        let backups = target.backups();
        // The origin is the backup without our entries that becomes the current text when they are added.
        let origin = backups.iter().rev().find(|(_, copy)| {
            let is_without = taken_out(copy).is_some_and(|then| place.normal(copy).is_ok_and(|now| now == then));
            is_without && put_in(copy).is_some_and(|then| then == target.text())
        });
        if let Some((_, copy)) = origin {
            let text = copy.clone();
            return Ok(Some(Change(Kind::Write { target, text, is_undone: true })));
        }
        let is_known = backups.iter().any(|(_, copy)| *copy == text);
        // An empty rest: the file had nothing but our entries.
        let value_without = |text: &str| place.value(&taken_out(text)?).ok();
        let left = [Some(json!({})), put_in("").and_then(|made| value_without(&made))];
        // The backups are removed as well, so they must contain only our entries.
        let are_ours = backups.iter().all(|(_, copy)| left.contains(&value_without(copy)));
        if !is_known && are_ours && put_in("").is_some_and(|made| is_same_form(&made, target.text())) {
            let folder = target.path.parent().filter(|folder| self.is_folder_of_ours(folder)).map(Path::to_owned);
            return Ok(Some(Change(Kind::Remove { target, folder })));
        }
        Ok(Some(Change(Kind::Write { target, text, is_undone: is_known })))
    }

    /// True for a folder that contains only what tools like this one create, and that is removed once empty.
    fn is_folder_of_ours(&self, folder: &Path) -> bool {
        match self.files.scope {
            Scope::Project => folder.ends_with(".claude"),
            // Copilot's hooks folder, below its own.
            Scope::User => {
                self.files.settings.parent() == Some(folder) && Path::new(self.setup.settings).components().count() > 1
            }
        }
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
            Ok(leads_to) if !self.follows_link(&target.path) => {
                Err(self.unfit(&target.path, UnfitKind::Link(leads_to)))
            }
            _ => Ok(()),
        }
    }

    /// True if a file is changed through links, as in Claude Code's and Codex's folders, where people keep them.
    fn follows_link(&self, path: &Path) -> bool {
        matches!(self.host, Host::Claude | Host::Codex) && self.files.servers.as_deref() != Some(path)
    }

    /// The content of a JSON file.
    pub(super) fn value(&self, target: &Target) -> Result<Value, Error> {
        Document::read(target.text())
            .and_then(|document| document.value())
            .map_err(|source| self.content(target, source))
    }

    pub(super) fn content(&self, target: &Target, source: document::Error) -> Error {
        self.unfit(&target.path, source.into())
    }

    /// The error that a file's content cannot be used, with the text to add by hand.
    fn unfit(&self, path: &Path, kind: UnfitKind) -> Error {
        let by_hand = self.places().iter().find(|place| place.path == *path).map(|place| self.manual_text(place));
        let remedy = format!("fix it, or add this by hand:\n{}", by_hand.unwrap_or_default());
        Error::Content { path: path.to_owned(), source: Unfit(kind), remedy }
    }
}

/// True if a file is what this or another installation would create from nothing; paths may differ.
fn is_same_form(made: &str, there: &str) -> bool {
    let is_path = |line: &str| {
        let keys = ["\"command\":", "\"bash\":", "\"BATON_HOME\":", "\"/", "command = ", "env = "];
        keys.iter().any(|key| line.trim_start().starts_with(key))
    };
    let is_same = |(made, line): (&str, &str)| made == line || is_path(made) && is_path(line);
    made.lines().count() == there.lines().count() && made.lines().zip(there.lines()).all(is_same)
}
