//! The fields of the index. There are five kinds of documents: turns, sessions, mentions, assertions and outcomes.

use baton_conversation::item::Link;
use baton_conversation::record::SessionId;
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, TantivyDocument};

use super::pretokenized::Packed;

/// Separates `group_id` from project in the `place` field; neither can contain it.
pub(super) const PLACE_BORDER: char = '\u{1f}';

/// Names of the columns, which are opened by name.
pub(super) mod column {
    pub(crate) const SESSION: &str = "session";
    pub(crate) const PLACE: &str = "place";
    pub(crate) const ORDINAL: &str = "ordinal";
    pub(crate) const GENERATION: &str = "generation";
    pub(crate) const RECORD: &str = "record";
    pub(crate) const CONTENT: &str = "content";
    pub(crate) const AT: &str = "at";
    pub(crate) const LENGTH: &str = "length";
    pub(crate) const SUBJECT: &str = "subject";
    pub(crate) const LABEL: &str = "label";
    pub(crate) const SOURCE: &str = "source";
    pub(crate) const TARGET: &str = "target";
    pub(crate) const SINCE: &str = "since";
    pub(crate) const SEEN: &str = "seen";
    pub(crate) const CREATED: &str = "created";
    pub(crate) const COUNT: &str = "count";
    pub(crate) const RELATION: &str = "relation";
    pub(crate) const LAST: &str = "last";
    pub(crate) const RESTS: &str = "rests";
    pub(crate) const SETTLES: &str = "settles";
    pub(crate) const LEAF: &str = "leaf";
    pub(crate) const SILENT: &str = "silent";
}

/// Values of the `kind` field. Turns have none.
pub(super) mod kind {
    pub(crate) const SESSION: u64 = 1;
    pub(crate) const MENTION: u64 = 2;
    pub(crate) const ASSERTION: u64 = 3;
    pub(crate) const OUTCOMES: u64 = 4;
}

