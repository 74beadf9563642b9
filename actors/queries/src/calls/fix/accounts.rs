//! Accounts of a failure from the sessions that have its words.

use std::io::{BufRead, BufReader, Read};

use baton_ask::query::Question;
use baton_ask::recall::{self, Intent, Quotes, Speaker};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{Episode, Exchange, carrying_sentences};
use baton_events::session::{EpisodeRef, Verdict};
use baton_outcomes::{AccountReader, FixQuery, names_fix};
use baton_protocol::Failure;
use baton_protocol::answer::{FixAccount, FixMatch, Hit, Quote};
use baton_store::conversation::for_each_item;
use baton_views::conversation::Conversations;

use crate::calls::outcome_query::OutcomeSource;
use crate::calls::quotes::Quoting;

/// Most sessions that are read for one answer.
const SESSIONS: usize = 12;
/// Passages per session by which its place in the transcript is found.
const PASSAGES: usize = 1;
/// A longer text is searched for by its telling line alone.
const WORDS_BYTES: usize = 600;
/// Most nearest places listed if no session has most of the words.
const NEAREST: usize = 2;
/// A longer conclusion is shortened to the sentences that are about the failure.
const CONCLUSION_CHARS: usize = 700;
/// Least share of the failure's words that the best passage of a nearest session has.
const NEAR: f32 = 0.4;
/// Most bytes of a transcript that are searched for the line of an output, of which the memory keeps one line only.
const TRANSCRIPT_BYTES: u64 = 64 * 1024 * 1024;
/// Most lines of a transcript that have the line.
const LINES: usize = 20;

/// Reads accounts. Blocks.
pub(super) struct Accounts<'a> {
    pub(super) source: &'a OutcomeSource,
    pub(super) conversations: &'a Conversations,
}

