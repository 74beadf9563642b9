//! The fields of the index: five kinds of documents, turns, sessions, mentions, assertions and outcomes.

use baton_conversation::hash::Mark;
use baton_conversation::item::Link;
use baton_conversation::record::SessionId;
use tantivy::schema::{
    Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, TantivyDocument};

use super::pretokenized::Packed;

/// Stands between `group_id` and project in a place; neither can contain it.
pub(super) const PLACE_BORDER: char = '\u{1f}';

/// Columns are opened by name.
pub(super) mod column {
    pub(crate) const SESSION: &str = "session";
    pub(crate) const PLACE: &str = "place";
    pub(crate) const ORDINAL: &str = "ordinal";
    pub(crate) const GENERATION: &str = "generation";
    pub(crate) const RECORD: &str = "record";
    pub(crate) const CONTENT: &str = "content";
    pub(crate) const AT: &str = "at";
    pub(crate) const PAIRS: &str = "pairs";
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

/// What `kind` holds. Turns have none: they are all the rest.
pub(super) mod kind {
    pub(crate) const SESSION: u64 = 1;
    pub(crate) const MENTION: u64 = 2;
    pub(crate) const ASSERTION: u64 = 3;
    pub(crate) const OUTCOMES: u64 = 4;
}

/// Every field, by what it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// All kinds. The session's id: found by it, deleted by it, grouped by it.
    pub(super) session: Field,
    /// All kinds. `group_id` and project, for filters.
    pub(super) place: Field,
    /// All kinds. Which generation of the transcript it was read from.
    pub(super) generation: Field,
    /// Turns, mentions, assertions: the number from 0. Sessions: how many units there are.
    pub(super) ordinal: Field,
    /// Turns: one key for each unit of each session, to delete it by.
    pub(super) unit: Field,
    /// Turns: the key of the transcript's record that it is from, which forks of the session repeat.
    pub(super) record: Field,
    /// Turns that say something: the key of the text, by which its vector is found.
    pub(super) content: Field,
    /// Turns: date, role, text.
    pub(super) body: Field,
    /// Turns: the body with its neighbours.
    pub(super) context: Field,
    /// Turns: who speaks, and the names of the file that a tool's line is about.
    pub(super) author: Field,
    /// Turns: the stop words of the text, for a query that has nothing else.
    pub(super) stops: Field,
    /// All but sessions, stored: where it is in the transcript.
    pub(super) line: Field,
    /// Turns, stored: which part of the line's text.
    pub(super) part: Field,
    /// Turns and sessions: milliseconds of the turn, or of the session's end.
    pub(super) at: Field,
    /// Turns, stored: who speaks.
    pub(super) role: Field,
    /// All kinds, stored: the unit's text, the episode's, the entity's detail, the fact.
    pub(super) text: Field,
    /// Sessions: the session's id again, which only its own document carries here.
    pub(super) episode_of: Field,
    /// All but turns: see [`kind`]; to count them by and to list them.
    pub(super) kind: Field,
    /// Sessions: title and episode text.
    pub(super) episode: Field,
    /// Sessions: the messages of the commits and the titles of the pull requests that it made.
    pub(super) commits: Field,
    /// Sessions: the files that it changed, as paths and by their names.
    pub(super) changed: Field,
    /// Sessions: all words in order, with positions: for bigrams and near pairs.
    pub(super) words: Field,
    /// Sessions: 4-grams of the distinct words.
    pub(super) grams: Field,
    /// Sessions: about how many different near pairs there are.
    pub(super) pairs: Field,
    /// Sessions, stored: the title. Mentions: the name. Assertions: the relation, or what somebody calls it.
    pub(super) title: Field,
    /// All but turns, stored: the episode's uuid.
    pub(super) uuid: Field,
    /// Sessions, stored: which agent.
    pub(super) agent: Field,
    /// Sessions: what it is to a session that its transcript names, and that session's id.
    pub(super) link: Field,
    /// Sessions, stored: the session it was started by.
    pub(super) parent: Field,
    /// Mentions and assertions: the session's id again, to delete them by and leave its turns alone.
    pub(super) graph_of: Field,
    /// Mentions and assertions: the key of the entity or fact, to group by.
    pub(super) subject: Field,
    /// Mentions: what it is, by its number.
    pub(super) label: Field,
    /// Mentions: name and detail.
    pub(super) entity: Field,
    /// Assertions: the fact.
    pub(super) fact: Field,
    /// Assertions: the keys of source and target.
    pub(super) source: Field,
    /// See `source`.
    pub(super) target: Field,
    /// Sessions: milliseconds of the first turn. Mentions and assertions: of the first mention, or since when the fact
    /// holds.
    pub(super) since: Field,
    /// Mentions and assertions: milliseconds of the session's end.
    pub(super) seen: Field,
    /// Mentions and assertions: milliseconds of the episode's recording.
    pub(super) created: Field,
    /// Mentions: how often.
    pub(super) count: Field,
    /// Assertions, stored: the uuids of source and target, 16 bytes each. Mentions of sessions: their own. Other uuids are made
    /// of what is stored.
    pub(super) ends: Field,
    /// Assertions: how source and target bear on each other, by its number.
    pub(super) relation: Field,
    /// Assertions, stored: how the target is settled; missing where it is empty.
    pub(super) value: Field,
    /// Assertions that rest on something or settle it: milliseconds of when the session says so last.
    pub(super) last: Field,
    /// Assertions: what they rest on, each slot followed by its value.
    pub(super) rests: Field,
    /// Assertions: what they settle, each slot followed by its value; to look settlements of a slot up by.
    pub(super) settles: Field,
    /// Outcomes: what was run and which files were touched, to find them by.
    pub(super) tried: Field,
    /// Outcomes: the telling lines of all failures.
    pub(super) failed: Field,
    /// Outcomes, stored: what was tried and how it went, as JSON.
    pub(super) outcomes: Field,
    /// Mentions and assertions, stored: there where a model alone says so.
    pub(super) by_model: Field,
    /// Sessions, stored: there where the transcript says itself what its session is called.
    pub(super) titled: Field,
    /// Sessions: keys of records of other sessions that its transcript gives a title to.
    pub(super) leaf: Field,
    /// Sessions, stored: these titles, in the same order.
    pub(super) given: Field,
    /// Sessions: keys of records that no turn is made of.
    pub(super) silent: Field,
}

