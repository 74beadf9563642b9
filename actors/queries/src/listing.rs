//! Rows of the session table in display order.

use std::cmp::Reverse;

use baton_events::projection::table::SessionTable;
use baton_events::session::State;
use baton_protocol::answer::Row;

use super::{Services, answers};

/// The wanted sessions, last activity first. Sessions without messages come last, so that a transcript of snapshots
/// does not hide current work. Leaves out excluded projects, and sessions known from hooks only. Blocks for reads of
/// notes.
pub(crate) fn rows(services: &Services, table: &SessionTable, wanted: impl Fn(&State) -> bool) -> Vec<Row> {
    each(services, table, wanted).collect()
}

/// Like [`rows`], but lazily.
pub(crate) fn each(
    services: &Services,
    table: &SessionTable,
    wanted: impl Fn(&State) -> bool,
) -> impl Iterator<Item = Row> {
    let settings = services.settings.now();
    let shown = |state: &State| !state.is_unseen() && wanted(state) && !settings.excludes(state);
    let mut rows: Vec<_> = table.iter().filter(|(_, row)| shown(&row.state)).collect();
    rows.sort_by_cached_key(|(id, row)| {
        let state = &row.state;
        (state.counts.messages == 0, Reverse(state.last_activity()), (*id).clone())
    });
    rows.into_iter().map(|(id, row)| answers::row(services, id, &row.state))
}
