//! Looks at directories whose file systems may not answer. Callers wait at most [`limits::ROOT`] for a directory the
//! first time, and not at all from then on until it answers. A hanging look cannot be cancelled and keeps its thread,
//! so a mount with several hanging directories is not looked at any more.
//!
//! # Hazards
//!
//! - A directory that has not answered for a second is taken as it is written until it does, and no session is recorded
//!   as working there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use crate::limits;

/// Concurrent looks that a caller waits for.
const AT_ONCE: usize = 64;
/// Threads that hanging directories may occupy where their mount is not known.
const LATE: usize = 64;
/// Hanging directories of one mount above which all of it counts as hung.
const LATE_OF_MOUNT: usize = 4;

/// See the module.
pub(super) struct Sight {
    seen: Mutex<Seen>,
    /// Finds the mount of a directory, if it is not the root's.
    mount_of: fn(&Path) -> Option<PathBuf>,
}

struct Seen {
    next: u64,
    /// Looks that a caller waits for.
    under_way: BTreeSet<u64>,
    /// Looks that timed out, until they come back.
    late: BTreeMap<u64, Late>,
}

struct Late {
    directory: PathBuf,
    mount: Option<PathBuf>,
}

impl Sight {
    pub(super) const fn new() -> Self {
        Self::over(mount_point)
    }

    const fn over(mount_of: fn(&Path) -> Option<PathBuf>) -> Self {
        Self { seen: Mutex::new(Seen { next: 0, under_way: BTreeSet::new(), late: BTreeMap::new() }), mount_of }
    }

    /// Runs `look` on its own thread and blocks for its result. `None` if the directory does not answer in time.
    pub(super) fn look<T: Send + 'static>(
        &'static self,
        directory: &Path,
        look: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = sync_channel(1);
        let number = self.begin(directory, look, move |seen| drop(sender.send(seen)))?;
        match receiver.recv_timeout(limits::ROOT) {
            Ok(seen) => return Some(seen),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        self.give_up(number, directory, || receiver.try_recv().ok())
    }

    /// Like [`Self::look`], without blocking a thread.
    pub(super) async fn look_soon<T: Send + 'static>(
        &'static self,
        directory: &Path,
        look: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, mut receiver) = oneshot::channel();
        let number = self.begin(directory, look, move |seen| drop(sender.send(seen)))?;
        match tokio::time::timeout(limits::ROOT, &mut receiver).await {
            Ok(seen) => seen.ok(),
            Err(_) => self.give_up(number, directory, || receiver.try_recv().ok()),
        }
    }

    /// Starts a look on its own thread and returns its number. `None` if the directory is known to hang or there is no
    /// free slot.
    fn begin<T: Send + 'static>(
        &'static self,
        directory: &Path,
        look: impl FnOnce(&Path) -> T + Send + 'static,
        report: impl FnOnce(T) + Send + 'static,
    ) -> Option<u64> {
        let number = {
            let mut seen = self.lock();
            let is_full = seen.late.values().filter(|late| late.mount.is_none()).count() >= LATE;
            if seen.is_hung(directory)
                || seen.under_way.len() >= AT_ONCE
                || is_full && (self.mount_of)(directory).is_none()
            {
                return None;
            }
            seen.next += 1;
            let number = seen.next;
            seen.under_way.insert(number);
            number
        };
        let (under_way, directory) = (UnderWay { sight: self, number }, directory.to_owned());
        let looking = thread::Builder::new().spawn(move || {
            // The result is sent before the look counts as over, because a caller that gives up checks for a result
            // once more.
            let _under_way = under_way;
            report(look(&directory));
        });
        looking.ok().map(|_| number)
    }

    /// Marks a look as late, unless it has come back meanwhile.
    fn give_up<T>(&self, number: u64, directory: &Path, answer: impl FnOnce() -> Option<T>) -> Option<T> {
        let mount = (self.mount_of)(directory);
        let mut seen = self.lock();
        let answer = answer();
        if answer.is_none() && seen.under_way.remove(&number) {
            tracing::warn!(directory = %directory.display(), "directory does not answer, its path is used as written");
            seen.late.insert(number, Late { directory: directory.to_owned(), mount });
        }
        answer
    }

    /// True if a directory, or one above it, does not answer. Does not access the disk.
    pub(super) fn is_hung(&self, directory: &Path) -> bool {
        self.lock().is_hung(directory)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn is_hung(&self, directory: &Path) -> bool {
        let mut of_its_mount = BTreeSet::new();
        self.late.values().any(|late| {
            if late.mount.as_ref().is_some_and(|mount| directory.starts_with(mount)) {
                of_its_mount.insert(&late.directory);
            }
            directory.starts_with(&late.directory) || of_its_mount.len() >= LATE_OF_MOUNT
        })
    }
}

