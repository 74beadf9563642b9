//! Titles that one session's transcript gives another session. They are looked up whenever a session is named, so that
//! they appear and vanish with the transcript that gives them.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;

use crate::visibility;
use baton_config::settings::Settings;
use baton_memory::Searcher;

/// The title that another visible session of the same author gives this one, if its own transcript gives none. Blocks
/// for reads of the index; a failed read is logged and gives `None`.
pub fn given_title(searcher: &Searcher, table: &SessionTable, settings: &Settings, id: &SessionId) -> Option<String> {
    let writer = |id: &SessionId| table.author(id).map(|author| author.writer.as_str());
    let is_anothers = |other: &str| SessionId::new(other).is_none_or(|other| writer(&other) != writer(id));
    let hidden = |other: &str| visibility::is_hidden(table, settings, &[], other) || is_anothers(other);
    let found = searcher.title_of(id, &hidden);
    found.inspect_err(|error| tracing::debug!(session = %id, %error, "no title looked up")).ok().flatten()
}

/// The title of a session: given by another one, or its own. Blocks for reads of the index; a failed read is logged and
/// gives `None`.
pub fn title(searcher: &Searcher, table: &SessionTable, settings: &Settings, id: &SessionId) -> Option<String> {
    given_title(searcher, table, settings, id).or_else(|| {
        let found = searcher.indexed_title(id);
        found.inspect_err(|error| tracing::debug!(session = %id, %error, "no title looked up")).ok().flatten()
    })
}
