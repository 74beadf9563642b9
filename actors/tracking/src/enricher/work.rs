//! Enriches one session: reads its conversation and asks a model, recording each call before it is made and when it has
//! ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_enrichment::{Answer, Complaint, Remaining, Request, budget, form};
use baton_episode::digest::Show;
use baton_events::prices::Price;
use baton_events::projection::table::Row;
use baton_events::session::{CallEnd, CallModel, CallOutcome, EpisodeRef, GaveUp, Phase, TakeAnswer};

use super::budget_reservation::{Bound, OverBudget, Reservation};
use super::conversation::{self, Read};
use super::ended::{self, CallResult, EndedCall};
use super::outcome::{By, Done, Outcome};
use super::{Enricher, RECORD, RETRY, call_of, price};
use crate::session::{EnrichmentStep, NotAsked};
use baton_base::actor_address::CallError;
use baton_config::settings::{Llm, Settings};
use baton_model::{ChatRequest, Client, Failure, Kind, Message, Role, WhenPaused};

/// The enrichment of one session.
struct Work<'a> {
    enricher: &'a Enricher,
    id: &'a SessionId,
    by: &'a By,
    llm: Llm,
    client: Client,
    episode: EpisodeRef,
    /// The parts of the conversation that may be sent.
    show: Show,
    read: Read,
    /// Stored answers by hash; `None` for unreadable ones.
    stored: BTreeMap<ContentHash, Option<Answer>>,
    /// The result so far.
    done: Done,
}

/// What follows a call.
enum Next {
    /// Make the next call.
    GoOn(Option<Complaint>),
    End(Outcome),
}

impl Enricher {
    /// Enriches one session. If it is already being worked on, waits for that on behalf of a person, and fails
    /// otherwise.
    pub async fn enrich(&self, id: &SessionId, by: &By) -> Done {
        loop {
            let over = self.over.notified();
            tokio::pin!(over);
            // Register before checking, so that no notification is missed.
            over.as_mut().enable();
            if let Some(_one) = self.begin(id) {
                let done = match self.prepare(id, by).await {
                    Ok(work) => work.run().await,
                    Err(outcome) => Done::none(outcome),
                };
                if by.is_person() {
                    return self.with_outlived(id, done);
                }
                self.note_since(id, &done);
                return done;
            }
            if !by.is_person() {
                return Done::none(Outcome::failed("it is being worked on"));
            }
            over.await;
        }
    }

