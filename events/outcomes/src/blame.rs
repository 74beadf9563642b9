//! Which sessions changed, read, renamed or decided about a file, or the files of a directory or pattern.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::file_query::{FileQuery, Fit, is_same_path, means_file};
use super::rate::{format_count, format_time};
use super::{Witness, touched};
use baton_conversation::record::Timestamp;
use baton_events::schema::outcomes::{Decided, File};
use baton_protocol::answer::{Blame, BlameCandidate, BlameSession, Quote};

/// Maximum number of decisions per session.
pub(super) const MAX_DECISIONS: usize = 3;
/// Maximum number of candidates listed if several files match.
const MAX_CANDIDATES: usize = 10;
/// Maximum number of a directory's files listed per session.
const MAX_NAMED: usize = 5;
/// Maximum number of former names by which a file is followed.
const MAX_NAMES: usize = 20;

/// A project, and a file in it.
type Key<'a> = (Option<&'a str>, &'a str);

/// The files of one project that the question is about.
struct Target<'a> {
    project: Option<&'a str>,
    /// Each name, with the time until which the file had it, if known.
    names: Vec<(&'a str, Option<i64>)>,
    /// Text shown for the question.
    shown: String,
    /// True for a directory or a pattern.
    many: bool,
}

/// Returns the sessions that touched a file, at most `limit`. The newest witness must come first.
///
/// `asked` is an absolute path, a path in the project, or the end of a path, of a file or a directory; or a pattern
/// with `*`, `**` and `?`. If files of several projects match, those of `own`, the caller's project, are taken; if that
/// does not decide, the candidates are listed instead of sessions. A former name of a file counts up to the session
/// that renamed it.
pub fn blame(asked: &str, witnesses: &[Witness], own: Option<&str>, limit: usize) -> Blame {
    let asked = FileQuery::read(asked);
    if asked.is_empty() {
        let message = "say which file: a path, the end of one, a directory, or a pattern as src/*.rs".to_owned();
        return Blame { message, ..Blame::default() };
    }
    let candidates = candidates(&asked, witnesses, own);
    match &candidates[..] {
        [] => Blame {
            message: format!("no session that is known changed, read or decided about {}", asked.text()),
            path: asked.text().to_owned(),
            ..Blame::default()
        },
        [(fit, key, _)] if !fit.is_many() => {
            let (project, path) = *key;
            answer_for(
                &Target { project, names: names(*key, witnesses), shown: path.to_owned(), many: false },
                witnesses,
                limit,
            )
        }
        [(fit, (project, _), _), rest @ ..] if fit.is_many() && rest.iter().all(|(_, key, _)| key.0 == *project) => {
            let names = candidates.iter().map(|(_, (_, path), _)| (*path, None)).collect();
            answer_for(&Target { project: *project, names, shown: asked.shown(), many: true }, witnesses, limit)
        }
        several => ambiguous(&asked, several),
    }
}

/// Returns the former names of the files in question, as keys of further sessions to look up.
pub fn blame_former(asked: &str, witnesses: &[Witness], own: Option<&str>) -> BTreeSet<String> {
    let candidates = candidates(&FileQuery::read(asked), witnesses, own);
    let files = candidates.iter().filter(|(fit, ..)| !fit.is_many()).take(MAX_CANDIDATES);
    files.flat_map(|(_, key, _)| names(*key, witnesses)).map(|(name, _)| super::file_key(name)).collect()
}

/// Returns the keys of the sessions that may know the files; `None` means that any session may.
pub fn blame_keys(asked: &str) -> Option<Vec<String>> {
    FileQuery::read(asked).keys()
}

/// Returns the best-matching files with the number of sessions that have them, limited to `own` if it has any.
fn candidates<'w>(asked: &FileQuery, witnesses: &'w [Witness], own: Option<&str>) -> Vec<(Fit, Key<'w>, u32)> {
    let mut files: BTreeMap<Key<'_>, (Fit, u32)> = BTreeMap::new();
    for witness in witnesses {
        let project = witness.project.as_deref();
        for path in paths(witness) {
            if let Some(fit) = asked.fit_of(project, path) {
                files.entry((project, path)).or_insert((fit, 0)).1 += 1;
            }
        }
    }
    let best = files.values().map(|(fit, _)| *fit).min();
    let fits = files.iter().filter(|(_, (fit, _))| Some(*fit) == best);
    let mut candidates: Vec<_> = fits.map(|(key, (fit, count))| (*fit, *key, *count)).collect();
    if candidates.iter().any(|(_, (project, _), _)| project.is_some() && *project == own) {
        candidates.retain(|(_, (project, _), _)| *project == own);
    }
    candidates
}

