//! All limits of this crate, each with its reason.

use std::time::Duration;

/// Heap of the index writer before it writes a segment. It grows as it fills, so only a backfill takes all of it; half
/// as much makes a backfill a fifth slower, because more segments are merged again.
pub(super) const WRITER_HEAP_BYTES: usize = 40_000_000;
/// Unpacked blocks of stored fields that each segment keeps; a block has 16 KB, tantivy's default. Larger ones made the
/// index no smaller that could be told from its merges.
pub(super) const STORE_CACHE_BLOCKS: usize = 96;
/// Documents handed to the writer at a time; bounds how much of a very long session is in memory twice.
pub(super) const WRITE_BATCH_DOCS: usize = 256;
/// Bytes of one session's distinct words of which 4-grams are made; later ones have none.
pub(super) const SESSION_WORDS_BYTES: usize = 8 * 1024 * 1024;
/// Text that may wait for the writer; enough that neither side waits for the other.
pub(super) const QUEUED_BYTES: usize = 8 * 1024 * 1024;
/// How long the writer may accept nothing before it counts as dead: longer than any pause of a disk.
pub(super) const QUEUE_STALL: Duration = Duration::from_secs(30);
/// Segments of a memory in use. More would cost every query more look-ups; fewer would cost each append more merging.
pub(super) const MOST_SEGMENTS: usize = 8;
/// Of these, the smallest that are merged together at least.
pub(super) const MERGE_SEGMENTS: usize = 4;
/// Segments of an idle memory.
pub(super) const IDLE_SEGMENTS: usize = 4;
/// Segments up to this size are merged whenever a smaller one is: rewriting them takes milliseconds.
pub(super) const MERGE_SMALL_DOCS: usize = 200;
/// How much larger than all that it is merged with a segment may be. With 1, an idle memory rewrites each document eight
/// times as often, because its few segments fill slowly; with 8, one in use twice as often.
pub(super) const MERGE_LARGER: usize = 4;
/// Size in documents above which a segment is no longer merged by size, so that no merge takes longer than some
/// seconds.
pub(super) const MERGE_MAX_DOCS: usize = 500_000;
/// Share of deleted documents at which a segment is rewritten, …
pub(super) const MERGE_DELETED_RATIO: f64 = 0.25;
/// … if there are this many. The deleted documents of smaller segments are left until these are merged.
pub(super) const MERGE_DELETED_DOCS: u32 = 2_000;
/// Words whose stems the writer caches (about 50 bytes each): most of a person's vocabulary.
pub(super) const STEM_CACHE_WORDS: usize = 16_384;
/// Indexes up to this size are read completely on each opening to verify their checksums; larger ones only if a power
/// cut may have damaged them.
pub(super) const CHECKED_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of a query text that are read: more than 400 words of any language.
pub(super) const QUERY_BYTES: usize = 16 * 1024;
/// Words and names of a query text that are read.
pub(super) const QUERY_TOKENS: usize = 400;
/// Different words and names that are searched for; the rarest, which decide.
pub(super) const QUERY_TERMS: usize = 48;
/// Postings that a query reads to score turns: some 20 ms. Beyond it the commonest words are left out, and the answer
/// says so.
pub(super) const QUERY_POSTINGS: u64 = 2_000_000;
/// Synonyms of a query's words that are searched for.
pub(super) const SYNONYMS: usize = 200;
/// Turns taken before they are grouped by session: 200 to 400 give the same ranking.
pub(super) const BEST_TURNS: usize = 200;
/// Turns nearest to the query's vector that are joined with those.
pub(super) const NEAREST_TURNS: usize = 200;
/// How often the turns are collected again, without the sessions already found, while these do not fill the page.
pub(super) const TURN_PASSES: usize = 3;
/// Factor by which more turns are collected in the next pass when most were copies of others.
pub(super) const CROWDED: usize = 4;
/// Sessions whose whole text is scored against the query.
pub(super) const BEST_SESSIONS: usize = 30;
/// Maximum number of sessions in an answer.
pub(super) const MAX_SESSIONS: usize = 200;
/// Maximum number of turns of one session in an answer.
pub(super) const MAX_TURNS_PER_SESSION: usize = 20;
/// Words of a query that form bigrams and near pairs.
pub(super) const PAIR_WORDS: usize = 16;
/// Work limit (turns times pairs) for estimating how many sessions contain a pair.
pub(super) const PAIR_WORK: usize = 400_000;
/// Grams of a query that are searched for.
pub(super) const QUERY_GRAMS: usize = 256;
/// Words whose stems are cached while the snippets of one answer are cut.
pub(super) const SNIPPET_CACHE_WORDS: usize = 1024;
/// Longest snippet, in characters.
pub(super) const SNIPPET_CHARS: usize = 240;
/// Different entities or facts that one query ranks, and that count as near a center; more than a person's history has.
pub(super) const GRAPH_GROUPS: usize = if cfg!(test) { 400 } else { 200_000 };
/// Words of an error text that are searched for in the failures of sessions; the rarest.
pub(super) const FAILURE_TERMS: usize = 16;
/// Sessions that an answer names for one entity or fact.
pub(super) const GROUP_SESSIONS: usize = 10;
/// Facts read for a filter by end time or by a relation name given by a user or model.
pub(super) const SIFTED_FACTS: usize = 5_000;
/// Sessions of an entity that are searched for its detail text.
pub(super) const DETAIL_SESSIONS: usize = 10;
/// Episodes that an answer names for one fact.
pub(super) const GROUP_EPISODES: usize = 50;
/// Records of a session sampled to find related sessions; each costs one look-up in the index.
pub(super) const RELATED_SAMPLE: usize = 256;
/// Related sessions returned; more forks of one session than anyone makes.
pub(super) const MAX_RELATED: usize = 64;
/// Words and names that a prefix expands to; those in most documents.
pub(super) const PREFIX_TERMS: usize = 50;
/// Words and names of one segment that are examined for a prefix: more than share one in any; a million take some 50
/// ms.
pub(super) const PREFIX_LOOKED: usize = 2_000_000;
/// Of these, the ones in most of a segment's documents that are counted over all segments.
pub(super) const PREFIX_COUNTED: usize = 1_000;
/// Texts of the best turns that are read first to check for a phrase; usually enough of them contain it.
pub(super) const PHRASE_TEXTS: usize = 400;
/// Turns ranked as candidates for a phrase when those are not enough; 16 bytes each.
pub(super) const PHRASE_CANDIDATES: usize = 200_000;
/// Text that one query reads to check for phrases: some 30,000 short turns, in well under a second.
pub(super) const READ_BYTES: usize = 32 * 1024 * 1024;
/// Sessions whose titles and episodes are ranked to find those that meet the requirements of a query.
pub(super) const EPISODES_LOOKED: usize = 5_000;
/// Names of one segment that are compared with a file name: 200,000 take some 20 ms.
pub(super) const NAMES_LOOKED: usize = 2_000_000;
/// Tools, branches or files whose names are read for one filter: some 10 µs each.
pub(super) const THINGS_LOOKED: usize = 20_000;
/// Names of a query that are looked up among the entities of the found sessions.
pub(super) const ENTITY_NAMES: usize = 8;