/// The schema, and its fields by name.
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
    let named = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(Packed::Tokens.name())
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        TextOptions::default().set_indexing_options(indexing)
    };
    let frequencies = IndexRecordOption::WithFreqs;
    let number = || NumericOptions::default().set_fast();
    let fields = Fields {
        session: schema.add_text_field(column::SESSION, raw().set_fast("raw")),
        place: schema.add_text_field(column::PLACE, TextOptions::default().set_fast("raw")),
        generation: schema.add_u64_field(column::GENERATION, number()),
        ordinal: schema.add_u64_field(column::ORDINAL, number()),
        unit: schema.add_u64_field("unit", INDEXED),
        record: schema.add_u64_field(column::RECORD, number().set_indexed()),
        content: schema.add_u64_field(column::CONTENT, number()),
        body: schema.add_text_field("body", packed(Packed::Tokens, frequencies)),
        context: schema.add_text_field("context", packed(Packed::Tokens, frequencies)),
        author: schema.add_text_field("author", named()),
        stops: schema.add_text_field("stops", packed(Packed::Tokens, frequencies)),
        line: schema.add_u64_field("line", STORED),
        part: schema.add_u64_field("part", STORED),
        at: schema.add_i64_field(column::AT, NumericOptions::default().set_fast().set_stored()),
        role: schema.add_text_field("role", STORED),
        text: schema.add_text_field("text", STORED),
        episode_of: schema.add_text_field("episode_of", raw()),
        kind: schema.add_u64_field("kind", INDEXED),
        episode: schema.add_text_field("episode", packed(Packed::Tokens, frequencies)),
        commits: schema.add_text_field("commits", packed(Packed::Tokens, frequencies)),
        changed: schema.add_text_field("changed", packed(Packed::Tokens, frequencies)),
        words: schema.add_text_field("words", packed(Packed::Tokens, IndexRecordOption::WithFreqsAndPositions)),
        grams: schema.add_text_field("grams", packed(Packed::Grams, frequencies)),
        pairs: schema.add_u64_field(column::PAIRS, number()),
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
    };
    (schema.build(), fields)
}

/// Makes the packed tokenizers known to an index, which stores only their names.
pub(super) fn register(index: &Index) {
    for kind in [Packed::Tokens, Packed::Grams] {
        index.tokenizers().register(kind.name(), kind);
    }
}

/// What the index keeps of a record's id: the first 64 bits of its SHA-256, so that ids of any shape take the same room.
pub(super) fn record_key(uuid: &str) -> u64 {
    Mark::of(uuid.as_bytes()).0
}

/// What the index keeps of a session that another's transcript names.
pub(super) fn link_text(link: Link, session: &SessionId) -> String {
    format!("{}:{session}", link.as_str())
}

/// A stored text; empty when there is none.
pub(super) fn text(document: &TantivyDocument, field: Field) -> &str {
    document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default()
}
