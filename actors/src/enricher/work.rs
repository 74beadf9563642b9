//! One session: its conversation read, a model asked about it, each call recorded before it is made and when it has ended.

use std::sync::Arc;
use std::time::Instant;

use baton_events::enrichment::{Answer, Complaint, Limits, Request, budget, form};
use baton_events::hash::ContentHash;
use baton_events::prices::Price;
use baton_events::projection::table::Row;
use baton_events::record::SessionId;
use baton_events::session::{Ask, CallEnd, CallModel, CallOutcome, EpisodeRef, GaveUp, Phase, TakeAnswer};

use super::conversation::{self, Read};
use super::ended::{self, Came, Ended};
use super::purse::{Allowance, OverBudget, Taken};
use super::{Enricher, RECORD, RETRY, call_of, price};
use crate::llm::{Client, Failure, Kind, Said, Speaker, Talk, Turn};
use crate::session::{Asking, NotAsked};
use crate::settings::{Llm, Settings};
use crate::slot::CallError;

/// Who wants it.
#[derive(Clone)]
pub(crate) enum By {
    /// It is due.
    Itself,
    /// A person who names the session: over budget it stays owed.
    One(Option<Arc<Allowance>>),
    /// A person who wants all: over budget nothing is owed.
    All(Option<Arc<Allowance>>),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A model has made its episode.
    Enriched,
    /// It had before.
    Unchanged,
    /// There is no episode that could be enriched.
    Nothing,
    /// A budget is spent.
    OverBudget {
        /// Which, and how it stands.
        why: String,
    },
    /// The model's answers are of no use; the episode stays.
    GivenUp {
        /// Why.
        why: String,
    },
    /// It did not come about, and will be tried again.
    Failed {
        /// Why, and what to do.
        why: String,
        /// Whether it is the endpoint, so that others would fail alike.
        is_of_endpoint: bool,
    },
}

/// What became of it, and what that took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) calls: u64,
    /// In thousandths of a millionth of a US dollar; of unknown cost at the estimate.
    pub(crate) nanos: u64,
}

/// A session on its way.
struct Work<'a> {
    enricher: &'a Enricher,
    id: &'a SessionId,
    by: &'a By,
    llm: Llm,
    client: Client,
    episode: EpisodeRef,
    read: Read,
    calls: u64,
    nanos: u64,
}

/// What a call has come to.
enum Next {
    /// The next one.
    GoOn(Option<Complaint>),
    End(Outcome),
}

impl By {
    fn allowance(&self) -> Option<&Allowance> {
        match self {
            Self::Itself => None,
            Self::One(allowance) | Self::All(allowance) => allowance.as_deref(),
        }
    }

    fn is_person(&self) -> bool {
        !matches!(self, Self::Itself)
    }
}

impl Outcome {
    fn failed(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), is_of_endpoint: false }
    }
}

impl Enricher {
    /// Enriches one session, as far as it may be. If it is being worked on that is waited for first.
    pub(crate) async fn enrich(&self, id: &SessionId, by: &By) -> Done {
        loop {
            let over = self.over.notified();
            tokio::pin!(over);
            // From now on no word is missed.
            over.as_mut().enable();
            if let Some(_one) = self.begin(id) {
                return match self.prepare(id, by).await {
                    Ok(work) => work.run().await,
                    Err(outcome) => Done { outcome, calls: 0, nanos: 0 },
                };
            }
            if !by.is_person() {
                return Done { outcome: Outcome::failed("it is being worked on"), calls: 0, nanos: 0 };
            }
            over.await;
        }
    }