/// Removes a look from the books when it ends, however it ends.
struct UnderWay {
    sight: &'static Sight,
    number: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut seen = self.sight.lock();
        seen.under_way.remove(&self.number);
        seen.late.remove(&self.number);
    }
}

/// The mount point above a directory, by its path as written, from the kernel's list, which can be read while the mount
/// itself does not answer. `None` if it is the root or unknown.
fn mount_point(directory: &Path) -> Option<PathBuf> {
    // Only Linux has this file.
    longest(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, directory)
}

fn longest(listed: &str, directory: &Path) -> Option<PathBuf> {
    let points = listed.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let above = points.filter(|point| point.parent().is_some() && directory.starts_with(point));
    above.max_by_key(|point| point.as_os_str().len())
}

/// The kernel writes a space, a tab, a line break and a backslash as `\` and three octal digits.
fn unescaped(written: &str) -> PathBuf {
    let mut path = written.to_owned();
    for (escape, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        path = path.replace(escape, plain);
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    impl Sight {
        fn looks(&self) -> usize {
            let seen = self.lock();
            seen.under_way.len() + seen.late.len()
        }
    }

    #[test]
    fn a_directory_that_hangs_is_waited_for_once_and_looked_at_again_when_it_answers() {
        static SIGHT: Sight = Sight::over(|_| None);
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
        while SIGHT.looks() > 1 {
            thread::yield_now();
        }
        assert_eq!(SIGHT.look(good, |_| -> u8 { panic!("a look that breaks") }), None);
        assert!(!SIGHT.is_hung(good));
        drop(release);
        while SIGHT.is_hung(hung) {
            thread::yield_now();
        }
        assert_eq!(SIGHT.look(hung, |_| 8), Some(8));
        while SIGHT.looks() > 0 {
            thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_hung_mount_takes_nothing_from_directories_elsewhere() {
        static SIGHT: Sight = Sight::over(|directory| {
            let mount = Path::new("/mnt/hung");
            directory.starts_with(mount).then(|| mount.to_owned())
        });
        let (release, wait) = mpsc::channel::<()>();
        let wait = std::sync::Arc::new(Mutex::new(wait));
        let begun = Instant::now();
        let mut looks = tokio::task::JoinSet::new();
        for number in 0..AT_ONCE {
            let wait = wait.clone();
            let hang = move |_: &Path| wait.lock().is_ok_and(|wait| wait.recv().is_ok());
            looks.spawn(async move { SIGHT.look_soon(Path::new(&format!("/mnt/hung/{number}")), hang).await });
        }
        assert!(looks.join_all().await.iter().all(Option::is_none));
        // All of them were awaited together, on one thread.
        assert!(begun.elapsed() < 2 * limits::ROOT);
        let again = Instant::now();
        assert_eq!(SIGHT.look(Path::new("/mnt/hung/another"), |_| 7), None);
        assert_eq!(SIGHT.look(Path::new("/srv/good"), |_| 7), Some(7));
        assert!(again.elapsed() < limits::ROOT);
        drop(release);
        while SIGHT.looks() > 0 {
            thread::yield_now();
        }
        assert_eq!(SIGHT.look_soon(Path::new("/mnt/hung/another"), |_| 8).await, Some(8));
    }

    #[test]
    fn the_longest_mount_above_a_directory_is_its_own() {
        let listed = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      30 22 0:30 / /mnt/net rw - nfs4 host:/ rw\n\
                      31 30 0:31 / /mnt/net/two\\040words rw - nfs4 host:/x rw\n";
        for (directory, expected) in [
            ("/mnt/net", Some("/mnt/net")),
            ("/mnt/net/app/src", Some("/mnt/net")),
            ("/mnt/net/two words/app", Some("/mnt/net/two words")),
            ("/mnt/network", None),
            ("/srv/app", None),
        ] {
            assert_eq!(longest(listed, Path::new(directory)).as_deref(), expected.map(Path::new), "{directory}");
        }
    }
}