    async fn prepare<'a>(&'a self, id: &'a SessionId, by: &'a By) -> Result<Work<'a>, Outcome> {
        let settings = self.options.settings.now();
        let Some(llm) = settings.llm.clone() else {
            return Err(Outcome::Failed {
                why: "no model is switched on: set llm.enabled in config.json".to_owned(),
                is_of_endpoint: true,
            });
        };
        let looked = settings.clone();
        let obstacle =
            baton_base::task::spawn_blocking(move || Self::configuration_problem(&looked)).await.unwrap_or(None);
        if let Some((what, fix)) = obstacle {
            self.known().problem = Some((what.clone(), fix.clone()));
            return Err(Outcome::Failed { why: format!("{what}; {fix}"), is_of_endpoint: true });
        }
        let client = self.client_of(&llm.endpoint).await.map_err(|failure| self.note_problem(&failure))?;
        let room = match by {
            By::Itself => Some(self.options.throttle.wait_for_background().await),
            By::One(_) | By::All(_) => None,
        };
        // Look it up only now: it may have been replaced during the wait.
        let (episode, state) = self.current(&settings, id)?;
        let before = state.state.enriched_by();
        let is_owed = state.state.enrichment().is_some_and(|known| known.owed.is_some());
        if before.is_some_and(|before| before.beyond_context() == 0 || !(by.is_person() || is_owed)) {
            return Err(Outcome::Unchanged);
        }
        // This session is marked as ours, so a call recorded as in flight was made by an earlier daemon.
        if let Some(call) = call_of(&state) {
            let lost = self.record(id, EnrichmentStep::Lost(call)).await;
            lost.map_err(|error| Outcome::failed(error.to_string()))?;
            self.note_lost(id, &state);
        }
        let (limits, show) = (llm.limits(), settings.filtering);
        let (options, of, current) = (self.options.clone(), id.clone(), episode.clone());
        let read = baton_base::task::spawn_blocking(move || {
            let _room = room;
            conversation::read(&options.indexer, &options.chunks, &of, &current, &limits, &show)
        });
        match read.await {
            // A repeated enrichment would not send more than before, so it is no longer owed.
            Ok(Ok(read)) if before.is_some_and(|before| !read.plan.tells_more_than(before)) => {
                let (content, why) = (episode.hash, GaveUp::NoMore);
                if is_owed {
                    let _ = self.record(id, EnrichmentStep::GiveUp { content, why }).await;
                }
                Err(Outcome::Unchanged)
            }
            Ok(Ok(read)) if !read.plan.requests.is_empty() => {
                let (stored, done) = (BTreeMap::new(), Done::none(Outcome::Unchanged));
                Ok(Work { enricher: self, id, by, llm, client, episode, show, read, stored, done })
            }
            Ok(Ok(_)) => {
                let (content, why) = (episode.hash, GaveUp::Empty);
                let _ = self.record(id, EnrichmentStep::GiveUp { content, why }).await;
                Err(Outcome::Nothing { why: "session_tracking.filtering leaves nothing of it to send to a model" })
            }
            Ok(Err(error)) if conversation::is_lost(&error) => {
                let (content, why) = (episode.hash, GaveUp::Unreadable);
                let _ = self.record(id, EnrichmentStep::GiveUp { content, why }).await;
                let why = format!("its stored conversation cannot be read: {error}; {}", why.next_step());
                Err(Outcome::GivenUp { why })
            }
            Ok(Err(error)) => Err(Outcome::failed(format!("its stored conversation cannot be read now: {error}"))),
            Err(_) => Err(Outcome::failed("reading the conversation panicked; see `daemon.log`")),
        }
    }

    /// Returns the episode of a session if it may be sent.
    fn current(&self, settings: &Settings, id: &SessionId) -> Result<(EpisodeRef, Arc<Row>), Outcome> {
        let table = self.options.table.now();
        let nothing =
            || Outcome::Nothing { why: "it has no episode: nothing was said in it, or its episode is deleted" };
        let row = table.get(id).cloned().ok_or_else(nothing)?;
        if !settings.may_read(&row.state) {
            return Err(Outcome::failed("the session is not tracked, so nothing of it is sent"));
        }
        let episode = table.visible_episode(&row).cloned().ok_or_else(nothing)?;
        Ok((episode, row))
    }

    /// Remembers a failure that stops all enrichment.
    fn note_problem(&self, failure: &Failure) -> Outcome {
        let (what, fix) = (failure.describe(), failure.next_step());
        self.known().problem = Some((what.clone(), fix.to_owned()));
        Outcome::Failed { why: format!("{what}; {fix}"), is_of_endpoint: true }
    }

    async fn record(&self, id: &SessionId, what: EnrichmentStep) -> Result<Option<u32>, NotAsked> {
        match self.options.supervisor.record_enrichment_step(id, what, RECORD).await {
            Ok(recorded) => recorded,
            Err(error @ (CallError::Gone | CallError::TimedOut)) => Err(NotAsked::Failed { reason: error.to_string() }),
        }
    }
}

