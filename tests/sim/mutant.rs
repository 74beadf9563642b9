//! Shells that do one thing wrong. Each must be detected, or the simulation proves nothing.

/// What a shell does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Acknowledges appends when they are written, before they are synced.
    AcknowledgesBeforeSync,
    /// Decides a repeated command again.
    ForgetsWhatWasAnswered,
    /// Hands out an index job as soon as it is proposed.
    IndexesBeforeDurable,
    /// Never compares a file with what was read of it.
    TrustsEveryFile,
    /// Collects conversations although the report of their job is still pending.
    CollectsTooEarly,
    /// Reports a conversation that is written and not synced.
    ReportsUnsyncedConversations,
    /// Keeps a part of an append after a torn write.
    RecoversHalfAnAppend,
    /// The memory ignores tombstones.
    RemembersTheForgotten,
    /// Starts nothing that was owed before a restart.
    OwesNothingAfterRestart,
    /// Accepts the report of an old job as that of the current one.
    BelievesOldJobs,
    /// Changes the state before the log has answered.
    BelievesBeforeWriting,
    /// Counts the last line again with each reading.
    CountsALineTwice,
    /// Acknowledges a hook's signal without recording it.
    AnswersSignalsUnrecorded,
    /// Asks a model as soon as that is requested.
    AsksBeforeRecording,
    /// Never starts a close that was promised to a hook.
    LeavesOwedCloses,
    /// After a restart, starts jobs again, but no promised closes.
    ForgetsOwedClosesAfterRestart,
}

/// Each mutant with the invariants that may detect it.
pub(crate) const ALL: &[(Mutant, &[&str])] = &[
    (Mutant::AcknowledgesBeforeSync, &["I-1", "I-3"]),
    (Mutant::ForgetsWhatWasAnswered, &["I-4"]),
    (Mutant::IndexesBeforeDurable, &["I-7"]),
    (Mutant::TrustsEveryFile, &["I-6"]),
    (Mutant::CollectsTooEarly, &["I-7"]),
    (Mutant::ReportsUnsyncedConversations, &["I-7"]),
    (Mutant::RecoversHalfAnAppend, &["I-4"]),
    (Mutant::RemembersTheForgotten, &["I-11"]),
    (Mutant::OwesNothingAfterRestart, &["I-7", "liveness"]),
    (Mutant::BelievesOldJobs, &["I-8", "liveness"]),
    (Mutant::BelievesBeforeWriting, &["I-2", "I-3"]),
    (Mutant::CountsALineTwice, &["I-6"]),
    (Mutant::AnswersSignalsUnrecorded, &["I-1"]),
    (Mutant::AsksBeforeRecording, &["I-7"]),
    (Mutant::LeavesOwedCloses, &["I-7"]),
    (Mutant::ForgetsOwedClosesAfterRestart, &["I-7"]),
];
