//! Signals from hooks and connections, and handoffs from an earlier session.

use baton_conversation::record::{CommandId, SessionId};
use baton_events::session::{Command, Rejection, Signal};
use ractor::{ActorRef, RpcReplyPort};
use uuid::Uuid;

use super::{Msg, State};
use baton_base::transcript_file::FileSeen;
use baton_journal::AppendError;

/// A signal with its command id.
#[derive(Clone, Debug)]
pub struct SignalCall {
    /// The signal.
    pub signal: Signal,
    /// A repeated id is recorded only once.
    pub command: CommandId,
}

/// A step of a handoff, to be recorded.
#[derive(Clone, Debug)]
pub enum HandoffStep {
    /// The session was offered this episode of another session.
    Offered {
        /// The episode's uuid.
        episode: Uuid,
        /// The other session.
        from: SessionId,
    },
    /// A prompt was typed in the session that got the offer.
    Claimed,
}

/// The result of recording a signal or handoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// It was recorded and is durable.
    Recorded,
    /// It had been recorded before.
    Known,
    /// A rule refuses it: the session is forgotten or not tracked.
    Refused(Rejection),
    /// The log accepts no writes, or the session's history is unreadable.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl State {
    pub(super) async fn signal(
        &mut self,
        myself: &ActorRef<Msg>,
        call: SignalCall,
        seen: Option<FileSeen>,
        reply: RpcReplyPort<Signalled>,
    ) -> Result<(), AppendError> {
        let recorded = if self.aggregate().has_answered(&call.command) {
            let _ = reply.send(Signalled::Known);
            Ok(())
        } else {
            let submitted = self.submit(&Command::Signal(call.signal), Some(&call.command)).await;
            answer(submitted, reply)
        };
        // A hook waits a tenth of a second, so its signal is recorded first, even for a session that is not discovered yet.
        // The file is read after the hook has returned.
        if let Some(file) = seen {
            let _ = myself.send_message(Msg::Seen(file));
        }
        recorded
    }

    pub(super) async fn hand_over(
        &mut self,
        what: HandoffStep,
        reply: RpcReplyPort<Signalled>,
    ) -> Result<(), AppendError> {
        let command = match what {
            HandoffStep::Offered { episode, from } => Command::Offer { episode, from },
            HandoffStep::Claimed => Command::Claim,
        };
        let before = self.aggregate().version();
        let submitted = self.submit(&command, None).await;
        if submitted == Ok(Ok(())) && self.aggregate().version() == before {
            let _ = reply.send(Signalled::Known);
            return Ok(());
        }
        answer(submitted, reply)
    }
}

fn answer(
    submitted: Result<Result<(), Rejection>, AppendError>,
    reply: RpcReplyPort<Signalled>,
) -> Result<(), AppendError> {
    let (answer, submitted) = match submitted {
        Ok(Ok(())) => (Signalled::Recorded, Ok(())),
        Ok(Err(rejection)) => (Signalled::Refused(rejection), Ok(())),
        // Return the conflict unanswered: the caller asks the next incarnation.
        Err(error @ AppendError::Conflict { .. }) => return Err(error),
        Err(error) => (Signalled::Failed { reason: error.to_string() }, Err(error)),
    };
    let _ = reply.send(answer);
    submitted
}