impl Work<'_> {
    async fn run(mut self) -> Done {
        let mut complaint = self.former_complaint();
        loop {
            match self.call(complaint).await {
                Ok(Next::GoOn(next)) => complaint = next,
                Ok(Next::End(outcome)) | Err(outcome) => return Done { outcome, ..self.done },
            }
        }
    }

    /// Returns the complaint about the last answer if an earlier daemon ended before it asked again.
    fn former_complaint(&self) -> Option<Complaint> {
        let table = self.enricher.options.table.now();
        let enrichment = table.get(self.id)?.state.enrichment()?;
        let is_of_it = enrichment.content == Some(self.episode.hash);
        enrichment.complaint.filter(|_| is_of_it).map(Complaint::from_outcome)
    }

    /// Makes the next call.
    async fn call(&mut self, complaint: Option<Complaint>) -> Result<Next, Outcome> {
        let enricher = self.enricher;
        let settings = &enricher.options.settings;
        let room = enricher.permits.acquire(|| settings.now().llm.as_ref().map_or(1, |llm| llm.max_concurrency)).await;
        if let Some(down) = self.client.current_pause().filter(|down| !self.by.is_person() && !down.again_in.is_zero())
        {
            // Nothing would be sent; work goes on once the endpoint is asked again.
            return Err(Outcome::failed(down.failure.describe()));
        }
        let left = self.next_request(complaint.as_ref()).await?;
        let (mut taken, price) = self.reserve_cost(&left).await?;
        let (llm, request) = (&self.llm, left.request);
        let call = CallModel {
            model: llm.endpoint.model.clone(),
            content: self.episode.hash,
            request: request.hash(),
            ask: request.ask,
            part: request.part,
            parts: request.parts,
            tokens_in: request.tokens_in,
            tokens_out: request.tokens_out,
            nanos: taken.nanos,
        };
        let estimate = call.nanos;
        let number = match enricher.record(self.id, EnrichmentStep::Call(Box::new(call))).await {
            Ok(Some(number)) => number,
            not_recorded => {
                let why = not_recorded.err().map_or_else(String::new, |error| format!(": {error}"));
                return Err(Outcome::failed(format!("the call was not made{why}")));
            }
        };
        // Until the real cost is known.
        taken.spent = estimate;
        let begun = Instant::now();
        let when_paused = if self.by.is_person() { WhenPaused::AsksAnyway } else { WhenPaused::Fails };
        let replied = self.client.chat(&chat_request(&request), llm.timeout, when_paused).await;
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        drop(room);
        let EndedCall { came, tokens, nanos } = EndedCall::from_reply(replied, &self.read.lines, price.as_ref());
        let (end, next) = self.evaluate(came, &request).await;
        let spent = nanos.unwrap_or(estimate);
        self.done.calls += 1;
        self.done.nanos = self.done.nanos.saturating_add(spent);
        self.done.unknown += u64::from(nanos.is_none());
        if let (CallEnd::Good { dropped, .. }, true) = (&end, request.is_last()) {
            self.done.dropped = u64::from(*dropped);
        }
        taken.spent = spent;
        self.record_end(TakeAnswer { id: number, end, tokens, nanos, duration_ms }).await?;
        drop(taken);
        Ok(match next {
            // The session has changed meanwhile, so the answer was not used.
            Next::End(Outcome::Enriched) if !self.is_enriched() => Next::End(Outcome::failed(self.why_unused())),
            next => next,
        })
    }

    /// Returns the next request for the current content, and the tokens that it and the remaining ones need.
    async fn next_request(&mut self, complaint: Option<&Complaint>) -> Result<Remaining, Outcome> {
        let enricher = self.enricher;
        let settings = enricher.options.settings.now();
        let is_same = settings.llm.as_ref() == Some(&self.llm) && settings.filtering == self.show;
        if !is_same || *enricher.options.stop.borrow() {
            return Err(Outcome::failed("the configuration has changed meanwhile; ask again"));
        }
        let (current, row) = enricher.current(&settings, self.id)?;
        if current.hash != self.episode.hash {
            return Err(Outcome::failed("the session went on meanwhile; it is enriched when it ends again"));
        }
        let known = row.state.enrichment().filter(|known| known.content == Some(current.hash));
        if self.read.plan.merges() {
            self.read_stored(known.map(|known| known.answers.as_slice()).unwrap_or_default()).await;
        }
        let next = self.read.plan.next(|request| {
            let Some(answer) = known.and_then(|known| known.answer_to(request)) else { return Ok(None) };
            self.stored.get(answer).cloned().flatten().map(Some).ok_or(())
        });
        let mut left = match next {
            Ok(left) => left.ok_or(Outcome::Nothing { why: "there is nothing left to ask about it" })?,
            Err(()) => {
                let (content, why) = (self.episode.hash, GaveUp::Unreadable);
                let _ = enricher.record(self.id, EnrichmentStep::GiveUp { content, why }).await;
                return Err(Outcome::GivenUp { why: "the stored answers to its parts cannot be read".to_owned() });
            }
        };
        if let Some(complaint) = complaint {
            let before = left.request.tokens_in;
            left.request = left.request.with_correction(complaint);
            left.tokens_in = left.tokens_in.saturating_add(left.request.tokens_in - before);
        }
        Ok(left)
    }

    /// Loads stored answers. Each pair is a request and its answer.
    async fn read_stored(&mut self, answers: &[(ContentHash, ContentHash)]) {
        let new = answers.iter().map(|(_, answer)| *answer).filter(|answer| !self.stored.contains_key(answer));
        let new: Vec<ContentHash> = new.collect();
        let (chunks, id) = (self.enricher.options.chunks.clone(), self.id.clone());
        let read = baton_base::task::spawn_blocking(move || {
            let read =
                |hash: ContentHash| (hash, chunks.note(&id, &hash).ok().and_then(|text| Answer::from_json(&text)));
            new.into_iter().map(read).collect::<Vec<_>>()
        });
        self.stored.extend(read.await.unwrap_or_default());
    }

    /// Reserves the estimated cost. Also records that a person asked for the enrichment, so that it is owed.
    async fn reserve_cost(&self, left: &Remaining) -> Result<(Reservation, Option<Price>), Outcome> {
        let enricher = self.enricher;
        if matches!(self.by, By::One(None)) {
            self.record_wanted().await?;
        }
        let settings = enricher.options.settings.now();
        let price = price(&settings, &self.llm).map_err(|(what, fix)| Outcome::failed(format!("{what}; {fix}")))?;
        let (table, now) = (enricher.options.table.now(), enricher.options.clock.now());
        let wanted = budget::Wanted {
            next: budget::estimate(price.as_ref(), left.request.tokens_in, left.request.tokens_out),
            all: budget::estimate(price.as_ref(), left.tokens_in, left.tokens_out),
        };
        let taken = enricher.budgets.reserve(self.id, &wanted, &self.llm, self.by.allowance(), &table, now);
        let taken = taken.map_err(|OverBudget { why, bound }| {
            if bound != Bound::Run {
                enricher
                    .known()
                    .over_budget
                    .insert(self.id.clone(), (self.episode.hash, wanted, bound, settings.clone()));
            }
            Outcome::OverBudget { why, next_step: bound.next_step(), is_of_session: bound == Bound::Session }
        })?;
        enricher.known().over_budget.remove(self.id);
        // Recorded only now: what exceeds one run's allowance must not stay owed.
        if matches!(self.by, By::All(_) | By::One(Some(_))) {
            self.record_wanted().await?;
        }
        Ok((taken, price))
    }

    async fn record_wanted(&self) -> Result<(), Outcome> {
        let wanted = self.enricher.record(self.id, EnrichmentStep::Wanted).await;
        wanted.map(drop).map_err(|error| Outcome::failed(error.to_string()))
    }

    /// Returns how the log records the end of a call, and what comes next.
    async fn evaluate(&self, came: CallResult, request: &Request) -> (CallEnd, Next) {
        let enricher = self.enricher;
        let is_again = request.correction.is_some();
        let answer = match came {
            CallResult::Answer(answer) => answer.with_losses(&request.lost),
            CallResult::Complaint(complaint) => {
                enricher.known().problem = None;
                let outcome = complaint.outcome();
                let next = match is_again {
                    true => Next::End(Outcome::GivenUp { why: complaint.message() }),
                    false => Next::GoOn(Some(complaint)),
                };
                return (CallEnd::Failed { outcome, retry_after_ms: None }, next);
            }
            CallResult::Failure(failure) => {
                let end = CallEnd::Failed {
                    outcome: ended::outcome(&failure),
                    retry_after_ms: ended::retry_after_ms(&failure),
                };
                let outcome = match failure.is_of_request() {
                    true => {
                        let (what, fix) = (failure.describe(), next_step(&failure));
                        enricher.known().rejected = Some((what.clone(), fix.to_owned()));
                        Outcome::failed(format!("{what}; {fix}"))
                    }
                    false => enricher.note_problem(&failure),
                };
                return (end, Next::End(outcome));
            }
        };
        {
            let mut known = enricher.known();
            (known.problem, known.rejected) = (None, None);
        }
        let (facts, dropped) = (u32::try_from(answer.facts.len()).unwrap_or(u32::MAX), answer.dropped);
        let (unseen, not_held) = (self.read.plan.unseen(), self.read.plan.not_held);
        let (chunks, id, text) = (enricher.options.chunks.clone(), self.id.clone(), answer.to_json());
        let stored = baton_base::task::spawn_blocking(move || chunks.put_note(&id, &text)).await;
        match stored {
            Ok(Ok(answer)) => {
                let next = if request.is_last() { Next::End(Outcome::Enriched) } else { Next::GoOn(None) };
                (CallEnd::Good { answer, facts, dropped, unseen, not_held }, next)
            }
            // The answer is paid for but lost, because it cannot be stored.
            stored => {
                let reason = match stored {
                    Ok(Err(error)) => error.to_string(),
                    _ => "storing it broke".to_owned(),
                };
                tracing::error!(session = %self.id, %reason, "answer of a model not stored");
                let why = format!("the answer cannot be stored: {reason}");
                (CallEnd::Failed { outcome: CallOutcome::Lost, retry_after_ms: None }, Next::End(Outcome::failed(why)))
            }
        }
    }

    /// Records the end of a call, retrying as long as the log refuses, because it is paid for.
    async fn record_end(&self, taken: TakeAnswer) -> Result<(), Outcome> {
        let enricher = self.enricher;
        let taken = Box::new(taken);
        loop {
            match enricher.record(self.id, EnrichmentStep::Ended(taken.clone())).await {
                Ok(_) => break,
                Err(NotAsked::Refused(rejection)) => return Err(Outcome::failed(rejection.to_string())),
                Err(NotAsked::Failed { reason }) if *enricher.options.stop.borrow() => {
                    return Err(Outcome::failed(format!("the daemon is stopping: {reason}")));
                }
                Err(NotAsked::Failed { .. }) => tokio::time::sleep(RETRY).await,
            }
        }
        let row = enricher.options.table.now().get(self.id).cloned();
        if row.is_some_and(|row| row.state.phase == Phase::Forgotten) {
            // The answer was stored after the session's folder was deleted.
            let (chunks, id) = (enricher.options.chunks.clone(), self.id.clone());
            let forgotten = baton_base::task::spawn_blocking(move || chunks.forget(&id)).await;
            if !matches!(forgotten, Ok(Ok(_))) {
                tracing::warn!(session = %self.id, "answer about a forgotten session not removed");
            }
        }
        Ok(())
    }

    /// Why the answer was not used.
    fn why_unused(&self) -> &'static str {
        let table = self.enricher.options.table.now();
        match table.get(self.id) {
            Some(row) if row.state.phase == Phase::Forgotten => "the session was forgotten meanwhile",
            _ => "the session went on meanwhile; it is enriched when it ends again",
        }
    }

    fn is_enriched(&self) -> bool {
        let table = self.enricher.options.table.now();
        table.get(self.id).is_some_and(|row| row.state.enriched_by().is_some())
    }
}

/// The remedy for a rejected request, phrased for conversations.
fn next_step(failure: &Failure) -> &'static str {
    match failure.kind() {
        Kind::TooLarge => "set llm.context_tokens in config.json to what the model takes at once",
        Kind::Refused => {
            "check the model's name in config.json, and whether the server takes a JSON schema as response_format"
        }
        _ => failure.next_step(),
    }
}

fn chat_request(request: &Request) -> ChatRequest {
    let message = |role, text: &str| Message { role, text: text.to_owned() };
    let correction = request.correction.iter().map(|correction| message(Role::User, correction));
    let messages = [message(Role::System, &request.system), message(Role::User, &request.user)];
    ChatRequest {
        messages: messages.into_iter().chain(correction).collect(),
        format: Some(form::response_format()),
        max_tokens: request.tokens_out,
    }
}
