//! Tells open tabs that something was recorded.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use baton_protocol::answer::LogRead;
use baton_protocol::{LogReadParams, method};
use futures_util::stream;
use tokio::time::Instant;

use crate::site::Site;

/// Longest wait for the next event of the log; then the tab is told nothing, but counts as open.
const WAIT: Duration = Duration::from_secs(15);
/// Shortest time between two messages.
const PAUSE: Duration = Duration::from_secs(1);

/// A stream of `changed`, each with the position of the log.
pub(crate) async fn changes(State(site): State<Arc<Site>>) -> impl IntoResponse {
    let start = Following { site, position: None, at: Instant::now() };
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
}

impl Following {
    /// The next message. `None` ends the stream, because the log cannot be read or the daemon stops.
    async fn next(&mut self) -> Option<Event> {
        if self.position.is_some() {
            tokio::time::sleep_until(self.at + PAUSE).await;
        }
        let wait_ms = self.position.map_or(0, |_| u64::try_from(WAIT.as_millis()).unwrap_or(u64::MAX));
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
}
