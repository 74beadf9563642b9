//! Records model calls about the session, before a request is sent and after its answer arrived. The enricher makes the
//! calls; the session's rules decide about them.

use baton_conversation::hash::ContentHash;
use baton_events::session::{CallEnd, CallModel, CallOutcome, Command, GaveUp, Phase, Rejection, TakeAnswer};
use ractor::RpcReplyPort;

use super::State;
use baton_journal::AppendError;

/// A step of a session's enrichment, to be recorded.
#[derive(Clone, Debug)]
pub enum EnrichmentStep {
    /// A person asked for the enrichment.
    Wanted,
    /// A model call is about to be sent.
    Call(Box<CallModel>),
    /// A call has ended.
    Ended(Box<TakeAnswer>),
    /// The call with this number was lost and will not be answered.
    Lost(u32),
    /// This content cannot be enriched.
    GiveUp {
        /// Hash of the content.
        content: ContentHash,
        /// The reason.
        why: GaveUp,
    },
}

/// Why a step was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// A rule refuses it.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// The log did not accept it, or the history is unreadable.
    #[error("it could not be recorded: {reason}")]
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The number of the call in flight, if any.
pub type StepRecorded = Result<Option<u32>, NotAsked>;

impl State {
    pub(super) async fn asking(
        &mut self,
        asking: EnrichmentStep,
        reply: RpcReplyPort<StepRecorded>,
    ) -> Result<(), AppendError> {
        let command = match asking {
            EnrichmentStep::Wanted => Command::Enrich,
            EnrichmentStep::Call(call) => Command::CallModel(call),
            EnrichmentStep::Ended(taken) => Command::TakeAnswer(self.without_forgotten_answer(taken)),
            EnrichmentStep::Lost(id) => Command::LoseCall { id },
            EnrichmentStep::GiveUp { content, why } => Command::GiveUpEnrichment { content, why },
        };
        let (answer, submitted) = match self.submit(&command, None).await {
            Ok(Ok(())) => {
                let call = self.aggregate().state().enrichment().and_then(|enrichment| enrichment.call.as_ref());
                (Ok(call.map(|call| call.id)), Ok(()))
            }
            Ok(Err(rejection)) => (Err(rejection.into()), Ok(())),
            // Return the conflict unanswered: the caller asks the next incarnation.
            Err(error @ AppendError::Conflict { .. }) => return Err(error),
            Err(error) => (Err(NotAsked::Failed { reason: error.to_string() }), Err(error)),
        };
        let _ = reply.send(answer);
        submitted
    }

    /// Keeps only the cost of an answer about a session that has since been forgotten; no event may name its content.
    fn without_forgotten_answer(&self, mut taken: Box<TakeAnswer>) -> Box<TakeAnswer> {
        if self.aggregate().state().phase == Phase::Forgotten {
            taken.end = CallEnd::Failed { outcome: CallOutcome::Lost, retry_after_ms: None };
        }
        taken
    }
}
