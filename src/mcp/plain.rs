//! What the library answers to a client that has not greeted, in words that somebody can act on who types by hand.

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// How the library's refusal begins of a request that neither follows a greeting nor carries one.
const UNGREETED: &str = "request _meta is missing or has malformed required fields";
/// What is said before it.
const ADVICE: &str = "initialize first: send `initialize`, then `notifications/initialized`";

/// A transport whose refusals say what to do.
pub(super) struct Plain<T>(pub(super) T);

impl<T: Transport<RoleServer>> Transport<RoleServer> for Plain<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Error(refusal) = &mut item
            && refusal.error.message.starts_with(UNGREETED)
        {
            refusal.error.message = format!("{ADVICE} ({})", refusal.error.message).into();
        }
        self.0.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}
