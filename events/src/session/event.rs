//! Events of a session: facts that are never refused and never edited.
//!
//! An event never contains text of a conversation: only ids, paths, hashes, counts, times and enumerated reasons.
//!
//! # Hazards
//!
//! - A change of wording changes every `expected.txt` of the journeys; their logs are never edited.
//!
//! # Decisions
//!
//! - Added to the design: `Located`, `ParentFound` and `Moved` (where a session works, whose subagent it is and a
//!   rename are often known only after the discovery), and `TrackingForced` (that tracking was forced past a switch
//!   must survive a restart; it overrides switches, not an exclusion).

mod stored;

use std::fmt;

use uuid::Uuid;

use super::correction::Correction;
use super::model_call::{GaveUp, ModelAnswer, ModelCall};
use super::reason::{CloseReason, FailureReason, UnindexedReason};
use super::signal::Signal;
use super::value::{Counts, CountsWithoutZeros, EffectId, EpisodeRef, FileIdentity, Place, TailDigest};
use crate::codec::events;
use crate::prices::usd;
use baton_conversation::hash::ContentHash;
pub use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Cursor;
pub use baton_conversation::transcript::Kind;
use baton_protocol::is_zero;

events! {
    /// Something that happened to one session.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Event;

    /// The session's transcript was found for the first time.
    "discovered" 1 => Discovered {
        /// The agent that writes it.
        agent: Agent,
        /// Absolute path.
        path: String,
        /// The file behind the path.
        #[serde(rename = "file")]
        identity: FileIdentity,
        /// A session of its own or a subagent's.
        #[serde(flatten)]
        kind: Kind,
        /// When the file was last written, or the time of discovery if that is unknown.
        at: Timestamp,
    }
    text ("transcript of {agent} found at {path}{}", of_subagent(kind))
    because "a transcript of an unknown session is in a watched directory";

    /// The transcript is now at another path; what was read of it stays valid.
    "moved" 1 => Moved {
        /// Absolute path.
        path: String,
        /// The file behind the path.
        #[serde(rename = "file")]
        identity: FileIdentity,
    }
    text ("transcript is now at {path}")
    because "the file it was read from is gone, or this one is longer and begins with the same bytes";

    /// The transcript has named the session's working directory.
    #[serde(with = "Place")]
    "located" 2 => Located {
        /// The place.
        place: Place,
    }
    text ("works in {}{}", place.cwd, of_project(place))
    because "its transcript says so";

    /// The transcript has named the session whose subagent this is.
    "parent_found" 1 => ParentFound {
        /// The session that spawned it.
        parent: SessionId,
    }
    text ("subagent of {parent}")
    because "its transcript says so";

    /// Records were read and counted. Each byte range is covered by exactly one such event.
    #[serde(deserialize_with = "stored::read_range")]
    "records_appended" 4 => RecordsAppended {
        /// The generation of the range.
        generation: u32,
        /// First byte of the range.
        from: u64,
        /// Cursor at the end of the range.
        to: Box<Cursor>,
        /// Digest of the last bytes before `to`.
        tail: TailDigest,
        /// Counts of the range.
        #[serde(flatten, serialize_with = "CountsWithoutZeros::serialize")]
        counts: Counts,
        /// Time of the first record of the range that has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_at: Option<Timestamp>,
        /// Time of the last record of the range that has one, at most the time of reading.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_at: Option<Timestamp>,
        /// Time of the last conversation record, at most the time of reading; `None` if the range has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_conversation_at: Option<Timestamp>,
        /// For records that belong to a recorded end: deadline for indexing them.
        #[serde(skip_serializing_if = "Option::is_none")]
        late_index_at: Option<Timestamp>,
    }
    text (
        "read bytes {from} to {} (line {}){}: {counts}{}{}",
        to.offset,
        to.line,
        optional(" of reading ", Some(generation).filter(|count| **count > 1), ""),
        optional("; last message at ", last_conversation_at.as_ref(), ""),
        optional("; they belong to the end, indexed at ", late_index_at.as_ref(), " at the latest")
    );

    /// The file was rewritten: reading begins again at byte 0 of this generation.
    "rewritten" 1 => Rewritten {
        /// The new generation.
        generation: u32,
        /// The file as it is now.
        #[serde(rename = "file")]
        identity: FileIdentity,
    }
    text ("transcript was rewritten, read again from its beginning")
    because "the part of the file that was read has changed";

    /// The session goes on: new conversation came after an end or an index, or a missing transcript reappeared.
    "resumed" 1 => Resumed text ("continues: there are messages after the end or the index");

    /// No record came within the check interval.
    "went_idle" 1 => WentIdle text ("nothing new for a while");

    /// A layer asked for the session to be closed or indexed.
    "close_requested" 1 => CloseRequested {
        /// Which layer asked, and why.
        reason: CloseReason,
        /// Hash of a free-text note, stored outside the log.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<ContentHash>,
    }
    text ("close: {reason}{}", if note.is_some() { ", with a reason in words" } else { "" });

    /// The session is over, unless it is resumed.
    "ended" 1 => Ended {
        /// Why it is over.
        reason: CloseReason,
        /// When it was over.
        at: Timestamp,
        /// True if the session itself asked for it.
        by_self: bool,
    }
    text ("over since {at}: {reason}{}", if *by_self { ", by the session itself" } else { "" })
    because "it has ended; later reports of its end change nothing";

    /// An index job is owed.
    "indexing_started" 1 => IndexingStarted {
        /// The job.
        effect: EffectId,
        /// What caused the job.
        reason: CloseReason,
        /// Byte offset up to which it reads.
        to: u64,
    }
    text ("indexing begins, up to byte {to}: {reason}");

    /// An episode was stored and is now the session's current one.
    #[serde(with = "stored::indexed")]
    "indexed" 1 => Indexed {
        /// The job that stored it.
        effect: EffectId,
        /// The episode, its content and where it lies.
        episode: EpisodeRef,
    }
    text (
        "indexed: episode {} ({}, {} items, up to byte {}, hash {}, filter {})",
        episode.uuid,
        episode.tier,
        episode.items,
        episode.to,
        episode.hash.short(),
        episode.filter_version
    );

    /// The content is unchanged: the current episode stays.
    "index_skipped" 1 => IndexSkipped {
        /// The job that found this; `None` if nothing had to be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        effect: Option<EffectId>,
        /// The current episode.
        episode: Uuid,
        /// Byte offset up to which the content is known to be unchanged.
        to: u64,
    }
    text ("{} up to byte {to}: episode {episode} stays", found_unchanged(*effect));

    /// An index job failed.
    "indexing_failed" 1 => IndexingFailed {
        /// The job.
        effect: EffectId,
        /// Why it failed.
        why: FailureReason,
        /// Failures in a row, this one included.
        attempts: u32,
        /// When to try again at the earliest.
        retry_at: Timestamp,
    }
    text ("indexing failed: {why}, {attempts} in a row; next at {retry_at}");

    /// The session was abandoned without an index.
    "abandoned" 1 => Abandoned {
        /// The reason.
        why: UnindexedReason,
    }
    text ("given up without an index: {why}");

    /// A person or agent stopped the tracking of this session.
    "tracking_stopped" 1 => TrackingStopped text ("tracking stopped")
    because "asked for: `stop_tracking_session`";

    /// Tracking was resumed.
    "tracking_resumed" 1 => TrackingResumed text ("tracking resumed")
    because "asked for: `track_session`";

    /// The session is tracked even if a switch excludes it, until its tracking is stopped.
    "tracking_forced" 1 => TrackingForced text ("tracked from now on, whatever the configuration says")
    because "asked for: `track_session` with `force`";

    /// The session was assigned to a group.
    "group_assigned" 1 => GroupAssigned {
        /// The group.
        group: String,
    }
    text ("put in group {group}")
    because "asked for: `track_session` with a group";

    /// The session's content was forgotten; this tombstone stays.
    "forgotten" 1 => Forgotten text ("forgotten")
    because "a person asked for it, or for the session that it is a subagent's of: `baton forget`; what was stored \
                 of it is deleted, and nothing of it is read any more";

    /// The session is no longer forgotten.
    "restored" 1 => Restored {
        /// The generation that is read from now on.
        generation: u32,
        /// True if there is a transcript to read.
        file_exists: bool,
    }
    text (
        "no longer forgotten, {}",
        if *file_exists { "read anew" } else { "without a transcript" }
    )
    because "a person asked for it: `baton forget --undo`";

    /// A hook or a connection reported something about the session.
    #[serde(with = "Signal")]
    "signalled" 1 => Signalled {
        /// The signal.
        signal: Signal,
    }
    text ("told by {signal}");

    /// A handoff from the previous session was given to this one.
    "handoff_offered" 1 => HandoffOffered {
        /// The episode it is about.
        episode: Uuid,
        /// That episode's session.
        from: SessionId,
        /// When it was offered.
        at: Timestamp,
    }
    text ("was told of episode {episode} of session {from}")
    because "the last session of this project with a result";

    /// A prompt was typed in the session after the handoff: it continues that work.
    "handoff_claimed" 1 => HandoffClaimed {
        /// The episode that was handed off.
        episode: Uuid,
    }
    text ("has taken over from episode {episode}")
    because "a prompt was typed in it";

    /// The episode is hidden from search and lists until its content changes. Its stored data stays.
    "episode_deleted" 1 => EpisodeDeleted {
        /// The episode.
        episode: Uuid,
    }
    text ("episode {episode} deleted, until its content changes")
    because "asked for: `delete_episode`; `baton forget --undo` lifts that";

    /// The episode is shown again: its deletion is lifted, and it counts as having joined its group now, so earlier
    /// clears do not hide it.
    "episode_restored" 1 => EpisodeRestored {
        /// The episode.
        episode: Uuid,
    }
    text ("episode {episode} is found again")
    because "a person asked for it: `baton forget --undo`";

    /// A person corrected what is told of the session, or took a correction back.
    "corrected" 1 => Corrected {
        /// The correction.
        #[serde(flatten)]
        correction: Correction,
        /// When it was given.
        at: Timestamp,
    }
    text ("{correction}")
    because "a person asked for it: `baton correct`";

    /// The session's stored text was redacted again by newer rules and changed: other files replace the old ones.
    /// Nothing was read again, and no model was asked.
    "redacted" 1 => Redacted {
        /// The episode, if its conversation changed; only uuid, hash and manifest differ.
        #[serde(serialize_with = "stored::write_episode", skip_serializing_if = "Option::is_none")]
        episode: Option<EpisodeRef>,
        /// Changed notes and model answers: old hash and new hash.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<(ContentHash, ContentHash)>,
    }
    text ("stored text redacted again: {}, notes and answers {}", redacted(episode.as_ref()), notes.len())
    because "this version redacts more than the one that stored it";

    /// Of the conversation only what the episode needs is stored any more. Identity and content of the episode stay: only
    /// manifest and number of items differ.
    "shortened" 1 => Shortened {
        /// The episode.
        #[serde(serialize_with = "stored::write_current")]
        episode: EpisodeRef,
    }
    text ("conversation shortened to what its episode needs: {} items", episode.items)
    because "a person asked for it: `baton keep`";

    /// A model is to enrich the episode: the session ended while one was enabled, or a person asked for it.
    "enrichment_owed" 1 => EnrichmentOwed {
        /// When it became owed.
        at: Timestamp,
        /// True if a person asked for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked: bool,
    }
    text ("to be enriched by a model{}", if *asked { ", asked for" } else { "" });

    /// A model is about to be asked; recorded before anything is sent.
    #[serde(with = "ModelCall")]
    "model_called" 1 => ModelCalled {
        /// The call.
        call: ModelCall,
    }
    text (
        "{call} of {} begins: about {} tokens, at most {} back, at most {}{}",
        call.model,
        call.tokens_in,
        call.tokens_out,
        usd(call.nanos),
        if call.again { ", asked once more" } else { "" }
    );

    /// A call of a model has ended, or is known to have been cut off.
    #[serde(with = "ModelAnswer")]
    "model_answered" 1 => ModelAnswered {
        /// The result of the call.
        answer: ModelAnswer,
    }
    text ("{answer}");

    /// The episode is now what a model made of the same content. Its uuid and hash stay.
    "enriched" 1 => Enriched {
        /// The episode.
        episode: Uuid,
        /// Hash of the answer it is made of, which is stored beside the conversation.
        answer: ContentHash,
        /// The name of the model.
        model: String,
        /// Facts of the answer that join the graph.
        facts: u32,
        /// Claims about lines that do not exist, dropped from this answer and those merged into it.
        dropped: u32,
        /// See [`EnrichedBy::unseen`].
        #[serde(default, skip_serializing_if = "is_zero")]
        unseen: u64,
        /// See [`EnrichedBy::not_held`].
        #[serde(default, skip_serializing_if = "is_zero")]
        not_held: u64,
        /// When it was recorded.
        at: Timestamp,
    }
    text (
        "episode {episode} enriched by {model}: answer {}, facts {facts}{}",
        answer.short(),
        left_out(*dropped, *unseen, *not_held)
    )
    because "a model has summarised the same content";

    /// No model enriches this content unless a person asks again: the episode stays as it is.
    "enrichment_given_up" 1 => EnrichmentGivenUp {
        /// The content.
        content: ContentHash,
        /// The reason.
        why: GaveUp,
    }
    text ("{}", given_up(content, *why));
}

