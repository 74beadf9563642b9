//! Matters still open: left by sessions and not settled by later ones.

use super::intent::{Intent, Kind, is_same_stem, words};
use super::{Entry, RankedSession, Sort};
use baton_episode::digest::{Episode, Pointed};
use baton_events::session::Verdict;
use baton_words::WordList;

/// Maximum number of open ends per session.
const MOST: usize = 6;
/// Words that say nothing about what is to be done.
static IDLE: WordList = WordList::words(crate::WORDS, "idle words");
/// Share of an open end's words that later work must have to settle it.
const SETTLED: f32 = 0.7;
/// Minimum number of words for such a comparison; with fewer, coincidence would settle it.
const LEAST_WORDS: usize = 2;

/// What later sessions have done, to decide whether something is still open.
#[derive(Clone, Debug, Default)]
pub struct Later {
    /// Words of everything that was done or decided.
    done: Vec<Vec<String>>,
    /// Commands that succeeded.
    succeeded: Vec<String>,
    /// Words of what was open there as well, which is reported for the later session.
    open: Vec<Vec<String>>,
}

impl Later {
    /// Adds the next session, going back in time.
    pub fn add(&mut self, episode: &Episode) {
        let done = episode.work_completed.values().flatten().chain(&episode.decisions);
        self.done.extend(done.map(|said| key_words(&said.text)));
        let by_person = episode.corrected.iter().filter(|it| it.verdict == Verdict::Done);
        self.done.extend(by_person.map(|it| key_words(&it.said.text)));
        let mended = episode.errors.iter().filter_map(|error| error.resolution.as_ref());
        self.done.extend(mended.map(|said| key_words(&said.text)));
        let commands = episode.commands.iter().filter(|command| command.outcome == "ok");
        self.succeeded.extend(commands.map(|command| command.text.to_lowercase()));
        let open = episode.unresolved.iter().chain(&episode.next_steps);
        self.open.extend(open.map(|said| key_words(&said.text)));
    }

    /// Returns true if something that an earlier session left open is settled, or open in a later session as well.
    pub fn settles(&self, left: &str) -> bool {
        let lowered = left.to_lowercase();
        if self.succeeded.iter().any(|command| command.len() > 3 && names(&lowered, command)) {
            return true;
        }
        let wanted = key_words(left);
        let settles = |there: &Vec<String>| {
            let has = |word: &&String| there.iter().any(|other| is_same_stem(other, word));
            wanted.len() >= LEAST_WORDS && wanted.iter().filter(has).count() as f32 / wanted.len() as f32 >= SETTLED
        };
        self.done.iter().any(settles) || self.open.iter().any(|there| *there == wanted || settles(there))
    }
}

/// Returns true if a text names a command, at its beginning or in backticks.
fn names(text: &str, command: &str) -> bool {
    let plain = text.trim_start_matches("bash ");
    plain.strip_prefix(command).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        || text.contains(&format!("`{command}`"))
}

fn key_words(text: &str) -> Vec<String> {
    let mut telling: Vec<String> = words(text).into_iter().filter(|word| !IDLE.has(word)).collect();
    telling.sort();
    telling.dedup();
    telling
}

/// Returns the open ends and next steps of a session that nothing later has settled.
pub fn still_open(episode: &Episode, ranked: &RankedSession<'_>, asked: &Intent, later: &Later) -> Vec<Entry> {
    let worth = if asked.is(Kind::Open) {
        3.0
    } else if asked.is(Kind::Latest) {
        // Close to the worth of the session's own line, so that both stay together.
        2.4
    } else {
        0.5
    };
    let told = |sort: Sort, said: &[Pointed], worth: f32| -> Vec<Entry> {
        let open = said.iter().filter(|said| !later.settles(&said.text)).take(MOST);
        let entry = |said: &Pointed| {
            let fit = if asked.kinds.is_empty() {
                asked.fit_of(&said.text)
            } else {
                ranked.fit_in_session(asked, &said.text)
            };
            let by_model = episode.is_of_model(said.line, &said.text);
            let entry = ranked.line(sort, &said.text, Some(said.line), said.at.or(ranked.at), worth).with_fit(fit);
            Entry { by_model, ..entry }
        };
        open.map(entry).collect()
    };
    [told(Sort::Open, &episode.unresolved, worth), told(Sort::Next, &episode.next_steps, worth * 0.98)].concat()
}
