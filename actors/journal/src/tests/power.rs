//! A power cut at every sync, with the log and the conversations beside it: everything acknowledged is there
//! afterwards, and so is every conversation that it names. What was not synced survives at random; sled may be left in
//! any state.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::envelope::NewRecord;

use super::super::files::{DiskFiles, Files, SegmentFile};
use super::super::sealer::{Outcome, seal};
use super::*;
use baton_base::durable::recorder::{Recorder, Synced, record_sync};
use baton_store::chunks::{Batch, ChunkStore, Header};

/// The real file system, reporting each sync to the recorder.
struct RecordedFiles;

impl Files for RecordedFiles {
    fn create(&self, path: &Path) -> std::io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(RecordedFile { inner: DiskFiles.create(path)?, path: path.to_owned() }))
    }

    fn open(&self, path: &Path) -> std::io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(RecordedFile { inner: DiskFiles.open(path)?, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        DiskFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> std::io::Result<()> {
        DiskFiles.remove(path)
    }
}

struct RecordedFile {
    inner: Box<dyn SegmentFile>,
    path: PathBuf,
}

impl SegmentFile for RecordedFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.inner.write_at(offset, bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        record_sync(Synced::File(&self.path));
        self.inner.sync()
    }

    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.inner.truncate(length)
    }

    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        self.inner.read_at(offset, bytes)
    }
}

/// The next pseudo-random number below `bound`.
fn next_below(word: &mut u64, bound: usize) -> usize {
    *word ^= *word << 13;
    *word ^= *word >> 7;
    *word ^= *word << 17;
    usize::try_from((*word >> 11) % bound as u64).unwrap()
}

/// The files that a cut has left, and the number of records acknowledged by then.
struct Cut {
    home: PathBuf,
    acked: u64,
}

/// Copies sled as a cut may leave it: missing, as of an earlier cut, or as of now, and possibly with truncated files.
fn leave_sled(home: &Path, into: &Path, earlier: Option<&Path>, chance: &mut dyn FnMut(usize) -> usize) {
    let (sled, target) = (home.join("log/sled"), into.join("log/sled"));
    let source = match (chance(4), earlier) {
        (0, _) => return,
        (1, Some(earlier)) => earlier.join("log/sled"),
        _ => sled,
    };
    if !source.is_dir() || !into.join("log").is_dir() {
        return;
    }
    copy_folder(&source, &target);
    if chance(3) == 0 {
        for entry in fs::read_dir(&target).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            let mut bytes = fs::read(entry.path()).unwrap();
            bytes.truncate(chance(bytes.len() + 1));
            fs::write(entry.path(), bytes).unwrap();
        }
    }
}

