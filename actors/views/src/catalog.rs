//! The session table together with the settings that apply to it.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::others::Others;
use baton_events::projection::table::SessionTable;

use crate::visibility;
use baton_base::latest::Latest;
use baton_config::settings::{Settings, SettingsReader, Stop};
use baton_journal::session_table::TableReader;

/// The session table, and the settings that decide what of it is read and shown.
#[derive(Clone)]
pub struct Catalog {
    /// The session table.
    pub table: TableReader,
    /// Settings derived from the configuration.
    pub settings: SettingsReader,
    /// Sessions of others, which a relay brought.
    pub others: Latest<Others>,
}

impl Catalog {
    /// Both as of now.
    pub fn now(&self) -> (SessionTable, Arc<Settings>) {
        (self.table.now().with_others(self.others.now().own_alone()), self.settings.now())
    }

    /// Both as of now, with the sessions of others: for answers that say whose each one is.
    pub fn everyone(&self) -> (SessionTable, Arc<Settings>) {
        (self.table.now().with_others(self.others.now()), self.settings.now())
    }

    /// Both as of now, with the sessions that may be handed over: those of others only if a person wants that.
    pub fn for_handoff(&self) -> (SessionTable, Arc<Settings>) {
        if self.settings.now().handoff_of_team { self.everyone() } else { self.now() }
    }

    /// A test of sessions and notes that must not be shown, as of now.
    pub fn hidden_now(&self) -> impl Fn(&str) -> bool + use<> {
        let (table, settings) = self.now();
        move |id: &str| visibility::is_hidden(&table, &settings, &[], id)
    }

    /// The part of the configuration that stops a known session.
    pub fn stop_of(&self, id: &SessionId) -> Option<Stop> {
        let (table, settings) = self.now();
        settings.stop_of(&table.get(id)?.state)
    }
}
