//! Walks the folders of a vault, and follows links that stay inside it.
//!
//! # Hazards
//!
//! - An empty folder where notes were is taken for an unmounted vault until `baton vault sync`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{TEMPORARY, is_missing};
use baton_base::io_remedy::IoCause;

/// Most files of a vault that are examined; fewer in tests.
pub(super) const NOTES_MAX: usize = if cfg!(test) { 300 } else { 200_000 };
/// Deepest folder of notes that is examined.
const DEPTH_MAX: usize = 64;
/// Folders into which Obsidian and Syncthing put what a person deletes or changes.
const KEPT_BY_OTHERS: [&str; 2] = [".trash", ".stversions"];

/// What a walk has found.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) notes: Vec<String>,
    /// Leftover temporary files.
    pub(super) left: Vec<PathBuf>,
    /// Folders that cannot be read, with the error.
    pub(super) closed: Vec<(PathBuf, io::Error)>,
    /// True if all texts count, including copies of deleted or changed files that programs keep.
    with_copies: bool,
    /// Folders walked so far, without links.
    folders: BTreeSet<PathBuf>,
    /// Links still to be followed: file, path relative to the vault, and depth.
    links: Vec<(PathBuf, String, usize)>,
    /// True if something disappeared during the walk; it may have been moved.
    pub(super) is_moving: bool,
    /// Dangling links, with their targets.
    pub(super) dangling: Vec<(String, PathBuf)>,
    /// True if there are more files than [`NOTES_MAX`].
    pub(super) is_cut: bool,
}

impl Walk {
    /// Creates an empty walk. With `with_copies` all texts count.
    pub(super) fn new(with_copies: bool) -> Self {
        Self { with_copies, ..Self::default() }
    }

    /// Continues through links that stay in the vault, as writing does; visits each folder once.
    pub(super) fn follow_links(&mut self, vault: &Path) -> io::Result<()> {
        while let Some((link, path, depth)) = self.links.pop() {
            let to = match fs::canonicalize(&link) {
                Ok(to) => to,
                Err(error) if is_missing(&error) => {
                    self.dangling.extend(fs::read_link(&link).ok().map(|named| (path, named)));
                    continue;
                }
                Err(_) => continue,
            };
            if !to.starts_with(vault) {
                continue;
            }
            match fs::metadata(&to) {
                Ok(found) if found.is_dir() => self.add_subfolder(&link, &path, depth)?,
                // Otherwise the walk finds it in its own folder.
                Ok(found) if found.is_file() && self.accepts(&path) && !self.was_entered(to.parent()) => {
                    self.add_note(path);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_note(&mut self, path: String) {
        match self.notes.len() < NOTES_MAX {
            true => self.notes.push(path),
            false => self.is_cut = true,
        }
    }

    fn was_entered(&self, folder: Option<&Path>) -> bool {
        folder.is_some_and(|folder| self.folders.contains(folder))
    }

    fn accepts(&self, path: &str) -> bool {
        is_note(path) || (self.with_copies && is_text(path))
    }

    /// Walks a folder inside another one.
    fn add_subfolder(&mut self, folder: &Path, path: &str, depth: usize) -> io::Result<()> {
        if depth >= DEPTH_MAX {
            let why = format!("it lies deeper than {DEPTH_MAX} folders");
            self.closed.push((folder.to_owned(), io::Error::other(why)));
            return Ok(());
        }
        match self.add_folder(folder, path, depth + 1) {
            Ok(()) => {}
            Err(error) if is_missing(&error) => self.is_moving = true,
            // On a failing disk no result can be trusted.
            Err(error) if IoCause::from_error(&error).is_of_the_disk() => return Err(error),
            Err(error) => self.closed.push((folder.to_owned(), error)),
        }
        Ok(())
    }

    pub(super) fn add_folder(&mut self, folder: &Path, below: &str, depth: usize) -> io::Result<()> {
        if !fs::canonicalize(folder).is_ok_and(|real| self.folders.insert(real)) {
            // Walked already, or missing.
            return fs::read_dir(folder).map(drop);
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if is_missing(&error) => {
                    self.is_moving = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            if kind.is_file() && is_temporary(name) {
                self.left.push(entry.path());
            } else if self.is_cut || (name.starts_with('.') && !(self.with_copies && KEPT_BY_OTHERS.contains(&name))) {
                continue;
            } else if kind.is_dir() {
                self.add_subfolder(&entry.path(), &path, depth)?;
            } else if kind.is_symlink() {
                self.links.push((entry.path(), path, depth));
            } else if kind.is_file() && self.accepts(&path) {
                self.add_note(path);
            }
        }
        Ok(())
    }
}

pub(super) fn is_note(path: &str) -> bool {
    path.to_lowercase().ends_with(".md")
}

/// True for texts that people or programs make of notes: `note.md~`, `note.md.bak`, `copy.txt`, a canvas.
fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    name.contains(".md") || [".txt", ".canvas", ".org", ".html"].iter().any(|end| name.ends_with(end))
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1)
}