/// Handles of all fields. Each description begins with the kinds of documents that have the field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// All kinds. The session's id, used to find, delete and group documents.
    pub(super) session: Field,
    /// All kinds. `group_id` and project, for filters.
    pub(super) place: Field,
    /// All kinds. The generation of the transcript that the document was made from.
    pub(super) generation: Field,
    /// Turns, mentions, assertions: the ordinal, from 0. Sessions: the number of units.
    pub(super) ordinal: Field,
    /// Turns: the key of the transcript record; forks of the session contain records with the same key.
    pub(super) record: Field,
    /// Turns with a record: the [`record_bucket`] of its key, by which the few documents are found that may have it.
    pub(super) record_bucket: Field,
    /// Turns that say something: the key of the text, by which its vector is found.
    pub(super) content: Field,
    /// Turns: date, role, text, with positions for phrases and pairs of words.
    pub(super) body: Field,
    /// Turns, and nothing else: number of tokens of the body.
    pub(super) length: Field,
    /// Turns of tools: the file names in the first line.
    pub(super) file_names: Field,
    /// Turns: the stop words of the text, for queries of nothing but stop words.
    pub(super) stops: Field,
    /// All but sessions, stored: the line in the transcript.
    pub(super) line: Field,
    /// Turns, stored: the part of the line's text.
    pub(super) part: Field,
    /// Turns and sessions: milliseconds of the turn, or of the session's end.
    pub(super) at: Field,
    /// Turns, stored: the speaker's role.
    pub(super) role: Field,
    /// All kinds, stored: the text of the unit or the episode, the entity's detail, or the fact.
    pub(super) text: Field,
    /// Sessions: the session's id again, here only in the session's own document.
    pub(super) episode_of: Field,
    /// All but turns: one of the values in [`kind`], to count and list documents.
    pub(super) kind: Field,
    /// Sessions: title and episode text.
    pub(super) episode: Field,
    /// Sessions: commit messages and titles of pull requests that it made.
    pub(super) commits: Field,
    /// Sessions: files that it changed, as paths and as file names.
    pub(super) changed: Field,
    /// Sessions: 4-grams of the distinct words.
    pub(super) grams: Field,
    /// Sessions, stored: the title. Mentions: the name. Assertions: the relation, or the name that was given to it.
    pub(super) title: Field,
    /// All but turns, stored: uuid of the episode.
    pub(super) uuid: Field,
    /// Sessions, stored: the agent.
    pub(super) agent: Field,
    /// Sessions: relation and id of each session that its transcript names.
    pub(super) link: Field,
    /// Sessions, stored: the session that started it.
    pub(super) parent: Field,
    /// Mentions and assertions: the session's id again, to delete them without the session's turns.
    pub(super) graph_of: Field,
    /// Mentions and assertions: the key of the entity or fact, to group by.
    pub(super) subject: Field,
    /// Mentions: the label, as its index in `Label::ALL`.
    pub(super) label: Field,
    /// Mentions: name and detail.
    pub(super) entity: Field,
    /// Assertions: the fact.
    pub(super) fact: Field,
    /// Assertions: key of the source entity.
    pub(super) source: Field,
    /// Assertions: key of the target entity.
    pub(super) target: Field,
    /// Sessions: milliseconds of the first turn. Mentions: of the first mention. Assertions: since when the fact holds.
    pub(super) since: Field,
    /// Mentions and assertions: milliseconds of the session's end.
    pub(super) seen: Field,
    /// Mentions and assertions: milliseconds when the episode was recorded.
    pub(super) created: Field,
    /// Mentions: number of occurrences in the session.
    pub(super) count: Field,
    /// Assertions, stored: of the uuids of source and target what their keys lack, 8 bytes each. Mentions of sessions:
    /// the same of their own uuid. All other uuids are computed from stored fields.
    pub(super) ends: Field,
    /// Assertions: the relation, as its index in `Relation::ALL`.
    pub(super) relation: Field,
    /// Assertions, stored: the value of the fact; missing if it is empty.
    pub(super) value: Field,
    /// Assertions with `rests` or `settles`: milliseconds of the last time the session says so.
    pub(super) last: Field,
    /// Assertions: the claims that the fact rests on, each slot followed by its value.
    pub(super) rests: Field,
    /// Assertions: the claims that the fact settles, each slot followed by its value; searched by slot.
    pub(super) settles: Field,
    /// Outcomes: keys of the commands run and the files touched.
    pub(super) tried: Field,
    /// Outcomes: the error lines of all failures.
    pub(super) failed: Field,
    /// Outcomes, stored: all of it as JSON.
    pub(super) outcomes: Field,
    /// Mentions and assertions, stored: present if only a model says so.
    pub(super) by_model: Field,
    /// Sessions, stored: present if the transcript itself gives the session a title.
    pub(super) titled: Field,
    /// Sessions: keys of records of other sessions to which its transcript gives titles.
    pub(super) leaf: Field,
    /// Sessions, stored: these titles, in the same order.
    pub(super) given: Field,
    /// Sessions: keys of records from which no turn is made.
    pub(super) silent: Field,
    /// Sessions, stored: usage of models over the course, as JSON; missing if there is none.
    pub(super) usage: Field,
}