/// Returns the files of a witness: touched, renamed, or named in a decision without being touched.
fn paths(witness: &Witness) -> impl Iterator<Item = &str> {
    let outcomes = &witness.outcomes;
    let touched = outcomes.files.iter().map(|file| file.path.as_str());
    let moved = outcomes.moves.iter().flat_map(|one| [one.from.as_str(), one.to.as_str()]);
    let decided = outcomes.decisions.iter().flat_map(|one| touched::file_words(&one.excerpt.text));
    let others = decided.filter(|word| !outcomes.files.iter().any(|file| means_file(word, &file.path)));
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    touched.chain(moved).chain(others).filter(move |path| seen.len() < 2 * super::MAX_FILES && seen.insert(path))
}

/// Returns a file's name and the names that it had before renames.
fn names<'w>((project, path): Key<'w>, witnesses: &'w [Witness]) -> Vec<(&'w str, Option<i64>)> {
    let mut names: Vec<(&str, Option<i64>)> = vec![(path, None)];
    let mut next = 0;
    let of_project = || witnesses.iter().filter(|witness| witness.project.as_deref() == project);
    while let Some(&(name, until)) = names.get(next) {
        next += 1;
        for one in of_project().flat_map(|witness| &witness.outcomes.moves).filter(|one| is_same_path(&one.to, name)) {
            let before = until.is_none_or(|until| one.at.is_none_or(|at| at <= until));
            let known = names.iter().any(|(known, _)| is_same_path(known, &one.from));
            if before && !known && names.len() < MAX_NAMES {
                names.push((&one.from, one.at.or(until)));
            }
        }
    }
    names
}

