//! Shells that do one thing wrong. Each must be found out, or the simulation proves nothing.

/// What a shell does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Appends are acknowledged when they are written, before they are synced.
    AcknowledgesBeforeSync,
    /// A wish that comes again is decided again.
    ForgetsWhatWasAnswered,
    /// An index job is handed out as soon as it is proposed.
    IndexesBeforeDurable,
    /// A file is never compared with what was read of it.
    TrustsEveryFile,
    /// Conversations are collected although the word of their job is still on its way.
    CollectsTooEarly,
    /// A job reports a conversation that is written and not synced.
    ReportsUnsyncedConversations,
    /// After a torn write a part of an append is kept.
    RecoversHalfAnAppend,
    /// The memory does not follow a tombstone.
    RemembersTheForgotten,
    /// After a restart nothing that was owed is started.
    OwesNothingAfterRestart,
    /// What a job of the past says is taken for what the present one says.
    BelievesOldJobs,
    /// State is changed before the log has answered.
    BelievesBeforeWriting,
    /// Each reading counts the last line once more.
    CountsALineTwice,
    /// A hook is told that its signal is recorded, and nothing is.
    AnswersSignalsUnrecorded,
    /// A model is asked as soon as somebody wishes it.
    AsksBeforeRecording,
    /// A close that was promised to a hook is never begun.
    LeavesOwedCloses,
    /// After a restart only jobs are begun again, and no close that was promised.
    ForgetsOwedClosesAfterRestart,
}

/// Each mutant with the invariants that it may be caught by.
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
