//! A memory that covers what a query asks for.
//!
//! # Decisions
//!
//! - A query that does not wait gives the memory one budget to catch up with what others have indexed; if that is not
//!   enough, `freshness` counts one more pending session, without a name. The backlog indexes what the query could not
//!   wait for, before everything else.

use baton_conversation::record::{Position, SessionId};
use baton_events::session::{Phase, State};
use baton_protocol::answer;
use baton_redaction::redact;
use baton_views::visibility;

use super::{FreshMemory, Request, memory_unavailable};
use crate::SESSIONS_NAMED;
use crate::client::{ClientRef, QueryError};
use baton_base::io_remedy::IoCause;
use baton_memory::Searcher;
use baton_tracking::indexer::Want;

/// Least wait for what others have just indexed.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(50);

/// A memory that covers the request, and its freshness.
pub(crate) struct FreshSearcher {
    pub(crate) searcher: Searcher,
    pub(crate) freshness: answer::Freshness,
}

impl FreshMemory<'_> {
    /// The memory as it is.
    pub(crate) fn stored_searcher(&self) -> Result<FreshSearcher, QueryError> {
        let searcher = self.coverage.indexer.searcher().map_err(|_| memory_unavailable(self.coverage.indexer))?;
        let searcher = searcher.without_facts(self.catalog().table.now().deleted_facts());
        let position = self.coverage.indexer.covered().whole.0;
        Ok(FreshSearcher { searcher, freshness: answer::Freshness { position, ..answer::Freshness::default() } })
    }

    /// Runs the lazy step and what follows it before any kind of search. With `all`, all history is read first.
    pub(crate) async fn searcher(&self, client: &ClientRef, ask: Request<'_>) -> Result<FreshSearcher, QueryError> {
        self.searcher_covering(client, ask, Want::Whole).await
    }

    /// The same, but only as far as is wanted.
    pub(crate) async fn searcher_covering(
        &self,
        client: &ClientRef,
        ask: Request<'_>,
        want: Want,
    ) -> Result<FreshSearcher, QueryError> {
        if ask.all {
            self.wait_for_history(client).await?;
        }
        let _asking = self.throttle.begin_question();
        let mut step = self.step(client, ask).await?;
        let position: Position = self.coverage.cover_step(client, &step, ask.all, want).await?;
        let (mut but_large, as_of) = (self.coverage.indexer.covered().but_large, step.as_of);
        if but_large < as_of {
            // What others have just indexed is awaited only briefly.
            let budget = self.catalog().settings.now().lazy_budget;
            let budget = match step.is_backfill || self.coverage.is_large_put_off(ask.all, want) {
                true => (step.until - tokio::time::Instant::now()).max(GLANCE),
                false => budget,
            };
            but_large = self.coverage.indexer.covers(as_of, Want::ButLarge, budget).await.unwrap_or(but_large);
        }
        let searcher = self.coverage.indexer.searcher().map_err(|_| memory_unavailable(self.coverage.indexer))?;
        let table = self.catalog().table.now();
        let searcher = searcher.without_facts(table.deleted_facts());
        let settings = self.catalog().settings.now();
        // Sessions of other projects are not missing; the project of one that could never be read is unknown, so it counts.
        let is_meant = |state: &State| {
            let is_in = ask.project.is_none_or(|project| state.place.is_none() || visibility::is_in(state, project));
            is_in && !settings.excludes(state)
        };
        let is_asked = |id: &&SessionId| table.get(id).is_none_or(|row| is_meant(&row.state));
        self.coverage.indexer.put_off(want).iter().filter(is_asked).for_each(|id| step.note_pending(id));
        let failed = table.unsettled().filter(|(_, row)| row.state.phase == Phase::Failed && is_meant(&row.state));
        let freshness = answer::Freshness {
            indexed_now: step.indexed,
            pending: step.pending + u64::from(but_large < step.position.max(as_of)),
            pending_sessions: step.pending_sessions,
            left_out_asking: step.left_out_asking,
            note: self
                .not_indexed_note(step.pending)
                .or(step.not_checked)
                .or_else(|| self.catalog().settings.now().tracking_off_note()),
            position: position.max(self.coverage.indexer.covered().of(want)).0,
            failed: failed.map(|(id, _)| id.to_string()).take(SESSIONS_NAMED).collect(),
            vectors: None,
        };
        Ok(FreshSearcher { searcher, freshness })
    }

    /// A note for the answer if something new cannot be indexed.
    fn not_indexed_note(&self, pending: u64) -> Option<String> {
        let explain = |what: &str, why: &str| {
            let note = format!("{what}, so the answer lacks it: {why}; {}", IoCause::in_message(why).remedy());
            redact(&note).into_owned()
        };
        match self.outage.lasting().filter(|_| pending > 0) {
            Some(refusal) => Some(explain("what is new cannot be recorded", &refusal.reason)),
            None => self
                .coverage
                .indexer
                .memory_state()
                .1
                .map(|why| explain("the searchable memory cannot take in what is new", &why)),
        }
    }
}
