//! `today`: running and finished sessions, open work and spending.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::ledger::By;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::CloseReason;
use baton_protocol::{TodayParams, Zone, answer, code};
use baton_redaction::redact;

use super::outcome_query::entries;
use super::projects::{number, sessions};
use super::{QueryError, internal, project, timeline, zone_day};
use crate::agent_usage::{AgentUsage, Usages, local_day};
use crate::client::ClientRef;
use crate::lazy::{self, FreshSearcher};
use crate::resolve;
use baton_config::settings::Settings;
use baton_tracking::enricher::Enricher;
use baton_views::conversation::Conversations;

/// Entries of a list by default.
const LISTED: usize = 12;
/// Days of a week, today included.
const WEEK: i64 = 7;
/// Days after which a project's open work is not listed.
const MONTH: i64 = 30;
/// Most projects whose latest session is looked at for open work.
const LOOKED_AT: usize = 60;
/// Most open items of a project.
const ITEMS: usize = 5;

pub(crate) async fn today(
    asked: TodayParams,
    agents: AgentUsage<'_>,
    enricher: &Enricher,
    client: &ClientRef,
) -> Result<answer::Today, QueryError> {
    let memory = &agents.memory;
    let (now, zone) = (memory.coverage.clock.now(), asked.caller.zone());
    let groups = || {
        let (table, settings) = memory.catalog().now();
        let project = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name)).transpose();
        project.map(|project| project.into_iter().collect::<Vec<String>>())
    };
    let asking = resolve::asking_session(&memory.catalog().table.now(), &asked.caller, "");
    let known = groups().unwrap_or_default();
    let ask = lazy::Request { project: known.first().map(String::as_str), all: asked.wait, asking: asking.as_ref() };
    let FreshSearcher { searcher, freshness } = memory.searcher(client, ask).await?;
    let groups = groups()?;
    let usages = match agents.read(searcher, groups.first().cloned(), None).await {
        Ok(usages) => Some(usages),
        // The rest does not need it.
        Err(QueryError::Failure(failure)) if failure.code == code::INTERNAL => None,
        Err(error) => return Err(error),
    };
    let today = local_day(now, zone);
    let (table, settings) = memory.catalog().now();
    let (conversations, limit) = (agents.conversations.clone(), entries(asked.limit, LISTED));
    let listing = baton_base::task::spawn_blocking(move || {
        let day = Day { table: &table, settings: &settings, conversations: &conversations, zone, today, limit };
        day.sessions(&groups)
    });
    let listed = listing.await.map_err(|error| internal("reading the sessions broke", error))?;
    Ok(answer::Today {
        day: zone_day(now, zone),
        spent: usages.map(|usages| spent(&usages, zone, today)),
        own_calls_usd: super::enrichment::dollars(enricher.state().spent_today_nanos),
        freshness,
        ..listed
    })
}

fn spent(usages: &Usages, zone: Zone, today: i64) -> answer::Spent {
    let week = usages.add_up(By::Day, zone, &(today - WEEK + 1..=today));
    let today = usages.add_up(By::Day, zone, &(today..=today));
    answer::Spent { today: today.total, week: week.total, note: week.note }
}

/// When a session ended: the reported end, else its last record, because silence is noticed only later.
fn ended_at(row: &Row) -> Timestamp {
    let state = &row.state;
    let was_said = |reason| match reason {
        CloseReason::Explicit => true,
        CloseReason::InactivityTimeout | CloseReason::McpDisconnect => false,
        // What a transcript says of its end counts from when it was read.
        _ => state.signals.started_at.is_some(),
    };
    state.end.filter(|end| was_said(end.reason)).map_or_else(|| state.last_activity(), |end| end.at)
}

/// A day, and the sources of its sessions.
struct Day<'a> {
    table: &'a SessionTable,
    settings: &'a Settings,
    conversations: &'a Arc<Conversations>,
    zone: Zone,
    today: i64,
    limit: usize,
}

type Session<'t> = (&'t SessionId, &'t Arc<Row>);

impl Day<'_> {
    /// Running and finished sessions and open work, without spending. Blocks for reads of conversations.
    fn sessions(&self, groups: &[String]) -> answer::Today {
        let mut all: Vec<Session<'_>> = sessions(self.table, self.settings, groups).collect();
        all.sort_by_key(|(id, row)| (Reverse(row.state.last_activity()), *id));
        let (running, ended): (Vec<_>, Vec<_>) = all.iter().copied().partition(|(_, row)| row.state.is_open());
        let day_of = |row: &Row| local_day(row.state.last_activity(), self.zone);
        let finished: Vec<_> =
            ended.into_iter().filter(|(_, row)| local_day(ended_at(row), self.zone) == self.today).collect();
        let mut projects = BTreeSet::new();
        // The first of a project is its latest.
        let mut latest = all.iter().copied().filter(|(_, row)| {
            let project = row.state.place.as_ref().map(|place| place.project.clone());
            day_of(row) > self.today - MONTH && project.is_some_and(|project| projects.insert(project))
        });
        let mut open: Vec<_> =
            latest.by_ref().take(LOOKED_AT).filter_map(|session| self.open(session)).take(self.limit + 1).collect();
        let more_projects = open.len() > self.limit || latest.next().is_some();
        open.truncate(self.limit);
        let (mut running, more_running) = self.lines(&running);
        // What has not ended has no outcome yet.
        running.iter_mut().for_each(|session| session.outcome.clear());
        let (finished, more_finished) = self.lines(&finished);
        answer::Today {
            running,
            more_running,
            finished,
            more_finished,
            open,
            more_projects,
            ..answer::Today::default()
        }
    }

    fn lines(&self, sessions: &[Session<'_>]) -> (Vec<answer::TimelineSession>, u32) {
        let listed = sessions.iter().take(self.limit).map(|(id, row)| {
            let episode = timeline::episode_of(self.conversations, &self.settings.filtering, id, row);
            // Open work is listed by project.
            answer::TimelineSession { open: Vec::new(), ..timeline::in_a_line(id, row, episode.as_ref()) }
        });
        (listed.collect(), number(sessions.len().saturating_sub(self.limit)))
    }

    /// The open work of a session; `None` if there is none, or it is not read yet.
    fn open(&self, (id, row): Session<'_>) -> Option<answer::ProjectOpen> {
        let episode = timeline::episode_of(self.conversations, &self.settings.filtering, id, row)?;
        let mut items = project::open_work(id, row, &episode);
        let more = number(items.len().saturating_sub(ITEMS));
        items.truncate(ITEMS);
        let project = redact(&row.state.place.as_ref()?.project).into_owned();
        (!items.is_empty()).then_some(answer::ProjectOpen { project, items, more })
    }
}
