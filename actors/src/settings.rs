//! What may be configured, as the actors use it: one immutable value, replaced as a whole when the configuration changes.

use std::sync::Arc;
use std::time::Duration;

use baton_events::session::{Policy, State};
use tokio::sync::watch;

/// Reads the settings as they are now, and can wait for the next ones.
pub type SettingsReader = watch::Receiver<Arc<Settings>>;

/// Everything that may be configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Timeouts, bounds and the global switch.
    pub policy: Policy,
    /// How long a query that does not wait for history reads what is beyond [`crate::limits::LAZY_BYTES`].
    pub lazy_budget: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { policy: Policy::default(), lazy_budget: Duration::from_millis(300) }
    }
}

impl Settings {
    /// The policy for one session.
    pub fn policy_for(&self, _state: &State) -> Policy {
        self.policy.clone()
    }

    /// Whether a session must be neither read nor shown, because its project is excluded.
    pub fn excludes(&self, _state: &State) -> bool {
        false
    }
}
