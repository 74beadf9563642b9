//! Filling: gives every text in the memory its vector, newest first, one request at a time.
//!
//! Each result is stored before the next request, so a daemon that is killed pays twice for one request at most. While
//! the endpoint fails, its client decides when it may be asked again. Filling pauses while a question is being
//! answered.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{Embedder, InUse, Options, Refused, describe};
use baton_base::io_remedy::IoCause;
use baton_config::settings::Embedding;
use baton_memory::Searcher;
use baton_memory::vectors::{Error, Key, Missing, Passage};
use baton_model::Kind;
use baton_views::visibility::is_hidden;

/// Texts per request: an answer with 4,096 numbers for each stays below the client's limit.
const BATCH_TEXTS: usize = 64;
/// Bytes of text per request.
const BATCH_BYTES: usize = 128 * 1024;
/// Time limit of a request; a small machine needs this long for a full batch.
const REQUEST: Duration = Duration::from_secs(60);
/// Successful requests before the batch grows again.
const WELL: u32 = 8;
/// Longest pause of a request while questions are answered.
const STAND_BACK: Duration = Duration::from_secs(30);
/// Delay before new texts are looked for after a change of the log: the memory commits once a second.
const LOOK: Duration = Duration::from_millis(1_500);
/// How often new texts are looked for without a change.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);
/// Delay between attempts after an error of the system.
const RETRY: Duration = Duration::from_secs(15);
/// How long texts are taken from one state of the memory while there are newer ones.
const STALE: Duration = Duration::from_secs(5);
/// Limit of remembered texts for which the model gives no vector; further ones are asked for repeatedly.
const UNUSABLE: usize = 10_000;
/// Length in characters below which a text that the model refuses as too long is given up.
const SHORTEST_CHARS: usize = 250;
/// Unneeded vectors are removed once they exceed one in this many, so that a few do not cause a rewrite of all others.
const DEAD_SHARE: usize = 4;

/// Runs until the daemon stops.
pub(super) async fn run(embedder: Arc<Embedder>, options: Options) {
    let (mut settings, mut stop) = (options.settings.clone(), options.stop.clone());
    loop {
        let embedding = settings.newest().embedding.clone();
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            changed = settings.wait_for(|settings| settings.embedding != embedding) => {
                if changed.is_err() {
                    return;
                }
            }
            () = work(&embedder, &options, embedding.as_ref()) => {}
        }
    }
}

/// Fills with one configuration. Never returns.
async fn work(embedder: &Arc<Embedder>, options: &Options, embedding: Option<&Embedding>) {
    loop {
        let (taken_by, wanted) = (embedder.clone(), embedding.cloned());
        match blocking(options, move || taken_by.select_model(wanted.as_ref())).await {
            Some(Ok(Some(in_use))) => {
                let filler =
                    Filler { embedder, options, in_use, batch: BATCH_TEXTS, well: 0, unusable: HashSet::new() };
                filler.fill().await;
            }
            Some(Ok(None)) => return pending().await,
            Some(Err(error)) => embedder.lock_progress().problem = Some(refused(&error)),
            None => {}
        }
        sleep(RETRY).await;
    }
}

/// Runs a blocking call in a background slot. Returns `None` if it panicked.
async fn blocking<T: Send + 'static>(options: &Options, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let _room = options.throttle.wait_for_background().await;
    baton_base::task::spawn_blocking(work).await.ok()
}

fn refused(error: &Refused) -> (String, String) {
    match error {
        Refused::Client(failure) => describe(failure),
        Refused::Files(error) => of_files(error),
    }
}

fn of_files(error: &Error) -> (String, String) {
    let what = error.to_string();
    let fix = match error {
        Error::Disk { .. } => format!("{}; it is tried again by itself", IoCause::in_message(&what).remedy()),
        Error::Dimensions { given, .. } => format!(
            "if the model was changed behind its name, set memory.embedding.dimensions to {given}: all are made again"
        ),
        Error::Full => "forget projects that are not needed, or use a model with fewer dimensions".to_owned(),
        Error::Name => "name a model in memory.embedding.model".to_owned(),
    };
    (what, fix)
}

struct Filler<'a> {
    embedder: &'a Arc<Embedder>,
    options: &'a Options,
    in_use: Arc<InUse>,
    /// Number of texts in the next request.
    batch: usize,
    /// Successful requests since that last changed.
    well: u32,
    /// Texts for which the model gives no vector.
    unusable: HashSet<Key>,
}

/// Some texts from one state of the memory.
struct Batch {
    texts: Vec<Passage>,
    /// The number of removals of vectors before that.
    kept: u64,
}

/// How to continue after a batch.
enum Next {
    GoOn,
    LookAgain,
}