impl Accounts<'_> {
    /// Adds what was said and done about the occurrence of a recorded failure.
    pub(super) fn complete(&self, known: &mut FixMatch) {
        let Some(account) = known.account.take() else { return };
        let read = self.read(&FixQuery::read(&account.text), &account.session_id, vec![account.line]);
        known.account = Some(match read {
            // What resolved it is listed already.
            Some((_, read)) if known.fixes.iter().any(names_fix) => FixAccount { concluded: None, ..read },
            Some((_, read)) => read,
            None => account.clone(),
        });
        if let Some(read) = &mut known.account {
            (read.project, read.same) = (account.project, known.same);
        }
    }

    /// Returns the accounts of the sessions that have most of the failure's words; if there are none, those of the
    /// nearest passages. The second value is true for the former.
    pub(super) fn find(&self, error: &FixQuery, text: &str, limit: usize) -> Result<(Vec<FixAccount>, bool), Failure> {
        let words = if text.len() <= WORDS_BYTES { text } else { &error.line };
        let question = Question { words: words.to_owned(), ..Question::default() };
        let hits = self.source.find(question, Vec::new(), SESSIONS, PASSAGES)?;
        let mut found: Vec<(f32, FixAccount)> = Vec::new();
        for hit in &hits {
            let read = self.read(error, &hit.session_id, self.lines_with(&hit.session_id, error));
            found.extend(read.map(|(share, account)| (share, FixAccount { project: hit.project.clone(), ..account })));
        }
        // The search's order decides between equal ones.
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let best = found.first().map_or(0.0, |(share, _)| *share);
        found.retain(|(share, _)| best < 1.0 || *share >= 1.0);
        if found.is_empty() {
            found.extend(hits.iter().filter_map(|hit| self.by_part(error, hit)).map(|account| (NEAR, account)));
        }
        if found.is_empty() {
            return Ok((self.nearest(words)?, false));
        }
        Ok((found.into_iter().map(|(_, account)| account).take(limit).collect(), true))
    }

    /// The account of a session whose transcript has a part of the failure's line.
    fn by_part(&self, error: &FixQuery, hit: &Hit) -> Option<FixAccount> {
        let (part, lines) = error.longest_part(self.transcript(&hit.session_id), LINES)?;
        let (_, account) = self.read(&part, &hit.session_id, lines)?;
        Some(FixAccount { project: hit.project.clone(), same: false, ..account })
    }

    /// Accounts of the sessions that say most about what the words describe, also in other words: their best passages.
    fn nearest(&self, words: &str) -> Result<Vec<FixAccount>, Failure> {
        let asked = self.source.describe(words);
        let question = Question { words: asked.search.clone(), ..Question::default() };
        let hits = self.source.find(question, asked.synonyms(), SESSIONS, PASSAGES)?;
        let mut quoting = Quoting::new(self.conversations, &self.source.settings.filtering, &asked);
        let mut found: Vec<(f32, FixAccount)> = Vec::new();
        for hit in &hits {
            let id = SessionId::new(&hit.session_id);
            let current = id.as_ref().and_then(|id| self.source.table.get(id)?.state.episode.clone());
            let (Some(id), Some(current)) = (id, current) else { continue };
            let said = quoting.read(&id, &current);
            if said.coverage < NEAR {
                continue;
            }
            let Some(account) = self.account_near(hit, &id, current, &said, &asked) else { continue };
            found.push((said.coverage * (said.relevance + said.best()), account));
        }
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Ok(found.into_iter().take(NEAREST).map(|(_, account)| account).collect())
    }

    /// The account of what the passages of a session describe: sooner a failing line or what a person reports than what
    /// the agent says.
    fn account_near(
        &self,
        hit: &Hit,
        id: &SessionId,
        current: EpisodeRef,
        said: &Quotes,
        asked: &Intent,
    ) -> Option<FixAccount> {
        let quote = |text: &str, line: u64, at: Option<Timestamp>| Quote {
            text: text.to_owned(),
            session_id: hit.session_id.clone(),
            line,
            at: at.map(|at| at.to_string()),
        };
        let quoted = |said: &recall::Quote| quote(&said.text, said.line, said.at);
        let by = |speaker: Speaker| said.passages.iter().find(|said| said.speaker == speaker).map(quoted);
        let failed = || {
            let digest = self.conversations.digest(id, current, &self.source.settings.filtering);
            let (_, episode) = digest.ok()?;
            recall::nearest_error(&episode, asked).map(|(_, error)| quote(&error.text, error.line, error.at))
        };
        let first = by(Speaker::Failure).or_else(failed).or_else(|| by(Speaker::Other));
        let first = first.or_else(|| said.passages.first().map(quoted))?;
        let read = self.read(&FixQuery::read(&first.text), &hit.session_id, vec![first.line]);
        let account = read.map(|(_, account)| account).unwrap_or_default();
        let by_agent = said.passages.iter().filter(|said| said.speaker == Speaker::Agent && said.line != first.line);
        let mut by_agent = by_agent.map(quoted);
        Some(FixAccount {
            said: account.said.or_else(|| by_agent.next()),
            concluded: account.concluded.or_else(|| by_agent.next()),
            text: first.text,
            same: false,
            session_id: first.session_id,
            project: hit.project.clone(),
            line: first.line,
            at: first.at,
            ..account
        })
    }

    fn read(&self, error: &FixQuery, session: &str, lines: Vec<u64>) -> Option<(f32, FixAccount)> {
        let id = SessionId::new(session)?;
        let row = self.source.table.get(&id)?;
        let current = row.state.episode.clone()?;
        let read = self.conversations.read(&id, current, |episode| {
            let mut reader = AccountReader::new(error, lines.iter().copied());
            for_each_item(self.conversations.chunks(), &id, episode, |item| reader.push(&item))?;
            Ok(reader.finish())
        });
        let (_, found) = read.ok()?;
        let (share, mut account) = found?;
        let current = self.source.table.get(&id)?.state.episode.clone()?;
        let digest = self.conversations.digest(&id, current, &self.source.settings.filtering);
        let episode = digest.ok().map(|(_, episode)| episode).unwrap_or_default();
        if is_no_fix(&episode, account.line, error) {
            return None;
        }
        // A conclusion before the quoted words, or without a word of the failure beside them, is about something else.
        let is_about = |concluded: &Quote| match &account.said {
            Some(said) => concluded.line > said.line && error.fit_of(&concluded.text) > 0.0,
            // What was run instead is more informative than how the session ended.
            None if !account.commands.is_empty() => false,
            None => concluded.line >= account.line,
        };
        account.concluded = conclusion(&episode, account.line, error).filter(is_about);
        account.session_id = session.to_owned();
        if let Some(place) = &row.state.place {
            let below = |path: &String| Some(path.strip_prefix(&*place.project)?.strip_prefix('/')?.to_owned());
            let changes = account.files.iter_mut().chain(&mut account.edits).chain(&mut account.tried);
            changes.for_each(|path| *path = below(path).unwrap_or_else(|| std::mem::take(path)));
        }
        for quote in [&mut account.said, &mut account.concluded].into_iter().flatten() {
            quote.session_id = session.to_owned();
        }
        Some((share, account))
    }

    /// The lines of a session's transcript that have the failure's line.
    fn lines_with(&self, session: &str, error: &FixQuery) -> Vec<u64> {
        let lines = self.transcript(session).filter(|(_, line)| error.is_in_encoded(line));
        lines.map(|(number, _)| number).take(LINES).collect()
    }

    /// The numbered lines of a session's transcript, up to [`TRANSCRIPT_BYTES`].
    fn transcript(&self, session: &str) -> impl Iterator<Item = (u64, String)> + use<> {
        let row = SessionId::new(session).and_then(|id| self.source.table.get(&id).cloned());
        let path = row.and_then(|row| row.state.transcript.as_ref().map(|transcript| transcript.path.to_string()));
        let file = path.and_then(|path| std::fs::File::open(path).ok());
        let lines = file.into_iter().flat_map(|file| BufReader::new(file.take(TRANSCRIPT_BYTES)).split(b'\n'));
        let numbered = (1..).zip(lines.map_while(Result::ok));
        numbered.filter_map(|(number, line)| Some((number, String::from_utf8(line).ok()?)))
    }
}

