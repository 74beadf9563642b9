//! Whether a job may still read when its turn has come: between a session's wish and its job lie other jobs, and meanwhile
//! somebody may have stopped the session, or its project.

use std::sync::Arc;

use baton_events::projection::table::Row;

use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

use super::JobRequest;

pub(super) struct Leave {
    pub(super) table: TableReader,
    pub(super) settings: SettingsReader,
}

impl Leave {
    /// The session as it is now, if it owes this very job and nothing stops it. A stop that was answered is seen here: the
    /// table is published before anybody hears of an event.
    pub(super) fn taken(&self, request: &JobRequest) -> Option<Arc<Row>> {
        let row = self.table.now().get(&request.session).cloned()?;
        let owed = row.state.job.is_some_and(|job| job.effect == request.job.effect);
        (owed && self.settings.now().policy_for(&row.state).tracked).then_some(row)
    }
}