/// Stores `steps[n]` conversations in step n in `home`, and leaves the result of a power cut at every sync below
/// `into`.
fn write_and_cut(home: &Path, into: &Path, seed: u64, steps: &[usize]) -> (Vec<StoredRecord>, Vec<Cut>) {
    let cuts = Arc::new(Mutex::new(Vec::<Cut>::new()));
    let acked = Arc::new(AtomicU64::new(0));
    let recorder = {
        let (cuts, acked, word) = (Arc::clone(&cuts), Arc::clone(&acked), Mutex::new(seed));
        let (home, into) = (home.to_owned(), into.to_owned());
        Recorder::begin(&home.clone(), move |disk| {
            let (mut cuts, mut word) = (cuts.lock().unwrap(), word.lock().unwrap());
            let mut chance = |bound| next_below(&mut word, bound);
            let left = into.join(cuts.len().to_string());
            disk.leave(&left, &mut chance, &home.join("log/sled"));
            let earlier = (!cuts.is_empty()).then(|| &cuts[chance(cuts.len())].home);
            leave_sled(&home, &left, earlier.map(PathBuf::as_path), &mut chance);
            cuts.push(Cut { home: left, acked: acked.load(Ordering::SeqCst) });
        })
    };
    let chunks = ChunkStore::open(home.join("blobs")).unwrap();
    // Full segments are sealed below, on this thread, so that nothing changes while a cut is made.
    let recorded =
        Options { files: Arc::new(RecordedFiles), segment_bytes: 1500, seal: false, ..options(&home.join("log")) };
    let journal = DiskJournal::open(recorded, Box::new(())).unwrap();
    let mut sealed = 0;
    let mut stored: Vec<(u64, Option<ContentHash>)> = vec![(0, None); 8];
    for (step, &count) in steps.iter().enumerate() {
        let (mut batches, mut named) = (Vec::new(), Vec::new());
        for (session, (_, prior)) in stored.iter().enumerate().take(count) {
            let lines: Vec<Vec<u8>> = (0..20).map(|line| format!("{step} {session} {line}").into_bytes()).collect();
            let mut batch = chunks.batch();
            let id = batch.append(&session_id(session), prior.as_ref(), &lines, Header::default()).unwrap();
            batches.push(batch);
            named.push((session, id));
        }
        Batch::commit_together(batches).into_iter().for_each(Result::unwrap);
        for (session, id) in named {
            let (version, prior) = &mut stored[session];
            let record = NewRecord { data: format!("{{\"manifest\":\"{id}\"}}"), ..event(1) };
            append(&journal, &stream(session_id(session).as_str()), *version, vec![record]).unwrap();
            acked.fetch_add(1, Ordering::SeqCst);
            (*version, *prior) = (*version + 1, Some(id));
        }
        for number in sealed + 1..u32::try_from(journal.stats().segments).unwrap() {
            let done = seal(&RecordedFiles, &home.join("log/segments"), number, || true).unwrap();
            assert!(matches!(done, Outcome::Sealed(_)), "segment {number}");
            sealed = number;
        }
    }
    assert!(sealed >= 3, "{sealed} segments were sealed");
    let all = check_whole(&journal);
    journal.close();
    drop(recorder);
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    (all, cuts)
}

fn session_id(number: usize) -> SessionId {
    SessionId::new(&format!("w{number}")).unwrap()
}

/// The manifest that a record names.
fn manifest(record: &StoredRecord) -> ContentHash {
    let hex = record.data.strip_prefix("{\"manifest\":\"").and_then(|rest| rest.strip_suffix("\"}")).unwrap();
    ContentHash::parse(hex).unwrap()
}

/// Works with one seed, opens what every cut has left, and returns the number of cuts.
fn check(seed: u64, steps: &[usize]) -> usize {
    let (home, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (all, cuts) = write_and_cut(home.path(), into.path(), seed, steps);
    assert_eq!(all.len(), steps.iter().sum::<usize>());
    for (number, Cut { home, acked }) in cuts.iter().enumerate() {
        let case = format!("seed {seed}, cut {number}, {acked} acknowledged");
        let journal = DiskJournal::open(options(&home.join("log")), Box::new(())).expect(&case);
        let found = check_whole(&journal);
        assert!(found.len() as u64 >= *acked, "{case}: only {} are there", found.len());
        assert_eq!(found, all[..found.len()], "{case}");
        let chunks = ChunkStore::open(home.join("blobs")).unwrap();
        for record in &found {
            let session = record.stream.session_id().unwrap();
            let (manifest, lines) = chunks.read(&session, &manifest(record)).expect(&case);
            assert_eq!((manifest.bytes, manifest.items), (lines.len() as u64, 20 * record.sequence.0), "{case}");
        }
        append(&journal, &stream("later"), 0, vec![event(1)]).expect(&case);
    }
    cuts.len()
}

#[test]
fn a_power_cut_at_every_sync_keeps_what_was_acknowledged_and_what_it_names() {
    // Up to three conversations are synced one by one, more of them together.
    let steps = [1, 5, 3, 1, 8, 2, 1, 6, 4, 1, 1, 7];
    let instants: usize = std::thread::scope(|scope| {
        let seeds = [0x9e37_79b9, 0x2545_f491, 0x0bad_cafe].map(|seed| scope.spawn(move || check(seed, &steps)));
        seeds.into_iter().map(|checked| checked.join().unwrap()).sum()
    });
    assert!(instants >= 200, "{instants} instants");
}
