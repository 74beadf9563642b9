//! An entry becomes documents: one for each turn, one for the session. Those of entities and facts are in
//! [`graph`](super::graph).

use std::ops::Range;

use baton_events::conversation::Role;
use baton_events::turns::{self, NEIGHBOURS, Unit};
use sha2::{Digest, Sha256};
use tantivy::{TantivyDocument, Term};

use super::analyzer::{Analyzer, Listener};
use super::kin;
use super::limits::STEM_CACHE_WORDS;
use super::packed::END;
use super::pair_count::PairCount;
use super::plain_words::PlainWords;
use super::schema::{Fields, PLACE_BORDER, kind};
use super::{Entry, MAX_LINKS};

/// Characters of a neighbour that belong to a turn's context.
const CONTEXT_CHARS: usize = 400;

/// Makes documents; holds the analyzer and its buffers, so one is reused for all entries.
pub(super) struct Drafter {
    analyzer: Analyzer,
    draft: Draft,
}

/// An analysed entry: everything of it that is indexed, packed, each unit once.
#[derive(Default)]
pub(super) struct Draft {
    /// Bodies, one after the other.
    bodies: String,
    stops: String,
    pieces: Vec<Piece>,
    /// All words of the session in order, with borders.
    words: String,
    /// The session's distinct unstemmed words.
    plain: String,
    episode: String,
    pairs: u64,
}

/// Where a unit lies in the packed text.
struct Piece {
    body: Range<usize>,
    /// Its text's first characters, for the context of those before.
    head: Range<usize>,
    /// Its text's last characters, for the context of those after.
    tail: Range<usize>,
    stops: Range<usize>,
}

/// The one key of a unit, to delete it by.
pub(super) fn unit_term(fields: &Fields, session: &str, ordinal: usize) -> Term {
    Term::from_field_u64(fields.unit, unit_key(session).wrapping_add(ordinal as u64))
}

fn unit_key(session: &str) -> u64 {
    let digest = Sha256::digest(session.as_bytes());
    digest.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// What `place` holds: the group and, when it is not the group itself, the project.
pub(super) fn place(entry: &Entry<'_>) -> String {
    format!("{}{PLACE_BORDER}{}", entry.group_id, entry.project.unwrap_or_default())
}

impl Default for Drafter {
    fn default() -> Self {
        Self { analyzer: Analyzer::with_cache(STEM_CACHE_WORDS), draft: Draft::default() }
    }
}

impl Drafter {
    /// Texts as an index field takes them.
    pub(super) fn tokens(&mut self, texts: &[&str]) -> String {
        let mut tokens = String::new();
        for text in texts {
            self.analyzer.analyze(text, &mut Tokens(&mut tokens));
        }
        tokens
    }

    /// Analyses a whole entry. Linear in its text.
    pub(super) fn analyse(&mut self, entry: &Entry<'_>) -> &Draft {
        let Self { analyzer, draft } = self;
        draft.clear();
        let mut plain = PlainWords::default();
        let mut pairs = PairCount::default();

        let mut title = Gather::new(&mut draft.words, &mut plain, &mut pairs);
        analyzer.analyze(entry.title, &mut title);
        title.border();

        let mut header = Header::default();
        for unit in entry.units {
            let new_day = header.read(analyzer, unit);
            if new_day {
                draft.words.push_str(&header.date);
                draft.words.push(END);
            }
            let body_from = draft.bodies.len();
            let stops_from = draft.stops.len();
            draft.bodies.push_str(&header.date);
            draft.bodies.push_str(&header.role);
            let text_from = draft.bodies.len();

            let mut gather = Gather::new(&mut draft.words, &mut plain, &mut pairs);
            gather.turn = Some(Turn {
                body: &mut draft.bodies,
                stops: &mut draft.stops,
                head_to: cut_after(&unit.text),
                head_end: text_from,
                tail_from: cut_before(&unit.text),
                tail_start: None,
            });
            analyzer.analyze(&unit.text, &mut gather);
            gather.border();
            let (head_end, tail_start) =
                gather.turn.as_ref().map_or((text_from, None), |turn| (turn.head_end, turn.tail_start));
            let end = draft.bodies.len();
            draft.pieces.push(Piece {
                body: body_from..end,
                head: text_from..head_end,
                tail: tail_start.unwrap_or(end)..end,
                stops: stops_from..draft.stops.len(),
            });
        }
        let mut episode = Tokens(&mut draft.episode);
        analyzer.analyze(entry.title, &mut episode);
        analyzer.analyze(entry.episode_text, &mut episode);
        plain.distinct_into(&mut draft.plain);
        draft.pairs = pairs.estimate();
        draft
    }
}

impl Draft {
    fn clear(&mut self) {
        self.bodies.clear();
        self.stops.clear();
        self.pieces.clear();
        self.words.clear();
        self.plain.clear();
        self.episode.clear();
        self.pairs = 0;
    }

    /// The document of one turn.
    pub(super) fn turn(&self, fields: &Fields, entry: &Entry<'_>, place: &str, ordinal: usize) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        let (Some(piece), Some(unit)) = (self.pieces.get(ordinal), entry.units.get(ordinal)) else {
            return document;
        };
        let session = entry.session.as_str();
        document.add_text(fields.session, session);
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(entry.generation));
        document.add_u64(fields.ordinal, ordinal as u64);
        document.add_u64(fields.unit, unit_key(session).wrapping_add(ordinal as u64));
        document.add_text(fields.body, &self.bodies[piece.body.clone()]);
        document.add_text(fields.context, self.context(ordinal));
        if !piece.stops.is_empty() {
            document.add_text(fields.stops, &self.stops[piece.stops.clone()]);
        }
        document.add_u64(fields.line, unit.line);
        document.add_u64(fields.part, u64::from(unit.part));
        if let Some(at) = unit.at {
            document.add_i64(fields.at, at.0);
        }
        document.add_text(fields.role, unit.role.as_str());
        if let Some(uuid) = &unit.uuid {
            document.add_u64(fields.record, kin::key(uuid));
        }
        document.add_text(fields.text, &unit.text);
        document
    }

    /// The end of the units before, the unit, the start of the units after.
    fn context(&self, ordinal: usize) -> String {
        let before = &self.pieces[ordinal.saturating_sub(NEIGHBOURS)..ordinal];
        let after = self.pieces[ordinal + 1..].iter().take(NEIGHBOURS);
        let parts = before
            .iter()
            .map(|piece| piece.tail.clone())
            .chain([self.pieces[ordinal].body.clone()])
            .chain(after.map(|piece| piece.head.clone()));
        let mut context = String::with_capacity(parts.clone().map(|part| part.len()).sum());
        for part in parts {
            context.push_str(&self.bodies[part]);
        }
        context
    }

    /// The document of the session.
    pub(super) fn session(&self, fields: &Fields, entry: &Entry<'_>, place: &str) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, entry.session.as_str());
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(entry.generation));
        document.add_u64(fields.ordinal, entry.units.len() as u64);
        document.add_text(fields.episode_of, entry.session.as_str());
        document.add_u64(fields.kind, kind::SESSION);
        document.add_text(fields.episode, &self.episode);
        document.add_text(fields.words, &self.words);
        document.add_text(fields.grams, &self.plain);
        document.add_u64(fields.pairs, self.pairs);
        document.add_text(fields.title, entry.title);
        document.add_text(fields.uuid, entry.episode_uuid.to_string());
        document.add_text(fields.agent, entry.agent.as_str());
        document.add_text(fields.text, entry.episode_text);
        if let Some(at) = entry.ended_at {
            document.add_i64(fields.at, at.0);
        }
        for (link, session) in entry.links.iter().take(MAX_LINKS) {
            document.add_text(fields.link, kin::link_text(*link, session));
        }
        if let Some(parent) = entry.parent {
            document.add_text(fields.parent, parent.as_str());
        }
        document
    }
}

