//! Checks whether a job may still run when its turn comes: the session or its project may have been stopped while it
//! was queued.

use std::sync::Arc;

use baton_events::projection::table::Row;

use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

use super::JobRequest;

pub(super) struct JobGate {
    pub(super) table: TableReader,
    pub(super) settings: SettingsReader,
}

impl JobGate {
    /// Returns the session's current row if it still owes this job and nothing stops it. Sees every stop that was
    /// acknowledged, because the table is published before any caller is answered.
    pub(super) fn owed_row(&self, request: &JobRequest) -> Option<Arc<Row>> {
        let row = self.table.now().get(&request.session).cloned()?;
        let owed = row.state.job.is_some_and(|job| job.effect == request.job.effect);
        (owed && self.settings.now().policy_for(&row.state).tracked).then_some(row)
    }
}
