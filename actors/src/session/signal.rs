//! What hooks and connections say of a session, and what it is told of the session before it.

use baton_conversation::record::{CommandId, SessionId};
use baton_events::session::{Command, Rejection, Signal};
use ractor::{ActorRef, RpcReplyPort};
use uuid::Uuid;

use super::{Msg, State};
use baton_base::transcript_file::FileSeen;
use baton_journal::AppendError;

/// A signal, with the identity of the wish.
#[derive(Clone, Debug)]
pub struct SignalCall {
    /// What was noticed.
    pub signal: Signal,
    /// The same again is recorded once.
    pub command: CommandId,
}

/// What is to be recorded of a handoff.
#[derive(Clone, Debug)]
pub enum HandOver {
    /// The session was told of this episode of another session.
    Offered {
        /// The episode.
        episode: Uuid,
        /// Its session.
        from: SessionId,
    },
    /// A prompt was typed in the session that was told.
    Claimed,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// It is durable.
    Recorded,
    /// It was recorded before.
    Known,
    /// A rule says no: the session is forgotten, or not tracked.
    Refused(Rejection),
    /// The log takes no writes, or the session's history cannot be read.
    Failed {
        /// Why.
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
        // A hook waits a tenth of a second: its word comes first, also that of a session that is not discovered yet, and its
        // file is read when it has gone.
        if let Some(file) = seen {
            let _ = myself.send_message(Msg::Seen(file));
        }
        recorded
    }

    pub(super) async fn hand_over(
        &mut self,
        what: HandOver,
        reply: RpcReplyPort<Signalled>,
    ) -> Result<(), AppendError> {
        let command = match what {
            HandOver::Offered { episode, from } => Command::Offer { episode, from },
            HandOver::Claimed => Command::Claim,
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
        // The next incarnation is asked, which knows what this one does not.
        Err(error @ AppendError::Conflict { .. }) => return Err(error),
        Err(error) => (Signalled::Failed { reason: error.to_string() }, Err(error)),
    };
    let _ = reply.send(answer);
    submitted
}
