//! What a session contributes to the answer of a question.

use super::intent::{Intent, Kind};
use super::quotes::Quotes;
use super::selection::LEAST_FIT;
use super::{Entry, Sort};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{
    Episode, ErrorLine, Exchange, FileModified, Pointed, carrying_sentences, gives_reason, is_commit_scope,
};

/// Maximum length of an entry, in characters.
const TEXT_CHARS: usize = 240;
/// Maximum length of a conclusion's sentences, in characters.
const ANSWER_CHARS: usize = 420;
/// The same for the best session, and for its best conclusion.
const BEST_ANSWER_CHARS: usize = 700;
const BEST_OF_ALL_CHARS: usize = 1_000;
/// Maximum length of the request before them, in characters.
const REQUEST_CHARS: usize = 160;
/// The same in a session that is only near.
const NEAR_REQUEST_CHARS: usize = 260;
/// Maximum number of exchanges per session.
const MOST_ANSWERS: usize = 2;
/// Minimum share of the subject with which an exchange answers by its own words.
const ANSWER_FIT: f32 = 0.5;
/// Share that the exchange of a passage which the search found counts for, beside its own words.
const OF_A_PASSAGE: f32 = 0.4;
/// Maximum length of an objective after a title, in characters.
const OBJECTIVE_CHARS: usize = 200;
/// Maximum number of entries of one sort per session.
const MOST_OF_A_SORT: usize = 5;
/// Maximum number of files per session, if they are asked for.
const MOST_FILES: usize = 20;
/// Maximum number of sessions that are named for a subject.
const MOST_LISTED: usize = 3;
/// How much a session's worth decreases with its rank.
const DECAY: f32 = 0.2;
/// Share of its worth that a decision keeps when a person says that it no longer holds.
const SUPERSEDED: f32 = 0.5;
/// Share of the session's fit that counts for an entry without words of the subject.
const OF_THE_SESSION: f32 = 0.5;

/// A session among those that match.
#[derive(Clone, Copy, Debug)]
pub struct RankedSession<'a> {
    /// Id of the session.
    pub session: &'a SessionId,
    /// Rank, from 1.
    pub rank: usize,
    /// Time of its last message.
    pub at: Option<Timestamp>,
    /// Last component of its project's directory.
    pub project: Option<&'a str>,
    /// How well the whole session matches, from 0 to 1: by [`whole_fit`] and by the passages found in it.
    pub fit: f32,
    /// Lines of the passages found in it.
    pub found: &'a [u64],
}

impl RankedSession<'_> {
    /// Returns the worth of an entry, reduced by the session's rank.
    pub fn weighted_score(&self, worth: f32) -> f32 {
        worth / (1.0 + DECAY * self.rank.saturating_sub(1) as f32)
    }

    fn entry(&self, sort: Sort, said: &Pointed, worth: f32, fit: f32) -> Entry {
        self.line(sort, &said.text, Some(said.line), said.at.or(self.at), worth).with_fit(fit)
    }

    /// Returns how well something said in the session matches: by its own words, or because the session is about it.
    pub(super) fn fit_in_session(&self, asked: &Intent, text: &str) -> f32 {
        let fit = asked.fit_of(text);
        fit + (1.0 - fit) * OF_THE_SESSION * self.fit
    }

    /// Creates an entry of the session, on one line of bounded length.
    pub fn line(&self, sort: Sort, text: &str, line: Option<u64>, at: Option<Timestamp>, worth: f32) -> Entry {
        let (text, worth) = (one_line(text, TEXT_CHARS), self.weighted_score(worth));
        let (session, fit) = (self.session.clone(), 1.0);
        let (uuid, ended, later) = (None, None, None);
        Entry { sort, text, session, line, at, uuid, ended, later, fit, answers: false, by_model: false, worth }
    }
}

/// Returns how well a whole session matches: by its title, its purpose and the files it changed.
pub fn whole_fit(episode: &Episode, asked: &Intent) -> f32 {
    let files = episode.files_modified.iter().map(|file| relative(&file.path, episode.cwd.as_deref()));
    let whole: Vec<&str> = [episode.title.as_str(), &episode.objective].into_iter().chain(files).collect();
    asked.fit_of(&whole.join(" "))
}