/// Builds the schema and the handles of its fields.
pub(super) fn build() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let packed = |kind: Packed, record: IndexRecordOption| {
        let indexing = TextFieldIndexing::default().set_tokenizer(kind.name()).set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    let raw = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        TextOptions::default().set_indexing_options(indexing)
    };
    let frequencies = IndexRecordOption::WithFreqs;
    // Without lengths, which take a byte of each document: those of turns are in a column of their own, exact.
    let unnormed = |record: IndexRecordOption| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(Packed::Tokens.name())
            .set_fieldnorms(false)
            .set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    let number = || NumericOptions::default().set_fast();
    let indexed = || NumericOptions::default().set_indexed();
    let fields = Fields {
        session: schema.add_text_field(column::SESSION, raw().set_fast("raw")),
        place: schema.add_text_field(column::PLACE, TextOptions::default().set_fast("raw")),
        generation: schema.add_u64_field(column::GENERATION, number()),
        ordinal: schema.add_u64_field(column::ORDINAL, number()),
        record: schema.add_u64_field(column::RECORD, number()),
        record_bucket: schema.add_u64_field("record_bucket", indexed()),
        content: schema.add_u64_field(column::CONTENT, number()),
        body: schema.add_text_field("body", unnormed(IndexRecordOption::WithFreqsAndPositions)),
        length: schema.add_u64_field(column::LENGTH, number()),
        file_names: schema.add_text_field("file_names", unnormed(IndexRecordOption::Basic)),
        stops: schema.add_text_field("stops", unnormed(IndexRecordOption::WithFreqs)),
        line: schema.add_u64_field("line", STORED),
        part: schema.add_u64_field("part", STORED),
        at: schema.add_i64_field(column::AT, number()),
        role: schema.add_text_field("role", STORED),
        text: schema.add_text_field("text", STORED),
        episode_of: schema.add_text_field("episode_of", raw()),
        kind: schema.add_u64_field("kind", indexed()),
        episode: schema.add_text_field("episode", packed(Packed::Tokens, frequencies)),
        commits: schema.add_text_field("commits", packed(Packed::Tokens, frequencies)),
        changed: schema.add_text_field("changed", packed(Packed::Tokens, frequencies)),
        grams: schema.add_text_field("grams", packed(Packed::Grams, IndexRecordOption::Basic)),
        title: schema.add_text_field("title", STORED),
        uuid: schema.add_text_field("uuid", STORED),
        agent: schema.add_text_field("agent", STORED),
        link: schema.add_text_field("link", raw()),
        parent: schema.add_text_field("parent", STORED),
        graph_of: schema.add_text_field("graph_of", raw()),
        subject: schema.add_u64_field(column::SUBJECT, number().set_indexed()),
        label: schema.add_u64_field(column::LABEL, number()),
        entity: schema.add_text_field("entity", packed(Packed::Tokens, frequencies)),
        fact: schema.add_text_field("fact", packed(Packed::Tokens, frequencies)),
        source: schema.add_u64_field(column::SOURCE, number().set_indexed()),
        target: schema.add_u64_field(column::TARGET, number().set_indexed()),
        since: schema.add_i64_field(column::SINCE, number()),
        seen: schema.add_i64_field(column::SEEN, number()),
        created: schema.add_i64_field(column::CREATED, number()),
        count: schema.add_u64_field(column::COUNT, number()),
        ends: schema.add_bytes_field("ends", STORED),
        relation: schema.add_u64_field(column::RELATION, number()),
        value: schema.add_text_field("value", STORED),
        last: schema.add_i64_field(column::LAST, number()),
        rests: schema.add_u64_field(column::RESTS, number()),
        settles: schema.add_u64_field(column::SETTLES, number().set_indexed()),
        tried: schema.add_text_field("tried", raw()),
        failed: schema.add_text_field("failed", packed(Packed::Tokens, frequencies)),
        outcomes: schema.add_text_field("outcomes", STORED),
        by_model: schema.add_u64_field("by_model", STORED),
        titled: schema.add_u64_field("titled", STORED),
        leaf: schema.add_u64_field(column::LEAF, number()),
        given: schema.add_text_field("given", STORED),
        silent: schema.add_u64_field(column::SILENT, number()),
        usage: schema.add_text_field("usage", STORED),
    };
    (schema.build(), fields)
}

/// One of the 8,192 buckets of keys of records. Keys are random, so an index of them all takes 20 bytes for each key,
/// and one of the buckets next to nothing.
pub(super) fn record_bucket(key: u64) -> u64 {
    key >> 51
}

/// Registers the packed tokenizers with an index, which stores only their names.
pub(super) fn register(index: &Index) {
    for kind in [Packed::Tokens, Packed::Grams] {
        index.tokenizers().register(kind.name(), kind);
    }
}

/// The value of the `link` field for a session that a transcript names.
pub(super) fn link_text(link: Link, session: &SessionId) -> String {
    format!("{}:{session}", link.as_str())
}

/// The first stored text of a field; empty if there is none.
pub(super) fn text(document: &TantivyDocument, field: Field) -> &str {
    document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default()
}
