//! Bounds on what files, clients and queues may cost, with the unit last in the name and the reason beside it. Waits of
//! a single part are defined beside their use.

use std::time::Duration;

/// Session actors kept alive although they owe nothing: a working day's sessions, at 7 KB each.
pub const IDLE_SESSIONS: usize = 64;

/// Backlog sessions that are read or indexed at once. Most of them wait for the disk, and those that wait together
/// share one sync, hence as many as [`STORED_TOGETHER`]; only one of them uses a processor (`throttle`).
pub const BACKLOG_IN_FLIGHT: usize = 64;

/// Transcripts handed to the backlog at once, newest first: each waiting one takes some hundred bytes, and there may be
/// half a million.
pub const BACKLOG_PAGE: usize = 4_096;

/// The backlog asks for its next page when fewer than this are left to begin: about a second's work.
pub const BACKLOG_LOW: usize = 1_024;

/// Least time between the starts of two backlog sessions while a question is being answered.
pub const BACKLOG_PAUSE: Duration = Duration::from_millis(20);

/// Backlog sessions whose conversations are made durable together: beyond that a file system gains nothing.
pub const STORED_TOGETHER: usize = 64;

/// How long conversations of background jobs are collected before they are made durable.
pub const STORE_GATHER: Duration = Duration::from_millis(50);

/// Conversations that the memory may lag behind before the backlog stops indexing further sessions. Queries wait for
/// the memory, and this bounds for how long.
pub const MEMORY_BEHIND: usize = 64;

/// Longest wait of the backlog for the memory, in case it does not catch up.
pub const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// Pause of a background job before it tries again on a full disk.
pub const ROOM: Duration = Duration::from_secs(5);

/// Requested index jobs in progress, working or waiting for the disk. Each holds one conversation in memory.
pub const JOBS_UNDER_WAY: usize = 16;

/// Threads that may block on the disk: reads, running jobs and a few searches. Further work queues.
pub const BLOCKING_THREADS: usize = 64;

/// Concurrent transcript reads in the blocking pool: disks like a few, and each needs one buffer.
pub const READS_AT_ONCE: usize = 4;

/// Bytes that one read covers before it is recorded: bounds how long a session's mailbox waits, about 0.1 s.
pub const READ_PASS_BYTES: u64 = 64 * 1024 * 1024;

/// How long one such read may take before its file system counts as unresponsive: 1 MB a second.
pub const READ_PASS: Duration = Duration::from_secs(60);

/// Block of one `read` call: where larger ones no longer gain.
pub const READ_BLOCK_BYTES: usize = 256 * 1024;

/// Longest line held in memory. Real lines reach 7 MB; longer ones are counted and skipped.
pub const TRANSCRIPT_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes at the head of a transcript that are searched for its working directory: the first typed prompt names it.
pub const PEEK_BYTES: u64 = 8 * 1024 * 1024;

/// Bytes at the head of a new transcript that are compared with forgotten sessions: a copy begins like its original.
pub const COPY_HEAD_BYTES: u64 = 8 * 1024 * 1024;

/// Largest window that a compressed transcript may require, as a power of two: 32 MB. Codex's own take 2 MB.
pub const COMPRESSED_WINDOW_LOG: u32 = 25;

/// Largest ratio of a compressed transcript's content to its size on disk. Real ones reach 30.
pub const COMPRESSED_RATIO: u64 = 1_000;

/// Content bytes that are allowed for any compressed transcript, whatever the ratio.
pub const COMPRESSED_ALWAYS_BYTES: u64 = 16 * 1024 * 1024;

/// Largest transcript that is one document. While it is read it is held as a whole, and its lines beside it, so this
/// bounds a read to 64 MB. It is twice the longest line, and about eight times what the largest context of a model holds.
pub const DOCUMENT_BYTES: u64 = 2 * TRANSCRIPT_LINE_BYTES as u64;

/// Bytes before an offset whose digest tells whether a file still continues what was already read.
pub const TAIL_BYTES: u64 = 4096;

/// Callers that may wait for one session's index at once; further ones are told to try again.
pub const WAITERS_PER_SESSION: usize = 256;

/// Deadline of a command to a session that may be busy reading.
pub const SESSION_CALL: Duration = Duration::from_secs(60);

/// Deadline for recording a claim, whether or not a caller still waits: a claim must not be lost.
pub const HAND_OVER: Duration = Duration::from_secs(5);

