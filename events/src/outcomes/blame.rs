//! Which sessions changed a file, read it, or decided about it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rate::{counted, time};
use super::{Witness, last_part, touched};
use crate::protocol::answer::{Blame, BlameCandidate, BlameSession, Place};
use crate::schema::outcomes::{File, Said};

/// Most decisions of one session.
pub(super) const MAX_DECISIONS: usize = 3;
/// Most files that are named when several fit.
pub(super) const MAX_CANDIDATES: usize = 10;

/// How well a file fits what was asked for; the earlier the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Its whole path.
    Whole,
    /// Its path in the project.
    InProject,
    /// The end of it.
    End,
}

/// A file of one project.
type Key<'a> = (Option<&'a str>, &'a str);

/// The sessions that had to do with a file, from witnesses of whom the newest comes first; at most `limit`.
///
/// `asked` is a whole path, one in the project or the end of one. Where files of several projects fit, `own`, the
/// project of whoever asks, decides; where that does not help, the files are named instead of sessions.
pub fn blame(asked: &str, witnesses: &[Witness], own: Option<&str>, limit: usize) -> Blame {
    let asked = normal(asked);
    let mut files: BTreeMap<Key<'_>, (Fit, u32)> = BTreeMap::new();
    for witness in witnesses {
        let project = witness.project.as_deref();
        for path in paths(witness) {
            if let Some(fit) = fit(&asked, project, path) {
                files.entry((project, path)).or_insert((fit, 0)).1 += 1;
            }
        }
    }
    let best = files.values().map(|(fit, _)| *fit).min();
    let mut candidates: Vec<(Key<'_>, u32)> =
        files.iter().filter(|(_, (fit, _))| Some(*fit) == best).map(|(key, (_, count))| (*key, *count)).collect();
    if candidates.iter().any(|((project, _), _)| project.is_some() && *project == own) {
        candidates.retain(|((project, _), _)| *project == own);
    }
    match &candidates[..] {
        [] => Blame {
            message: format!("no session that is known changed, read or decided about {asked}"),
            path: asked,
            ..Blame::default()
        },
        [(key, _)] => told(*key, witnesses, limit),
        several => {
            let message =
                format!("{} files fit {asked}; ask for one of the candidates by more of its path", several.len());
            let mut candidates: Vec<BlameCandidate> = several
                .iter()
                .map(|((project, path), sessions)| BlameCandidate {
                    path: (*path).to_owned(),
                    project: project.map(str::to_owned),
                    sessions: *sessions,
                })
                .collect();
            candidates.sort_by_key(|one| (Reverse(one.sessions), one.project.clone(), one.path.clone()));
            candidates.truncate(MAX_CANDIDATES);
            Blame { message, path: asked, candidates, ..Blame::default() }
        }
    }
}

/// The files of a witness: touched, or named in a decision and not touched.
fn paths(witness: &Witness) -> impl Iterator<Item = &str> {
    let files = &witness.outcomes.files;
    let touched = files.iter().map(|file| file.path.as_str());
    let decided = witness.outcomes.decisions.iter().flat_map(|said| touched::file_words(&said.text));
    let others = decided.filter(|word| !files.iter().any(|file| is_meant(word, &file.path)));
    let mut seen: Vec<&str> = Vec::new();
    touched.chain(others).filter(move |path| {
        let new = !seen.contains(path);
        if new && seen.len() < super::MAX_FILES {
            seen.push(path);
        }
        new
    })
}

fn told(key: Key<'_>, witnesses: &[Witness], limit: usize) -> Blame {
    let (project, path) = key;
    let mut sessions: Vec<BlameSession> = witnesses
        .iter()
        .filter(|witness| witness.project.as_deref() == project)
        .filter_map(|witness| row(witness, path))
        .collect();
    let count = |of: fn(&BlameSession) -> bool| {
        u32::try_from(sessions.iter().filter(|session| of(session)).count()).unwrap_or(u32::MAX)
    };
    let (changed, read) = (count(|session| session.modified), count(|session| session.read > 0));
    let decided = count(|session| !session.decisions.is_empty());
    let how_often =
        |count: u32| if count == 0 { "in no session".to_owned() } else { format!("in {}", counted(count, "session")) };
    let mut parts = vec![format!("{path} was changed {}, read {}", how_often(changed), how_often(read))];
    if decided > 0 {
        parts.push(format!("decided about {}", how_often(decided)));
    }
    let more = sessions.len().saturating_sub(limit);
    sessions.truncate(limit);
    Blame {
        message: parts.join(", "),
        path: path.to_owned(),
        project: project.map(str::to_owned),
        sessions,
        more_sessions: u32::try_from(more).unwrap_or(u32::MAX),
        ..Blame::default()
    }
}

/// What a session had to do with a file, if anything.
fn row(witness: &Witness, path: &str) -> Option<BlameSession> {
    let file = witness.outcomes.files.iter().find(|file| same(&file.path, path));
    let decided = |said: &&Said| touched::file_words(&said.text).any(|word| is_meant(word, path));
    let place = |said: &Said| Place {
        text: said.text.clone(),
        session_id: witness.session.clone(),
        line: said.line,
        at: time(said.at),
    };
    let decisions: Vec<Place> =
        witness.outcomes.decisions.iter().rev().filter(decided).take(MAX_DECISIONS).map(place).collect();
    if file.is_none() && decisions.is_empty() {
        return None;
    }
    let nothing = File::default();
    let touched = file.unwrap_or(&nothing);
    Some(BlameSession {
        session_id: witness.session.clone(),
        title: witness.title.clone(),
        at: witness.at.map(|at| at.to_string()),
        modified: touched.changed,
        added: touched.added,
        removed: touched.removed,
        read: touched.read,
        line: file.map(|file| file.line),
        decisions,
    })
}

/// Slashes lean forward; no `./` before, no line number behind.
pub(super) fn normal(asked: &str) -> String {
    let asked = asked.trim().replace('\\', "/");
    let asked = asked.trim_matches('`').trim_start_matches("./").trim_end_matches('/');
    let mut rest = asked;
    while let Some((before, digits)) = rest.rsplit_once(':') {
        if before.len() < 2 || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rest = before;
    }
    rest.to_owned()
}

pub(super) fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Whether a path ends in these parts.
fn ends_in(path: &str, end: &str) -> bool {
    let at = path.len().checked_sub(end.len()).filter(|at| path.is_char_boundary(*at));
    at.is_some_and(|at| same(&path[at..], end) && (at == 0 || path[..at].ends_with('/')))
}

fn fit(asked: &str, project: Option<&str>, path: &str) -> Option<Fit> {
    if asked.is_empty() || !same(last_part(asked), last_part(path)) {
        return None;
    }
    if is_whole(asked) {
        let below = project.and_then(|project| {
            asked.strip_prefix(project.trim_end_matches(['/', '\\'])).and_then(|rest| rest.strip_prefix('/'))
        });
        return (same(asked, path) || below.is_some_and(|below| same(below, path))).then_some(Fit::Whole);
    }
    if same(asked, path) {
        return Some(Fit::InProject);
    }
    ends_in(path, asked).then_some(Fit::End)
}

/// Whether a word in a text means a file.
pub(super) fn is_meant(word: &str, path: &str) -> bool {
    let word = word.trim_start_matches("./");
    ends_in(path, word) || (word.len() > path.len() && ends_in(word, path))
}
