//! What a session has to say to a question.

use super::asked::{Asked, Kind};
use super::{Entry, Sort};
use crate::digest::{Episode, Pointed};
use crate::record::{SessionId, Timestamp};

/// Longest entry, in characters.
const TEXT_CHARS: usize = 240;
/// Longest objective behind a title.
const OBJECTIVE_CHARS: usize = 200;
/// Most entries of one sort of one session.
const MOST_OF_A_SORT: usize = 5;
/// Most files of one session, where they are asked for.
const MOST_FILES: usize = 20;
/// What a session's rank takes away from what it says.
const DECAY: f32 = 0.2;

/// Where a session stands among those that fit.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Its rank, from 1.
    pub rank: usize,
    /// Its last word.
    pub at: Option<Timestamp>,
    /// The last part of its project's directory.
    pub project: Option<&'a str>,
}

impl Place<'_> {
    /// What counts of something that is worth so much.
    pub fn worth(&self, worth: f32) -> f32 {
        worth / (1.0 + DECAY * self.rank.saturating_sub(1) as f32)
    }

    fn entry(&self, sort: Sort, said: &Pointed, worth: f32) -> Entry {
        self.line(sort, &said.text, Some(said.line), said.at.or(self.at), worth)
    }

    /// An entry of the session, one line of bounded length.
    pub fn line(&self, sort: Sort, text: &str, line: Option<u64>, at: Option<Timestamp>, worth: f32) -> Entry {
        let text = one_line(text, TEXT_CHARS);
        Entry { sort, text, session: self.session.clone(), line, at, uuid: None, ended: None, worth: self.worth(worth) }
    }
}

/// What the session's episode has that answers the question, the session's own line first; what is open of it is for
/// [`still_open`](super::still_open) to say. Bounded in number and length.
pub fn gathered(episode: &Episode, place: &Place<'_>, asked: &Asked) -> Vec<Entry> {
    let mut entries = vec![session(episode, place)];
    let wanted = |kind: Kind, usual: f32| if asked.is(kind) { 3.0 } else { usual };
    let general = asked.kinds.is_empty() || asked.is(Kind::Latest);

    let decisions = episode.decisions.iter().map(|said| (said, asked.fit(&said.text)));
    let worth = wanted(Kind::Decisions, if general { 1.0 } else { 0.6 });
    let told = best(decisions).into_iter().map(|(said, fit)| place.entry(Sort::Decision, said, worth * fit));
    entries.extend(told);

    let mut solved: Vec<(Pointed, f32, bool)> = Vec::new();
    for error in &episode.errors {
        let (text, mended) = match &error.resolution {
            Some(resolution) => (format!("{} -> {}", error.text, resolution.text), true),
            None => (error.text.clone(), false),
        };
        let fit = asked.fit(&text);
        solved.push((Pointed { text, line: error.line, at: error.at }, fit, mended));
    }
    for (mended, sort, worth) in [
        (true, Sort::Fixed, wanted(Kind::Solved, if asked.is(Kind::Failed) { 2.0 } else { 0.6 })),
        (false, Sort::Failed, wanted(Kind::Failed, if asked.is(Kind::Solved) { 1.5 } else { 0.4 })),
    ] {
        let of_it = solved.iter().filter(|(_, _, is_mended)| *is_mended == mended).map(|(said, fit, _)| (said, *fit));
        entries.extend(best(of_it).into_iter().map(|(said, fit)| place.entry(sort, said, worth * fit)));
    }
    entries.extend(files(episode, place, asked));
    entries
}

/// Title, project and purpose in one line.
fn session(episode: &Episode, place: &Place<'_>) -> Entry {
    let mut text = one_line(&episode.title, TEXT_CHARS);
    let objective = episode.objective.trim();
    let begins = |long: &str, short: &str| long.to_lowercase().starts_with(&short.trim_end_matches('…').to_lowercase());
    // What was typed last says less of the whole than what was typed first.
    let is_repeated = episode.title_is_prompt && !objective.is_empty();
    if text.is_empty() || is_repeated || begins(objective, &text) {
        text = one_line(objective, OBJECTIVE_CHARS);
    } else if !objective.is_empty() && !begins(&text, objective) {
        text = format!("{text}: {}", one_line(objective, OBJECTIVE_CHARS));
    }
    if let Some(project) = place.project.filter(|_| !text.is_empty()) {
        text = format!("{project}: {text}");
    }
    let entry = place.line(Sort::Session, "", None, place.at, 2.5);
    Entry { text, ..entry }
}

/// The files that were changed, those with the most changed lines first.
fn files(episode: &Episode, place: &Place<'_>, asked: &Asked) -> Vec<Entry> {
    if !asked.is(Kind::Files) {
        return Vec::new();
    }
    let mut files: Vec<_> = episode.files_modified.iter().collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.added.saturating_add(file.removed)));
    let told = files.into_iter().take(MOST_FILES).enumerate().map(|(number, file)| {
        let path = relative(&file.path, episode.cwd.as_deref());
        let text = format!("{path} (+{} -{})", file.added, file.removed);
        place.line(Sort::File, &text, Some(file.line), place.at, 2.4 - number as f32 * 0.01)
    });
    told.collect()
}

fn relative<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let below = cwd.filter(|cwd| cwd.len() > 1).and_then(|cwd| path.strip_prefix(cwd));
    below.and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(path)
}

/// Those that fit best, the later of equals first, without those that fit not at all.
fn best<'a>(said: impl Iterator<Item = (&'a Pointed, f32)>) -> Vec<(&'a Pointed, f32)> {
    let mut said: Vec<(&Pointed, f32)> = said.filter(|(_, fit)| *fit > 0.0).collect();
    said.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.line.cmp(&a.0.line)));
    said.truncate(MOST_OF_A_SORT);
    said
}

pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}