/// Concurrent connections: agents, their hooks and a person, all of which may ask at once.
pub const CONNECTIONS: usize = 512;

/// Of these, for one process: a process that leaks connections leaves the other half to everyone else.
pub const CONNECTIONS_PER_PROCESS: usize = CONNECTIONS / 2;

/// Idle presence connections, in addition to [`CONNECTIONS`]: one for each MCP server of an agent.
pub const PRESENCES: usize = 256;

/// A client that has not said hello within this time is dropped.
pub const HELLO: Duration = Duration::from_secs(5);

/// Longest time between a request's first and last byte: a local socket is never slow.
pub const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Interval at which calls of one connection beyond [`CALLS_AT_ONCE`] are accepted: 2,000 a second.
pub const CALL_EVERY: Duration = Duration::from_micros(500);

/// Calls of one connection that are accepted without delay.
pub const CALLS_AT_ONCE: u32 = 2_000;

/// Longest error message of a call, in bytes: it may quote the request, which may be large.
pub const FAILURE_BYTES: usize = 8 * 1024;

/// Bytes of answers that may be queued for one client. A single answer may be larger.
pub const ANSWERS_BYTES: usize = 4 * 1024 * 1024;

/// A client that does not read its answer within this time is dropped.
pub const WRITE: Duration = Duration::from_secs(10);

/// Longest request line: queries are words, not files.
pub const REQUEST_LINE_BYTES: usize = 1024 * 1024;

/// Longest wait that a client may request of `close`.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(600);

/// Sessions that one lazy step reads and indexes at once: those that wait for the disk together share one sync.
pub const LAZY_AT_ONCE: usize = 16;

/// Unread bytes of already known sessions that a query always reads first, unless it waits for all history.
pub const LAZY_BYTES: u64 = 16 * 1024 * 1024;

/// Sessions never read, or read and not indexed, that such a query indexes first at most: each costs some disk syncs,
/// however small. If more were never read, history is being read for the first time, and the query waits for nothing
/// beyond its budget.
pub const LAZY_SESSIONS: usize = 32;

/// Events that the memory may lack before a query no longer waits beyond its budget: those of some 40 sessions.
pub const LAZY_BEHIND: u64 = 256;

/// Transcripts with unread bytes that such a query looks at, newest first: it indexes a few hundred within its budget.
pub const LAZY_TOLD: usize = 4_096;

/// How long such a query waits for the watcher's known state once its time for looking is over.
pub const LAZY_GLANCE: Duration = Duration::from_millis(50);

/// How long changes of a file are collected before it is looked at: one turn of an agent writes several lines.
pub const GATHER: Duration = Duration::from_millis(30);

/// Items above which going through a conversation costs more than adding to it.
pub const LONG_ITEMS: u64 = 250;

/// The same in bytes of its transcript.
pub const LONG_BYTES: u64 = 512 * 1024;

/// Items above which a conversation may take the memory a second to apply: a long working day has some thousands.
pub const LARGE_ITEMS: u64 = 2_000;

/// The same in bytes of its transcript.
pub const LARGE_BYTES: u64 = 8 * 1024 * 1024;

/// How long a search that waits for everything waits for such a conversation while it is being written: it may keep
/// growing for ever.
pub const LARGE_WAIT: Duration = Duration::from_secs(1);

/// How long a search waits for the memory before it answers with what there is. While history is read for the first
/// time, or a large conversation is put off, it does not wait beyond its budget.
pub const CATCH_UP: Duration = Duration::from_secs(10);

/// The same for a memory that is known to fail: it tries again once a second while a query waits.
pub const TROUBLED_CATCH_UP: Duration = Duration::from_millis(1_500);

/// How long a command waits until sessions that have just begun are known. Discovering one takes milliseconds; during a
/// long first backfill it may take minutes, and the command answers without.
pub const DISCOVERY: Duration = Duration::from_secs(2);

/// New sessions that a command has read before it answers; the rest is left to the backfill. Newest first, so sessions
/// that have just begun are among them.
pub const DISCOVERED_AT_ONCE: usize = 32;

/// How long one look at a directory may take: it normally takes a millisecond, and a search waits for it.
pub const ROOT: Duration = Duration::from_secs(1);

/// How long a root may take to be walked or watched before it is left out until that is done: half a million
/// transcripts on a slow disk.
pub const ROOT_WALK: Duration = Duration::from_secs(120);

