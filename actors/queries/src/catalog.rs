//! The sessions as queries see them.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_views::visibility;

use baton_config::settings::{Settings, SettingsReader, Stop};
use baton_journal::session_table::TableReader;
use baton_views::conversation::Conversations;

/// The session table, and the settings that decide what of it is read and shown.
#[derive(Clone)]
pub struct Catalog {
    /// The session table.
    pub table: TableReader,
    /// Settings derived from the configuration.
    pub settings: SettingsReader,
}

/// The sessions with their stored conversations.
#[derive(Clone)]
pub(crate) struct StoredSessions {
    pub(crate) catalog: Catalog,
    pub(crate) conversations: Arc<Conversations>,
}

impl Catalog {
    /// Both as of now.
    pub(crate) fn now(&self) -> (SessionTable, Arc<Settings>) {
        (self.table.now(), self.settings.now())
    }

    /// A test of sessions and notes that must not be shown, as of now.
    pub(crate) fn hidden_now(&self) -> impl Fn(&str) -> bool + use<> {
        let (table, settings) = self.now();
        move |id: &str| visibility::is_hidden(&table, &settings, &[], id)
    }

    /// The part of the configuration that stops a known session.
    pub(crate) fn stop_of(&self, id: &SessionId) -> Option<Stop> {
        let (table, settings) = self.now();
        settings.stop_of(&table.get(id)?.state)
    }
}
