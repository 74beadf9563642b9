//! A disk that fails on command: short writes, failing syncs, no room for a new segment.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::super::files::{DiskFiles, Files, SegmentFile};
use super::*;

/// The next fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is written.
    Write,
    /// Only so many bytes are written.
    ShortWrite(usize),
    /// Everything is written, but the sync fails.
    Sync,
    Truncate,
    Read,
    /// The next segment cannot be created.
    Create,
    Rename,
    /// The rename panics.
    Panic,
    Remove,
    /// This operation succeeds.
    Pass(Op),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Write,
    Sync,
    Truncate,
    Read,
    Create,
    Rename,
    Remove,
}

impl Fault {
    fn op(self) -> Op {
        match self {
            Self::Write | Self::ShortWrite(_) => Op::Write,
            Self::Sync => Op::Sync,
            Self::Truncate => Op::Truncate,
            Self::Read => Op::Read,
            Self::Create => Op::Create,
            Self::Rename | Self::Panic => Op::Rename,
            Self::Remove => Op::Remove,
            Self::Pass(op) => op,
        }
    }
}

/// Faults in the order of their operations. Operations other than the next fault's succeed.
#[derive(Clone, Default)]
pub(super) struct FaultyFiles(Arc<Mutex<VecDeque<Fault>>>);

impl FaultyFiles {
    pub(super) fn plan(&self, faults: &[Fault]) {
        *self.0.lock().unwrap() = faults.iter().copied().collect();
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }

    fn take_fault(&self, op: Op) -> Option<Fault> {
        let mut plan = self.0.lock().unwrap();
        let next = plan.front().copied().filter(|fault| fault.op() == op)?;
        plan.pop_front();
        (next != Fault::Pass(op)).then_some(next)
    }

    fn fail(&self, op: Op) -> io::Result<()> {
        match self.take_fault(op) {
            None => Ok(()),
            Some(Fault::Panic) => panic!("as planned"),
            Some(fault) => Err(io::Error::other(format!("{fault:?} failed as planned"))),
        }
    }

    fn wrap(&self, inner: Box<dyn SegmentFile>) -> Box<dyn SegmentFile> {
        Box::new(FaultyFile { inner, faults: self.clone() })
    }
}

