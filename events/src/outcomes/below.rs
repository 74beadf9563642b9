//! Which sessions changed files below a directory, read them, or decided about them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Witness;
use super::blame::{MAX_CANDIDATES, MAX_DECISIONS, is_whole, normal};
use super::rate::{counted, time};
use super::touched::file_words;
use crate::protocol::answer::{Blame, BlameCandidate, BlameSession, Place};

/// The sessions that had to do with files below a directory, from witnesses of whom the newest comes first; at most `limit`.
///
/// `asked` is a whole path, one in the project or the end of one. Of several projects that have such a directory `own`, the
/// project of whoever asks, is meant; where that does not help, they are named instead of sessions.
pub fn blame_below(asked: &str, witnesses: &[Witness], own: Option<&str>, limit: usize) -> Blame {
    let asked = normal(asked);
    let asked = asked.trim_end_matches('/');
    let mut rows: Vec<(Option<&str>, BlameSession, BTreeSet<&str>)> = Vec::new();
    for witness in witnesses {
        let project = witness.project.as_deref();
        let Some(directory) = directory(asked, project) else { continue };
        rows.extend(row(witness, &directory).map(|(session, files)| (project, session, files)));
    }
    let mut projects: BTreeMap<Option<&str>, u32> = BTreeMap::new();
    rows.iter().for_each(|(project, ..)| *projects.entry(*project).or_default() += 1);
    if projects.contains_key(&own) {
        projects.retain(|project, _| *project == own);
    }
    let shown = format!("{asked}/");
    match projects.len() {
        0 => Blame {
            message: format!("no session that is known changed, read or decided about a file below {shown}"),
            path: shown,
            ..Blame::default()
        },
        1 => {
            let project = projects.keys().next().copied().flatten();
            rows.retain(|(of, ..)| *of == project);
            told(shown, project, rows, limit)
        }
        several => {
            let message = format!("{several} projects have a directory {shown}; ask with `project` for one of them");
            let one = |(project, sessions): (Option<&str>, u32)| BlameCandidate {
                path: shown.clone(),
                project: project.map(str::to_owned),
                sessions,
            };
            let mut candidates: Vec<BlameCandidate> = projects.into_iter().map(one).collect();
            candidates.sort_by_key(|one| (Reverse(one.sessions), one.project.clone()));
            candidates.truncate(MAX_CANDIDATES);
            Blame { message, path: shown, candidates, ..Blame::default() }
        }
    }
}

fn told(
    path: String,
    project: Option<&str>,
    rows: Vec<(Option<&str>, BlameSession, BTreeSet<&str>)>,
    limit: usize,
) -> Blame {
    let files: BTreeSet<&str> = rows.iter().flat_map(|(.., files)| files.iter().copied()).collect();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let changed = rows.iter().filter(|(_, session, _)| session.modified).count();
    let message = format!(
        "below {path} {} known, changed in {}, read or decided about in {}",
        match files.len() {
            1 => "1 file is".to_owned(),
            count => format!("{count} files are"),
        },
        counted(number(changed), "session"),
        counted(
            number(rows.iter().filter(|(_, session, _)| session.read > 0 || !session.decisions.is_empty()).count()),
            "session"
        ),
    );
    let more_sessions = number(rows.len().saturating_sub(limit));
    let sessions = rows.into_iter().take(limit).map(|(_, session, _)| session).collect();
    Blame { message, path, project: project.map(str::to_owned), sessions, more_sessions, ..Blame::default() }
}

/// A directory as the paths of a project are written: from the project on, if it lies in it. `None`: nothing of the project is
/// meant. The project itself is the empty one.
fn directory(asked: &str, project: Option<&str>) -> Option<String> {
    if asked.is_empty() || matches!(asked, "." | "/") {
        return None;
    }
    let of_project = project.map(|project| project.trim_end_matches(['/', '\\']).replace('\\', "/"));
    match of_project {
        Some(project) if is_whole(asked) && asked == project => Some(String::new()),
        Some(project) if is_whole(asked) => {
            match asked.strip_prefix(&project).and_then(|rest| rest.strip_prefix('/')) {
                Some(below) => Some(below.to_owned()),
                None => Some(asked.to_owned()),
            }
        }
        _ => Some(asked.to_owned()),
    }
}

/// Whether a path lies below a directory: from its beginning, or anywhere if the directory is no whole path.
fn is_below(path: &str, directory: &str) -> bool {
    if directory.is_empty() {
        return !is_whole(path);
    }
    let starts = |path: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let inside = || path.match_indices('/').any(|(at, _)| starts(&path[at + 1..]));
    starts(path) || (!is_whole(directory) && inside())
}

