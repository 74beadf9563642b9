//! The session table together with the settings that apply to it.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::others::Others;
use baton_events::projection::table::SessionTable;

use crate::visibility;
use baton_base::latest::Latest;
use baton_config::settings::{Settings, SettingsReader, Stop};
use baton_journal::session_table::TableReader;

/// The session table, and the settings that decide which sessions are read and shown.
#[derive(Clone)]
pub struct Catalog {
    /// The session table.
    pub table: TableReader,
    /// Settings derived from the configuration.
    pub settings: SettingsReader,
    /// Sessions of others, received through a relay.
    pub others: Latest<Others>,
}

impl Catalog {
    /// Both in their current state.
    pub fn now(&self) -> (SessionTable, Arc<Settings>) {
        (self.table.now().with_others(self.others.now().own_alone()), self.settings.now())
    }

    /// The same with the sessions of others, for answers that name each session's owner.
    pub fn including_others(&self) -> (SessionTable, Arc<Settings>) {
        (self.table.now().with_others(self.others.now()), self.settings.now())
    }

    /// The same with the sessions that may be handed off: those of others only if the settings allow it.
    pub fn for_handoff(&self) -> (SessionTable, Arc<Settings>) {
        if self.settings.now().handoff_of_team { self.including_others() } else { self.now() }
    }

    /// A predicate, as of now, for sessions and notes that must not be shown.
    pub fn hidden_now(&self) -> impl Fn(&str) -> bool + use<> {
        let (table, settings) = self.now();
        move |id: &str| visibility::is_hidden(&table, &settings, &[], id)
    }

    /// The setting that stops a known session, if any.
    pub fn stop_of(&self, id: &SessionId) -> Option<Stop> {
        let (table, settings) = self.now();
        settings.stop_of(&table.get(id)?.state)
    }
}