/// Returns true if what a session says has enough of the subject to answer the question: an open end or next step; unless
/// it is asked what is open, a decision or a passage; unless it is asked why, an error or the sentences that are told of the
/// best exchange. A passage says why if it gives a reason.
pub fn states_answer(episode: &Episode, quotes: &Quotes, asked: &Intent) -> bool {
    let is_answer = |text: &str| asked.is_answered_by(text);
    let any = |said: &[Pointed]| said.iter().any(|said| is_answer(&said.text) && matters(&said.text, asked));
    let is_open = any(&episode.unresolved) || any(&episode.next_steps);
    if is_open || asked.seeks_open() {
        return is_open;
    }
    let mut passages = quotes.passages.iter().map(|quote| quote.text.as_str());
    if any(&episode.decisions) || any(&episode.superseded) {
        return true;
    }
    if asked.is(Kind::Decisions) {
        return passages.any(|text| is_answer(text) && gives_reason(text));
    }
    passages.next().is_some_and(is_answer)
        || episode.errors.iter().any(|error| is_answer(&error.text))
        || best_exchange(episode, asked).is_some_and(|text| is_answer(&text))
}

/// Returns false for a decision about the files of one commit, unless commits are asked about: nobody needs it afterwards.
fn matters(decision: &str, asked: &Intent) -> bool {
    let is_asked = || asked.about.iter().any(|term| ["commit", "stage"].iter().any(|word| term.word.starts_with(word)));
    !is_commit_scope(decision) || is_asked()
}

/// Returns the largest share of the subject that a decision of a session has, if a reason is asked for.
pub fn decision_share(episode: &Episode, asked: &Intent) -> f32 {
    let decisions = episode.decisions.iter().filter(|said| asked.is(Kind::Decisions) && matters(&said.text, asked));
    decisions.map(|said| asked.coverage(&said.text)).fold(0.0, f32::max)
}

/// Returns the title with the sentences of the best exchange that carry the subject.
fn best_exchange(episode: &Episode, asked: &Intent) -> Option<String> {
    let best = matched(episode, asked, &[]).into_iter().next()?;
    let told = |text: &str, chars: usize| carrying_sentences(text, chars, |sentence| asked.fit_of(sentence));
    let (request, concluded) = (told(best.prompt, NEAR_REQUEST_CHARS), told(&best.concluded.text, BEST_ANSWER_CHARS));
    Some([episode.title.as_str(), &request, &concluded].join(" "))
}

/// Returns the conclusion of the best exchange in the sentences that match best, with its line.
pub(super) fn best_sentences(episode: &Episode, asked: &Intent, chars: usize) -> Option<(u64, String)> {
    let best = matched(episode, asked, &[]).into_iter().next().filter(|said| said.own > 0.0)?;
    let concluded = carrying_sentences(&best.concluded.text, chars, |sentence| asked.fit_of(sentence));
    (!concluded.is_empty()).then_some((best.concluded.line, concluded))
}

/// Returns the error of a session that is nearest to the subject, by its words and those of what mended it.
pub fn nearest_error<'a>(episode: &'a Episode, asked: &Intent) -> Option<(f32, &'a ErrorLine)> {
    let fit = |error: &ErrorLine| {
        let mended = error.resolution.as_ref().map_or("", |said| said.text.as_str());
        asked.fit_of(&format!("{} {mended}", error.text))
    };
    let rated = episode.errors.iter().map(|error| (fit(error), error));
    rated.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(fit, _)| *fit > 0.0)
}

