//! Turns an entry into documents: one per turn and one for the session. Those of entities and facts are made in
//! [`graph`](super::graph).

mod collect;

use std::collections::VecDeque;
use std::ops::Range;

use baton_conversation::item::Role;
use baton_conversation::record::Timestamp;
use baton_conversation::turns;
use baton_conversation::turns::{NEIGHBOURS, Unit};
use baton_graph::Label;
use baton_redaction::redact;
use sha2::{Digest, Sha256};
use tantivy::{TantivyDocument, Term};

use self::collect::{FileNames, SessionText, Tokens, TurnText};
use super::analyzer::Analyzer;
use super::limits::{SESSION_WORDS_BYTES, STEM_CACHE_WORDS};
use super::pair_count::PairCount;
use super::plain_words::PlainWords;
use super::pretokenized::{CUT, END};
use super::schema::{self, Fields, PLACE_BORDER, kind};
use super::{Entry, MAX_LINKS, usage, vectors};

/// Characters of a neighbour that are part of a turn's context.
const CONTEXT_CHARS: usize = 400;

/// Packed bodies of finished units are dropped once they reach this size.
const FINISHED_BYTES: usize = 256 * 1024;

/// Makes documents. Holds the analyzer and its buffers, so one is reused for all entries.
pub(super) struct Drafter {
    analyzer: Analyzer,
    draft: Draft,
}

/// The entry being analysed, unit by unit. Holds the units still needed as context of an unfinished turn, and what the
/// session's own document needs.
#[derive(Default)]
struct Draft {
    /// Packed bodies of the held units, concatenated.
    bodies: String,
    stops: String,
    pieces: VecDeque<Piece>,
    /// Ordinal of the first held unit.
    first: usize,
    /// Number of units finished: written or skipped.
    finished: usize,
    header: Header,
    /// Time of the first unit that has one.
    since: Option<Timestamp>,
    /// Packed words of the session in order, with borders; at most [`SESSION_WORDS_BYTES`] plus one unit.
    words: String,
    /// True if the session has more words than that.
    is_cut: bool,
    plain: PlainWords,
    pairs: PairCount,
}

/// A held unit and its ranges in the packed text.
struct Piece {
    unit: Unit,
    body: Range<usize>,
    /// The first characters of its text, as context of earlier turns.
    head: Range<usize>,
    /// The last characters of its text, as context of later turns.
    tail: Range<usize>,
    stops: Range<usize>,
    /// Packed names of the files that a tool's line is about.
    file_names: String,
}

/// The term that deletes a unit's turn.
pub(super) fn unit_term(fields: &Fields, session: &str, ordinal: usize) -> Term {
    Term::from_field_u64(fields.unit, unit_key(session).wrapping_add(ordinal as u64))
}

