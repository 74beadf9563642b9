//! Filling: every text of the memory gets its vector, the newest first, one request at a time.
//!
//! What came is stored before the next is asked for, so a daemon that is killed pays for one request twice at most. While
//! the endpoint fails, its client tells when it may be asked again. It stands back while a question is being answered.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{Embedder, InUse, Refused, Surroundings, told};
use baton_base::io_remedy::Obstacle;
use baton_config::settings::Embedding;
use baton_memory::Searcher;
use baton_memory::vectors::{Error, Key, Missing, Passage};
use baton_model::Kind;
use baton_views::visibility::is_hidden;

/// Texts of one request: an answer of 4,096 numbers each stays below what a client takes.
const BATCH_TEXTS: usize = 64;
/// Bytes of text of one request.
const BATCH_BYTES: usize = 128 * 1024;
/// How long a request may take: a small machine needs as long for so many texts.
const REQUEST: Duration = Duration::from_secs(60);
/// Requests that go well before they are made larger again.
const WELL: u32 = 8;
/// How long a request waits while questions are answered.
const STAND_BACK: Duration = Duration::from_secs(30);
/// How long after a change of the log it is looked for new texts: the memory commits once a second.
const LOOK: Duration = Duration::from_millis(1_500);
/// How often it is looked without a change.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);
/// Between two attempts at what the system refuses.
const RETRY: Duration = Duration::from_secs(15);
/// How long texts are taken from one state of the memory while there are newer ones.
const STALE: Duration = Duration::from_secs(5);
/// Texts that the model gives no vector: those beyond are asked for again and again.
const UNUSABLE: usize = 10_000;
/// How short a text is made that is too long for the model, in characters.
const SHORTEST_CHARS: usize = 250;
/// Vectors of no text that stay, so that a few do not cost writing all the others: one in so many.
const DEAD_SHARE: usize = 4;

/// Until the daemon stops.
pub(super) async fn run(embedder: Arc<Embedder>, around: Surroundings) {
    let (mut settings, mut stop) = (around.settings.clone(), around.stop.clone());
    loop {
        let embedding = settings.newest().embedding.clone();
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            changed = settings.wait_for(|settings| settings.embedding != embedding) => {
                if changed.is_err() {
                    return;
                }
            }
            () = work(&embedder, &around, embedding.as_ref()) => {}
        }
    }
}

/// Never ends.
async fn work(embedder: &Arc<Embedder>, around: &Surroundings, embedding: Option<&Embedding>) {
    loop {
        let (taken_by, wanted) = (embedder.clone(), embedding.cloned());
        match blocking(around, move || taken_by.take_up(wanted.as_ref())).await {
            Some(Ok(Some(in_use))) => {
                let filler = Filler { embedder, around, in_use, batch: BATCH_TEXTS, well: 0, unusable: HashSet::new() };
                filler.fill().await;
            }
            Some(Ok(None)) => return pending().await,
            Some(Err(error)) => embedder.lock_progress().problem = Some(refused(&error)),
            None => {}
        }
        sleep(RETRY).await;
    }
}

/// Runs what blocks, with the room of the background. `None`: it broke, which is told by the panic itself.
async fn blocking<T: Send + 'static>(around: &Surroundings, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let _room = around.throttle.wait_for_background().await;
    tokio::task::spawn_blocking(work).await.ok()
}

fn refused(error: &Refused) -> (String, String) {
    match error {
        Refused::Client(failure) => told(failure),
        Refused::Files(error) => of_files(error),
    }
}

fn of_files(error: &Error) -> (String, String) {
    let what = error.to_string();
    let fix = match error {
        Error::Disk { .. } => format!("{}; it is tried again by itself", Obstacle::in_message(&what).remedy()),
        Error::Dimensions { given, .. } => format!(
            "if the model was changed behind its name, set memory.embedding.dimensions to {given}: all vectors are made anew"
        ),
        Error::Full => "forget projects that are not needed, or use a model with fewer dimensions".to_owned(),
        Error::Name => "name a model in memory.embedding.model".to_owned(),
    };
    (what, fix)
}

