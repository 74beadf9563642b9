//! Single bytes of a log changed on disk: each change is repaired, refused with its place, or harmless.

use super::super::index::group;
use super::super::segment::{Header, frames};
use super::*;

/// What became of a log with one byte changed.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    /// Opened, with everything that was ever acknowledged.
    Whole,
    /// Opened without the last group, which was cut off and kept.
    Cut { records: u64 },
    /// Refused with the place of the damage; the file is untouched.
    Refused,
}

/// Opens a log whose segment 1 was changed at `at`, and checks what must hold for each outcome.
fn open_changed(log: &Path, at: usize, all: &[StoredRecord], case: &str) -> Became {
    let before = fs::read(segment(log, 1)).unwrap();
    let witness = Witness::default();
    match DiskJournal::open(options(log), Box::new(witness.clone())) {
        Ok(journal) => {
            let read = check_whole(&journal);
            assert_eq!(read, all[..read.len()], "{case}: never another record");
            assert_eq!(witness.seen().applied, read, "{case}: folded what is read");
            let records = read.len() as u64;
            match &journal.recovery().cut {
                Some(cut) if read.len() < all.len() => {
                    let kept = fs::read(&cut.kept).unwrap();
                    assert_eq!(kept, before[usize::try_from(cut.offset).unwrap()..], "{case}: kept");
                    Became::Cut { records }
                }
                _ => {
                    assert_eq!(records, all.len() as u64, "{case}: nothing is lost without a word");
                    Became::Whole
                }
            }
        }
        Err(error) => {
            let OpenError::Damaged { segment: named, offset, position, .. } = &error else { panic!("{case}: {error}") };
            assert_eq!(*named, segment(log, 1), "{case}");
            assert!(*offset <= at as u64, "{case}: byte {offset} is named");
            assert!(position.0 <= all.len() as u64, "{case}: position {position} is named");
            assert_eq!(fs::read(segment(log, 1)).unwrap(), before, "{case}: untouched");
            Became::Refused
        }
    }
}

