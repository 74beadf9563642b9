//! Whether a job may still read when its turn has come: between a session's wish and its job lie other jobs, and meanwhile
//! somebody may have stopped the session, or its project.

use crate::settings::SettingsReader;
use crate::table::TableReader;

use super::JobRequest;

pub(super) struct Leave {
    pub(super) table: TableReader,
    pub(super) settings: SettingsReader,
}

impl Leave {
    /// Whether the session owes this very job, and nothing stops it. A stop that was answered is seen here: the table is
    /// published before anybody hears of an event.
    pub(super) fn holds(&self, request: &JobRequest) -> bool {
        let settings = self.settings.now();
        let table = self.table.now();
        table.get(&request.session).is_some_and(|row| {
            let owed = row.state.job.is_some_and(|job| job.effect == request.job.effect);
            owed && settings.policy_for(&row.state).tracked
        })
    }
}
