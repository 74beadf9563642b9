//! What a session has to say to a question.

use super::asked::{Asked, Kind};
use super::{Entry, Sort};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{Episode, ErrorLine, Pointed};

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
/// What of its session's fit counts for something that says nothing of what is asked itself.
const OF_THE_SESSION: f32 = 0.5;

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
    /// How well it fits as a whole, from 0 to 1: by [`whole_fit`], and by the passages that were found in it.
    pub fit: f32,
}

impl Place<'_> {
    /// What counts of something that is worth so much.
    pub fn worth(&self, worth: f32) -> f32 {
        worth / (1.0 + DECAY * self.rank.saturating_sub(1) as f32)
    }

    fn entry(&self, sort: Sort, said: &Pointed, worth: f32, fit: f32) -> Entry {
        self.line(sort, &said.text, Some(said.line), said.at.or(self.at), worth).fitting(fit)
    }

    /// How well something fits that was said in the session: by its own words, or because the session is about it.
    pub(super) fn near(&self, asked: &Asked, text: &str) -> f32 {
        let fit = asked.fit(text);
        fit + (1.0 - fit) * OF_THE_SESSION * self.fit
    }

    /// An entry of the session, one line of bounded length.
    pub fn line(&self, sort: Sort, text: &str, line: Option<u64>, at: Option<Timestamp>, worth: f32) -> Entry {
        let (text, worth) = (one_line(text, TEXT_CHARS), self.worth(worth));
        let (session, fit) = (self.session.clone(), 1.0);
        Entry { sort, text, session, line, at, uuid: None, ended: None, fit, answers: false, by_model: false, worth }
    }
}

/// How well a session fits as a whole: by its title, its purpose and the files it changed.
pub fn whole_fit(episode: &Episode, asked: &Asked) -> f32 {
    let files = episode.files_modified.iter().map(|file| relative(&file.path, episode.cwd.as_deref()));
    let whole: Vec<&str> = [episode.title.as_str(), &episode.objective].into_iter().chain(files).collect();
    asked.fit(&whole.join(" "))
}

/// What the session's episode has that answers the question, the session's own line first; what is open of it is for
/// [`still_open`](super::still_open) to say. Bounded in number and length.
pub fn gathered(episode: &Episode, place: &Place<'_>, asked: &Asked) -> Vec<Entry> {
    let mut entries = vec![session(episode, place)];
    let wanted = |kind: Kind, usual: f32| if asked.is(kind) { 3.0 } else { usual };
    let searched = asked.kinds.is_empty();

    let is_open =
        |said: &Pointed| episode.unresolved.iter().chain(&episode.next_steps).any(|open| open.text == said.text);
    let answers = episode.work_completed.get("answers").filter(|_| asked.is(Kind::Latest));
    let done = answers.and_then(|answers| answers.last()).filter(|said| !is_open(said));
    entries.extend(done.map(|said| {
        let by_model = episode.is_of_model(said.line, &said.text);
        Entry { by_model, ..place.entry(Sort::Done, said, 2.45, place.fit) }
    }));
    let mut tell = |sort: Sort, worth: f32, said: Vec<(Pointed, f32)>| {
        let told = best(said).into_iter().map(|(said, fit)| {
            let by_model = episode.is_of_model(said.line, &said.text) || failed_by_model(episode, &said);
            Entry { by_model, ..place.entry(sort, &said, worth, fit) }
        });
        entries.extend(told);
    };

    // Of a question that is searched for only what has its words is told.
    let near = |text: &str| if searched { asked.fit(text) } else { place.near(asked, text) };
    // What was decided beside that is no answer to why this was.
    let decided = |text: &str| if asked.is(Kind::Decisions) { asked.fit(text) } else { near(text) };
    let decisions = episode.decisions.iter().map(|said| (said.clone(), decided(&said.text)));
    tell(Sort::Decision, wanted(Kind::Decisions, if searched { 1.0 } else { 0.6 }), decisions.collect());

    let setbacks = episode.setbacks.iter().map(|said| (said.clone(), near(&said.text)));
    tell(Sort::Failed, wanted(Kind::Failed, if asked.is(Kind::Solved) { 1.6 } else { 0.6 }), setbacks.collect());
    let (mut mended, mut failed) = (Vec::new(), Vec::new());
    for error in &episode.errors {
        let (text, list) = match &error.resolution {
            Some(resolution) => (format!("{} -> {}", error.text, resolution.text), &mut mended),
            None => (error.text.clone(), &mut failed),
        };
        let fit = near(&text);
        list.push((Pointed { text, line: error.line, at: error.at }, fit));
    }
    tell(Sort::Fixed, wanted(Kind::Solved, 0.6), mended);
    // A command that failed says less than what somebody gave up.
    let worth = if asked.is(Kind::Failed) || asked.is(Kind::Solved) { 1.5 } else { 0.4 };
    let unsolved = best(failed).into_iter().map(|(said, fit)| {
        let by_model = episode.is_of_model(said.line, &said.text);
        Entry { answers: true, by_model, ..place.entry(Sort::Failed, &said, worth, fit) }
    });
    entries.extend(unsolved);
    entries.extend(files(episode, place, asked));
    entries
}

/// Whether what failed and what mended it is a model's, where both are told as one.
fn failed_by_model(episode: &Episode, told: &Pointed) -> bool {
    let is_it = |error: &&ErrorLine| error.line == told.line && told.text.starts_with(&error.text);
    episode.errors.iter().find(is_it).is_some_and(|error| episode.is_of_model(error.line, &error.text))
}

/// Title, project and purpose in one line.
fn session(episode: &Episode, place: &Place<'_>) -> Entry {
    let mut text = one_line(&episode.title, TEXT_CHARS);
    let objective = episode.objective.trim();
    let begins = |long: &str, short: &str| long.to_lowercase().starts_with(&short.trim_end_matches('…').to_lowercase());
    // What was typed last says less of the whole than what was typed first.
    let is_repeated = episode.title_is_prompt && !objective.is_empty();
    let mut says_purpose = true;
    if text.is_empty() || is_repeated || begins(objective, &text) {
        text = one_line(objective, OBJECTIVE_CHARS);
    } else if !objective.is_empty() && !begins(&text, objective) {
        text = format!("{text}: {}", one_line(objective, OBJECTIVE_CHARS));
    } else {
        says_purpose = false;
    }
    if let Some(project) = place.project.filter(|_| !text.is_empty()) {
        text = format!("{project}: {text}");
    }
    let entry = place.line(Sort::Session, "", None, place.at, 2.5 * (0.4 + 0.6 * place.fit));
    let by_model = says_purpose && episode.is_of_model(0, &episode.objective);
    Entry { text, fit: place.fit, by_model, ..entry }
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
        let fit = asked.fit(path).max(place.fit);
        place.line(Sort::File, &text, Some(file.line), place.at, 2.4 - number as f32 * 0.01).fitting(fit)
    });
    told.collect()
}

fn relative<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let below = cwd.filter(|cwd| cwd.len() > 1).and_then(|cwd| path.strip_prefix(cwd));
    below.and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(path)
}

/// Those that fit best, the later of equals first, without those that fit not at all.
fn best(mut said: Vec<(Pointed, f32)>) -> Vec<(Pointed, f32)> {
    said.retain(|(_, fit)| *fit > 0.0);
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