/// The value between two texts, or nothing.
fn optional(before: &str, value: Option<impl fmt::Display>, after: &str) -> String {
    value.map_or_else(String::new, |value| format!("{before}{value}{after}"))
}

fn of_subagent(kind: &Kind) -> String {
    match kind {
        Kind::Main => String::new(),
        Kind::Subagent { parent: None } => ", a subagent's".to_owned(),
        Kind::Subagent { parent: Some(parent) } => format!(", a subagent's of {parent}"),
    }
}

fn of_project(place: &Place) -> String {
    optional(", project ", Some(&place.project).filter(|project| **project != place.cwd), "")
}

fn found_unchanged(effect: Option<EffectId>) -> &'static str {
    match effect {
        Some(_) => "indexing found the content unchanged",
        None => "nothing to index, all is known",
    }
}

fn redacted(episode: Option<&EpisodeRef>) -> String {
    match episode {
        Some(episode) => format!("episode {}, hash {}", episode.uuid, episode.hash.short()),
        None => "the conversation is the same".to_owned(),
    }
}

fn left_out(dropped: u32, unseen: u64, not_held: u64) -> String {
    let some = |number: u64| Some(number).filter(|number| *number > 0);
    let context = some(unseen.saturating_sub(not_held));
    [
        optional("; claims of lines that do not exist, dropped: ", some(dropped.into()), ""),
        optional("; not sent, beyond llm.context_tokens: ", context, " things said or done"),
        optional("; beyond what is kept of a conversation: ", some(not_held), ""),
    ]
    .concat()
}

fn given_up(content: &ContentHash, why: GaveUp) -> String {
    match why {
        GaveUp::NoMore => "not asked about again: a model would receive no more than before".to_owned(),
        why => format!("no model is asked any more: {why}; the episode of content {} stays as it is", content.short()),
    }
}

#[cfg(test)]
mod tests;