/// A folder on a file system in memory, where there is one: thousands of logs are opened here, and none needs to
/// survive.
fn memory_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Every byte of a segment of six groups, with the index and without.
#[test]
fn every_byte_of_a_segment_is_repaired_refused_or_says_nothing() {
    let home = memory_folder();
    let all = write_log(home.path());
    let borders = borders(home.path(), 1);
    let size = *borders.last().unwrap();
    let last_group = borders[borders.len() - 3];
    let (mut repaired, mut refused, mut harmless) = (0, 0, Vec::new());
    for has_index in [true, false] {
        // Copying an index costs more than opening it, so it is only sampled where it cannot matter.
        for at in (0..size).filter(|at| !has_index || *at >= last_group || at % 16 == 0) {
            let copy = memory_folder();
            fs::create_dir(copy.path().join("segments")).unwrap();
            fs::copy(segment(home.path(), 1), segment(copy.path(), 1)).unwrap();
            if has_index {
                copy_folder(&home.path().join("sled"), &copy.path().join("sled"));
            }
            // Flips the top bit too, which in a length marks the first record of a group.
            let mut bytes = fs::read(segment(copy.path(), 1)).unwrap();
            bytes[at] ^= 0x81;
            fs::write(segment(copy.path(), 1), bytes).unwrap();
            let case = format!("byte {at} of {size}, index {has_index}");
            match open_changed(copy.path(), at, &all, &case) {
                Became::Whole if has_index && at >= last_group => repaired += 1,
                Became::Whole => harmless.push(at),
                Became::Cut { records } => panic!("{case}: no crash leaves that, and {records} records are left"),
                Became::Refused => {
                    assert!(at < last_group || !has_index, "{case}: the end can be repaired");
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(harmless, [0; 0], "each byte counts");
    assert!(repaired > 100 && refused > 600, "{repaired} {refused}");
}

/// The two marks in a length, which no hash covers: start of a group, and continuation of an append.
#[test]
fn a_changed_mark_loses_no_record_without_a_word() {
    let home = memory_folder();
    let all = write_log(home.path());
    let borders = borders(home.path(), 1);
    let last_group = borders[borders.len() - 3];
    for (at, mark) in borders[..borders.len() - 1].iter().flat_map(|at| [(*at, 0x80_u8), (*at, 0x40)]) {
        for has_index in [true, false] {
            let copy = memory_folder();
            fs::create_dir(copy.path().join("segments")).unwrap();
            fs::copy(segment(home.path(), 1), segment(copy.path(), 1)).unwrap();
            if has_index {
                copy_folder(&home.path().join("sled"), &copy.path().join("sled"));
            }
            let mut bytes = fs::read(segment(copy.path(), 1)).unwrap();
            bytes[at] ^= mark;
            fs::write(segment(copy.path(), 1), bytes).unwrap();
            let case = format!("mark {mark:x} at {at}, index {has_index}");
            match open_changed(copy.path(), at, &all, &case) {
                Became::Whole => {}
                Became::Cut { records } => {
                    assert!(!has_index && at >= last_group && records >= 7, "{case}: {records} records are left");
                }
                // A group mark within an append means that a later group follows: damage, not a torn tail.
                Became::Refused => assert!(at < last_group || mark == 0x80, "{case}"),
            }
        }
    }
}

/// Pseudo-random numbers, the same in every run.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// The index decides nothing: whichever byte of its files is changed, every record is read as it was written.
#[test]
fn no_byte_of_the_index_changes_an_answer() {
    const POSITIONS: usize = 500;
    const HEAD: usize = 64;
    let home = memory_folder();
    let all = write_log(home.path());
    let sled = home.path().join("sled");
    let mut files: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(&sled)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.strip_prefix(&sled).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    // Most of sled's file was never written to, so half of the positions are chosen from bytes that were.
    let used: Vec<(usize, usize)> = files
        .iter()
        .enumerate()
        .flat_map(|(file, (_, bytes))| (0..bytes.len()).filter(|at| bytes[*at] != 0).map(move |at| (file, at)))
        .collect();
    let heads =
        files.iter().enumerate().flat_map(|(file, (_, bytes))| (0..bytes.len().min(HEAD)).map(move |at| (file, at)));
    let mut positions: Vec<(usize, usize)> = heads.collect();
    let mut seeded = Seeded(0x0ba7_0001);
    for turn in 0..POSITIONS {
        positions.push(match turn % 2 {
            0 => used[seeded.next(used.len())],
            _ => {
                let file = seeded.next(files.len());
                (file, seeded.next(files[file].1.len()))
            }
        });
    }
    let copy = memory_folder();
    let log = copy.path().join("log");
    for (file, at) in positions {
        let (name, bytes) = &files[file];
        let Some(byte) = bytes.get(at) else { continue };
        let _ = fs::remove_dir_all(&log);
        copy_folder(home.path(), &log);
        let mut changed = bytes.clone();
        changed[at] = byte ^ (1 << seeded.next(8));
        fs::write(log.join("sled").join(name), changed).unwrap();
        let case = format!("{} at {at}", name.display());
        let journal = DiskJournal::open(options(&log), Box::new(())).expect(&case);
        assert_eq!(check_whole(&journal), all, "{case}");
        journal.close();
    }
}

proptest::proptest! {
    /// Arbitrary bytes are not decoded as records, and nothing panics over them.
    #[test]
    fn arbitrary_bytes_are_no_log(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600), at in 0_usize..300) {
        proptest::prop_assert!(Header::decode(&bytes).is_err());
        let before = baton_events::envelope::ChainHash::GENESIS;
        proptest::prop_assert!(frames(&bytes, 0, before).all(|frame| frame.is_err()));
        let _ = group::unpack(Position(1), &bytes).map(|group| group.get(Position(1)).is_some());
        let _ = baton_events::envelope::decode(&bytes);
        // The same bytes written over valid frames.
        let mut patched = three_frames();
        let end = (at + bytes.len()).min(patched.len());
        if at < end {
            patched[at..end].copy_from_slice(&bytes[..end - at]);
            let _ = group::unpack(Position(1), &patched);
            let good = frames(&patched, 0, before).take_while(Result::is_ok).count();
            proptest::prop_assert!(good <= 3);
        }
    }
}

/// Three frames, as they lie in a segment.
fn three_frames() -> Vec<u8> {
    let (mut bytes, mut chain) = (Vec::new(), baton_events::envelope::ChainHash::GENESIS);
    for position in 1..=3 {
        let record = format!("\u{1}{{\"position\":{position}}}");
        chain = baton_events::envelope::chain(chain, record.as_bytes());
        super::super::segment::encode_frame(&mut bytes, position == 1, position < 3, record.as_bytes(), chain);
    }
    bytes
}
