//! The session table as others see it: rows in their order.

use std::cmp::Reverse;

use baton_events::projection::table::SessionTable;
use baton_events::session::State;
use baton_protocol::answer::Row;

use super::{Services, answers};

/// The sessions that are wanted, last activity first; those in which nothing was said come last, so that a transcript of
/// snapshots does not hide what somebody works at. Left out are projects that are excluded, and sessions of which only hooks
/// have told so far. Reads notes from disk.
pub(crate) fn rows(services: &Services, table: &SessionTable, wanted: impl Fn(&State) -> bool) -> Vec<Row> {
    each(services, table, wanted).collect()
}

/// The same, each made when it is asked for.
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