/// Transcripts that can all be looked at while a query waits: about 10 ms.
pub const LOOKED_AT_ONCE: u64 = 10_000;

/// How long a look at changed paths may take before everything is looked at instead.
pub const ROOT_LOOK: Duration = Duration::from_secs(10);

/// How often everything is looked at, because change notification misses changes, above all new nested directories.
pub const SWEEP: Duration = Duration::from_secs(30);

/// Longest pause between two such sweeps, however long one takes.
pub const SWEEP_MAX: Duration = Duration::from_secs(600);

/// The pause after a sweep as a multiple of its duration: looking takes 2 % of the time at most.
pub const SWEEP_SHARE: u32 = 50;

/// Pause before a root that could not be watched is tried again; doubled after each failure, up to [`WATCH_RETRY_MAX`].
/// An attempt may walk a whole tree.
pub const WATCH_RETRY: Duration = Duration::from_secs(60);

/// Longest pause between two attempts to watch a root.
pub const WATCH_RETRY_MAX: Duration = Duration::from_secs(900);

/// Transcripts that are tracked; further ones are counted and reported in `status`.
pub const TRANSCRIPTS: usize = 500_000;

/// How long change notification may take to report a marker file. Then everything is looked at instead.
pub const BARRIER: Duration = Duration::from_millis(200);

/// Changed paths that may be collected before everything is looked at instead.
pub const GATHERED_PATHS: usize = 10_000;

/// Failures of one child within [`RESTART_WINDOW`] after which it is not restarted and reported in `status`.
pub const RESTARTS: usize = 5;

/// See [`RESTARTS`].
pub const RESTART_WINDOW: Duration = Duration::from_secs(60);

/// How often one session may try a write while the log refuses writes.
pub const OUTAGE_PROBE: Duration = Duration::from_secs(5);

/// How long the log must have accepted writes again before refused sessions record what they owe.
pub const OUTAGE_SETTLE: Duration = Duration::from_secs(1);

/// Longest sleep of the timer wheel, because the wall clock may be set meanwhile.
pub const TIMER: Duration = Duration::from_secs(60);

/// Least time between two scans of the table for due sessions.
pub const TIMER_MIN: Duration = Duration::from_millis(250);

/// How long a stopping daemon waits for its sessions and jobs.
pub const DRAIN: Duration = Duration::from_secs(10);

/// Characters that are kept of a free-text note.
pub const NOTE_CHARS: usize = 500;

/// Events that the memory applies before it looks for waiting queries.
pub const MEMORY_STEP: usize = 32;

/// How long the memory collects changes before it commits them unasked.
pub const MEMORY_COMMIT: Duration = Duration::from_secs(1);

/// The same during a backfill, in which queries that wait for the memory are answered every [`MEMORY_COMMIT`]: each
/// commit ends a segment, and the fewer there are, the less is merged in the end.
pub const BACKFILL_COMMIT: Duration = Duration::from_secs(5);

/// Bytes of finished jobs' conversations that are held for the search index; others are read back from disk.
pub const FRESH_BYTES: usize = 16 * 1024 * 1024;

/// Deadline for a sweep of all conversations: reading the manifests of some ten thousand sessions takes seconds.
pub const SWEEP_CHUNKS: Duration = Duration::from_secs(300);

/// How often the log's index is checked for having grown out of proportion.
pub const UPKEEP: Duration = Duration::from_secs(600);

/// How often the log's index is checked for being lost, and the least time between two rebuilds. After a failed rebuild
/// the interval doubles, up to [`UPKEEP`].
pub const INDEX_LOST: Duration = Duration::from_secs(3);

/// Least time between two unrequested rewrites of the index.
pub const UPKEEP_PAUSE: Duration = Duration::from_secs(3600);

/// An index below this size is never rewritten unrequested: sled takes some MB for next to nothing.
pub const UPKEEP_BYTES: u64 = 32 * 1024 * 1024;

/// How long an unrequested compaction pauses while questions are answered before it is given up.
pub const UPKEEP_WAIT: Duration = Duration::from_secs(30);

/// How long `status` waits for the disk usage to be added up; then it reports the last known figures.
pub const WEIGHING: Duration = Duration::from_millis(150);

/// How long forgetting waits for cancelled jobs to end and for the memory to drop the forgotten text: a merge of the
/// largest segments, or a rebuild of the memory.
pub const PURGE: Duration = Duration::from_secs(600);
