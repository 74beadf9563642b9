//! Every bound of the shell: unit last in the name, reason beside it.

use std::time::Duration;

/// Session actors kept alive although nothing is owed: a working day's sessions, at 7 KB each.
pub const IDLE_SESSIONS: usize = 64;

/// Sessions of the backlog that are read or indexed at once. Most of them wait for the disk, and those that do so
/// together share one wait, so it is as many as [`STORED_TOGETHER`]; only one of them takes a processor (`pace`).
pub const BACKLOG_IN_FLIGHT: usize = 64;

/// Transcripts that the backlog is told of at once, newest first: those that wait take some hundred bytes each, and there may
/// be half a million.
pub const BACKLOG_PAGE: usize = 4_096;

/// With fewer left to be begun the backlog asks for the next page: about a second's work.
pub const BACKLOG_LOW: usize = 1_024;

/// Least distance between two sessions of the backlog that are begun while a question is being answered.
pub const BACKLOG_PAUSE: Duration = Duration::from_millis(20);

/// Sessions of the backlog whose conversations are made durable together: beyond that a file system gains nothing.
pub const STORED_TOGETHER: usize = 64;

/// How long conversations that nobody waits for are gathered before they are made durable.
pub const STORE_GATHER: Duration = Duration::from_millis(50);

/// Conversations that the memory has yet to take in before further sessions of the backlog are indexed: a query waits for
/// the memory, and this bounds for how long.
pub const MEMORY_BEHIND: usize = 64;

/// Longest that the backlog waits for the memory, should it not follow.
pub const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// How long a job that nobody waits for waits for room on the disk before it tries again.
pub const ROOM: Duration = Duration::from_secs(5);

/// Index jobs under way that somebody waits for: at work, or written and waiting for the disk. Each holds one conversation.
pub const JOBS_UNDER_WAY: usize = 16;

/// Threads that may wait for the disk: reads, jobs under way and a few searches. Beyond that they wait their turn.
pub const BLOCKING_THREADS: usize = 64;

/// Transcript reads at once, in the blocking pool: disks like a few, memory is one buffer each.
pub const READS_AT_ONCE: usize = 4;

/// Bytes that one reading covers before it is recorded: bounds how long a session's mailbox waits, about 0.1 s.
pub const READ_PASS_BYTES: u64 = 64 * 1024 * 1024;

/// How long one such reading may take before its file system counts as one that does not answer: 1 MB a second.
pub const READ_PASS: Duration = Duration::from_secs(60);

/// Block of one `read` call: where larger ones no longer gain.
pub const READ_BLOCK_BYTES: usize = 256 * 1024;

/// Longest line that is held in memory. Real lines reach 7 MB; longer ones are counted and passed over.
pub const LINE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes at the head of a transcript in which its working directory is looked for: the first typed prompt names it.
pub const PEEK_BYTES: u64 = 8 * 1024 * 1024;

/// Of a new transcript, how much is compared with what is known of forgotten sessions: a copy begins as its original did.
pub const COPY_HEAD_BYTES: u64 = 8 * 1024 * 1024;

/// Largest window that a compressed transcript may ask for, as a power of two: 32 MB. Codex' own take 2 MB.
pub const COMPRESSED_WINDOW_LOG: u32 = 25;

/// How many times its size on the disk a compressed transcript may come to. Real ones reach 30.
pub const COMPRESSED_RATIO: u64 = 1_000;

/// Bytes to which any compressed transcript may come.
pub const COMPRESSED_ALWAYS_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes before an offset whose digest tells whether a file still continues what was read.
pub const TAIL_BYTES: u64 = 4096;

/// Callers that may wait for one session's index at once; more are told to come back.
pub const WAITERS_PER_SESSION: usize = 256;

/// Commands that wait while a session reads; the caller's own deadline bounds each.
pub const SESSION_CALL: Duration = Duration::from_secs(60);

/// How long the record of a claim is waited for, whoever waits: it must not be lost.
pub const HAND_OVER: Duration = Duration::from_secs(5);

/// Connections served at once: agents, their hooks and a person.
pub const CONNECTIONS: usize = 128;

/// Of these, for one process: whoever opens connections and forgets them leaves the other half to everybody else.
pub const CONNECTIONS_PER_PROCESS: usize = CONNECTIONS / 2;

