use super::*;

use std::sync::atomic::AtomicUsize;

use baton_conversation::item::Agent;
use notify::ErrorKind;

use baton_base::transcript_file;
use baton_base::transcript_root::Root;

/// A fake notification system that fails on request.
#[derive(Clone, Default)]
struct System(Arc<Switches>);

#[derive(Default)]
struct Switches {
    /// True if there is no notification at all.
    none: AtomicBool,
    /// True if no folder but the markers' can be watched.
    full: AtomicBool,
    /// Number of requests to watch a folder.
    asked: AtomicUsize,
    handler: Mutex<Option<Handler>>,
    markers: PathBuf,
}

struct Told(Arc<Switches>);

impl Watcher for Told {
    fn new<F: notify::EventHandler>(_handler: F, _config: notify::Config) -> notify::Result<Self> {
        Err(notify::Error::generic("made otherwise"))
    }

    fn watch(&mut self, path: &Path, _mode: RecursiveMode) -> notify::Result<()> {
        if path == self.0.markers {
            return Ok(());
        }
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        match self.0.full.load(Ordering::SeqCst) {
            true => Err(notify::Error::new(ErrorKind::MaxFilesWatch)),
            false => Ok(()),
        }
    }

    fn unwatch(&mut self, _path: &Path) -> notify::Result<()> {
        Ok(())
    }

    fn kind() -> notify::WatcherKind {
        notify::WatcherKind::NullWatcher
    }
}

impl System {
    fn make(&self) -> MakeNotifier {
        let switches = self.0.clone();
        Box::new(move |handler| {
            if switches.none.load(Ordering::SeqCst) {
                return Err(notify::Error::io(std::io::Error::from_raw_os_error(24)));
            }
            *switches.handler.lock().expect("nobody panics with it") = Some(handler);
            Ok(Box::new(Told(switches.clone())))
        })
    }

    fn fail(&self) {
        let handler = self.0.handler.lock().expect("nobody panics with it");
        handler.as_ref().expect("it was made")(Err(notify::Error::new(ErrorKind::MaxFilesWatch)));
    }
}

struct World {
    _temp: tempfile::TempDir,
    system: System,
    roots: Vec<Looked>,
    changes: Changes,
}

async fn world(none: bool, full: bool) -> World {
    let temp = tempfile::tempdir().expect("a folder");
    let (projects, markers) = (temp.path().join("projects"), temp.path().join("watch"));
    std::fs::create_dir_all(&projects).expect("a folder");
    let switches = Switches { none: none.into(), full: full.into(), markers: markers.clone(), ..Switches::default() };
    let system = System(Arc::new(switches));
    let mut changes = Changes::new(Arc::new(|| ()), &markers, system.make());
    let identity = std::fs::metadata(&projects).ok().as_ref().map(transcript_file::identity);
    let roots = vec![Looked { root: Root { agent: Agent::ClaudeCode, projects }, identity, shared: None }];
    changes.watch(&roots).await;
    World { _temp: temp, system, roots, changes }
}

impl World {
    fn swept(&self) -> Option<Swept> {
        self.changes.sweep_status(&self.roots[0])
    }

    /// Sweeps after this pause.
    async fn sweep_after(&mut self, pause: Duration) {
        tokio::time::advance(pause).await;
        self.changes.mend(&self.roots).await;
        self.changes.watch(&self.roots).await;
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_are_used_up_are_tried_again_after_a_while_and_not_before() {
    let mut world = world(false, true).await;
    assert!(matches!(world.swept(), Some(Swept::NoMoreWatches(_))), "{:?}", world.swept());
    assert!(!world.changes.trusts(&world.roots));
    for _ in 0..10 {
        world.changes.watch(&world.roots).await;
    }
    world.sweep_after(Duration::from_secs(30)).await;
    assert_eq!(world.system.0.asked.load(Ordering::SeqCst), 1, "a query is no reason to walk through the tree again");
    world.sweep_after(Duration::from_secs(31)).await;
    assert_eq!(world.system.0.asked.load(Ordering::SeqCst), 2);
    world.system.0.full.store(false, Ordering::SeqCst);
    world.sweep_after(Duration::from_secs(90)).await;
    assert!(world.swept().is_some(), "the second pause is twice as long");
    world.sweep_after(Duration::from_secs(31)).await;
    assert_eq!(world.swept(), None);
    assert!(world.changes.trusts(&world.roots));
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_notification_it_is_tried_again_too() {
    let mut world = world(true, false).await;
    assert!(matches!(world.swept(), Some(Swept::NoMoreInstances(_))), "{:?}", world.swept());
    assert!(!world.changes.barrier().await);
    world.system.0.none.store(false, Ordering::SeqCst);
    world.sweep_after(limits::WATCH_RETRY).await;
    assert_eq!(world.swept(), None);
    assert!(world.changes.trusts(&world.roots));
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_watched_any_more_makes_the_whole_root_swept() {
    let mut world = world(false, false).await;
    assert!(world.changes.trusts(&world.roots));
    world.system.0.full.store(true, Ordering::SeqCst);
    world.system.fail();
    assert_eq!(world.swept(), Some(Swept::Silent), "what is missing is not known yet");
    assert!(!world.changes.trusts(&world.roots));
    assert!(world.changes.take().is_none(), "everything has to be looked at");
    world.sweep_after(Duration::from_secs(30)).await;
    assert!(matches!(world.swept(), Some(Swept::NoMoreWatches(_))), "{:?}", world.swept());
    world.system.0.full.store(false, Ordering::SeqCst);
    world.sweep_after(limits::WATCH_RETRY).await;
    assert_eq!(world.swept(), None);
}

#[tokio::test]
async fn every_form_of_a_transcript_that_is_written_in_place_is_looked_at() {
    let world = world(false, false).await;
    let taken = |name: &str| {
        world.changes.add(PathBuf::from(name));
        world.changes.take().unwrap().files.len()
    };
    assert_eq!(["a.jsonl", "a.jsonl.zst", "a.json", "a.txt", "a"].map(taken), [1, 1, 1, 0, 0]);
}