    async fn prepare<'a>(&'a self, id: &'a SessionId, by: &'a By) -> Result<Work<'a>, Outcome> {
        let settings = self.around.settings.now();
        let Some(llm) = settings.llm.clone() else {
            return Err(Outcome::Failed {
                why: "no model is switched on: set llm.enabled in config.json".to_owned(),
                is_of_endpoint: true,
            });
        };
        let looked = settings.clone();
        let obstacle = tokio::task::spawn_blocking(move || Self::obstacle(&looked)).await.unwrap_or(None);
        if let Some((what, fix)) = obstacle {
            self.known().problem = Some((what.clone(), fix.clone()));
            return Err(Outcome::Failed { why: format!("{what}; {fix}"), is_of_endpoint: true });
        }
        let client = self.client_of(&llm.endpoint).await.map_err(|failure| self.held_up(&failure))?;
        let (episode, state) = self.current(&settings, id)?;
        if state.state.enriched_by().is_some() {
            return Err(Outcome::Unchanged);
        }
        // Nobody else works on it now: what is under way there is a call that a daemon before this one had made.
        if let Some(call) = call_of(&state) {
            let lost = self.record(id, Asking::Lost(call)).await;
            lost.map_err(|error| Outcome::failed(error.to_string()))?;
        }
        let room = match by {
            By::Itself => Some(self.around.pace.background().await),
            By::One(_) | By::All(_) => None,
        };
        let limits = Limits { context_tokens: llm.context_tokens, max_output_tokens: llm.max_output_tokens };
        let (indexer, of, current) = (self.around.indexer.clone(), id.clone(), episode.clone());
        let read = tokio::task::spawn_blocking(move || {
            let _room = room;
            conversation::read(&indexer, &of, &current, &limits)
        });
        match read.await {
            Ok(Ok(read)) if !read.plan.requests.is_empty() => {
                Ok(Work { enricher: self, id, by, llm, client, episode, read, calls: 0, nanos: 0 })
            }
            Ok(Ok(_)) => {
                let (content, why) = (episode.hash, GaveUp::Empty);
                let _ = self.record(id, Asking::GiveUp { content, why }).await;
                Err(Outcome::Nothing)
            }
            Ok(Err(error)) => {
                let (content, why) = (episode.hash, GaveUp::Unreadable);
                let _ = self.record(id, Asking::GiveUp { content, why }).await;
                Err(Outcome::GivenUp { why: format!("its stored conversation cannot be read: {error}") })
            }
            Err(_) => Err(Outcome::failed("reading the conversation broke; `daemon.log` tells where")),
        }
    }

    /// The episode of a session that may be sent.
    fn current(&self, settings: &Settings, id: &SessionId) -> Result<(EpisodeRef, Arc<Row>), Outcome> {
        let table = self.around.table.now();
        let row = table.get(id).cloned().ok_or(Outcome::Nothing)?;
        if !settings.reads(&row.state) {
            return Err(Outcome::failed("the session is not tracked, so nothing of it is sent"));
        }
        let episode = table.shown(&row).cloned().ok_or(Outcome::Nothing)?;
        Ok((episode, row))
    }

    /// Remembers what keeps everything from going on.
    fn held_up(&self, failure: &Failure) -> Outcome {
        let (what, fix) = (failure.what(), failure.next_step());
        self.known().problem = Some((what.clone(), fix.to_owned()));
        Outcome::Failed { why: format!("{what}; {fix}"), is_of_endpoint: true }
    }

    async fn record(&self, id: &SessionId, what: Asking) -> Result<Option<u32>, NotAsked> {
        match self.around.supervisor.asking(id, what, RECORD).await {
            Ok(recorded) => recorded,
            Err(error @ (CallError::Gone | CallError::TimedOut)) => Err(NotAsked::Failed { reason: error.to_string() }),
        }
    }
}