/// Returns the entries of a session's episode that answer the question, the session's own line first; open ends are
/// left to [`still_open`](super::still_open). Bounded in number and length.
pub fn session_entries(episode: &Episode, ranked: &RankedSession<'_>, asked: &Intent) -> Vec<Entry> {
    // Of the sessions found for a subject, the first ones suffice.
    let is_listed = asked.is_general() || asked.is(Kind::Latest) || asked.is(Kind::Files) || ranked.rank <= MOST_LISTED;
    let mut entries: Vec<Entry> = is_listed.then(|| session_entry(episode, ranked)).into_iter().collect();
    let wanted = |kind: Kind, usual: f32| if asked.is(kind) { 3.0 } else { usual };
    let searched = asked.kinds.is_empty();

    let is_open =
        |said: &Pointed| episode.unresolved.iter().chain(&episode.next_steps).any(|open| open.text == said.text);
    let answers = episode.work_completed.get("answers").filter(|_| asked.is(Kind::Latest));
    let done = answers.and_then(|answers| answers.last()).filter(|said| !is_open(said));
    entries.extend(done.map(|said| {
        let by_model = episode.is_of_model(said.line, &said.text);
        Entry { by_model, ..ranked.entry(Sort::Done, said, 2.45, ranked.fit) }
    }));
    let mut tell = |sort: Sort, worth: f32, said: Vec<(Pointed, f32)>| {
        let told = best_matches(said).into_iter().map(|(said, fit)| {
            let by_model = episode.is_of_model(said.line, &said.text) || is_failure_of_model(episode, &said);
            Entry { by_model, ..ranked.entry(sort, &said, worth, fit) }
        });
        entries.extend(told);
    };

    // Without a known kind, only entries with words of the question count.
    let near = |text: &str| if searched { asked.fit_of(text) } else { ranked.fit_in_session(asked, text) };
    // Other decisions of the session do not answer why this one was made. If none has the subject's words, those of the
    // session that is about it may be it in other words.
    let told = || episode.decisions.iter().filter(|said| matters(&said.text, asked));
    let is_named = told().any(|said| asked.fit_of(&said.text) >= LEAST_FIT);
    let in_other_words = if ranked.rank == 1 && !is_named && ranked.fit >= LEAST_FIT { LEAST_FIT } else { 0.0 };
    let decided = |text: &str| match asked.is(Kind::Decisions) {
        true => asked.fit_of(text).max(in_other_words),
        false => near(text),
    };
    let decisions = told().map(|said| (said.clone(), decided(&said.text)));
    let worth = wanted(Kind::Decisions, if searched { 1.0 } else { 0.6 });
    tell(Sort::Decision, worth, decisions.collect());
    let superseded = episode.superseded_by_person().map(|said| (said.clone(), decided(&said.text)));
    tell(Sort::Decision, worth * SUPERSEDED, superseded.collect());

    let setbacks = episode.setbacks.iter().map(|said| (said.clone(), near(&said.text)));
    tell(Sort::Failed, wanted(Kind::Failed, if asked.is(Kind::Solved) { 1.6 } else { 0.6 }), setbacks.collect());
    let (mut mended, mut failed) = (Vec::new(), Vec::new());
    for error in &episode.errors {
        let (text, list) = match &error.resolution {
            Some(resolution) => (format!("{} -> {}", error.text, resolution.text), &mut mended),
            None => (format!("{}{}", error.text, episode.not_a_fix(error)), &mut failed),
        };
        let fit = near(&text);
        list.push((Pointed { text, line: error.line, at: error.at }, fit));
    }
    tell(Sort::Fixed, wanted(Kind::Solved, 0.6), mended);
    // A failed command says less than an abandoned approach.
    let worth = if asked.is(Kind::Failed) || asked.is(Kind::Solved) { 1.5 } else { 0.4 };
    let unsolved = best_matches(failed).into_iter().map(|(said, fit)| {
        let by_model = episode.is_of_model(said.line, &said.text);
        Entry { answers: true, by_model, ..ranked.entry(Sort::Failed, &said, worth, fit) }
    });
    entries.extend(unsolved);
    entries.extend(answers_of(episode, ranked, asked));
    entries.extend(file_entries(episode, ranked, asked));
    entries
}

/// Returns true if an error with its fix, shown as one entry, comes from a model.
fn is_failure_of_model(episode: &Episode, told: &Pointed) -> bool {
    let is_it = |error: &&ErrorLine| error.line == told.line && told.text.starts_with(&error.text);
    episode.errors.iter().find(is_it).is_some_and(|error| episode.is_of_model(error.line, &error.text))
}

/// An exchange, and how well it matches.
struct Matched<'a> {
    prompt: &'a str,
    concluded: &'a Pointed,
    /// By its own words.
    own: f32,
    /// The same, and whether a passage was found in it.
    fit: f32,
    is_found: bool,
}

/// Returns the exchanges with a conclusion, best first. The question is matched against prompt and conclusion together,
/// because a conclusion seldom repeats what was asked.
fn matched<'a>(episode: &'a Episode, asked: &Intent, found: &[u64]) -> Vec<Matched<'a>> {
    let begins = |exchange: &Exchange| {
        [&exchange.prompt, &exchange.conclusion].into_iter().flatten().map(|said| said.line).min()
    };
    let matched = |(at, exchange): (usize, &'a Exchange)| {
        let concluded = exchange.conclusion.as_ref()?;
        let prompt = exchange.prompt.as_ref().map_or("", |prompt| &prompt.text);
        let own = asked.fit_of(&format!("{prompt} {}", concluded.text));
        // The conclusion of the exchange in which a passage was found is what became of it.
        let from = begins(exchange).unwrap_or(concluded.line);
        let until = episode.exchanges.get(at + 1).and_then(begins).unwrap_or(u64::MAX);
        let is_found = found.iter().any(|line| (from..until).contains(line));
        let fit = own + if is_found { (1.0 - own) * OF_A_PASSAGE } else { 0.0 };
        Some(Matched { prompt, concluded, own, fit, is_found })
    };
    let mut all: Vec<_> = episode.exchanges.iter().enumerate().filter_map(matched).collect();
    all.sort_by(|a, b| b.fit.total_cmp(&a.fit).then_with(|| b.concluded.line.cmp(&a.concluded.line)));
    all
}