fn unit_key(session: &str) -> u64 {
    let digest = Sha256::digest(session.as_bytes());
    digest.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// The value of the `place` field: group and project, redacted, since a directory may be named like a secret.
pub(super) fn place(entry: &Entry<'_>) -> String {
    format!("{}{PLACE_BORDER}{}", redact(entry.group_id), redact(entry.project.unwrap_or_default()))
}

impl Default for Drafter {
    fn default() -> Self {
        Self { analyzer: Analyzer::with_cache(STEM_CACHE_WORDS), draft: Draft::default() }
    }
}

impl Drafter {
    /// Packs the stems and names of texts for an index field.
    pub(super) fn tokens(&mut self, texts: &[&str]) -> String {
        let mut tokens = String::new();
        for text in texts {
            self.analyzer.analyze(text, &mut Tokens(&mut tokens));
        }
        tokens
    }

    /// Begins an entry. Its units follow, through [`Drafter::unit`].
    pub(super) fn begin(&mut self, entry: &Entry<'_>) {
        let Self { analyzer, draft } = self;
        draft.clear();
        let mut title = SessionText::new(&mut draft.words, &mut draft.plain, &mut draft.pairs);
        analyzer.analyze(entry.title, &mut title);
        title.border();
    }

    /// Analyses the next unit, in time linear in its text. Only turns from unit `from` on will be written.
    pub(super) fn unit(&mut self, mut unit: Unit, from: usize) {
        let Self { analyzer, draft } = self;
        let new_day = draft.header.update(analyzer, &unit);
        let is_full = draft.words.len() >= SESSION_WORDS_BYTES;
        if is_full && draft.first + draft.pieces.len() + NEIGHBOURS < from {
            // Needed neither for the session's words nor as context of a written turn. In a huge session that is nearly
            // all text.
            unit.text.clear();
        }
        draft.is_cut |= is_full;
        if new_day && !is_full {
            draft.words.push_str(&draft.header.date);
            draft.words.push(END);
        }
        draft.since = draft.since.or(unit.at);
        let body_from = draft.bodies.len();
        let stops_from = draft.stops.len();
        draft.bodies.push_str(&draft.header.date);
        draft.bodies.push_str(&draft.header.role);
        let text_from = draft.bodies.len();

        let mut session_text = SessionText::new(&mut draft.words, &mut draft.plain, &mut draft.pairs);
        session_text.is_full = is_full;
        session_text.turn = Some(TurnText {
            body: &mut draft.bodies,
            stops: &mut draft.stops,
            head_to: head_bytes(&unit.text),
            head_end: text_from,
            tail_from: tail_offset(&unit.text),
            tail_start: None,
        });
        analyzer.analyze(&unit.text, &mut session_text);
        session_text.border();
        let (head_end, tail_start) =
            session_text.turn.as_ref().map_or((text_from, None), |turn| (turn.head_end, turn.tail_start));
        let end = draft.bodies.len();
        let mut file_names = String::new();
        pack_file_names(analyzer, &unit, &mut file_names);
        draft.pieces.push_back(Piece {
            unit,
            body: body_from..end,
            head: text_from..head_end,
            tail: tail_start.unwrap_or(end)..end,
            stops: stops_from..draft.stops.len(),
            file_names,
        });
    }

    /// The document of the next turn from unit `from` on, if its context is complete: the units after it have come, or
    /// `is_last` says that none will.
    pub(super) fn turn(
        &mut self,
        fields: &Fields,
        entry: &Entry<'_>,
        place: &str,
        from: usize,
        is_last: bool,
    ) -> Option<TantivyDocument> {
        let draft = &mut self.draft;
        loop {
            let behind = (draft.first + draft.pieces.len()).checked_sub(draft.finished + 1)?;
            if behind < NEIGHBOURS && !is_last {
                return None;
            }
            let ordinal = draft.finished;
            let document = (ordinal >= from).then(|| draft.turn(fields, entry, place, ordinal)).flatten();
            draft.finished += 1;
            draft.drop_finished();
            if document.is_some() {
                return document;
            }
        }
    }

    /// The session's document, after all of its units.
    pub(super) fn session(&mut self, fields: &Fields, entry: &Entry<'_>, place: &str) -> TantivyDocument {
        let episode = self.tokens(&[entry.title, entry.episode_text]);
        let (commits, changed) = (self.tokens(&commits(entry)), self.tokens(&changed(entry)));
        let draft = &mut self.draft;
        let (count, pairs) = (draft.first + draft.pieces.len(), draft.pairs.estimate());
        let mut plain = String::new();
        std::mem::take(&mut draft.plain).distinct_into(&mut plain);
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, entry.session.as_str());
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(entry.generation));
        document.add_u64(fields.ordinal, count as u64);
        document.add_text(fields.episode_of, entry.session.as_str());
        document.add_u64(fields.kind, kind::SESSION);
        document.add_text(fields.episode, &episode);
        for (field, tokens) in [(fields.commits, &commits), (fields.changed, &changed)] {
            if !tokens.is_empty() {
                document.add_text(field, tokens);
            }
        }
        if draft.is_cut {
            draft.words.push_str(CUT);
            draft.words.push(END);
        }
        document.add_text(fields.words, &draft.words);
        document.add_text(fields.grams, &plain);
        document.add_u64(fields.pairs, pairs);
        document.add_text(fields.title, entry.title);
        document.add_text(fields.uuid, entry.episode_uuid.to_string());
        document.add_text(fields.agent, entry.agent.as_str());
        document.add_text(fields.text, entry.episode_text);
        if let Some(at) = entry.ended_at {
            document.add_i64(fields.at, at.0);
        }
        if let Some(since) = draft.since {
            document.add_i64(fields.since, since.0);
        }
        for (link, session) in entry.links.iter().take(MAX_LINKS) {
            document.add_text(fields.link, schema::link_text(*link, session));
        }
        if let Some(parent) = entry.parent {
            document.add_text(fields.parent, parent.as_str());
        }
        entry.titles.write(fields, &mut document);
        usage::write(entry.usage, fields, &mut document);
        document
    }
}

impl Draft {
    fn clear(&mut self) {
        let Self { mut bodies, mut stops, mut pieces, mut words, .. } = std::mem::take(self);
        for text in [&mut bodies, &mut stops, &mut words] {
            text.clear();
            // Releases what a huge session allocated.
            text.shrink_to(4 * FINISHED_BYTES);
        }
        pieces.clear();
        *self = Self { bodies, stops, pieces, words, ..Self::default() };
    }

