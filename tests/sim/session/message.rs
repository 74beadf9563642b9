//! What a session is sent, and what it does about it.

use baton_conversation::record::{CommandId, Timestamp};
use baton_events::session::{
    Asleep, CloseReason, Command, Complete, EffectId, FailureReason, FileIdentity, IndexJob, Policy,
};

use crate::folder::Folder;
use crate::log::Log;
use crate::mutant::Mutant;

/// Messages to a session.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// A file of the session was found, or has changed.
    Seen(String),
    /// Read to the end and index, as for a query.
    Query,
    /// A close, from any layer.
    Close(CloseReason, bool, CommandId),
    /// Any other command of a client.
    Wish(Command, CommandId),
    Wake,
    Done(Outcome),
    /// Start again what is owed.
    Again,
    /// A command that was sent before, or should never have been sent.
    Stray(Command),
}

/// The outcome of an index job.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Complete(Complete),
    Failed(EffectId, FailureReason),
    Rewritten(EffectId, FileIdentity),
    LetGo(EffectId),
}

impl Outcome {
    pub(crate) fn effect(&self) -> EffectId {
        match self {
            Self::Complete(complete) => complete.effect,
            Self::Failed(effect, _) | Self::Rewritten(effect, _) | Self::LetGo(effect) => *effect,
        }
    }
}

/// One step of a message.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Discover(String),
    Read,
    AskAgain,
    Time,
    Close(CloseReason, bool, Option<CommandId>),
    Query,
    Submit(Command, Option<CommandId>),
}

/// An append in progress.
#[derive(Clone, Debug)]
pub(super) struct Appending {
    pub(super) then: Then,
    /// The command id.
    pub(super) id: Option<CommandId>,
}

/// What follows a step whose events are recorded, or that had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Heard,
    ReadOn,
    AskAgain,
    /// Answer once the state allows it.
    Answer,
}

/// Requests of a session's step to the world.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Job(IndexJob),
    Disown(EffectId),
    /// Tell a client that its command is recorded.
    Answer,
    /// Tell a hook that its signal is recorded.
    Heard(CommandId),
    /// The file was read to its end as of then.
    Checked(String, u64),
}

/// What a step may read and change.
pub(crate) struct Around<'a> {
    pub(crate) log: &'a mut Log,
    pub(crate) folder: &'a Folder,
    pub(crate) policy: &'a Policy,
    pub(crate) now: Timestamp,
    pub(crate) asleep: Asleep,
    /// Maximum size of one reading, in bytes.
    pub(crate) enough: usize,
    pub(crate) mutant: Option<Mutant>,
}