/// Bytes of the first [`CONTEXT_CHARS`] characters.
fn cut_after(text: &str) -> usize {
    text.char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(at, _)| at)
}

/// Where the last [`CONTEXT_CHARS`] characters begin.
fn cut_before(text: &str) -> usize {
    text.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at)
}

/// Date and role of a unit, packed, as they stand before its text in the body.
#[derive(Default)]
struct Header {
    day: Option<i64>,
    speaker: Option<Role>,
    date: String,
    role: String,
}

impl Header {
    /// Makes it the header of `unit`; true when the day is another than before.
    fn read(&mut self, analyzer: &mut Analyzer, unit: &Unit) -> bool {
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
        let nothing_said = Unit { line, part, at, role, uuid: None, text: String::new() };
        let mut text = String::new();
        turns::body(&nothing_said, &mut text);
        analyzer.analyze(&text, &mut Tokens(&mut self.date));
        // The body's role comes last, and changes more often than the day.
        let date = self.date.strip_suffix(self.role.as_str()).map_or(self.date.len(), str::len);
        self.date.truncate(date);
        unit.at.is_some()
    }
}

/// Collects stems and names.
struct Tokens<'a>(&'a mut String);

impl Tokens<'_> {
    fn push(&mut self, token: &str) {
        self.0.push_str(token);
        self.0.push(END);
    }
}

impl Listener for Tokens<'_> {
    fn word(&mut self, _plain: &str, stem: &str, _at: Range<usize>) {
        self.push(stem);
    }

    fn single(&mut self, character: &str, _at: Range<usize>) {
        self.push(character);
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        self.push(token);
    }
}

/// Collects the words of a session and, while a unit is read, that unit's body.
struct Gather<'a> {
    words: &'a mut String,
    plain: &'a mut PlainWords,
    pairs: &'a mut PairCount,
    turn: Option<Turn<'a>>,
}

struct Turn<'a> {
    body: &'a mut String,
    stops: &'a mut String,
    /// Byte of the text where the head ends, and what that is in the packed body.
    head_to: usize,
    head_end: usize,
    /// Byte of the text where the tail begins, and what that is in the packed body.
    tail_from: usize,
    tail_start: Option<usize>,
}

impl<'a> Gather<'a> {
    fn new(words: &'a mut String, plain: &'a mut PlainWords, pairs: &'a mut PairCount) -> Self {
        Self { words, plain, pairs, turn: None }
    }

    /// Nothing that comes next is beside what came before.
    fn border(&mut self) {
        self.words.push(END);
        self.pairs.border();
    }
}

impl Turn<'_> {
    fn push(&mut self, token: &str, at: Range<usize>) {
        if at.start >= self.tail_from {
            self.tail_start.get_or_insert(self.body.len());
        }
        self.body.push_str(token);
        self.body.push(END);
        if at.end <= self.head_to {
            self.head_end = self.body.len();
        }
    }
}

impl Listener for Gather<'_> {
    fn word(&mut self, plain: &str, stem: &str, at: Range<usize>) {
        self.words.push_str(stem);
        self.words.push(END);
        self.plain.push(plain);
        self.pairs.push(stem);
        if let Some(turn) = &mut self.turn {
            turn.push(stem, at);
        }
    }

    fn single(&mut self, character: &str, at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.push(character, at);
        }
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.stops.push_str(word);
            turn.stops.push(END);
        }
    }

    fn name(&mut self, token: &str, at: Range<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.push(token, at);
        }
    }
}
