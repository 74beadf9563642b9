//! Looks at directories that anybody may name, and whose file systems may not answer. Whoever looks waits [`limits::ROOT`] for
//! one the first time, and until it answers not at all; what hangs cannot be called off and keeps its thread.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::limits;

/// Looks at once: the threads that hung file systems may keep.
const AT_ONCE: usize = 64;

/// See the module.
pub(super) struct Sight(Mutex<Seen>);

struct Seen {
    under_way: usize,
    hung: BTreeSet<PathBuf>,
}

impl Sight {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Seen { under_way: 0, hung: BTreeSet::new() }))
    }

    /// What is seen there. `None`: it does not answer.
    pub(super) fn look<T: Send + 'static>(
        &'static self,
        directory: &Path,
        look: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Option<T> {
        {
            let mut seen = self.lock();
            if seen.is_hung(directory) || seen.under_way >= AT_ONCE {
                return None;
            }
            seen.under_way += 1;
        }
        let under_way = UnderWay { sight: self, directory: directory.to_owned() };
        let (tell, told) = sync_channel(1);
        let looking = thread::Builder::new().spawn(move || {
            // Told before it counts as over: whoever gives up meanwhile looks once more.
            let _ = tell.send(look(&under_way.directory));
        });
        looking.ok()?;
        match told.recv_timeout(limits::ROOT) {
            Ok(seen) => return Some(seen),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let mut seen = self.lock();
        let answer = told.try_recv().ok();
        if answer.is_none() {
            tracing::warn!(directory = %directory.display(), "directory does not answer; taken as it is written");
            seen.hung.insert(directory.to_owned());
        }
        answer
    }

    /// Whether a directory is one, or lies in one, that does not answer. Looks at nothing.
    pub(super) fn is_hung(&self, directory: &Path) -> bool {
        self.lock().is_hung(directory)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn is_hung(&self, directory: &Path) -> bool {
        self.hung.iter().any(|hung| directory.starts_with(hung))
    }
}

/// A look, until it has come back, however it ends.
struct UnderWay {
    sight: &'static Sight,
    directory: PathBuf,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut seen = self.sight.lock();
        seen.under_way -= 1;
        seen.hung.remove(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_directory_that_hangs_is_waited_for_once_and_looked_at_again_when_it_answers() {
        static SIGHT: Sight = Sight::new();
        let (hung, good) = (Path::new("/mnt/hung"), Path::new("/srv/good"));
        let (release, wait) = mpsc::channel::<()>();
        assert_eq!(SIGHT.look(hung, move |_| wait.recv().is_ok()), None);
        let begun = Instant::now();
        for below in ["/mnt/hung", "/mnt/hung/app"] {
            assert!(SIGHT.is_hung(Path::new(below)));
            assert_eq!(SIGHT.look(Path::new(below), |_| panic!("nobody looks again")), None);
        }
        assert_eq!(SIGHT.look(good, |_| 7), Some(7), "the others answer");
        assert!(begun.elapsed() < limits::ROOT, "nobody waits for it again");
        while SIGHT.lock().under_way > 1 {
            thread::yield_now();
        }
        assert_eq!(SIGHT.look(good, |_| -> u8 { panic!("a look that breaks") }), None);
        assert!(!SIGHT.is_hung(good));
        drop(release);
        while SIGHT.is_hung(hung) {
            thread::yield_now();
        }
        assert_eq!(SIGHT.look(hung, |_| 8), Some(8));
        while SIGHT.lock().under_way > 0 {
            thread::yield_now();
        }
    }
}