/// What a session had to do with files below a directory, and which these are.
fn row<'a>(witness: &'a Witness, directory: &str) -> Option<(BlameSession, BTreeSet<&'a str>)> {
    let mut row = BlameSession {
        session_id: witness.session.clone(),
        title: witness.title.clone(),
        at: witness.at.map(|at| at.to_string()),
        ..BlameSession::default()
    };
    let mut files: BTreeSet<&str> = BTreeSet::new();
    let touched = witness.outcomes.files.iter().filter(|file| is_below(&file.path, directory));
    for file in touched {
        files.insert(&file.path);
        // The first change is told, or else the first reading.
        row.line = match row.line {
            Some(line) if row.modified == file.changed => Some(line.min(file.line)),
            Some(line) if row.modified => Some(line),
            _ => Some(file.line),
        };
        row.modified |= file.changed;
        row.added = row.added.saturating_add(file.added);
        row.removed = row.removed.saturating_add(file.removed);
        row.read = row.read.saturating_add(file.read);
    }
    for said in witness.outcomes.decisions.iter().rev() {
        let mut named =
            file_words(&said.text).filter(|word| is_below(word.trim_start_matches("./"), directory)).peekable();
        if named.peek().is_none() || directory.is_empty() {
            continue;
        }
        files.extend(named);
        if row.decisions.len() < MAX_DECISIONS {
            let (text, session_id) = (said.text.clone(), witness.session.clone());
            row.decisions.push(Place { text, session_id, line: said.line, at: time(said.at) });
        }
    }
    (!files.is_empty()).then_some((row, files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::outcomes::{File, Outcomes};

    fn witness(session: &str, project: &str, files: &[(&str, u32, u32)]) -> Witness {
        let file = |(path, added, read): &(&str, u32, u32)| File {
            path: (*path).to_owned(),
            changed: *added > 0,
            added: *added,
            read: *read,
            line: u64::from(*added + *read),
            ..File::default()
        };
        let outcomes = Outcomes { files: files.iter().map(file).collect(), ..Outcomes::default() };
        Witness {
            session: session.to_owned(),
            project: Some(project.to_owned()),
            title: String::new(),
            at: None,
            outcomes,
        }
    }

    #[test]
    fn a_directory_has_what_lies_below_it_and_nothing_beside_it() {
        let witnesses = [
            witness(
                "new",
                "/srv/shop",
                &[("src/log/writer.rs", 3, 1), ("src/log/reader.rs", 0, 2), ("src/logs.rs", 9, 9)],
            ),
            witness("old", "/srv/shop", &[("src/log/writer.rs", 2, 0)]),
            witness("aside", "/srv/shop", &[("src/cart.rs", 2, 0)]),
            witness("blog", "/srv/blog", &[("web/src/log/post.md", 1, 0)]),
        ];
        let check = |asked: &str, own: Option<&str>, expected: &str| {
            let told = blame_below(asked, &witnesses, own, 9);
            let sessions = told.sessions.iter();
            let sessions: Vec<String> = sessions
                .map(|one| format!("{}+{}r{}@{}", one.session_id, one.added, one.read, one.line.unwrap()))
                .collect();
            let candidates = told.candidates.iter().map(|one| format!("?{}", one.project.as_deref().unwrap()));
            let all: Vec<String> = sessions.into_iter().chain(candidates).collect();
            assert_eq!(all.join(" "), expected, "{asked} of {own:?}: {}", told.message);
        };
        let shop = "new+3r3@4 old+2r0@2";
        check("src/log", Some("/srv/shop"), shop);
        check("./src/log/", Some("/srv/shop"), shop);
        check("/srv/shop/src/log/", None, shop);
        check("/srv/blog/web", None, "blog+1r0@1");
        check("src/log", None, "?/srv/shop ?/srv/blog");
        check("log", Some("/srv/blog"), "blog+1r0@1");
        check("src/lo", None, "");
        check("srv", None, "");
        check("/srv", None, "");
        check("", None, "");
        let few = blame_below("src", &witnesses, Some("/srv/shop"), 1);
        assert_eq!((few.sessions.len(), few.more_sessions, few.path.as_str()), (1, 2, "src/"));
        assert!(few.message.contains("4 files are known, changed in 3 sessions"), "{}", few.message);
    }
}
