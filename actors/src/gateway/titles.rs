//! Titles that one session's transcript gives to another: looked up whenever a session is named, so that they come and go
//! with the transcript that gives them.

use baton_conversation::record::SessionId;
use baton_episode::digest::Episode;
use baton_events::projection::table::SessionTable;

use super::{Services, shown};
use baton_config::settings::Settings;
use baton_memory::Searcher;

/// What another session that may be shown calls this one, if its own transcript says nothing of that. Blocks for reads of the
/// index; what cannot be read is not told.
pub(super) fn given(searcher: &Searcher, table: &SessionTable, settings: &Settings, id: &SessionId) -> Option<String> {
    let hidden = |id: &str| shown::hidden(table, settings, &[], id);
    let found = searcher.title_of(id, &hidden);
    found.inspect_err(|error| tracing::debug!(session = %id, %error, "no title looked up")).ok().flatten()
}

/// The same by what there is now.
pub(super) fn of(services: &Services, id: &SessionId) -> Option<String> {
    let searcher = services.indexer.searcher().ok()?;
    let (table, settings) = (services.table.now(), services.settings.now());
    given(&searcher, &table, &settings, id)
}

/// Gives an episode its title, where another session has it.
pub(super) fn entitle(services: &Services, id: &SessionId, episode: &mut Episode) {
    if !episode.is_titled
        && let Some(title) = of(services, id)
    {
        episode.entitle(&title);
    }
}
