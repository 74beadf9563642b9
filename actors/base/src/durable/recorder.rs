//! A disk that remembers what was synced, for tests: after a power cut it holds everything synced before, and of the
//! rest as much, as little and in as wrong an order as chance decides.
//!
//! [`record_sync`] is called just before this crate makes something durable. A [`Recorder`] of the folder concerned
//! stops the world there: its `at_cut` may have a [`Disk`] write what a power cut at this instant leaves.

#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What is about to become durable.
#[derive(Clone, Copy, Debug)]
pub enum Synced<'a> {
    /// The content of a file.
    File(&'a Path),
    /// The names in a folder.
    Folder(&'a Path),
    /// Everything on the file system of a folder.
    All(&'a Path),
}

impl Synced<'_> {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Folder(path) | Self::All(path) => path,
        }
    }
}

/// The active recorders. Tests run side by side, each in a folder of its own.
static RECORDERS: Mutex<Vec<Weak<Recorder>>> = Mutex::new(Vec::new());

/// Reports that something is about to become durable.
pub fn record_sync(synced: Synced<'_>) {
    let recorders: Vec<_> = {
        let mut all = RECORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|recorder| recorder.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    };
    recorders.iter().filter(|recorder| synced.path().starts_with(&recorder.root)).for_each(|recorder| {
        let mut disk = recorder.disk.lock().unwrap();
        (recorder.at_cut)(&disk);
        disk.record(synced);
    });
}

type AtCut = Box<dyn Fn(&Disk) + Send + Sync>;

/// Records the syncs in one folder while it is held.
pub struct Recorder {
    root: PathBuf,
    disk: Mutex<Disk>,
    at_cut: AtCut,
}

impl Recorder {
    /// Begins with an empty folder.
    pub fn begin(root: &Path, at_cut: impl Fn(&Disk) + Send + Sync + 'static) -> Arc<Self> {
        let disk = Disk { root: root.to_owned(), content: BTreeMap::new(), names: BTreeMap::new() };
        let recorder = Arc::new(Self { root: root.to_owned(), disk: Mutex::new(disk), at_cut: Box::new(at_cut) });
        RECORDERS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&recorder));
        recorder
    }
}

impl Recorder {
    /// The folders whose names were synced.
    pub fn synced(&self) -> BTreeSet<PathBuf> {
        self.disk.lock().unwrap().names.keys().cloned().collect()
    }
}

/// What is durable and what is not yet.
pub struct Disk {
    root: PathBuf,
    /// The synced content of each inode.
    content: BTreeMap<u64, Vec<u8>>,
    /// The synced names of each folder.
    names: BTreeMap<PathBuf, BTreeMap<OsString, u64>>,
}

impl Disk {
    fn record(&mut self, synced: Synced<'_>) {
        match synced {
            Synced::File(path) => {
                let bytes = fs::read(path).unwrap();
                self.content.insert(inode(path), bytes);
            }
            Synced::Folder(path) => {
                let before = self.names.insert(path.to_owned(), names(path)).unwrap_or_default();
                // A new file may get the inode of a file that is certainly gone, but never its content.
                for inode in before.values() {
                    if !self.names.values().any(|names| names.values().any(|named| named == inode)) {
                        self.content.remove(inode);
                    }
                }
            }
            // The whole file system is more than the recorded folder.
            Synced::All(_) => self.record_below(&self.root.clone()),
        }
    }

    fn record_below(&mut self, folder: &Path) {
        self.record(Synced::Folder(folder));
        for name in names(folder).into_keys() {
            let path = folder.join(name);
            match path.is_dir() {
                true => self.record_below(&path),
                false => self.record(Synced::File(&path)),
            }
        }
    }

    /// Writes to `into` what a power cut at this instant leaves, without the path `skip`. `chance` returns a number
    /// below its argument.
    pub fn leave(&self, into: &Path, chance: &mut dyn FnMut(usize) -> usize, skip: &Path) {
        self.leave_below(&self.root, into, chance, skip);
    }