/// Connections that are only held open, beside [`CONNECTIONS`]: one for each MCP server of an agent.
pub const PRESENCES: usize = 256;

/// A client that has not said hello by then is dropped.
pub const HELLO: Duration = Duration::from_secs(5);

/// Longest that a request may be on its way, from its first byte to its last: nothing is slow about a local socket.
pub const LINE: Duration = Duration::from_secs(5);

/// Calls of one connection beyond [`CALLS_AT_ONCE`] are taken this far apart, 2,000 a second.
pub const CALL_EVERY: Duration = Duration::from_micros(500);

/// Calls of one connection that are taken as fast as they come.
pub const CALLS_AT_ONCE: u32 = 2_000;

/// Longest reason why a call has no result, in bytes: it may repeat what was asked for, and that may be a whole request.
pub const FAILURE_BYTES: usize = 8 * 1024;

/// Bytes of answers that wait to be taken by one client. One answer may have more.
pub const ANSWERS_BYTES: usize = 4 * 1024 * 1024;

/// A client that does not take its answer is dropped.
pub const WRITE: Duration = Duration::from_secs(10);

/// Longest request line. Queries are words, not files.
pub const REQUEST_BYTES: usize = 1024 * 1024;

/// Longest wait that a client may ask of `close`.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(600);

/// Sessions that one lazy step reads and indexes at once: those that wait for the disk together share one wait.
pub const LAZY_AT_ONCE: usize = 16;

/// Unread bytes of sessions that were read before which a query that does not wait for history still reads first.
pub const LAZY_BYTES: u64 = 16 * 1024 * 1024;

/// Sessions that were never read, or were read and not indexed, which such a query indexes first at most: each costs some
/// waits for the disk, however small. Where more were never read, history is being read for the first time, and the query
/// waits for nothing beyond its budget.
pub const LAZY_SESSIONS: usize = 32;

/// Transcripts with something unread that such a query looks at, the newest: it indexes a few hundred in its time.
pub const LAZY_TOLD: usize = 4_096;

/// How long such a query waits to be told what is known already, when its time for looking is over.
pub const LAZY_GLANCE: Duration = Duration::from_millis(50);

/// How long a change of a file is gathered before it is looked at: one turn of an agent writes several lines.
pub const GATHER: Duration = Duration::from_millis(30);

/// Items of a conversation beyond which the memory may take a second to take it in: a long working day has some thousands.
pub const LARGE_ITEMS: u64 = 2_000;

/// The same in bytes of its transcript.
pub const LARGE_BYTES: u64 = 8 * 1024 * 1024;

/// How long a search that waits for everything waits for such a conversation while somebody works in it: it may never end growing.
pub const LARGE_WAIT: Duration = Duration::from_secs(1);

/// How long a search waits for the memory before it answers from what there is; while history is read for the first time, or a
/// large conversation is put off, not beyond its budget.
pub const CATCH_UP: Duration = Duration::from_secs(10);

/// The same for a memory that is known to be in trouble: it tries again once a second while somebody waits.
pub const TROUBLED_CATCH_UP: Duration = Duration::from_millis(1_500);

/// How long a command waits for sessions that have just begun to be known. Discovering one takes milliseconds; behind a
/// long first backfill it may take minutes, and the command answers without.
pub const DISCOVERY: Duration = Duration::from_secs(2);

/// Sessions that a command has read before it answers; with more, it is a backfill's work. Newest first, so those that
/// have just begun are among them.
pub const DISCOVERED_AT_ONCE: usize = 32;

/// How long a root may take to say what it is: a look at one takes a millisecond, and who asks for a search waits for it.
pub const ROOT: Duration = Duration::from_secs(1);

/// How long a root may take to be looked through, or to be watched, before it is left out until it has been: half a million
/// transcripts on a slow disk.
pub const ROOT_WALK: Duration = Duration::from_secs(120);

/// Transcripts that are all looked at while a query waits: about 10 ms.
pub const LOOKED_AT_ONCE: u64 = 10_000;

/// How long a look at what has changed may take before everything is looked at instead.
pub const ROOT_LOOK: Duration = Duration::from_secs(10);

/// How often everything is looked at, because change notification misses things (new nested directories above all).
pub const SWEEP: Duration = Duration::from_secs(30);

