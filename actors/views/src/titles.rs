//! Titles that one session's transcript gives to another: looked up whenever a session is named, so that they come and go
//! with the transcript that gives them.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;

use crate::visibility;
use baton_config::settings::Settings;
use baton_memory::Searcher;

/// What another session that may be shown calls this one, if its own transcript says nothing of that. Blocks for reads of the
/// index; what cannot be read is not told.
pub fn given_title(searcher: &Searcher, table: &SessionTable, settings: &Settings, id: &SessionId) -> Option<String> {
    let hidden = |id: &str| visibility::is_hidden(table, settings, &[], id);
    let found = searcher.title_of(id, &hidden);
    found.inspect_err(|error| tracing::debug!(session = %id, %error, "no title looked up")).ok().flatten()
}