struct Filler<'a> {
    embedder: &'a Arc<Embedder>,
    around: &'a Surroundings,
    in_use: Arc<InUse>,
    /// Texts of the next request.
    batch: usize,
    /// Requests that went well since it was changed.
    well: u32,
    /// Texts that the model gives no vector.
    unusable: HashSet<Key>,
}

/// Some texts, as of a state of the memory.
struct Batch {
    texts: Vec<Passage>,
    /// How often vectors were taken out before.
    kept: u64,
}

/// Whether to go on with what is missing.
enum Next {
    GoOn,
    LookAgain,
}

impl Filler<'_> {
    /// Until nothing more can be done with this model as it is configured.
    async fn fill(mut self) {
        let mut log = self.around.table.clone();
        'look: loop {
            let Some((searcher, mut missing, kept)) = self.look().await else {
                sleep(LOOK).await;
                continue;
            };
            let looked = Instant::now();
            while missing.count() > 0 && (looked.elapsed() < STALE || missing.is_newest(&searcher)) {
                let most = self.batch;
                let taken = blocking(self.around, move || {
                    let texts = missing.next_batch(most, BATCH_BYTES);
                    (missing, texts)
                });
                let Some((rest, texts)) = taken.await else { continue 'look };
                missing = rest;
                let texts = match texts {
                    Ok(texts) => texts,
                    Err(error) => {
                        tracing::warn!(%error, "texts that want vectors cannot be read");
                        sleep(RETRY).await;
                        continue 'look;
                    }
                };
                match self.send(Batch { texts, kept }).await {
                    Ok(Next::GoOn) => self.count(&missing),
                    Ok(Next::LookAgain) => continue 'look,
                    Err(error) => {
                        self.trouble(of_files(&error));
                        // Each attempt would be paid for. Another configuration begins anew.
                        return pending().await;
                    }
                }
            }
            if missing.count() == 0 {
                self.tidy(&searcher).await;
                // Nothing to be done before the memory has something new.
                while missing.is_newest(&searcher) && self.is_current(&searcher) {
                    let _ = timeout(LOOK_ANYWAY, log.changed()).await;
                    sleep(LOOK).await;
                    log.mark_seen();
                }
            }
        }
    }

    /// What lacks a vector now.
    async fn look(&self) -> Option<(Searcher, Missing, u64)> {
        let searcher = self.around.indexer.searcher().ok()?;
        let (table, settings) = (self.around.table.now(), self.around.settings.now());
        let (asking, vectors, unusable) = (searcher.clone(), self.in_use.table.clone(), self.unusable.clone());
        let looked = blocking(self.around, move || {
            let kept = vectors.removals();
            (asking.missing(&vectors, &|id| is_hidden(&table, &settings, &[], id), &unusable), kept)
        });
        let (missing, kept) = looked.await?;
        let mut progress = self.embedder.lock_progress();
        progress.done = missing.done as u64;
        (progress.pending, progress.is_known) = (missing.count() as u64, true);
        drop(progress);
        Some((searcher, missing, kept))
    }

    /// Whether the memory is still the one that the searcher is of.
    fn is_current(&self, searcher: &Searcher) -> bool {
        self.around.indexer.searcher().is_ok_and(|current| current.is_same_memory(searcher))
    }

    fn count(&self, missing: &Missing) {
        let mut progress = self.embedder.lock_progress();
        let pending = missing.count() as u64;
        progress.done += progress.pending.saturating_sub(pending);
        progress.pending = pending;
    }

    fn trouble(&self, problem: (String, String)) {
        self.embedder.lock_progress().problem = Some(problem);
    }

    /// Gets the vectors of a batch and stores them, in as many requests as it takes.
    async fn send(&mut self, batch: Batch) -> Result<Next, Error> {
        let Batch { texts, kept } = batch;
        let mut left = vec![texts];
        while let Some(texts) = left.pop() {
            if texts.is_empty() {
                continue;
            }
            let mut asked = self.around.throttle.questions();
            let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
            self.in_use.client.ready().await;
            let words: Vec<String> = texts.iter().map(|passage| passage.text.clone()).collect();
            match self.in_use.client.embed(&words, REQUEST).await {
                Ok(embedded) => {
                    let made = texts.iter().map(|passage| passage.key).zip(embedded.vectors).collect();
                    if !self.store(made, kept).await? {
                        return Ok(Next::LookAgain);
                    }
                    self.embedder.lock_progress().problem = None;
                    self.well += 1;
                    if self.well >= WELL {
                        (self.batch, self.well) = ((self.batch * 2).min(BATCH_TEXTS), 0);
                    }
                }
                Err(failure) if failure.is_of_request() => left.extend(self.divided(texts)),
                Err(failure) => {
                    if failure.kind() == Kind::TimedOut {
                        (self.batch, self.well) = ((texts.len() / 2).max(1), 0);
                    }
                    self.trouble(told(&failure));
                    if matches!(failure.kind(), Kind::Paused) {
                        sleep(LOOK).await;
                    }
                    // What is left is looked for again, for it may be forgotten meanwhile.
                    return Ok(Next::LookAgain);
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Texts that were refused together, apart; one alone in half its length, or not at all.
    fn divided(&mut self, mut texts: Vec<Passage>) -> Vec<Vec<Passage>> {
        if texts.len() > 1 {
            let rest = texts.split_off(texts.len() / 2);
            return vec![rest, texts];
        }
        for passage in &mut texts {
            let chars = passage.text.chars().count();
            if chars <= SHORTEST_CHARS {
                if self.unusable.len() < UNUSABLE {
                    self.unusable.insert(passage.key);
                }
                return Vec::new();
            }
            passage.text = passage.text.chars().take(chars / 2).collect();
        }
        vec![texts]
    }

    /// Stores what came, however long the disk refuses: it is paid for. Whether it was taken.
    async fn store(&self, made: Vec<(Key, Vec<f32>)>, kept: u64) -> Result<bool, Error> {
        let made = Arc::new(made);
        loop {
            let (table, given) = (self.in_use.table.clone(), made.clone());
            match blocking(self.around, move || table.add(&given, kept)).await {
                Some(Err(error @ Error::Disk { .. })) => {
                    self.trouble(of_files(&error));
                    sleep(RETRY).await;
                }
                Some(stored) => return stored,
                None => return Ok(false),
            }
        }
    }

    /// Gives back what is of no text any more, and the vectors of models that are not used, once all texts have theirs. Only
    /// a memory that has the whole log can tell what is needed.
    async fn tidy(&self, searcher: &Searcher) {
        let log = self.around.table.now().position();
        let is_whole = || {
            let (covered, problem) = self.around.indexer.memory();
            let lacks = || self.around.indexer.left_out().is_empty() && self.around.indexer.unreadable().is_empty();
            covered >= log && problem.is_none() && lacks() && self.is_current(searcher)
        };
        if !is_whole() || self.in_use.table.count() == 0 {
            return;
        }
        let (searcher, vectors, table) = (searcher.clone(), self.embedder.vectors.clone(), self.in_use.table.clone());
        let tidied = blocking(self.around, move || -> Result<(u64, u64), Error> {
            let others = vectors.delete_others()?;
            let live = searcher.live_texts();
            let dead = table.count_dead(&live);
            let dropped = if dead * DEAD_SHARE > table.count() { vectors.retain(|| live)? } else { 0 };
            Ok((others, dropped))
        });
        match tidied.await {
            Some(Ok((0, 0))) | None => {}
            Some(Ok((models, vectors))) => tracing::info!(models, vectors, reason = "not needed", "vectors deleted"),
            Some(Err(error)) => tracing::warn!(%error, "vectors that are not needed are still there"),
        }
    }
}