/// The same where a look takes so long that it would be more than one part in [`SWEEP_SHARE`] of the time.
pub const SWEEP_MAX: Duration = Duration::from_secs(600);

/// How many times as long as the last look it is waited for the next: looking takes 2 % of the time at most.
pub const SWEEP_SHARE: u32 = 50;

/// When a root that could not be watched is tried again; twice as long after each failure, up to [`WATCH_RETRY_MAX`]. An attempt
/// may walk through a whole tree.
pub const WATCH_RETRY: Duration = Duration::from_secs(60);

/// Longest pause between two attempts to watch a root.
pub const WATCH_RETRY_MAX: Duration = Duration::from_secs(900);

/// Transcripts looked at; beyond that the rest is counted and named in `status`.
pub const TRANSCRIPTS: usize = 500_000;

/// How long change notification may take to tell of a marker. Then everything is looked at instead.
pub const BARRIER: Duration = Duration::from_millis(200);

/// Paths that change notification may gather before everything is looked at instead.
pub const GATHERED_PATHS: usize = 10_000;

/// Failures of one child within [`RESTART_WINDOW`] after which it is left alone and named in `status`.
pub const RESTARTS: usize = 5;

/// See [`RESTARTS`].
pub const RESTART_WINDOW: Duration = Duration::from_secs(60);

/// How often one session may try whether the log takes writes again, while it does not.
pub const OUTAGE_PROBE: Duration = Duration::from_secs(5);

/// How long the log has taken writes again before sessions that it had refused record what they owe.
pub const OUTAGE_SETTLE: Duration = Duration::from_secs(1);

/// Longest sleep of the timer wheel: the wall clock may be set meanwhile.
pub const TIMER: Duration = Duration::from_secs(60);

/// Smallest distance of two looks at the table for what is due.
pub const TIMER_MIN: Duration = Duration::from_millis(250);

/// How long a stopping daemon waits for its sessions and jobs.
pub const DRAIN: Duration = Duration::from_secs(10);

/// Characters of a free-text note that are kept.
pub const NOTE_CHARS: usize = 500;

/// Events that the memory takes in before it looks for waiting queries.
pub const MEMORY_STEP: usize = 32;

/// How long the memory gathers changes before it commits them without being asked: a commit costs about 8 ms.
pub const MEMORY_COMMIT: Duration = Duration::from_secs(1);

/// Conversations of finished jobs that wait in memory for the search index, in bytes; others are read back from disk.
pub const FRESH_BYTES: usize = 16 * 1024 * 1024;

/// Longest that a sweep of all conversations is waited for: reading the manifests of some ten thousand sessions takes seconds.
pub const SWEEP_CHUNKS: Duration = Duration::from_secs(300);

/// How often it is looked whether the log's index has grown out of proportion.
pub const UPKEEP: Duration = Duration::from_secs(600);

/// How often it is looked whether the log's index was lost, and how soon another is built at the earliest. Where that fails
/// the next time is twice as far, up to [`UPKEEP`].
pub const INDEX_LOST: Duration = Duration::from_secs(3);

/// Least distance between two rewritings of the index that nobody has asked for.
pub const UPKEEP_PAUSE: Duration = Duration::from_secs(3600);

/// An index below this is never rewritten unasked: sled takes some MB for next to nothing.
pub const UPKEEP_BYTES: u64 = 32 * 1024 * 1024;

/// How long upkeep that nobody has asked for waits in the middle of it while questions are answered; then it is given up.
pub const UPKEEP_WAIT: Duration = Duration::from_secs(30);

/// How long `status` waits until the bytes on disk are added up. Then it tells what they last were.
pub const WEIGHING: Duration = Duration::from_millis(150);

/// How long forgetting waits for jobs that are void, and for the memory to be rid of what is forgotten: a merge of the
/// largest segments there are, or filling the memory anew.
pub const PURGE: Duration = Duration::from_secs(600);

/// Longest time that a hook may be configured to take, in milliseconds: Claude Code ends a hook after the 5 s that it is
/// installed with, and all hooks of a session's end together after 1.5 s.
pub const HOOK_MS: u64 = 3_000;
/// The same of a session's end.
pub const HOOK_END_MS: u64 = 1_000;