impl Files for FaultyFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        self.fail(Op::Create)?;
        Ok(self.wrap(DiskFiles.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        Ok(self.wrap(DiskFiles.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fail(Op::Rename)?;
        DiskFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fail(Op::Remove)?;
        DiskFiles.remove(path)
    }
}

struct FaultyFile {
    inner: Box<dyn SegmentFile>,
    faults: FaultyFiles,
}

impl SegmentFile for FaultyFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.faults.take_fault(Op::Write) {
            None => self.inner.write_at(offset, bytes),
            Some(Fault::ShortWrite(count)) => {
                self.inner.write_at(offset, &bytes[..count.min(bytes.len())])?;
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            Some(_) => Err(io::Error::from(io::ErrorKind::StorageFull)),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.fail(Op::Sync)?;
        self.inner.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.faults.fail(Op::Truncate)?;
        self.inner.truncate(length)
    }

    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.faults.fail(Op::Read)?;
        self.inner.read_at(offset, bytes)
    }
}

#[test]
fn a_failed_write_is_answered_and_costs_nothing_that_was_acknowledged() {
    use Fault::{Create, Pass, Read, ShortWrite, Sync, Truncate, Write};
    let check = |before: u64, faults: &[Fault], refused: u64, segments: u64| {
        let home = tempfile::tempdir().unwrap();
        let files = FaultyFiles::default();
        let with_faults = Options { files: Arc::new(files.clone()), seal: false, ..options(home.path()) };
        let witness = Witness::default();
        let journal = DiskJournal::open(with_faults, Box::new(witness.clone())).unwrap();
        let case = format!("{before} before, {faults:?}");
        for number in 0..before {
            append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
        }
        files.plan(faults);
        for attempt in 0..refused {
            let answer = append(&journal, &stream("a"), before, vec![event(70), event(71)]);
            assert!(
                matches!(answer, Err(AppendError::Refused { retriable: true, .. })),
                "{case}: {attempt} {answer:?}"
            );
            assert_eq!(journal.tail().position, Position(before), "{case}");
            assert_eq!(check_whole(&journal).len() as u64, before, "{case}");
        }
        append(&journal, &stream("a"), before, vec![event(80), event(81)]).expect(&case);
        assert!(files.is_done(), "{case}: all faults were met, {:?} left", files.0.lock().unwrap());
        append(&journal, &stream("b"), 0, vec![event(90)]).expect(&case);
        assert_eq!(journal.stats().segments, segments, "{case}");
        let all = check_whole(&journal);
        assert_eq!(witness.seen().applied, all, "{case}: the fold saw only what is stored");
        assert_eq!(all.len() as u64, before + 3, "{case}");
        journal.close();
        fs::remove_dir_all(home.path().join("sled")).unwrap();
        let recovery = check_opens_with(home.path(), &all, &case);
        assert_eq!(recovery.cut, None, "{case}: nothing was left behind");
    };
    check(3, &[Write], 1, 2);
    check(3, &[ShortWrite(5)], 1, 2);
    check(3, &[ShortWrite(150)], 1, 2);
    check(3, &[Sync], 1, 2);
    check(0, &[Sync], 1, 1);
    check(0, &[ShortWrite(9)], 1, 1);
    // The repair fails too, at each step, and the next append completes it.
    check(3, &[Sync, Truncate], 1, 2);
    check(3, &[Sync, Sync], 1, 2);
    check(3, &[Sync, Read], 1, 2);
    check(3, &[Sync, Create], 1, 2);
    check(3, &[Sync, Create, Create, Create], 3, 2);
    check(3, &[Sync, Truncate, Truncate, Sync, Read, Create], 5, 2);
    // The header of the new segment cannot be written or synced.
    check(3, &[Sync, Pass(Op::Sync), Write], 1, 2);
    check(3, &[Sync, Pass(Op::Sync), Sync], 1, 2);
    check(0, &[Sync, Pass(Op::Sync), Sync], 1, 1);
    // The write after a repair fails again.
    check(3, &[Sync, Pass(Op::Sync), Pass(Op::Sync), Sync], 2, 2);
}

#[test]
fn while_syncs_fail_reads_go_on_and_then_writes_do() {
    let home = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    let with_faults = Options { files: Arc::new(files.clone()), seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(with_faults, Box::new(())).unwrap();
    for number in 0..5 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    let acknowledged = check_whole(&journal);
    files.plan(&[Fault::Sync; 25]);
    let mut refused = 0;
    while !files.is_done() {
        let answer = append(&journal, &stream("a"), 5, vec![event(70), event(71)]);
        assert!(matches!(answer, Err(AppendError::Refused { retriable: true, .. })), "{refused}: {answer:?}");
        assert_eq!(check_whole(&journal), acknowledged, "{refused}");
        assert_eq!(journal.read_stream(&stream("a"), SequenceNumber(0), 100).unwrap(), acknowledged, "{refused}");
        refused += 1;
        assert!(refused < 100, "every attempt meets a fault");
    }
    assert!(refused > 10, "{refused}");
    append(&journal, &stream("a"), 5, vec![event(80)]).unwrap();
    let all = check_whole(&journal);
    assert_eq!((all.len(), &all[..5]), (6, &acknowledged[..]));
    // Whatever the index made durable, the segments alone contain exactly what was acknowledged.
    journal.close();
    for has_index in [true, false] {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        if !has_index {
            fs::remove_dir_all(copy.path().join("sled")).unwrap();
        }
        assert_eq!(check_opens_with(copy.path(), &all, "reopened").cut, None);
    }
}

#[test]
fn no_room_for_the_next_segment_is_answered_and_tried_again() {
    let home = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    let small = Options { files: Arc::new(files.clone()), segment_bytes: 500, seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    let (mut stored, mut refused) = (0, 0);
    files.plan(&[Fault::Create, Fault::Create, Fault::Create]);
    while stored < 20 {
        match append(&journal, &stream("a"), stored, vec![event(stored)]) {
            Ok(_) => stored += 1,
            Err(AppendError::Refused { retriable: true, .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(refused, 3);
    assert!(journal.stats().segments > 3);
    let all = check_whole(&journal);
    journal.close();
    check_opens_with(home.path(), &all, "after a full disk");
}

#[test]
fn a_failed_group_answers_everyone_in_it() {
    let home = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    let with_faults = Options { files: Arc::new(files.clone()), seal: false, ..options(home.path()) };
    let journal = Arc::new(DiskJournal::open(with_faults, Box::new(())).unwrap());
    files.plan(&[Fault::Sync]);
    let answers = super::super::conformance::runtime().block_on(async {
        let acks: Vec<_> =
            (0..40).map(|n| journal.append(stream(&format!("s{n}")), SequenceNumber(0), vec![event(n)])).collect();
        let mut answers = Vec::new();
        for ack in acks {
            answers.push(ack.await);
        }
        answers
    });
    let refused = answers.iter().filter(|answer| matches!(answer, Err(AppendError::Refused { .. }))).count();
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(refused >= 1, "{answers:?}");
    assert_eq!(refused + stored, 40);
    assert_eq!(check_whole(&*journal).len(), stored, "what was refused is not there, what was acknowledged is");
}