impl Filler<'_> {
    /// Fills until nothing more can be done with this model and configuration.
    async fn fill(mut self) {
        let mut log = self.options.table.clone();
        'look: loop {
            let Some((searcher, mut missing, kept)) = self.look().await else {
                sleep(LOOK).await;
                continue;
            };
            let looked = Instant::now();
            while missing.count() > 0 && (looked.elapsed() < STALE || missing.is_newest(&searcher)) {
                let most = self.batch;
                let taken = blocking(self.options, move || {
                    let texts = missing.next_batch(most, BATCH_BYTES);
                    (missing, texts)
                });
                let Some((rest, texts)) = taken.await else { continue 'look };
                missing = rest;
                let texts = match texts {
                    Ok(texts) => texts,
                    Err(error) => {
                        tracing::warn!(%error, "texts without vectors cannot be read");
                        sleep(RETRY).await;
                        continue 'look;
                    }
                };
                match self.send(Batch { texts, kept }).await {
                    Ok(Next::GoOn) => self.count(&missing),
                    Ok(Next::LookAgain) => continue 'look,
                    Err(error) => {
                        self.trouble(of_files(&error));
                        // Each attempt would cost money. Wait for another configuration.
                        return pending().await;
                    }
                }
            }
            if missing.count() == 0 {
                self.tidy(&searcher).await;
                // Wait until the memory has new texts.
                while missing.is_newest(&searcher) && self.is_current(&searcher) {
                    let _ = timeout(LOOK_ANYWAY, log.changed()).await;
                    sleep(LOOK).await;
                    log.mark_seen();
                }
            }
        }
    }

    /// Finds the texts without a vector.
    async fn look(&self) -> Option<(Searcher, Missing, u64)> {
        let searcher = self.options.indexer.searcher().ok()?;
        let (table, settings) = (self.options.table.now(), self.options.settings.now());
        let (asking, vectors, unusable) = (searcher.clone(), self.in_use.table.clone(), self.unusable.clone());
        let looked = blocking(self.options, move || {
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

    /// True if the searcher belongs to the current memory.
    fn is_current(&self, searcher: &Searcher) -> bool {
        self.options.indexer.searcher().is_ok_and(|current| current.is_same_memory(searcher))
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

    /// Requests and stores the vectors of a batch, in as many requests as needed.
    async fn send(&mut self, batch: Batch) -> Result<Next, Error> {
        let Batch { texts, kept } = batch;
        let mut left = vec![texts];
        while let Some(texts) = left.pop() {
            if texts.is_empty() {
                continue;
            }
            let mut asked = self.options.throttle.questions();
            let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
            self.in_use.client.wait_until_ready().await;
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
                    self.trouble(describe(&failure));
                    if matches!(failure.kind(), Kind::Paused) {
                        sleep(LOOK).await;
                    }
                    // Look for the rest again, because some may be forgotten meanwhile.
                    return Ok(Next::LookAgain);
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Splits texts that were refused together. A single text is cut to half its length, or given up.
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

    /// Stores vectors, retrying as long as the disk refuses, because they are paid for. Returns true if they were
    /// accepted.
    async fn store(&self, made: Vec<(Key, Vec<f32>)>, kept: u64) -> Result<bool, Error> {
        let made = Arc::new(made);
        loop {
            let (table, given) = (self.in_use.table.clone(), made.clone());
            match blocking(self.options, move || table.add(&given, kept)).await {
                Some(Err(error @ Error::Disk { .. })) => {
                    self.trouble(of_files(&error));
                    sleep(RETRY).await;
                }
                Some(stored) => return stored,
                None => return Ok(false),
            }
        }
    }

    /// Removes vectors that no text needs, and those of unused models, once all texts have theirs. Only a memory that
    /// has applied the whole log knows what is needed.
    async fn tidy(&self, searcher: &Searcher) {
        let log = self.options.table.now().position();
        let is_whole = || {
            let (covered, problem) = self.options.indexer.memory_state();
            let lacks = || self.options.indexer.left_out().is_empty() && self.options.indexer.unreadable().is_empty();
            covered >= log && problem.is_none() && lacks() && self.is_current(searcher)
        };
        if !is_whole() || self.in_use.table.count() == 0 {
            return;
        }
        let (searcher, vectors, table) = (searcher.clone(), self.embedder.vectors.clone(), self.in_use.table.clone());
        let tidied = blocking(self.options, move || -> Result<(u64, u64), Error> {
            let others = vectors.delete_others()?;
            let live = searcher.live_texts();
            let dead = table.count_dead(&live);
            let dropped = if dead * DEAD_SHARE > table.count() { vectors.retain(|| live)? } else { 0 };
            Ok((others, dropped))
        });
        match tidied.await {
            Some(Ok((0, 0))) | None => {}
            Some(Ok((models, vectors))) => tracing::info!(models, vectors, reason = "not needed", "vectors deleted"),
            Some(Err(error)) => tracing::warn!(%error, "unneeded vectors not deleted"),
        }
    }
}