/// Returns what the agent concluded in the exchanges that match best, in the sentences that carry the subject; a short
/// conclusion of the best session whole, since an answer need not have the words of its question.
fn answers_of(episode: &Episode, ranked: &RankedSession<'_>, asked: &Intent) -> Vec<Entry> {
    if asked.is_general() || asked.is(Kind::Files) {
        return Vec::new();
    }
    let worth = if asked.kinds.is_empty() { 2.2 } else { 2.9 };
    let fits = |sentence: &str| asked.fit_of(sentence);
    let entry = |(number, said): (usize, Matched<'_>)| {
        let chars = match (ranked.rank, number) {
            (1, 0) => BEST_OF_ALL_CHARS,
            (1, _) => BEST_ANSWER_CHARS,
            _ => ANSWER_CHARS,
        };
        let concluded = match ranked.rank == 1 && said.concluded.text.chars().count() <= chars {
            true => said.concluded.text.clone(),
            false => carrying_sentences(&said.concluded.text, chars, fits),
        };
        let request = carrying_sentences(said.prompt, REQUEST_CHARS, fits);
        let text = match (concluded.is_empty(), fits(&request) > 0.0) {
            (true, _) => return None,
            (false, true) => format!("Asked: {request} Concluded: {concluded}"),
            (false, false) => concluded,
        };
        let near = said.fit + (1.0 - said.fit) * OF_THE_SESSION * ranked.fit;
        let (line, at) = (Some(said.concluded.line), said.concluded.at.or(ranked.at));
        let entry = ranked.line(Sort::Answer, "", line, at, worth * (0.4 + 0.6 * near));
        let text = one_line(&text, BEST_OF_ALL_CHARS + REQUEST_CHARS);
        Some(Entry { text, fit: near, answers: said.own >= ANSWER_FIT, ..entry })
    };
    let counts = |said: &Matched<'_>| said.own >= ANSWER_FIT || ranked.rank == 1 && said.is_found;
    let best = matched(episode, asked, ranked.found).into_iter().filter(counts).take(MOST_ANSWERS);
    best.enumerate().filter_map(entry).collect()
}

/// Returns title, project and purpose on one line.
fn session_entry(episode: &Episode, ranked: &RankedSession<'_>) -> Entry {
    let mut text = one_line(&episode.title, TEXT_CHARS);
    let objective = episode.objective.trim();
    let begins = |long: &str, short: &str| long.to_lowercase().starts_with(&short.trim_end_matches('…').to_lowercase());
    let mut says_purpose = true;
    if text.is_empty() || begins(objective, &text) {
        text = one_line(objective, OBJECTIVE_CHARS);
    } else if !objective.is_empty() && !begins(&text, objective) {
        text = format!("{text}: {}", one_line(objective, OBJECTIVE_CHARS));
    } else {
        says_purpose = false;
    }
    if let Some(project) = ranked.project.filter(|_| !text.is_empty()) {
        text = format!("{project}: {text}");
    }
    let entry = ranked.line(Sort::Session, "", None, ranked.at, 2.5 * (0.4 + 0.6 * ranked.fit));
    let by_model = says_purpose && episode.is_of_model(0, &episode.objective);
    Entry { text, fit: ranked.fit, by_model, ..entry }
}

/// Returns the changed files: those changed again and again, whose changes have no sum, then those with the most changed
/// lines.
fn file_entries(episode: &Episode, ranked: &RankedSession<'_>, asked: &Intent) -> Vec<Entry> {
    if !asked.is(Kind::Files) {
        return Vec::new();
    }
    let mut files: Vec<_> = episode.files_modified.iter().collect();
    let lines = |file: &FileModified| file.added.saturating_add(file.removed);
    files.sort_by_key(|file| (lines(file) > 0, std::cmp::Reverse(lines(file))));
    let told = files.into_iter().take(MOST_FILES).enumerate().map(|(number, file)| {
        let path = relative(&file.path, episode.cwd.as_deref());
        let counts = if lines(file) > 0 { format!(" (+{} -{})", file.added, file.removed) } else { String::new() };
        let text = format!("{path}{counts}");
        let fit = asked.fit_of(path).max(ranked.fit);
        ranked.line(Sort::File, &text, Some(file.line), ranked.at, 2.4 - number as f32 * 0.01).with_fit(fit)
    });
    told.collect()
}

fn relative<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let below = cwd.filter(|cwd| cwd.len() > 1).and_then(|cwd| path.strip_prefix(cwd));
    below.and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(path)
}

/// Returns the best matches, later lines first among equals; entries that do not match at all are dropped.
fn best_matches(mut said: Vec<(Pointed, f32)>) -> Vec<(Pointed, f32)> {
    said.retain(|(_, fit)| *fit > 0.0);
    said.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.line.cmp(&a.0.line)));
    said.truncate(MOST_OF_A_SORT);
    said
}

pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(most) else { return line };
    // No word is cut, unless it is a very long one.
    let word = line[..end].rfind(' ').filter(|at| at * 2 > end).unwrap_or(end);
    format!("{}…", line[..word].trim_end())
}
