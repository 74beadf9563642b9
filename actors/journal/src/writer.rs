//! Appending to segments: one write and one sync per group, and recovery when either fails.
//!
//! After a failed or short write or a failed sync the state of the disk is unknown. So the file is truncated to the
//! last acknowledged length, synced, and its last record read back; then a new segment is begun, because the cached
//! pages of a file that failed to sync cannot be trusted. Until all of that succeeds every append fails; each group
//! tries it again.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use baton_events::envelope::{ChainHash, Tail};

use super::files::{Files, SegmentFile};
use super::ledger::Placed;
use super::segment::{self, FRAME_BYTES, HEADER_BYTES, Header};

/// The end of the segments, where groups are appended.
pub(super) struct Writer {
    files: Arc<dyn Files>,
    folder: PathBuf,
    segment_bytes: u64,
    file: Box<dyn SegmentFile>,
    number: u32,
    /// Length up to which the file is synced.
    length: u64,
    tail: Tail,
    last: Option<LastFrame>,
    /// Bytes of all earlier segments.
    earlier_bytes: u64,
    suspect: bool,
}

/// The last acknowledged frame of the current segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastFrame {
    pub(super) offset: u64,
    pub(super) before: ChainHash,
}

/// Where to continue in an existing segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    pub(super) number: u32,
    pub(super) length: u64,
    pub(super) tail: Tail,
    pub(super) last: Option<LastFrame>,
    pub(super) earlier_bytes: u64,
}

impl Writer {
    /// Creates segment `number`; its header and its name are durable when this returns.
    pub(super) fn create(
        files: Arc<dyn Files>,
        folder: PathBuf,
        segment_bytes: u64,
        number: u32,
        tail: Tail,
        earlier_bytes: u64,
    ) -> io::Result<Self> {
        let file = create_segment(&*files, &folder, number, tail)?;
        let length = HEADER_BYTES as u64;
        let (last, suspect) = (None, false);
        Ok(Self { files, folder, segment_bytes, file, number, length, tail, last, earlier_bytes, suspect })
    }

    /// Continues in an existing segment. Truncates it to `at.length`, durably.
    pub(super) fn resume(files: Arc<dyn Files>, folder: PathBuf, segment_bytes: u64, at: Resume) -> io::Result<Self> {
        let mut file = files.open(&segment::unsealed_path(&folder, at.number))?;
        file.truncate(at.length)?;
        file.sync()?;
        let Resume { number, length, tail, last, earlier_bytes } = at;
        Ok(Self { files, folder, segment_bytes, file, number, length, tail, last, earlier_bytes, suspect: false })
    }

    /// The number of the segment being written; those before it are full.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Number of segments.
    pub(super) fn segments(&self) -> u64 {
        u64::from(self.number)
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.earlier_bytes + self.length
    }

    /// Writes a group and syncs it. After an error none of it is stored, and nothing of it remains on disk once a later
    /// call succeeds.
    pub(super) fn append(&mut self, group: &[Placed]) -> io::Result<()> {
        let Some(end) = group.last() else { return Ok(()) };
        if self.suspect {
            self.repair_tail()?;
        }
        let size: usize = group.iter().map(|placed| placed.bytes.len() + FRAME_BYTES).sum();
        if self.last.is_some() && self.length + size as u64 > self.segment_bytes {
            self.start_next_segment()?;
        }
        let mut frames = Vec::with_capacity(size);
        let mut last = LastFrame { offset: self.length, before: self.tail.chain };
        for (index, placed) in group.iter().enumerate() {
            last.offset = self.length + frames.len() as u64;
            segment::encode_frame(&mut frames, index == 0, placed.append_continues, &placed.bytes, placed.chain);
        }
        if let [.., before, _] = group {
            last.before = before.chain;
        }
        if let Err(error) = self.file.write_at(self.length, &frames).and_then(|()| self.file.sync()) {
            self.suspect = true;
            let repaired = self.repair_tail();
            tracing::error!(
                segment = self.number,
                records = group.len(),
                error = %error,
                repaired = repaired.is_ok(),
                "log segment could not be written"
            );
            return Err(error);
        }
        self.length += frames.len() as u64;
        self.last = Some(last);
        self.tail = Tail { position: end.record.position, chain: end.chain };
        Ok(())
    }

    fn repair_tail(&mut self) -> io::Result<()> {
        self.file.truncate(self.length)?;
        self.file.sync()?;
        self.verify_last_record()?;
        self.start_fresh_segment()?;
        self.suspect = false;
        Ok(())
    }

    /// Continues in a new segment; a segment without records is created again instead.
    pub(super) fn start_fresh_segment(&mut self) -> io::Result<()> {
        if self.last.is_some() {
            return self.start_next_segment();
        }
        self.file = create_segment(&*self.files, &self.folder, self.number, self.tail)?;
        Ok(())
    }

    fn verify_last_record(&mut self) -> io::Result<()> {
        let Some(last) = self.last else { return Ok(()) };
        let size = usize::try_from(self.length - last.offset).map_err(io::Error::other)?;
        let mut bytes = vec![0; size];
        self.file.read_at(last.offset, &mut bytes)?;
        match segment::frames(&bytes, 0, last.before).next() {
            Some(Ok(frame)) if frame.chain == self.tail.chain && frame.end == size => Ok(()),
            _ => Err(io::Error::other(format!(
                "the last record (position {}) cannot be read back from segment {:04}",
                self.tail.position, self.number
            ))),
        }
    }

    fn start_next_segment(&mut self) -> io::Result<()> {
        let number = self.number + 1;
        // Until the next segment is complete, nothing may be appended to this one: half of the next may be on disk.
        self.suspect = true;
        self.file = create_segment(&*self.files, &self.folder, number, self.tail)?;
        self.suspect = false;
        self.earlier_bytes += self.length;
        (self.number, self.length, self.last) = (number, HEADER_BYTES as u64, None);
        Ok(())
    }
}

fn create_segment(
    files: &dyn Files,
    folder: &std::path::Path,
    number: u32,
    tail: Tail,
) -> io::Result<Box<dyn SegmentFile>> {
    let path = segment::unsealed_path(folder, number);
    let header = Header { first: tail.position.next(), before: tail.chain };
    let begun = files.create(&path).and_then(|mut file| {
        file.write_at(0, &header.encode())?;
        file.sync()?;
        Ok(file)
    });
    if begun.is_err() {
        // Best effort: an open also recognises a segment with a torn header.
        let _ = files.remove(&path);
    }
    begun
}
