//! Power cuts. Nothing of the index is synced while it is written, so any of it may be lost.

use std::fs::File;
use std::sync::Mutex;

use baton_base::durable::recorder::{Disk, Recorder, Synced, record_sync};

use super::*;
use crate::limits::CHECKED_BYTES;
use crate::store::durability::MARK;

/// What is left after each cut, with the number of the last step that was answered.
type Left = Arc<Mutex<Vec<(u32, PathBuf)>>>;

const SEEDS: u64 = 6;

/// A folder whose power is cut at each sync, and whenever [`Self::cut`] is called.
struct Cuts {
    recorder: Arc<Recorder>,
    dir: PathBuf,
    step: Arc<Mutex<u32>>,
    left: Left,
    into: tempfile::TempDir,
}

impl Cuts {
    fn begin(dir: &Path) -> Self {
        let (into, left, step) = (tempfile::tempdir().unwrap(), Left::default(), Arc::new(Mutex::new(0)));
        let (target, all, now) = (into.path().to_owned(), left.clone(), step.clone());
        let at_cut = move |disk: &Disk| {
            let mut all = all.lock().unwrap();
            for seed in 0..SEEDS {
                let mut word = seed + 1 + 31 * all.len() as u64;
                let mut chance = |bound: usize| {
                    word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    ((word >> 33) as usize) % bound
                };
                let left = target.join(all.len().to_string());
                disk.leave(&left, &mut chance, Path::new("nowhere"));
                all.push((*now.lock().unwrap(), left));
            }
        };
        Self { recorder: Recorder::begin(dir, at_cut), dir: dir.to_owned(), step, left, into }
    }

    /// Cuts the power now. The mark is durable at any time.
    fn cut(&self) {
        record_sync(Synced::File(&self.dir.join(MARK)));
    }

    /// Cuts the power now, and tells later cuts that this step was answered.
    fn answered(&self, step: u32) {
        self.cut();
        *self.step.lock().unwrap() = step;
        self.cut();
    }
}

/// Opens what is left as the next boot would. It is so large that it is not checked without a reason.
fn open_in_next_boot(dir: &Path) -> Opened {
    let mark = dir.join(MARK);
    if fs::read_to_string(&mark).is_ok_and(|mark| mark != "closed") {
        fs::write(mark, "another boot").unwrap();
    }
    pad(dir);
    Store::open(dir).unwrap()
}

fn pad(dir: &Path) {
    File::create(dir.join("pad.lock")).and_then(|file| file.set_len(CHECKED_BYTES + 1)).unwrap();
}

#[test]
fn after_a_power_cut_the_memory_is_as_it_was_committed_or_is_filled_anew() {
    const PURGED: u32 = 1;
    const CLOSED: u32 = 2;
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("memory");
    fs::create_dir(&dir).unwrap();
    let cuts = Cuts::begin(&dir);
    let mut store = Store::open(&dir).unwrap().store;
    // Merges happen only in `idle`, which waits for them, so no file changes while the disk is looked at.
    store.set_filling(true);
    let mut states = BTreeMap::new();
    let mut committed = |store: &mut Store, position: u64| {
        commit(store, position);
        states.insert(position, held(store));
        cuts.cut();
    };
    for round in 0..6 {
        put(&mut store, &format!("kept-{round}"), 3);
        put(&mut store, "gone", 2 + round);
        committed(&mut store, 1 + round as u64);
    }
    store.idle().unwrap();
    cuts.cut();
    let gone = SessionId::new("gone").unwrap();
    store.remove(&gone).unwrap();
    committed(&mut store, 7);
    let touched: Vec<_> = [&gone].into_iter().cloned().collect();
    let held_gone: BTreeSet<String> =
        store.touched(&touched, &[]).unwrap().iter().map(tantivy::index::SegmentId::uuid_string).collect();
    assert!(!held_gone.is_empty());
    store.purge(&touched, &[]).unwrap();
    cuts.answered(PURGED);
    put(&mut store, "late", 4);
    committed(&mut store, 8);
    store.close().unwrap();
    cuts.answered(CLOSED);
    drop((store, cuts.recorder));

    let (mut intact, mut damaged) = (0, 0);
    for (step, left) in cuts.left.lock().unwrap().drain(..) {
        let stems = fs::read_dir(&left).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        if step >= PURGED {
            let kept: Vec<String> = stems.filter(|name| held_gone.contains(name.split('.').next().unwrap())).collect();
            assert_eq!(kept, [] as [&str; 0], "in {}", left.display());
        }
        let opened = open_in_next_boot(&left);
        match opened.checkpoint {
            Some(checkpoint) => {
                intact += 1;
                assert_eq!(held(&opened.store), states[&checkpoint.position.0], "in {}", left.display());
                assert!(step < CLOSED || checkpoint.position == Position(8));
            }
            None => {
                damaged += u32::from(opened.wiped.is_some());
                assert!(step < CLOSED, "a closed memory is durable: {:?}", opened.wiped);
                assert_eq!(held(&opened.store), [] as [&str; 0]);
            }
        }
    }
    assert!(intact > 10 && damaged > 10, "{intact} intact, {damaged} damaged");
    drop(cuts.into);
}

#[test]
fn a_large_memory_is_checked_only_if_power_was_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap().store;
    put(&mut store, "kept", 3);
    commit(&mut store, 1);
    store.close().unwrap();
    drop(store);
    pad(dir.path());
    let is_stored = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "fieldnorm");
    let stored = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).find(is_stored).unwrap();
    let mut bytes = fs::read(&stored).unwrap();
    bytes[0] ^= 1;
    fs::write(&stored, bytes).unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().wiped, None, "it was closed");
    if cfg!(target_os = "linux") {
        assert_eq!(Store::open(dir.path()).unwrap().wiped, None, "it was opened in this boot");
    }
    let kept = copied(dir.path());
    fs::write(dir.path().join(MARK), "another boot").unwrap();
    fs::remove_file(kept.path().join(MARK)).unwrap();
    for dir in [dir, kept] {
        let reason = Store::open(dir.path()).unwrap().wiped.unwrap();
        assert!(reason.contains("is damaged"), "{reason}");
    }
}