/// The number of prompts up to a line, which numbers the exchanges.
fn exchange_of(episode: &Episode, line: u64) -> usize {
    let is_before = |exchange: &&Exchange| exchange.prompt.as_ref().is_none_or(|prompt| prompt.line <= line);
    episode.exchanges.iter().take_while(is_before).count()
}

/// True if a person says, in the exchange of the line, that what was done about this failure did not fix it.
fn is_no_fix(episode: &Episode, line: u64, error: &FixQuery) -> bool {
    let mut no_fixes = episode.corrected.iter().filter(|it| it.verdict == Verdict::NotAFix);
    no_fixes.any(|it| {
        exchange_of(episode, it.said.line) == exchange_of(episode, line) && error.share_of(&it.said.text) >= NEAR
    })
}

/// The conclusion of the exchange that a line belongs to; of a long one the sentences that are about the failure.
fn conclusion(episode: &Episode, line: u64, error: &FixQuery) -> Option<Quote> {
    let exchange = exchange_of(episode, line).checked_sub(1)?;
    let said = episode.exchanges.get(exchange)?.conclusion.as_ref()?;
    let text = match said.text.chars().count() {
        0..=CONCLUSION_CHARS => said.text.clone(),
        _ => carrying_sentences(&said.text, CONCLUSION_CHARS, |sentence| error.fit_of(sentence)),
    };
    Some(Quote { text, session_id: String::new(), line: said.line, at: said.at.map(|at| at.to_string()) })
}
