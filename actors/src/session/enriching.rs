//! What a model is asked about the session, and what came of it, recorded: before anything is sent, and after it has come
//! back. Who asks is the enricher; the rules are the session's.

use baton_conversation::hash::ContentHash;
use baton_events::session::{CallEnd, CallModel, CallOutcome, Command, GaveUp, Phase, Rejection, TakeAnswer};
use ractor::RpcReplyPort;

use super::State;
use baton_journal::AppendError;

/// What is to be recorded of a session's enrichment.
#[derive(Clone, Debug)]
pub enum Asking {
    /// Somebody wants it now.
    Wanted,
    /// A model is about to be asked.
    Call(Box<CallModel>),
    /// A call has ended.
    Ended(Box<TakeAnswer>),
    /// The call of this number is nobody's any more.
    Lost(u32),
    /// It cannot be asked for this content.
    GiveUp {
        /// The content.
        content: ContentHash,
        /// Why.
        why: GaveUp,
    },
}

/// Why it was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// A rule says no.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// It could not be recorded.
    #[error("it could not be recorded: {reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

/// The number of the call that is under way, if one is.
pub type Asked = Result<Option<u32>, NotAsked>;

impl State {
    pub(super) async fn asking(&mut self, asking: Asking, reply: RpcReplyPort<Asked>) -> Result<(), AppendError> {
        let command = match asking {
            Asking::Wanted => Command::Enrich,
            Asking::Call(call) => Command::CallModel(call),
            Asking::Ended(taken) => Command::TakeAnswer(self.of_what_is_left(taken)),
            Asking::Lost(id) => Command::LoseCall { id },
            Asking::GiveUp { content, why } => Command::GiveUpEnrichment { content, why },
        };
        let (answer, submitted) = match self.submit(&command, None).await {
            Ok(Ok(())) => {
                let call = self.aggregate().state().enrichment().and_then(|enrichment| enrichment.call.as_ref());
                (Ok(call.map(|call| call.id)), Ok(()))
            }
            Ok(Err(rejection)) => (Err(rejection.into()), Ok(())),
            // The next incarnation is asked, which knows what this one does not.
            Err(error @ AppendError::Conflict { .. }) => return Err(error),
            Err(error) => (Err(NotAsked::Failed { reason: error.to_string() }), Err(error)),
        };
        let _ = reply.send(answer);
        submitted
    }

    /// An answer about a session that was forgotten meanwhile has only cost: nothing may name what it says.
    fn of_what_is_left(&self, mut taken: Box<TakeAnswer>) -> Box<TakeAnswer> {
        if self.aggregate().state().phase == Phase::Forgotten {
            taken.end = CallEnd::Failed { outcome: CallOutcome::Lost, retry_after_ms: None };
        }
        taken
    }
}
