//! Index jobs: they read the file again, write the conversation, sync it, and report. Between any two of these steps
//! the job may die, fail, or be overtaken.

use std::collections::VecDeque;

use baton_conversation::hash::ContentHash;
use baton_conversation::transcript::{Cursor, OpenCalls, Source};
use baton_events::session::{Complete, EpisodeRef, FailureReason, IndexJob, Stored, TailDigest, episode_uuid};

use crate::folder::{Folder, Pass, Start};
use crate::invariant::Broken;
use crate::mutant::Mutant;
use crate::session::Outcome;
use crate::store::Store;

/// A job with its input.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) session: usize,
    pub(crate) id: baton_conversation::record::SessionId,
    pub(crate) source: Source,
    pub(crate) job: IndexJob,
    pub(crate) prior: Option<EpisodeRef>,
    pub(crate) filter_version: u32,
}

enum Stage {
    /// Written; the conversation that it names is not durable yet.
    Written(Complete, ContentHash),
    Over(Outcome),
}

/// All jobs. At most one job of a session runs at a time.
#[derive(Default)]
pub(crate) struct Indexer {
    waiting: VecDeque<Job>,
    at_work: Vec<(Job, Option<Stage>)>,
}

impl Indexer {
    pub(crate) fn take(&mut self, job: Job) {
        self.waiting.retain(|waiting| waiting.session != job.session);
        self.waiting.push_back(job);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.at_work.is_empty()
    }

    pub(crate) fn is_at_work(&self, session: usize) -> bool {
        self.at_work.iter().any(|(job, _)| job.session == session)
            || self.waiting.iter().any(|job| job.session == session)
    }

    pub(crate) fn crash(&mut self) {
        *self = Self::default();
    }

    /// Does one step of the job whose turn it is. Returns session and outcome if the job has ended.
    pub(crate) fn step(
        &mut self,
        turn: usize,
        holds: impl Fn(usize) -> bool,
        folder: &Folder,
        store: &mut Store,
        mutant: Option<Mutant>,
    ) -> Result<Option<(usize, Outcome)>, Broken> {
        let free =
            self.waiting.iter().position(|job| !self.at_work.iter().any(|(other, _)| other.session == job.session));
        let turn = turn % (self.at_work.len() + usize::from(free.is_some())).max(1);
        let Some((job, stage)) = self.at_work.get_mut(turn) else {
            self.at_work.extend(free.and_then(|free| self.waiting.remove(free)).map(|job| (job, None)));
            return Ok(None);
        };
        let effect = job.job.effect;
        *stage = match stage.take() {
            None if !holds(job.session) => Some(Stage::Over(Outcome::LetGo(effect))),
            None => Some(prepare(job, folder, store)?),
            Some(Stage::Written(complete, name)) => {
                if mutant != Some(Mutant::ReportsUnsyncedConversations) {
                    store.sync(job.session, &name);
                }
                store.stored(job.session, effect, name);
                Some(Stage::Over(Outcome::Complete(complete)))
            }
            over => over,
        };
        if !matches!(stage, Some(Stage::Over(_))) {
            return Ok(None);
        }
        let (job, stage) = self.at_work.swap_remove(turn);
        Ok(match stage {
            Some(Stage::Over(outcome)) => Some((job.session, outcome)),
            _ => None,
        })
    }

    /// Ends a job with a failure, at any stage.
    pub(crate) fn break_one(&mut self, turn: usize) -> Option<(usize, Outcome)> {
        if self.at_work.is_empty() {
            return None;
        }
        let (job, _) = self.at_work.swap_remove(turn % self.at_work.len());
        Some((job.session, Outcome::Failed(job.job.effect, FailureReason::Broken)))
    }
}

fn prepare(job: &Job, folder: &Folder, store: &mut Store) -> Result<Stage, Broken> {
    let IndexJob { effect, path, generation, to, .. } = job.job.clone();
    let over = |outcome| Ok(Stage::Over(outcome));
    let mut start =
        Start { source: job.source, path, cursor: Cursor::default(), tail: TailDigest::default(), compares: true };
    let mut items = Vec::new();
    let continued =
        job.prior.as_ref().filter(|prior| prior.generation == generation && prior.filter_version == job.filter_version);
    if let Some(held) = continued.and_then(|prior| store.get(job.session, &prior.manifest)) {
        (start.cursor, start.tail) = (held.cursor.clone(), held.tail);
        items.clone_from(&held.items);
    }
    let open: OpenCalls = items.iter().collect();
    let (cursor, tail) = match folder.items(&start, open, to, &mut items) {
        Pass::Read { cursor, tail, .. } => (*cursor, tail),
        Pass::Rewritten(identity) => return over(Outcome::Rewritten(effect, identity)),
        Pass::Gone => return over(Outcome::Failed(effect, FailureReason::Gone)),
        Pass::Unreadable => return over(Outcome::Failed(effect, FailureReason::Unreadable)),
    };
    let hash = ContentHash::digest(&items);
    let complete = |stored| Complete { effect, generation, to, hash, filter_version: job.filter_version, stored };
    let same = |prior: &&EpisodeRef| prior.hash == hash && prior.filter_version == job.filter_version;
    if job.prior.as_ref().filter(same).is_some() {
        return over(Outcome::Complete(complete(None)));
    }
    let count = items.len() as u64;
    let manifest = store.write(job.session, items, cursor, tail)?;
    let stored = Stored { episode: episode_uuid(&job.id, &hash), manifest, items: count };
    Ok(Stage::Written(complete(Some(stored)), manifest))
}
