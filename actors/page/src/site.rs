//! What all requests share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_protocol::Caller;
use baton_queries::DaemonParts;
use tokio::time::Instant;

use crate::access::Access;
use crate::layout::Clock;

/// The server ends after this long without a visible tab.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The pages of a home, while they are served.
pub(crate) struct Site {
    pub(crate) parts: Arc<DaemonParts>,
    pub(crate) access: Arc<Access>,
    /// The time zone of whoever asked last for an address.
    zone: Mutex<Option<String>>,
    /// When somebody last looked.
    seen: Mutex<Instant>,
}

impl Site {
    pub(crate) fn new(parts: Arc<DaemonParts>, access: Access) -> Self {
        Self { parts, access: Arc::new(access), zone: Mutex::default(), seen: Mutex::new(Instant::now()) }
    }

    /// The person, as calls name them.
    pub(crate) fn caller(&self) -> Caller {
        Caller { zone: self.zone.lock().unwrap_or_else(PoisonError::into_inner).clone(), ..Caller::default() }
    }

    /// The person's clock now.
    pub(crate) fn clock(&self) -> Clock {
        Clock { zone: self.caller().zone(), now: self.parts.clock.now() }
    }

    /// Notes that somebody asks for an address.
    pub(crate) fn welcome(&self, caller: Caller) {
        self.see();
        *self.zone.lock().unwrap_or_else(PoisonError::into_inner) = caller.zone;
    }

    /// Notes that somebody looks now.
    pub(crate) fn see(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When the server ends if nobody looks until then.
    pub(crate) fn idle_at(&self) -> Instant {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) + IDLE
    }
}
