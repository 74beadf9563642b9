//! Tells open tabs that something was recorded.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use baton_protocol::answer::{Episodes, LogRead};
use baton_protocol::{EpisodesParams, LogReadParams, method};
use futures_util::stream;
use tokio::time::Instant;

use crate::site::Site;

/// Shortest time from one look at the transcripts to the next. Without a look, growth is recorded only once in
/// `session_tracking.check_interval`.
const LOOK: Duration = Duration::from_secs(2);
/// The pause after a look, as a multiple of its duration.
const LOOK_SHARE: u32 = 10;
/// Shortest time between two messages.
const PAUSE: Duration = Duration::from_secs(1);

/// A stream of `changed`, each with the position of the log.
pub(crate) async fn changes(State(site): State<Arc<Site>>) -> impl IntoResponse {
    let now = Instant::now();
    let start = Following { site, position: None, at: now, look_at: now };
    Sse::new(stream::unfold(start, async |mut following| {
        let event = following.next().await?;
        Some((Ok::<_, Infallible>(event), following))
    }))
}

struct Following {
    site: Arc<Site>,
    /// The last position that the tab knows.
    position: Option<u64>,
    at: Instant,
    /// When the transcripts are looked at next.
    look_at: Instant,
}

impl Following {
    /// The next message. `None` ends the stream, because the log cannot be read or the daemon stops.
    async fn next(&mut self) -> Option<Event> {
        if self.position.is_some() {
            tokio::time::sleep_until(self.at + PAUSE).await;
        }
        self.look().await;
        let until_look = self.position.map_or(Duration::ZERO, |_| self.look_at - Instant::now());
        let wait_ms = u64::try_from(until_look.as_millis()).unwrap_or(u64::MAX);
        let asked =
            LogReadParams { from: self.position.unwrap_or(0) + 1, limit: 1, wait_ms, ..LogReadParams::default() };
        let read: LogRead = self.site.ask(method::LOG_READ, &asked).await.ok()?;
        self.site.see();
        self.at = Instant::now();
        let is_new = self.position.replace(read.position).is_some_and(|known| known < read.position);
        Some(match is_new {
            true => Event::default().event("changed").data(read.position.to_string()),
            false => Event::default().comment(""),
        })
    }

    /// Records what was written since the last look, as any query does first. A failed query is repeated later.
    async fn look(&mut self) {
        let start = Instant::now();
        if start < self.look_at {
            return;
        }
        let latest = EpisodesParams { limit: 1, budget_tokens: 1, ..EpisodesParams::default() };
        let _ = self.site.ask::<Episodes>(method::EPISODES, &latest).await;
        self.look_at = Instant::now() + LOOK.max(start.elapsed() * LOOK_SHARE);
    }
}
