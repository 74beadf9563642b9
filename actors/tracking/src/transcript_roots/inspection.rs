//! Examines the roots. A file system that does not answer keeps one thread per root: callers wait [`limits::ROOT`] for
//! it the first time and not at all after that, and its roots are left out until it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use baton_base::task::Task;
use baton_conversation::item::Agent;
use baton_events::session::FileIdentity;
use tokio::time::{Instant, timeout_at};

use super::agent_detection;
use super::swept::Swept;
use baton_base::limits;
use baton_base::transcript_file;
use baton_base::transcript_root::Root;

/// A root that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The root.
    pub root: Root,
    /// Identity of the directory, if it exists.
    pub identity: Option<FileIdentity>,
    /// Set if its file system does not announce all changes.
    pub shared: Option<Swept>,
}

/// The roots as last examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Roots that answered.
    pub answered: Vec<Looked>,
    /// Roots that did not answer.
    pub hung: Vec<Root>,
}

/// A directory, with the agent if it is known.
pub(super) type Named = (PathBuf, Option<Agent>);

/// Called with each path before the disk is accessed, so that tests can make it hang.
pub(super) type Reach = Arc<dyn Fn(&Path) + Send + Sync>;

/// The last look at the roots; see the module documentation.
pub(super) struct RootInspector {
    reach: Reach,
    seen: Mutex<Seen>,
    /// Looks that have not returned.
    under_way: tokio::sync::Mutex<BTreeMap<PathBuf, Task<Looked>>>,
}

#[derive(Default)]
struct Seen {
    known: BTreeMap<PathBuf, Looked>,
    hung: BTreeSet<PathBuf>,
}

impl Default for RootInspector {
    fn default() -> Self {
        Self::with_reach(Arc::new(|_| ()))
    }
}

impl RootInspector {
    pub(super) fn with_reach(reach: Reach) -> Self {
        Self { reach, seen: Mutex::default(), under_way: tokio::sync::Mutex::default() }
    }

    /// Examines these directories and forgets all others.
    pub(super) async fn look(&self, named: Vec<Named>) -> Look {
        let mut under_way = self.under_way.lock().await;
        for (path, agent) in &named {
            if !under_way.contains_key(path) {
                let (path, agent, reach) = (path.clone(), *agent, self.reach.clone());
                let look = baton_base::task::spawn_blocking({
                    let path = path.clone();
                    move || looked(path, agent, &reach)
                });
                under_way.insert(path, look);
            }
        }
        let (until, mut look) = (Instant::now() + limits::ROOT, Look::default());
        for (path, agent) in &named {
            let Some(looking) = under_way.get_mut(path) else { continue };
            let until = if self.lock().hung.contains(path) { Instant::now() } else { until };
            match timeout_at(until, looking).await {
                Ok(looked) => {
                    under_way.remove(path);
                    // A look that panicked is repeated by the next caller.
                    look.answered.extend(looked.ok());
                }
                Err(_) => {
                    let agent = agent.unwrap_or_else(|| self.agent_of(path));
                    look.hung.push(Root { agent, projects: path.clone() });
                }
            }
        }
        drop(under_way);
        self.keep(&look);
        look
    }

    /// The same without a runtime, when the daemon starts; waits as long as for any look.
    pub(super) fn look_first(&self, named: &[Named]) {
        let (tell, told) = std::sync::mpsc::channel();
        for (path, agent) in named.iter().cloned() {
            let (tell, reach) = (tell.clone(), self.reach.clone());
            std::thread::spawn(move || drop(tell.send(looked(path, agent, &reach))));
        }
        drop(tell);
        let until = std::time::Instant::now() + limits::ROOT;
        let mut seen = self.lock();
        seen.hung = named.iter().map(|(path, _)| path.clone()).collect();
        while let Ok(looked) = told.recv_timeout(until.saturating_duration_since(std::time::Instant::now())) {
            seen.hung.remove(&looked.root.projects);
            seen.known.insert(looked.root.projects.clone(), looked);
        }
    }

    fn keep(&self, look: &Look) {
        let mut seen = self.lock();
        let hung: BTreeSet<PathBuf> = look.hung.iter().map(|root| root.projects.clone()).collect();
        for path in hung.difference(&seen.hung) {
            tracing::warn!(root = %path.display(), "root does not answer; left out");
        }
        for path in seen.hung.difference(&hung) {
            tracing::info!(root = %path.display(), "root answers again");
        }
        seen.hung = hung;
        seen.known = look.answered.iter().map(|looked| (looked.root.projects.clone(), looked.clone())).collect();
    }

    /// Returns the agent of a directory, as of the last look. Does not access the disk.
    pub(super) fn agent_of(&self, path: &Path) -> Agent {
        self.lock().known.get(path).map_or_else(|| agent_detection::agent_by_name(path), |looked| looked.root.agent)
    }

    /// True if a directory existed at the last look, or was never looked at. Does not access the disk.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.lock().known.get(path).is_none_or(|looked| looked.identity.is_some())
    }

    /// True if a path lies in a root that does not answer. Does not access the disk.
    pub(super) fn is_hung(&self, path: &Path) -> bool {
        self.lock().hung.iter().any(|root| path.starts_with(root))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn looked(path: PathBuf, agent: Option<Agent>, reach: &Reach) -> Looked {
    reach(&path);
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_dir);
    let agent = agent.unwrap_or_else(|| agent_detection::agent_of(&path));
    let shared = Swept::of_file_system(&path);
    Looked { root: Root { agent, projects: path }, identity: metadata.as_ref().map(transcript_file::identity), shared }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_root_that_hangs_is_waited_for_once_and_keeps_one_thread_and_the_others_answer() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = temp.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (good, hung) = (path("good"), path("hung"));
        let (release, wait) = mpsc::channel::<()>();
        let (wait, asked) = (Mutex::new(wait), Arc::new(Mutex::new(0)));
        let (stuck, count) = (hung.clone(), asked.clone());
        let inspector = RootInspector::with_reach(Arc::new(move |path| {
            if path == stuck {
                *count.lock().unwrap() += 1;
                let _ = wait.lock().unwrap().recv();
            }
        }));
        let named = || vec![(hung.clone(), Some(Agent::ClaudeCode)), (good.clone(), Some(Agent::ClaudeCode))];
        let names = |look: &Look| -> (Vec<PathBuf>, Vec<PathBuf>) {
            let answered = look.answered.iter().map(|looked| looked.root.projects.clone()).collect();
            (answered, look.hung.iter().map(|root| root.projects.clone()).collect())
        };
        let left_out = (vec![good.clone()], vec![hung.clone()]);
        assert_eq!(names(&inspector.look(named()).await), left_out);
        let begun = Instant::now();
        for _ in 0..20 {
            assert_eq!(names(&inspector.look(named()).await), left_out);
        }
        assert!(begun.elapsed() < limits::ROOT, "nobody waits for it again");
        assert_eq!(*asked.lock().unwrap(), 1, "one thread");
        assert!(inspector.is_hung(&hung.join("a/b.jsonl")) && !inspector.is_hung(&good.join("a/b.jsonl")));

        drop(release);
        let answered = (vec![hung.clone(), good.clone()], vec![]);
        while names(&inspector.look(named()).await) != answered {
            tokio::task::yield_now().await;
        }
        assert!(!inspector.is_hung(&hung));
    }
}
