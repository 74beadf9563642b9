//! Requests vectors from a model: in the background for stored text, and for each question.
//!
//! Off unless a model is configured; then nothing is opened, read or connected to. Only stored text is sent, which is
//! filtered and redacted, and only of visible sessions. Nothing waits for it: a question whose vector does not arrive
//! at once is answered by its words, and the answer says so.

mod filling;
mod question_cache;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use baton_ask::query::Question;
use tokio::sync::watch;

use crate::indexer;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_config::settings::{Embedding, SettingsReader};
use baton_journal::session_table::TableReader;
use baton_memory::vectors::{Error, Meaning, Model, Table, Vectors, key, passage};
use baton_model::{Client, Failure};
use question_cache::QuestionCache;

/// Time limit for a question's vector; a longer delay would be noticeable.
const ASKING: Duration = Duration::from_millis(300);

/// What filling needs besides the model.
#[derive(Clone)]
pub struct Options {
    /// Model, budget and switches.
    pub settings: SettingsReader,
    /// The session table.
    pub table: TableReader,
    /// Searches, and says how far they cover the log.
    pub indexer: indexer::Handle,
    /// Delays background work while questions are answered.
    pub throttle: Throttle,
    /// Turns `true` when the daemon stops.
    pub stop: watch::Receiver<bool>,
}

/// Makes vectors if a model is configured.
pub struct Embedder {
    vectors: Arc<Vectors>,
    in_use: RwLock<Option<Arc<InUse>>>,
    progress: Mutex<Progress>,
    asked: Mutex<QuestionCache>,
}

/// A model and the vectors made by it.
pub(crate) struct InUse {
    client: Client,
    table: Arc<Table>,
}

/// Progress of filling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Texts with a vector.
    pub done: u64,
    /// Texts still without one.
    pub pending: u64,
    /// True once the number of pending texts is known.
    pub is_known: bool,
    /// Why filling is stopped, and what to do about it.
    pub problem: Option<(String, String)>,
}

impl Progress {
    /// The state in `status`: `ready`, `filling` or `waiting`.
    pub fn state(&self) -> &'static str {
        match (&self.problem, self.is_known && self.pending == 0) {
            (Some(_), _) => "waiting",
            (None, true) => "ready",
            (None, false) => "filling",
        }
    }
}

/// The vector of a question, or why there is none.
#[derive(Clone, Default)]
pub struct QuestionVector {
    /// The vector for the search.
    pub meaning: Option<Meaning>,
    /// What the answer says about it: `used`, `behind: …`, `down: …`, `off: …`; `None` if no model is configured.
    pub told: Option<String>,
}

impl Embedder {
    /// Creates an embedder with its vectors in `folder`, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self {
            vectors: Arc::new(Vectors::new(folder)),
            in_use: RwLock::default(),
            progress: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// The stored vectors, whether a model is configured or not.
    pub fn vectors(&self) -> Arc<Vectors> {
        self.vectors.clone()
    }

    /// Starts filling in the background, as configured, until the daemon stops.
    pub fn start(self: &Arc<Self>, options: Options, tasks: &TaskSupervisor) {
        let embedder = self.clone();
        tasks.spawn("embedder", move || filling::run(embedder.clone(), options.clone()));
    }

    /// Progress of filling; all zero while it is off.
    pub fn progress(&self) -> Progress {
        let mut progress = self.lock_progress().clone();
        if let Some(in_use) = self.in_use().filter(|_| progress.problem.is_none()) {
            progress.problem = in_use.client.current_pause().map(|down| describe(&down.failure));
        }
        progress
    }

    /// Returns the vector of a question if it is available within [`ASKING`].
    pub async fn question_vector(&self, question: &Question) -> QuestionVector {
        let told = |told: String| QuestionVector { meaning: None, told: Some(told) };
        let Some(in_use) = self.in_use() else {
            let problem = self.lock_progress().problem.clone();
            return QuestionVector { meaning: None, told: problem.map(|(what, _)| format!("down: {what}")) };
        };
        if question.has_secret {
            return told("off: the question contains a secret, so it is not sent".to_owned());
        }
        let Some(text) = passage(&question.words) else { return QuestionVector::default() };
        let pending = self.lock_progress().pending;
        if in_use.table.count() == 0 {
            return match in_use.client.current_pause() {
                Some(down) => told(format!("down: {}", down.failure.describe())),
                None => told(behind(pending)),
            };
        }
        let text = baton_redaction::redact(text);
        let key = key(&text);
        let known = self.lock_cache().get(key);
        let vector = match known {
            Some(vector) => vector,
            None => match in_use.client.embed(&[text.into_owned()], ASKING).await {
                Ok(embedded) => match embedded.vectors.into_iter().next() {
                    Some(vector) => self.lock_cache().put(key, vector),
                    None => return told("down: the endpoint gives no vector".to_owned()),
                },
                Err(failure) => return told(format!("down: {}", failure.describe())),
            },
        };
        match Meaning::new(in_use.table.clone(), &vector) {
            Some(meaning) if pending > 0 => QuestionVector { meaning: Some(meaning), told: Some(behind(pending)) },
            Some(meaning) => QuestionVector { meaning: Some(meaning), told: Some("used".to_owned()) },
            None => told("down: the endpoint gives vectors of another length than before".to_owned()),
        }
    }

    /// Switches to a model, or to none. Blocks.
    fn select_model(&self, embedding: Option<&Embedding>) -> Result<Option<Arc<InUse>>, Refused> {
        self.put(None);
        let model = embedding
            .map(|embedding| Model { name: embedding.endpoint.model.clone(), dimensions: embedding.dimensions });
        let table = match (&model, self.vectors.current()) {
            (None, None) => None,
            _ => self.vectors.select(model.as_ref())?,
        };
        let in_use = match (embedding, table) {
            (Some(embedding), Some(table)) => {
                let client = Client::new(&embedding.endpoint, embedding.dimensions)?;
                Some(Arc::new(InUse { client, table }))
            }
            _ => None,
        };
        self.put(in_use.clone());
        Ok(in_use)
    }

    fn put(&self, in_use: Option<Arc<InUse>>) {
        *self.in_use.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = in_use;
        *self.lock_progress() = Progress::default();
        *self.lock_cache() = QuestionCache::default();
    }

    fn in_use(&self) -> Option<Arc<InUse>> {
        self.in_use.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    fn lock_progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn lock_cache(&self) -> MutexGuard<'_, QuestionCache> {
        self.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Files(#[from] Error),
    #[error(transparent)]
    Client(#[from] Failure),
}

fn behind(pending: u64) -> String {
    format!("behind: {pending} pending")
}

/// Describes a failure and its remedy.
fn describe(failure: &Failure) -> (String, String) {
    (failure.describe(), failure.next_step().to_owned())
}
