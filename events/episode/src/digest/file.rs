//! The files of a session, read and changed, one entry per path.
//!
//! Files that a command line names as read or written count like those of file tools if they are in the session's
//! directory; the number of changed lines is then unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{Step, Touch, touched_files};
use super::timeline::{Deed, Timeline};
use super::{FileModified, FileRead, MAX_ENTRIES};
use baton_conversation::item::{Edit, Outcome};

/// Beginnings of names of files that tell about the work, in lower case.
const DOCUMENTS: [&str; 10] =
    ["agents", "changelog", "changes", "claude", "history", "license", "news", "readme", "releases", "todo"];

/// Programs that run what the command line says.
const INTERPRETERS: [&str; 9] = ["awk", "bun", "deno", "node", "perl", "python", "python3", "ruby", "sed"];

/// Returns the files read, by first read. A failed read does not count.
pub(super) fn read(timeline: &Timeline<'_>) -> Vec<FileRead> {
    let mut files: Vec<FileRead> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for deed in timeline.deeds.iter().filter(|deed| has_run(deed)) {
        let by_shell = deed.touched.iter().filter_map(|touch| match touch {
            Touch::Read(path) => Some(path.as_str()),
            Touch::Written(_) | Touch::Removed(_) => None,
        });
        for path in deed.reading().into_iter().chain(by_shell) {
            match known.get(timeline.relative_path(path)) {
                Some(&index) => files[index].count = files[index].count.saturating_add(1),
                None => {
                    known.insert(timeline.relative_path(path).to_owned(), files.len());
                    files.push(FileRead { path: path.to_owned(), line: deed.line, count: 1 });
                }
            }
        }
    }
    super::keep(&mut files, MAX_ENTRIES, |file| file.count > 1);
    files
}

/// Returns the files changed, by first change. A refused, failed or unanswered change does not count, nor does one that was
/// put back. The numbers of lines are 0 if they are unknown: a command changed the file or may have, or an edit may have
/// replaced what another had added.
pub(super) fn modified_files(timeline: &Timeline<'_>) -> Vec<FileModified> {
    let mut files: Vec<FileModified> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut uncounted: BTreeSet<usize> = BTreeSet::new();
    let mut own: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for (at, deed) in timeline.deeds.iter().enumerate() {
        let stands = !timeline.undone.edits.contains(&at);
        for (path, added, removed) in written_files(deed) {
            let (added, removed) = if stands { (added, removed) } else { (0, 0) };
            let index = *known.entry(timeline.relative_path(path).to_owned()).or_insert(files.len());
            if index == files.len() {
                files.push(FileModified { path: path.to_owned(), line: deed.line, ..FileModified::default() });
            }
            let file = &mut files[index];
            file.added = file.added.saturating_add(added);
            file.removed = file.removed.saturating_add(removed);
            if deed.effect().is_some_and(|edit| stands && may_replace(own.entry(index).or_default(), edit)) {
                uncounted.insert(index);
            }
            file.deleted = deed.input("change") == Some("delete");
            uncounted.extend((deed.edit().map(|edit| edit.0) != Some(path)).then_some(index));
        }
        // A formatter or fixer writes over what was edited.
        if deed.parsed_command().is_some_and(|line| has_run(deed) && line.steps().iter().any(Step::mends)) {
            uncounted.extend(0..files.len());
        }
        for touch in deed.touched.iter().filter(|_| has_run(deed)) {
            if let Touch::Removed(path) = touch
                && let Some(index) = known.get(timeline.relative_path(path))
            {
                files[*index].deleted = true;
            }
        }
    }
    let scripts = Scripts::read(timeline);
    uncounted
        .extend(files.iter().enumerate().filter(|(_, file)| scripts.may_write(&file.path)).map(|(index, _)| index));
    for index in uncounted {
        (files[index].added, files[index].removed) = (0, 0);
    }
    files.retain(|file| !timeline.undone.files.contains(timeline.relative_path(&file.path)));
    super::keep(&mut files, MAX_ENTRIES, |_| true);
    files
}

/// Notes the lines that an edit adds to the `own` ones, those that the session added to the file, and returns true if it may
/// have replaced some of these. A line that was added and replaced is in no difference to the file before; whether an equal
/// line is the same is not known.
fn may_replace<'t>(own: &mut BTreeSet<&'t str>, edit: &'t Edit) -> bool {
    let tells = |line: &&str| line.contains(char::is_alphanumeric);
    let (old, new): (Vec<&str>, Vec<&str>) = (edit.old_text.lines().collect(), edit.new_text.lines().collect());
    let is_cut = |text: &str| text.ends_with('…');
    // The truncated part may be anything.
    let hides = is_cut(&edit.old_text) && !own.is_empty() || edit.removed > 0 && own.iter().any(|line| is_cut(line));
    let replaces = hides || old.iter().any(|line| tells(line) && !new.contains(line) && own.contains(line));
    own.extend(new.iter().filter(|line| is_cut(line) || tells(line) && !old.contains(line)));
    replaces
}

