//! Records a person's corrections. The text of a title is stored beside the conversation before an event names it.

use baton_events::session::{Command, Correction};

use super::State;
use super::tracking::Switched;
use baton_journal::AppendError;

impl State {
    /// Records corrections, and the title if there is one. Nothing is stored of a session without an episode, such as a
    /// forgotten one: the rules refuse it.
    pub(super) async fn correct(
        &mut self,
        title: Option<String>,
        mut corrections: Vec<Correction>,
    ) -> Result<Switched, AppendError> {
        if let Some(text) = title.filter(|_| self.aggregate().state().episode.is_some()) {
            match self.store_note(text).await {
                Ok(hash) => corrections.push(Correction::Title(Some(hash))),
                Err(reason) => return Ok(Switched::Failed { reason }),
            }
        }
        self.submit_switch(Command::Correct(corrections), None).await
    }
}
