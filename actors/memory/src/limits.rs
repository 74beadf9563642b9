//! Every bound of this room, with its reason.

use std::time::Duration;

/// Heap of the index writer before it writes a segment out. It grows as it is filled, so only a backfill takes all of
/// it; half as much costs a backfill a fifth more for segments that are merged again.
pub(super) const WRITER_HEAP_BYTES: usize = 40_000_000;
/// Documents handed to the writer at a time: bounds what a very long session holds in memory twice.
pub(super) const WRITE_BATCH_DOCS: usize = 256;
/// Words of one session, in bytes, by which the session as a whole is compared with a query: more than a million words. Of a
/// longer one these are its first, and it is marked so; its turns are found all the same.
pub(super) const SESSION_WORDS_BYTES: usize = 8 * 1024 * 1024;
/// Text that may wait for the writer: enough that neither side waits for the other.
pub(super) const QUEUED_BYTES: usize = 8 * 1024 * 1024;
/// How long the writer may take nothing before it counts as dead: longer than any disk's pause.
pub(super) const QUEUE_STALL: Duration = Duration::from_secs(30);
/// Segments of about one size before they are merged: fewer cost merging, more cost each query a look-up.
pub(super) const MERGE_SEGMENTS: usize = 6;
/// Documents in a segment that is never merged by size again, so that no merge takes longer than some seconds.
pub(super) const MERGE_MAX_DOCS: usize = 500_000;
/// Share of deleted documents at which a segment is rewritten.
pub(super) const MERGE_DELETED_RATIO: f32 = 0.25;
/// Words whose stems the writer remembers (about 50 bytes each): most of a person's vocabulary.
pub(super) const STEM_CACHE_WORDS: usize = 16_384;
/// An index up to this size is read whole on opening to compare its checksums.
pub(super) const CHECKED_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of a query that are read: more than 400 words of any language.
pub(super) const QUERY_BYTES: usize = 16 * 1024;
/// Words and names of a query that are read.
pub(super) const QUERY_TOKENS: usize = 400;
/// Different words and names that are searched for: the rarest, which decide.
pub(super) const QUERY_TERMS: usize = 48;
/// Turns taken before grouping by session: 200 to 400 give the same ranking.
pub(super) const BEST_TURNS: usize = 200;
/// Turns nearest to what is meant that are joined with those.
pub(super) const NEAREST_TURNS: usize = 200;
/// How often the turns are taken again without the sessions already found, when these do not fill the page.
pub(super) const TURN_PASSES: usize = 3;
/// How many times as many turns are taken the next time, when most were copies of others.
pub(super) const CROWDED: usize = 4;
/// Sessions whose whole text is compared with the query.
pub(super) const BEST_SESSIONS: usize = 30;
/// Most sessions in an answer.
pub(super) const MAX_SESSIONS: usize = 200;
/// Most turns of one session in an answer.
pub(super) const MAX_TURNS_PER_SESSION: usize = 20;
/// Words of a query of which those beside each other are looked for.
pub(super) const BESIDE_WORDS: usize = 16;
/// Session documents times pairs that are looked at to learn how many sessions have a pair.
pub(super) const BESIDE_WORK: usize = 20_000;
/// Grams of a query that are looked for.
pub(super) const QUERY_GRAMS: usize = 256;
/// Words whose stems are remembered while the snippets of one answer are cut.
pub(super) const SNIPPET_CACHE_WORDS: usize = 1024;
/// Longest snippet, in characters.
pub(super) const SNIPPET_CHARS: usize = 240;
/// Different entities or facts that one question ranks, and that count as near a center: more than a person's history.
pub(super) const GRAPH_GROUPS: usize = 200_000;
/// Words of a failure by which sessions are looked for that had it: the rarest.
pub(super) const FAILURE_TERMS: usize = 16;
/// Sessions that an answer names for one entity or fact.
pub(super) const GROUP_SESSIONS: usize = 10;
/// Facts that are read to find those that ended within a time, or are called by a name of somebody's own.
pub(super) const SIFTED_FACTS: usize = 5_000;
/// Sessions of an entity among which one is looked for that says what it is.
pub(super) const DETAIL_SESSIONS: usize = 10;
/// Episodes that an answer names for one fact.
pub(super) const GROUP_EPISODES: usize = 50;
/// Records of a session by which its relatives are looked for: one look-up in the index each.
pub(super) const KIN_SAMPLE: usize = 256;
/// Relatives of a session that are told: more forks of one session than anybody makes.
pub(super) const MAX_KIN: usize = 64;
/// Words and names that a prefix stands for: those in most documents.
pub(super) const PREFIX_TERMS: usize = 50;
/// Words and names of one segment that are looked at to find them: more than begin alike in any; a million take some 50 ms.
pub(super) const PREFIX_LOOKED: usize = 2_000_000;
/// Of these, those that are in most of a segment's documents are counted over all segments.
pub(super) const PREFIX_COUNTED: usize = 1_000;
/// Sessions that have the rarest word of a phrase, up to which it is looked for in them by its words' positions.
pub(super) const PHRASE_SESSIONS: u64 = 5_000;
/// Turns that have all words of a phrase, up to which each of them is scored, and no other.
pub(super) const PHRASE_TURNS: usize = 4_096;
/// Texts of turns that are read first to see whether they have a phrase, the best: mostly enough of them have it.
pub(super) const PHRASE_TEXTS: usize = 400;
/// Turns that may have a phrase which are put in order, where those are not enough: 16 bytes each.
pub(super) const PHRASE_CANDIDATES: usize = 200_000;
/// Text that one question reads to see whether it has a phrase: some 30,000 short turns, in well under a second.
pub(super) const READ_BYTES: usize = 32 * 1024 * 1024;
/// Sessions whose titles and episodes are put in order to find those that have what is demanded.
pub(super) const EPISODES_LOOKED: usize = 5_000;
/// Names of one segment that are compared with the name of a file: 200,000 take some 20 ms.
pub(super) const NAMES_LOOKED: usize = 2_000_000;
/// Tools, branches or files whose names are read for one filter: some 10 µs each.
pub(super) const THINGS_LOOKED: usize = 20_000;
/// Names of a question that are looked for among the things that its sessions have to do with.
pub(super) const ENTITY_NAMES: usize = 8;