/// Returns a command line with a program in it, which may write to any file that it names.
pub(super) fn script<'a>(deed: &Deed<'a>) -> Option<&'a str> {
    let line = deed.command().filter(|_| has_run(deed))?;
    let is_script = [" -c ", " -e ", " -i", "<<"].iter().any(|mark| line.contains(mark));
    let runs = line.split(|c: char| c.is_whitespace() || matches!(c, '/' | ';' | '|' | '&' | '('));
    (is_script && runs.into_iter().any(|word| INTERPRETERS.contains(&word))).then_some(line)
}

/// The words of all command lines with a program in them.
pub(super) struct Scripts<'t>(BTreeSet<&'t str>);

impl<'t> Scripts<'t> {
    pub(super) fn read(timeline: &Timeline<'t>) -> Self {
        Self(timeline.deeds.iter().filter_map(script).flat_map(|line| line.split(ends_name)).collect())
    }

    /// Returns true if one of them may have written a file. A name that is no single word may be anywhere.
    pub(super) fn may_write(&self, path: &str) -> bool {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.0.contains(name) || !self.0.is_empty() && name.contains(ends_name)
    }
}

/// Returns true for what stands around the name of a file in a program.
fn ends_name(c: char) -> bool {
    c.is_whitespace() || "'\"`/\\()=,;:<>|&{}".contains(c)
}

/// Returns the files that a call changed, with lines added and removed if known.
pub(super) fn written_files<'t>(deed: &'t Deed<'_>) -> Vec<(&'t str, u32, u32)> {
    if !has_run(deed) {
        return Vec::new();
    }
    let by_shell = deed.touched.iter().filter_map(|touch| match touch {
        Touch::Written(path) => Some((path.as_str(), 0, 0)),
        Touch::Read(_) | Touch::Removed(_) => None,
    });
    deed.edit().into_iter().chain(by_shell).collect()
}

/// Returns true if a call changed a file, by a tool or by a command line.
pub(super) fn changes(deed: &Deed<'_>) -> bool {
    deed.succeeded() && !written_files(deed).is_empty()
}

/// Returns the files that a call changes or removes.
pub(super) fn touches(deed: &Deed<'_>) -> impl Iterator<Item = Touch> {
    let by_tool = deed.edit().map(|(path, ..)| Touch::Written(path.to_owned()));
    by_tool.into_iter().chain(deed.touched.iter().cloned()).filter(|_| has_run(deed))
}

/// Returns true if the call succeeded; a failed check in its output does not matter.
fn has_run(deed: &Deed<'_>) -> bool {
    deed.result.is_some_and(|result| result.outcome == Outcome::Ok)
}

/// Returns the files in the session's directory, `home`, that a command line touches where it runs, relative to the former.
pub(super) fn touched_by_shell(line: &str, home: Option<&str>, cwd: Option<&str>) -> Vec<Touch> {
    let place = |path: String| {
        // If the working directory has changed, paths are relative to the new one.
        let path = match cwd.filter(|cwd| !path.starts_with(['/', '~']) && Some(*cwd) != home) {
            Some(cwd) => format!("{cwd}/{path}"),
            None => path,
        };
        if !path.starts_with(['/', '~']) {
            return Some(path.strip_prefix("./").unwrap_or(&path).to_owned()).filter(|path| !path.starts_with("../"));
        }
        let below = path.strip_prefix(home?)?.strip_prefix('/')?;
        Some(below.to_owned()).filter(|below| !below.contains("../"))
    };
    let placed = touched_files(line).into_iter().filter_map(|touch| match touch {
        Touch::Written(path) => place(path).map(Touch::Written),
        Touch::Read(path) => place(path).map(Touch::Read),
        Touch::Removed(path) => place(path).map(Touch::Removed),
    });
    placed.collect()
}

/// Returns true for a file that tells about the work: a change log, a read-me, a page below `docs`, a file elsewhere.
pub(super) fn is_document(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_text = ending.is_empty() || is_text(path);
    let is_below_docs = path.split(['/', '\\']).any(|part| matches!(part, "doc" | "docs"));
    let is_known = DOCUMENTS.iter().any(|known| stem.starts_with(known));
    is_text && (is_below_docs || is_known || path.starts_with(['/', '~']))
}

/// Returns true for a text for people by its ending.
pub(super) fn is_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["md", "mdx", "txt", "rst", "adoc"].iter().any(|text| ending.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_write_the_files_that_it_names() {
        let line = "python3 -c \"open('app/[id].tsx', 'w').write(open('src/mast.rs').read())\"";
        let scripts = Scripts(line.split(ends_name).collect());
        for (path, may) in [("/srv/app/[id].tsx", true), ("src/mast.rs", true), ("ast.rs", false), ("a b.rs", true)] {
            assert_eq!(scripts.may_write(path), may, "{path}");
        }
        assert!(!Scripts(BTreeSet::new()).may_write("a b.rs"));
    }
}