fn ambiguous(asked: &FileQuery, several: &[(Fit, Key<'_>, u32)]) -> Blame {
    let many = several.iter().any(|(fit, ..)| fit.is_many());
    let mut candidates: Vec<BlameCandidate> = Vec::new();
    for (_, (project, path), sessions) in several {
        // For a directory its projects are listed, each once.
        let shown = asked.shown();
        let path = if many { &*shown } else { path };
        let project = project.map(str::to_owned);
        match candidates.iter_mut().find(|one| many && one.project == project) {
            Some(known) => known.sessions = known.sessions.max(*sessions),
            None => {
                let whole = |project: &String| format!("{}/{path}", project.trim_end_matches('/'));
                let ask = project.as_ref().filter(|_| !path.starts_with('/')).map_or_else(|| path.to_owned(), whole);
                candidates.push(BlameCandidate { path: path.to_owned(), project, sessions: *sessions, ask });
            }
        }
    }
    let message = format!(
        "{} {} fit {}; ask for one by its whole path, or name its project",
        candidates.len(),
        if many { "directories" } else { "files" },
        asked.text()
    );
    candidates.sort_by_key(|one| (Reverse(one.sessions), one.project.clone(), one.path.clone()));
    candidates.truncate(MAX_CANDIDATES);
    Blame { message, path: asked.text().to_owned(), candidates, ..Blame::default() }
}

fn answer_for(meant: &Target<'_>, witnesses: &[Witness], limit: usize) -> Blame {
    let of_project = witnesses.iter().filter(|witness| witness.project.as_deref() == meant.project);
    let mut sessions: Vec<BlameSession> = of_project.filter_map(|witness| session_row(witness, meant)).collect();
    let count = |of: fn(&BlameSession) -> bool| {
        u32::try_from(sessions.iter().filter(|session| of(session)).count()).unwrap_or(u32::MAX)
    };
    let (changed, read) = (count(|session| session.modified), count(|session| session.read > 0));
    let (decided, renamed) =
        (count(|session| !session.decisions.is_empty()), count(|session| session.renamed.is_some()));
    let how_often = |count: u32| {
        if count == 0 { "in no session".to_owned() } else { format!("in {}", format_count(count, "session")) }
    };
    let shown = match meant.many {
        true => {
            format!(
                "{} ({})",
                meant.shown,
                format_count(u32::try_from(meant.names.len()).unwrap_or(u32::MAX), "known file")
            )
        }
        false => meant.shown.clone(),
    };
    let mut parts = vec![format!("{shown} was changed {}, read {}", how_often(changed), how_often(read))];
    if renamed > 0 {
        parts.push(format!("renamed {}", how_often(renamed)));
    }
    if decided > 0 {
        parts.push(format!("decided about {}", how_often(decided)));
    }
    let before: Vec<&str> =
        meant.names.iter().skip(1).filter(|_| !meant.many).map(|(name, _)| *name).take(MAX_NAMED).collect();
    if !before.is_empty() {
        parts.push(format!("before as {}", before.join(", ")));
    }
    let more = sessions.len().saturating_sub(limit);
    sessions.truncate(limit);
    Blame {
        message: parts.join(", "),
        path: meant.shown.clone(),
        project: meant.project.map(str::to_owned),
        sessions,
        more_sessions: u32::try_from(more).unwrap_or(u32::MAX),
        ..Blame::default()
    }
}

/// Returns how a session relates to the files in question, if it does.
fn session_row(witness: &Witness, meant: &Target<'_>) -> Option<BlameSession> {
    let outcomes = &witness.outcomes;
    let moves = || outcomes.moves.iter().filter(|one| meant.has(&one.from, None) || meant.has(&one.to, None));
    // The session that renamed a file has both of its names.
    let has = |path: &str| {
        let at = witness.at.filter(|_| moves().next().is_none());
        meant.has(path, at)
    };
    let files: Vec<&File> = outcomes.files.iter().filter(|file| has(&file.path)).collect();
    let is_about = |one: &&Decided| {
        let named = touched::file_words(&one.excerpt.text)
            .any(|word| meant.names.iter().any(|(path, _)| means_file(word, path)));
        named || one.files.iter().any(|path| has(path))
    };
    let place = |one: &Decided| Quote {
        text: one.excerpt.text.clone(),
        session_id: witness.session.clone(),
        line: one.excerpt.line,
        at: format_time(one.excerpt.at),
    };
    // Decisions that name the file come first.
    let mut decided: Vec<&Decided> = outcomes.decisions.iter().rev().filter(is_about).collect();
    decided.sort_by_key(|one| !one.files.is_empty());
    let decisions: Vec<Quote> = decided.into_iter().take(MAX_DECISIONS).map(place).collect();
    let renamed = moves().next_back();
    if files.is_empty() && decisions.is_empty() && renamed.is_none() {
        return None;
    }
    let sum = |of: fn(&File) -> u32| files.iter().map(|file| of(file)).fold(0, u32::saturating_add);
    let then: Vec<String> = files.iter().map(|file| file.path.clone()).take(MAX_NAMED).collect();
    let is_then = meant.many || then.iter().any(|path| !is_same_path(path, &meant.shown));
    let first = files.iter().filter(|file| file.changed).map(|file| file.line).min();
    let line = first.or_else(|| files.iter().map(|file| file.line).min()).or(renamed.map(|one| one.line));
    Some(BlameSession {
        session_id: witness.session.clone(),
        title: witness.title.clone(),
        at: witness.at.map(|at| at.to_string()),
        modified: files.iter().any(|file| file.changed),
        added: sum(|file| file.added),
        removed: sum(|file| file.removed),
        read: sum(|file| file.read),
        line,
        renamed: renamed.map(|one| format!("{} -> {}", one.from, one.to)),
        files: if is_then { then } else { Vec::new() },
        decisions,
        from: None,
    })
}

impl Target<'_> {
    /// Returns true if the path is one of the files, for a session that ended at `at`.
    fn has(&self, path: &str, at: Option<Timestamp>) -> bool {
        let in_time = |until: &Option<i64>| until.is_none_or(|until| at.is_none_or(|at| at.0 <= until));
        self.names.iter().any(|(name, until)| is_same_path(name, path) && in_time(until))
    }
}
