//! Finds the transcripts of one session in all roots. At most one search per root runs at a time, because it may hang
//! and keep its thread.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::scan;
use baton_base::transcript_file::FileSeen;
use baton_base::transcript_root::Root;

/// Time limit, below the caller's: the results of the roots that answered must arrive before the caller gives up.
const FIND: Duration = Duration::from_secs(30);

/// One lock per root.
#[derive(Default)]
pub(super) struct SessionSearch(BTreeMap<PathBuf, Arc<Mutex<()>>>);

impl SessionSearch {
    /// Returns the transcripts of sessions whose id starts with `id`, and whether every root has answered.
    pub(super) fn find(
        &mut self,
        roots: Vec<Root>,
        id: String,
    ) -> impl Future<Output = (Vec<FileSeen>, bool)> + Send + 'static {
        self.0.retain(|path, turn| roots.iter().any(|root| root.projects == *path) || Arc::strong_count(turn) > 1);
        let until = Instant::now() + FIND;
        let looks = roots.into_iter().map(|root| {
            let turn = self.0.entry(root.projects.clone()).or_default().clone();
            baton_base::task::spawn(timeout_at(until, async move {
                let turn = turn.lock_owned().await;
                let looking = baton_base::task::spawn_blocking(move || {
                    let _turn = turn;
                    scan::everything(&[root]).files
                });
                looking.await.ok()
            }))
        });
        let looks: Vec<_> = looks.collect();
        async move {
            let (mut found, mut is_all) = (Vec::new(), true);
            for look in looks {
                match look.await {
                    Ok(Ok(Some(files))) => {
                        found.extend(files.into_iter().filter(|file| file.session.as_str().starts_with(&id)));
                    }
                    _ => is_all = false,
                }
            }
            (found, is_all)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn where_one_look_hangs_the_next_ones_take_no_thread() {
        let (root, mut finding) = (Root::claude_code(Path::new("/hung")), SessionSearch::default());
        let turn = finding.0.entry(root.projects.clone()).or_default().clone();
        let hangs = turn.clone().lock_owned().await;
        for _ in 0..3 {
            assert_eq!(finding.find(vec![root.clone()], "a".to_owned()).await, (Vec::new(), false));
        }
        assert_eq!(Arc::strong_count(&turn), 3, "nobody waits any more");
        drop(hangs);
        assert_eq!(finding.find(vec![root], "a".to_owned()).await, (Vec::new(), true));
    }
}
