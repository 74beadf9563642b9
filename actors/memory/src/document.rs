//! Turns an entry into documents: one per turn and one for the session. Those of entities and facts are made in
//! [`graph`](super::graph).

mod collect;

use std::ops::{Bound, RangeBounds};

use baton_conversation::item::Role;
use baton_conversation::record::Timestamp;
use baton_conversation::turns;
use baton_conversation::turns::Unit;
use baton_graph::Label;
use baton_redaction::redact;
use tantivy::query::{BooleanQuery, Query, RangeQuery, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{TantivyDocument, Term};

use self::collect::{FileNames, Tokens, TurnText};
use super::analyzer::Analyzer;
use super::limits::STEM_CACHE_WORDS;
use super::plain_words::PlainWords;
use super::pretokenized::END;
use super::schema::{self, Fields, PLACE_BORDER, kind};
use super::{Entry, MAX_LINKS, Origin, usage, vectors};

/// Characters of a tool's first line that are searched for names of files.
const FIRST_LINE_CHARS: usize = 400;

/// Buffers that grew beyond this size are released after the entry.
const KEPT_BYTES: usize = 64 * 1024;

/// Makes documents. Holds the analyzer and its buffers, so one is reused for all entries.
pub(super) struct Drafter {
    analyzer: Analyzer,
    header: Header,
    body: String,
    stops: String,
    plain: PlainWords,
    /// Number of units so far.
    count: usize,
    /// Time of the first unit that has one.
    since: Option<Timestamp>,
}

/// Finds the turns of a session with these ordinals. Other documents have ordinals too, but no length.
pub(super) fn turns(fields: &Fields, session: &str, ordinals: impl RangeBounds<usize>) -> Box<dyn Query> {
    let of_session = TermQuery::new(Term::from_field_text(fields.session, session), IndexRecordOption::Basic);
    let term = |ordinal: &usize| Term::from_field_u64(fields.ordinal, *ordinal as u64);
    let is_one = RangeQuery::new(ordinals.start_bound().map(term), ordinals.end_bound().map(term));
    let least = Bound::Included(Term::from_field_u64(fields.length, 0));
    let is_turn = RangeQuery::new(least, Bound::Unbounded);
    Box::new(BooleanQuery::intersection(vec![Box::new(of_session), Box::new(is_one), Box::new(is_turn)]))
}

/// The value of the `place` field: group and project, redacted, since a directory may be named like a secret.
pub(super) fn place(origin: &Origin<'_>) -> String {
    format!("{}{PLACE_BORDER}{}", redact(origin.group_id), redact(origin.project.unwrap_or_default()))
}

impl Default for Drafter {
    fn default() -> Self {
        Self {
            analyzer: Analyzer::with_cache(STEM_CACHE_WORDS),
            header: Header::default(),
            body: String::new(),
            stops: String::new(),
            plain: PlainWords::default(),
            count: 0,
            since: None,
        }
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
        self.begin_at(0);
        [&mut self.body, &mut self.stops].into_iter().for_each(|text| text.shrink_to(KEPT_BYTES));
        self.analyzer.analyze(entry.title, &mut self.plain);
    }

    /// Begins units that are added to a session from an ordinal on. They follow, through [`Drafter::unit`].
    pub(super) fn begin_at(&mut self, ordinal: usize) {
        (self.header, self.plain, self.count, self.since) = (Header::default(), PlainWords::default(), ordinal, None);
    }

    /// The document of the next unit, in time linear in its text; `None` for units before `from`.
    pub(super) fn unit(
        &mut self,
        fields: &Fields,
        origin: &Origin<'_>,
        place: &str,
        unit: &Unit,
        from: usize,
    ) -> Option<TantivyDocument> {
        let ordinal = self.count;
        self.count += 1;
        self.since = self.since.or(unit.at);
        if ordinal < from {
            self.analyzer.analyze(&unit.text, &mut self.plain);
            return None;
        }
        let Self { analyzer, header, body, stops, plain, .. } = self;
        header.update(analyzer, unit);
        [&mut *body, &mut *stops].into_iter().for_each(String::clear);
        body.push_str(&header.date);
        body.push_str(&header.role);
        body.push(END);
        let tokens = header.tokens();
        let mut text = TurnText { body, stops, plain, tokens };
        analyzer.analyze(&unit.text, &mut text);
        let tokens = text.tokens;

        let session = origin.session.as_str();
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, session);
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(origin.generation));
        document.add_u64(fields.ordinal, ordinal as u64);
        document.add_text(fields.body, &*body);
        document.add_u64(fields.length, tokens);
        if unit.role == Role::Tool {
            let mut names = String::new();
            let line = unit.text.lines().next().unwrap_or_default();
            analyzer.analyze(head(line), &mut FileNames(&mut names));
            if !names.is_empty() {
                document.add_text(fields.file_names, &names);
            }
        }
        if !stops.is_empty() {
            document.add_text(fields.stops, &*stops);
        }
        document.add_u64(fields.line, unit.line);
        document.add_u64(fields.part, u64::from(unit.part));
        if let Some(at) = unit.at {
            document.add_i64(fields.at, at.0);
        }
        document.add_text(fields.role, unit.role.as_str());
        if let Some(record) = unit.record {
            document.add_u64(fields.record, record.0);
            document.add_u64(fields.record_bucket, schema::record_bucket(record.0));
        }
        if let Some(passage) = vectors::passage(&unit.text) {
            document.add_u64(fields.content, vectors::key(passage));
        }
        document.add_text(fields.text, &unit.text);
        Some(document)
    }

    /// The session's document, after all of its units.
    pub(super) fn session(&mut self, fields: &Fields, entry: &Entry<'_>, place: &str) -> TantivyDocument {
        let episode = self.tokens(&[entry.title, entry.episode_text]);
        let (commits, changed) = (self.tokens(&commits(entry)), self.tokens(&changed(entry)));
        let mut plain = String::new();
        std::mem::take(&mut self.plain).distinct_into(&mut plain);
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, entry.session.as_str());
        document.add_text(fields.place, place);
        document.add_u64(fields.generation, u64::from(entry.generation));
        document.add_u64(fields.ordinal, self.count as u64);
        document.add_text(fields.episode_of, entry.session.as_str());
        document.add_u64(fields.kind, kind::SESSION);
        document.add_text(fields.episode, &episode);
        for (field, tokens) in [(fields.commits, &commits), (fields.changed, &changed)] {
            if !tokens.is_empty() {
                document.add_text(field, tokens);
            }
        }
        document.add_text(fields.grams, &plain);
        document.add_text(fields.title, entry.title);
        document.add_text(fields.uuid, entry.episode_uuid.to_string());
        document.add_text(fields.agent, entry.agent.as_str());
        document.add_text(fields.text, entry.episode_text);
        if let Some(at) = entry.ended_at {
            document.add_i64(fields.at, at.0);
        }
        if let Some(since) = self.since {
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

/// The first [`FIRST_LINE_CHARS`] characters.
fn head(text: &str) -> &str {
    text.char_indices().nth(FIRST_LINE_CHARS).map_or(text, |(at, _)| &text[..at])
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
    /// Number of tokens.
    fn tokens(&self) -> u64 {
        [&self.date, &self.role].map(|packed| packed.lines().count() as u64).iter().sum()
    }

    fn update(&mut self, analyzer: &mut Analyzer, unit: &Unit) {
        if self.speaker != Some(unit.role) {
            self.speaker = Some(unit.role);
            self.role.clear();
            analyzer.analyze(unit.role.as_str(), &mut Tokens(&mut self.role));
        }
        let day = unit.at.map(|at| at.0.div_euclid(86_400_000));
        if self.day == day {
            return;
        }
        self.day = day;
        self.date.clear();
        let Unit { line, part, at, role, .. } = *unit;
        let nothing_said = Unit { line, part, at, role, record: None, text: String::new() };
        let mut text = String::new();
        turns::write_body(&nothing_said, &mut text);
        analyzer.analyze(&text, &mut Tokens(&mut self.date));
        // The body ends with the role, which changes more often than the day.
        let date = self.date.strip_suffix(self.role.as_str()).map_or(self.date.len(), str::len);
        self.date.truncate(date);
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