    fn turn(&self, fields: &Fields, entry: &Entry<'_>, place: &str, ordinal: usize) -> Option<TantivyDocument> {
        let piece = self.pieces.get(ordinal.checked_sub(self.first)?)?;
        let (unit, session) = (&piece.unit, entry.session.as_str());
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, session);
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(entry.generation));
        document.add_u64(fields.ordinal, ordinal as u64);
        document.add_u64(fields.unit, unit_key(session).wrapping_add(ordinal as u64));
        document.add_text(fields.body, &self.bodies[piece.body.clone()]);
        document.add_text(fields.context, self.context(ordinal - self.first));
        if !piece.file_names.is_empty() {
            document.add_text(fields.file_names, &piece.file_names);
        }
        if !piece.stops.is_empty() {
            document.add_text(fields.stops, &self.stops[piece.stops.clone()]);
        }
        document.add_u64(fields.line, unit.line);
        document.add_u64(fields.part, u64::from(unit.part));
        if let Some(at) = unit.at {
            document.add_i64(fields.at, at.0);
        }
        document.add_text(fields.role, unit.role.as_str());
        if let Some(record) = unit.record {
            document.add_u64(fields.record, record.0);
        }
        if let Some(passage) = vectors::passage(&unit.text) {
            document.add_u64(fields.content, vectors::key(passage));
        }
        document.add_text(fields.text, &unit.text);
        Some(document)
    }

    /// The ends of the preceding units, the unit, and the starts of the following units.
    fn context(&self, at: usize) -> String {
        let before = self.pieces.range(at.saturating_sub(NEIGHBOURS)..at);
        let after = self.pieces.range(at + 1..self.pieces.len().min(at + 1 + NEIGHBOURS));
        let parts = before
            .map(|piece| piece.tail.clone())
            .chain([self.pieces[at].body.clone()])
            .chain(after.map(|piece| piece.head.clone()));
        let mut context = String::with_capacity(parts.clone().map(|part| part.len()).sum());
        for part in parts {
            context.push_str(&self.bodies[part]);
        }
        context
    }

    /// Drops units that are no longer context of an unfinished turn.
    fn drop_finished(&mut self) {
        while self.first + NEIGHBOURS < self.finished && self.pieces.pop_front().is_some() {
            self.first += 1;
        }
        let Some(piece) = self.pieces.front() else { return };
        let (body, stops) = (piece.body.start, piece.stops.start);
        if body < FINISHED_BYTES {
            return;
        }
        self.bodies.drain(..body);
        self.stops.drain(..stops);
        let back = |range: &mut Range<usize>, by: usize| *range = range.start - by..range.end - by;
        for piece in &mut self.pieces {
            back(&mut piece.body, body);
            back(&mut piece.head, body);
            back(&mut piece.tail, body);
            back(&mut piece.stops, stops);
        }
    }
}

/// Appends the packed names in the first line of a tool's unit, and file names without folders.
fn pack_file_names(analyzer: &mut Analyzer, unit: &Unit, out: &mut String) {
    if unit.role == Role::Tool {
        let line = unit.text.lines().next().unwrap_or_default();
        analyzer.analyze(&line[..head_bytes(line)], &mut FileNames(out));
    }
}

/// Length in bytes of the first [`CONTEXT_CHARS`] characters.
fn head_bytes(text: &str) -> usize {
    text.char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(at, _)| at)
}

/// Byte offset of the last [`CONTEXT_CHARS`] characters.
fn tail_offset(text: &str) -> usize {
    text.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at)
}

/// Packed date and role, which precede a unit's text in its body.
#[derive(Default)]
struct Header {
    day: Option<i64>,
    speaker: Option<Role>,
    date: String,
    role: String,
}

impl Header {
    /// Updates the header for `unit`; true if the unit has a time and its day differs from the previous unit's.
    fn update(&mut self, analyzer: &mut Analyzer, unit: &Unit) -> bool {
        if self.speaker != Some(unit.role) {
            self.speaker = Some(unit.role);
            self.role.clear();
            analyzer.analyze(unit.role.as_str(), &mut Tokens(&mut self.role));
        }
        let day = unit.at.map(|at| at.0.div_euclid(86_400_000));
        if self.day == day {
            return false;
        }
        self.day = day;
        self.date.clear();
        let Unit { line, part, at, role, .. } = *unit;
        let nothing_said = Unit { line, part, at, role, record: None, text: String::new() };
        let mut text = String::new();
        turns::body(&nothing_said, &mut text);
        analyzer.analyze(&text, &mut Tokens(&mut self.date));
        // The body ends with the role, which changes more often than the day.
        let date = self.date.strip_suffix(self.role.as_str()).map_or(self.date.len(), str::len);
        self.date.truncate(date);
        unit.at.is_some()
    }
}

/// First lines of its commit messages, and titles of its pull requests.
fn commits<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let made = |label| matches!(label, Label::Commit | Label::PullRequest);
    entry.graph.mentions.iter().filter(|mention| made(mention.label)).map(|mention| mention.name.as_str()).collect()
}

/// Files that it changed: each path, and its file name if the path has folders.
fn changed<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for file in entry.outcomes.files.iter().filter(|file| file.changed) {
        names.push(file.path.as_str());
        // Queries often name a file without its folders.
        names.extend(file.path.rsplit_once(['/', '\\']).map(|(_, name)| name));
    }
    names
}

#[cfg(test)]
mod tests;