    fn leave_below(&self, folder: &Path, into: &Path, chance: &mut dyn FnMut(usize) -> usize, skip: &Path) {
        fs::create_dir_all(into).unwrap();
        let nothing = BTreeMap::new();
        let (synced, present) = (self.names.get(folder).unwrap_or(&nothing), names(folder));
        let all: BTreeSet<&OsString> = synced.keys().chain(present.keys()).collect();
        for name in all {
            let path = folder.join(name);
            // A name change that was not synced may have reached the disk all the same.
            let inode = match (synced.get(name), present.get(name)) {
                (synced, present) if synced == present => synced,
                (synced, present) => [synced, present][chance(2)],
            };
            let Some(inode) = inode.filter(|_| path != skip) else { continue };
            if path.is_dir() {
                self.leave_below(&path, &into.join(name), chance, skip);
                continue;
            }
            let present = (present.get(name) == Some(inode)).then(|| fs::read(&path).unwrap());
            fs::write(into.join(name), torn(self.content.get(inode), present, chance)).unwrap();
        }
    }
}

/// One possible content of a file, between what was synced and what was written.
fn torn(synced: Option<&Vec<u8>>, present: Option<Vec<u8>>, chance: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    const SECTOR: usize = 512;
    let synced = synced.cloned().unwrap_or_default();
    let Some(present) = present.filter(|present| *present != synced) else { return synced };
    match chance(4) {
        0 => synced,
        1 => present,
        _ => {
            // Each sector that differs is old, new or, where there was nothing, zero.
            let (least, most) = (synced.len().min(present.len()), synced.len().max(present.len()));
            let mut mixed = present;
            mixed.resize(most, 0);
            for (number, sector) in mixed.chunks_mut(SECTOR).enumerate() {
                if chance(2) == 0 {
                    let mut before = synced.get(number * SECTOR..).unwrap_or_default().to_vec();
                    before.resize(SECTOR, 0);
                    sector.copy_from_slice(&before[..sector.len()]);
                }
            }
            mixed.truncate(least + chance(most - least + 1));
            mixed
        }
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

fn names(folder: &Path) -> BTreeMap<OsString, u64> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    // A file may be renamed while the others are listed.
    let named = |entry: fs::DirEntry| Some((entry.file_name(), entry.metadata().ok()?.ino()));
    entries.flatten().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable;

    /// Everything that a power cut may leave of a folder, over many chances: every content seen of each file.
    fn left(disk: &Disk, into: &Path) -> BTreeMap<String, BTreeSet<Vec<u8>>> {
        let mut seen: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for seed in 0..64_usize {
            let target = into.join(seed.to_string());
            let mut word = seed as u64 + 1;
            let mut chance = |bound: usize| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((word >> 33) as usize) % bound
            };
            disk.leave(&target, &mut chance, Path::new("nowhere"));
            for name in ["old", "new", "unsynced"] {
                if let Ok(bytes) = fs::read(target.join(name)) {
                    seen.entry(name.to_owned()).or_default().insert(bytes);
                }
            }
        }
        seen
    }

    #[test]
    fn what_was_synced_is_always_left_and_the_rest_by_chance() {
        let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let recorder = Recorder::begin(folder.path(), |_| {});
        let path = |name: &str| folder.path().join(name);
        fs::write(path("old"), "first").unwrap();
        durable::sync_file(&path("old")).unwrap();
        durable::sync_folder(folder.path()).unwrap();
        fs::write(path("unsynced"), "u").unwrap();
        let seen = left(&recorder.disk.lock().unwrap(), into.path());
        assert_eq!(seen["old"], BTreeSet::from([b"first".to_vec()]));
        assert_eq!(seen["unsynced"], BTreeSet::from([Vec::new(), b"\0".to_vec(), b"u".to_vec()]));

        // A rename that was not synced leaves one of the two names, always with the synced content.
        fs::rename(path("old"), path("new")).unwrap();
        let into = tempfile::tempdir().unwrap();
        let seen = left(&recorder.disk.lock().unwrap(), into.path());
        assert_eq!((seen["old"].len(), seen["new"].len()), (1, 1));
        assert!(seen["new"].contains(b"first".as_slice()));
        durable::sync_folder(folder.path()).unwrap();
        let into = tempfile::tempdir().unwrap();
        let seen = left(&recorder.disk.lock().unwrap(), into.path());
        assert!(!seen.contains_key("old"));
        assert_eq!(seen["new"], BTreeSet::from([b"first".to_vec()]));

        fs::remove_file(path("new")).unwrap();
        durable::sync_folder(folder.path()).unwrap();
        assert_eq!(recorder.disk.lock().unwrap().content, BTreeMap::new(), "a file that gets its inode is empty");
    }
}
