//! Adds work to the backlog and hands it out to sessions.

use baton_events::session::{Effect, Phase, pending};
use ractor::ActorRef;

use super::backlog::{Entry, Work};
use super::{Asker, Msg, State};
use crate::watcher::Page;
use baton_base::limits;

impl State {
    /// Adds work to the backlog, except for sessions that the settings exclude.
    pub(super) fn take_in(&mut self, work: Vec<Work>) {
        if work.is_empty() || self.draining {
            return;
        }
        let table = self.options.table.now();
        let settings = self.options.sessions.settings.now();
        let unknown = baton_events::session::State::default();
        let entry = |work: Work| {
            let row = table.get(work.session());
            let state = row.map_or(&unknown, |row| &row.state);
            // An unknown session has no project yet; its actor decides.
            if row.is_some() && !settings.may_read(state) {
                return None;
            }
            let file = match &work {
                Work::Read(file) | Work::Index(_, Some(file)) => Some(file),
                Work::Index(_, None) | Work::Wake(_) => None,
            };
            let at = file.map(|file| file.stat.modified()).or(row.map(|row| row.state.last_activity()));
            let bytes = file.map_or(0, |file| file.stat.size.saturating_sub(state.read.offset));
            Some(Entry { at: at.unwrap_or_default(), bytes, work })
        };
        let entries = work.into_iter().filter_map(entry).collect();
        self.backlog.push(entries, self.options.sessions.clock.now());
    }

    pub(super) fn add_page_of_work(&mut self, page: Page) {
        if !self.draining {
            self.take_in(page.files.into_iter().map(|file| Work::Read(Box::new(file))).collect());
            self.backlog.paged(page.beyond, page.bytes);
        }
    }

    /// Hands out backlog work up to the limit in flight: slowly while questions are being answered, and nothing while
    /// the log accepts no writes.
    pub(super) async fn hand_out_backlog(&mut self, myself: &ActorRef<Msg>) {
        let (throttle, outage) = (self.options.sessions.throttle.clone(), self.options.sessions.outage.clone());
        while !outage.lasts()
            && (!throttle.is_answering() || self.begun.elapsed() >= limits::BACKLOG_PAUSE)
            && let Some(work) = self.backlog.next()
        {
            self.begun = tokio::time::Instant::now();
            self.hand_out(myself, work).await;
        }
        if self.backlog.wants_more() {
            self.options.children.watcher.0.request_page();
        }
        self.options.progress.send_if_modified(|shown| {
            let progress = self.backlog.progress();
            let changed = *shown != progress;
            *shown = progress;
            changed
        });
    }

    async fn hand_out(&mut self, myself: &ActorRef<Msg>, work: Work) {
        let id = work.session().clone();
        match (self.resolve(myself, &id, Asker::Anything).await, work) {
            (Ok(session), Work::Read(file)) => session.seen(*file),
            (Ok(session), Work::Index(_, file)) => session.index(file.map(|file| *file)),
            (Ok(session), Work::Wake(_)) => session.wake(),
            (Err(_), _) => self.backlog.done(&id),
        }
    }

    /// Lets one session probe whether the log accepts writes: one with something to record, else the next in the
    /// backlog.
    pub(super) async fn probe(&mut self, myself: &ActorRef<Msg>) {
        let waits = self.unrecorded.pop_first().map(Work::Wake);
        if !self.draining
            && let Some(work) = waits.or_else(|| self.backlog.next())
        {
            self.hand_out(myself, work).await;
        }
    }

    /// Returns the sessions that owe an index job or a close, regardless of time. Waking one that is already at it does
    /// no harm.
    pub(super) fn owed(&self) -> Vec<Work> {
        let settings = self.options.sessions.settings.now();
        let table = self.options.table.now();
        let is_due = |state: &baton_events::session::State| {
            let may_be = state.phase == Phase::Indexing || state.signals.close_owed.is_some();
            may_be
                && pending(state, &settings.policy_for(state))
                    .iter()
                    .any(|effect| matches!(effect, Effect::Index(_) | Effect::Close(_)))
        };
        table.iter().filter(|(_, row)| is_due(&row.state)).map(|(id, _)| Work::Wake(id.clone())).collect()
    }
}