impl Work<'_> {
    async fn run(mut self) -> Done {
        let mut complaint = self.former_complaint();
        let outcome = loop {
            match self.call(complaint).await {
                Ok(Next::GoOn(next)) => complaint = next,
                Ok(Next::End(outcome)) | Err(outcome) => break outcome,
            }
        };
        Done { outcome, calls: self.calls, nanos: self.nanos }
    }

    /// What was wrong with the last answer, if a daemon before this one did not come to ask once more.
    fn former_complaint(&self) -> Option<Complaint> {
        let table = self.enricher.around.table.now();
        let enrichment = table.get(self.id)?.state.enrichment()?;
        let is_of_it = enrichment.content == Some(self.episode.hash);
        enrichment.complaint.filter(|_| is_of_it).map(Complaint::of_outcome)
    }

    /// Makes the next call.
    async fn call(&mut self, complaint: Option<Complaint>) -> Result<Next, Outcome> {
        let enricher = self.enricher;
        let settings = &enricher.around.settings;
        let room = enricher.rooms.take(|| settings.now().llm.as_ref().map_or(1, |llm| llm.max_concurrency)).await;
        if let Some(down) = self.client.health().filter(|down| !self.by.is_person() && !down.again_in.is_zero()) {
            // Nothing would be sent: it goes on when the endpoint is asked again.
            return Err(Outcome::failed(down.failure.what()));
        }
        let request = self.request(complaint.as_ref()).await?;
        let is_again = request.correction.is_some();
        let (taken, price) = self.afford(&request).await?;
        let (llm, ask) = (&self.llm, request.ask);
        let call = CallModel {
            model: llm.endpoint.model.clone(),
            content: self.episode.hash,
            request: request.hash(),
            ask,
            part: request.part,
            parts: request.parts,
            tokens_in: request.tokens_in,
            tokens_out: request.tokens_out,
            nanos: taken.nanos(),
        };
        let estimate = call.nanos;
        let number = match enricher.record(self.id, Asking::Call(Box::new(call))).await {
            Ok(Some(number)) => number,
            not_recorded => {
                if let Some(allowance) = self.by.allowance() {
                    allowance.give_back(estimate);
                }
                let why = not_recorded.err().map_or_else(String::new, |error| format!(": {error}"));
                return Err(Outcome::failed(format!("the call was not made{why}")));
            }
        };
        let begun = Instant::now();
        let turn = if self.by.is_person() { Turn::AtOnce } else { Turn::Waits };
        let replied = self.client.chat(&talk(&request), llm.timeout, turn).await;
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        drop(room);
        let Ended { came, tokens, nanos } = Ended::of(replied, &self.read.lines, price.as_ref());
        let (end, next) = self.judged(came, ask, is_again).await;
        let spent = nanos.unwrap_or(estimate);
        (self.calls, self.nanos) = (self.calls + 1, self.nanos.saturating_add(spent));
        self.ended(TakeAnswer { id: number, end, tokens, nanos, duration_ms }).await?;
        if let Some(allowance) = self.by.allowance() {
            allowance.give_back(estimate.saturating_sub(spent));
        }
        drop(taken);
        Ok(match next {
            // What was said meanwhile makes it a thing of the past.
            Next::End(Outcome::Enriched) if !self.is_enriched() => Next::End(Outcome::failed(self.what_came_between())),
            next => next,
        })
    }

    /// The next request for the content as it is now.
    async fn request(&self, complaint: Option<&Complaint>) -> Result<Request, Outcome> {
        let enricher = self.enricher;
        let settings = enricher.around.settings.now();
        if settings.llm.as_ref() != Some(&self.llm) || *enricher.around.stop.borrow() {
            return Err(Outcome::failed("the configuration has changed meanwhile; ask again"));
        }
        let (current, row) = enricher.current(&settings, self.id)?;
        if current.hash != self.episode.hash {
            return Err(Outcome::failed("the session went on meanwhile; it is enriched when it ends again"));
        }
        let plan = &self.read.plan;
        let stored = |request: &Request| row.state.enrichment()?.answer_to(&request.hash()).copied();
        let mut request = match plan.requests.iter().find(|request| stored(request).is_none()) {
            Some(request) if plan.merges() => request.clone(),
            _ if plan.merges() => {
                let answers: Vec<ContentHash> = plan.requests.iter().filter_map(stored).collect();
                let (chunks, id) = (enricher.around.chunks.clone(), self.id.clone());
                let read = tokio::task::spawn_blocking(move || {
                    let read = |hash: &ContentHash| Answer::stored(&chunks.note(&id, hash).ok()?);
                    answers.iter().map(read).collect::<Option<Vec<Answer>>>()
                });
                match read.await.ok().flatten() {
                    Some(answers) => plan.merge(&answers),
                    None => {
                        let (content, why) = (self.episode.hash, GaveUp::Unreadable);
                        let _ = enricher.record(self.id, Asking::GiveUp { content, why }).await;
                        let why = "the stored answers to its parts cannot be read".to_owned();
                        return Err(Outcome::GivenUp { why });
                    }
                }
            }
            _ => plan.requests.first().cloned().ok_or(Outcome::Nothing)?,
        };
        if let Some(complaint) = complaint {
            request = request.again(complaint);
        }
        Ok(request)
    }

    /// Takes the estimate out of the purse, and has it owed where a person wants it.
    async fn afford(&self, request: &Request) -> Result<(Taken, Option<Price>), Outcome> {
        let enricher = self.enricher;
        if matches!(self.by, By::One(None)) {
            self.want().await?;
        }
        let settings = enricher.around.settings.now();
        let price = price(&settings, &self.llm).map_err(|(what, fix)| Outcome::failed(format!("{what}; {fix}")))?;
        let (table, now) = (enricher.around.table.now(), enricher.around.clock.now());
        let known = table.get(self.id).and_then(|row| row.state.enrichment());
        let is_answered = |request: &Request| known.is_some_and(|known| known.answer_to(&request.hash()).is_some());
        let (read, written) = self.read.plan.rest(is_answered);
        let wanted = budget::Wanted {
            next: budget::estimate(price.as_ref(), request.tokens_in, request.tokens_out),
            all: budget::estimate(price.as_ref(), read, written),
        };
        let taken = enricher.purse.take(self.id, &wanted, &self.llm, self.by.allowance(), &table, now);
        let taken = taken.map_err(|OverBudget { why, is_of_run }| {
            if !is_of_run {
                enricher.known().over_budget.insert(self.id.clone(), (self.episode.hash, wanted));
            }
            Outcome::OverBudget { why }
        })?;
        enricher.known().over_budget.remove(self.id);
        // What is over the allowance of one run is not owed by it.
        if matches!(self.by, By::All(_) | By::One(Some(_))) {
            self.want().await?;
        }
        Ok((taken, price))
    }

    async fn want(&self) -> Result<(), Outcome> {
        let wanted = self.enricher.record(self.id, Asking::Wanted).await;
        wanted.map(drop).map_err(|error| Outcome::failed(error.to_string()))
    }

    /// What the log is told of how a call ended, and what comes next.
    async fn judged(&self, came: Came, ask: Ask, is_again: bool) -> (CallEnd, Next) {
        let enricher = self.enricher;
        let answer = match came {
            Came::Answer(answer) => answer,
            Came::Complaint(complaint) => {
                enricher.known().problem = None;
                let (outcome, why) = (complaint.outcome(), complaint.to_string());
                let next = match is_again {
                    true => Next::End(Outcome::GivenUp { why: format!("the model was asked twice: {why}") }),
                    false => Next::GoOn(Some(complaint)),
                };
                return (CallEnd::Failed { outcome, retry_after_ms: None }, next);
            }
            Came::Failure(failure) => {
                let end = CallEnd::Failed {
                    outcome: ended::outcome(&failure),
                    retry_after_ms: ended::retry_after_ms(&failure),
                };
                let outcome = match failure.is_of_request() {
                    true => Outcome::failed(format!("{}; {}", failure.what(), next_step(&failure))),
                    false => enricher.held_up(&failure),
                };
                return (end, Next::End(outcome));
            }
        };
        enricher.known().problem = None;
        let (facts, dropped) = (u32::try_from(answer.facts.len()).unwrap_or(u32::MAX), answer.dropped);
        let (chunks, id, text) = (enricher.around.chunks.clone(), self.id.clone(), answer.json());
        let stored = tokio::task::spawn_blocking(move || chunks.put_note(&id, &text)).await;
        match stored {
            Ok(Ok(answer)) => {
                let next = if ask == Ask::Part { Next::GoOn(None) } else { Next::End(Outcome::Enriched) };
                (CallEnd::Good { answer, facts, dropped }, next)
            }
            // It is paid for, and lost: what it said can be stored nowhere.
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

    /// Has the end of a call recorded, however long the log refuses: it is paid for.
    async fn ended(&self, taken: TakeAnswer) -> Result<(), Outcome> {
        let enricher = self.enricher;
        let taken = Box::new(taken);
        loop {
            match enricher.record(self.id, Asking::Ended(taken.clone())).await {
                Ok(_) => break,
                Err(NotAsked::Refused(rejection)) => return Err(Outcome::failed(rejection.to_string())),
                Err(NotAsked::Failed { reason }) if *enricher.around.stop.borrow() => {
                    return Err(Outcome::failed(format!("the daemon is stopping: {reason}")));
                }
                Err(NotAsked::Failed { .. }) => tokio::time::sleep(RETRY).await,
            }
        }
        let row = enricher.around.table.now().get(self.id).cloned();
        if row.is_some_and(|row| row.state.phase == Phase::Forgotten) {
            // Its words came after its folder had gone.
            let (chunks, id) = (enricher.around.chunks.clone(), self.id.clone());
            let forgotten = tokio::task::spawn_blocking(move || chunks.forget(&id)).await;
            if !matches!(forgotten, Ok(Ok(_))) {
                tracing::warn!(session = %self.id, "answer about a forgotten session is still there");
            }
        }
        Ok(())
    }

    /// Why an answer is of no use any more.
    fn what_came_between(&self) -> &'static str {
        let table = self.enricher.around.table.now();
        match table.get(self.id) {
            Some(row) if row.state.phase == Phase::Forgotten => "the session was forgotten meanwhile",
            _ => "the session went on meanwhile; it is enriched when it ends again",
        }
    }

    fn is_enriched(&self) -> bool {
        let table = self.enricher.around.table.now();
        table.get(self.id).is_some_and(|row| row.state.enriched_by().is_some())
    }
}

/// What to do about a request that the endpoint does not take: here it is a conversation.
fn next_step(failure: &Failure) -> &'static str {
    match failure.kind() {
        Kind::TooLarge => "set llm.context_tokens in config.json to what the model takes at once",
        Kind::Refused => {
            "check the model's name in config.json, and whether the server takes a JSON schema as response_format"
        }
        _ => failure.next_step(),
    }
}

fn talk(request: &Request) -> Talk {
    let said = |speaker, text: &str| Said { speaker, text: text.to_owned() };
    let correction = request.correction.iter().map(|correction| said(Speaker::User, correction));
    let said = [said(Speaker::System, &request.system), said(Speaker::User, &request.user)];
    Talk {
        said: said.into_iter().chain(correction).collect(),
        format: Some(form::response_format()),
        max_tokens: request.tokens_out,
    }
}
