//! One writer's log in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use baton_base::{durable, transcript_file};
use baton_conversation::hex;
use sha2::{Digest, Sha256};

use crate::keys::Name;
use crate::seal::{Frame, MAX_FRAME_BYTES, MIN_FRAME_BYTES};

/// Bytes before a record's payload: its tag and its length.
const BEFORE: usize = 5;
/// Bytes after it: the beginning of its SHA-256.
const CHECK: usize = 8;
const FRAME: u8 = 1;
const HEAD: u8 = 2;

/// One record of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A frame.
    Frame(Vec<u8>),
    /// A purged stream, and the sequence of its last frame.
    Head(Name, u64),
}

impl Record {
    pub(super) fn into_frame(self) -> Option<Vec<u8>> {
        match self {
            Self::Frame(frame) => Some(frame),
            Self::Head(..) => None,
        }
    }

    /// Its stream, and the sequence that the stream has after it.
    fn sequence_after(&self) -> Option<(Name, u64)> {
        match self {
            Self::Frame(frame) => Frame::parse(frame).ok().map(|frame| (frame.header.stream, frame.header.sequence)),
            Self::Head(stream, sequence) => Some((*stream, *sequence)),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (tag, payload) = match self {
            Self::Frame(frame) => (FRAME, frame.clone()),
            Self::Head(stream, sequence) => (HEAD, [&stream.0[..], &sequence.to_be_bytes()].concat()),
        };
        out.push(tag);
        out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&payload);
        out.extend_from_slice(&Sha256::digest(&payload)[..CHECK]);
    }
}

/// The end of a log, to append behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) generation: u32,
    /// Bytes of whole records.
    pub(super) bytes: u64,
    /// The last sequence of each stream.
    pub(super) heads: BTreeMap<Name, u64>,
    /// The streams that have frames.
    pub(super) streams: BTreeSet<Name>,
}

/// Records from an offset on.
pub(super) struct Read {
    pub(super) records: Vec<Record>,
    /// Bytes of these records.
    pub(super) bytes: u64,
    /// True if more whole records may follow.
    pub(super) more: bool,
    /// Why nothing after them can be read.
    pub(super) damage: Option<&'static str>,
}

fn path(folder: &Path, generation: u32) -> PathBuf {
    folder.join(format!("{generation:08}.log"))
}

/// The generations in a folder.
fn generations(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_suffix(".log").filter(|number| number.len() == 8)?.parse().ok();
    entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// The newest generation and its size; `None` if there is none.
pub(super) fn newest(folder: &Path) -> Option<(u32, u64)> {
    let generation = generations(folder).into_iter().max()?;
    let size = transcript_file::metadata(&path(folder, generation)).ok()?.len();
    Some((generation, size))
}

/// The check of the record that ends at an offset; empty at the start of the log, and if none can be read.
pub(super) fn check_before(folder: &Path, generation: u32, place: u64) -> String {
    let mut check = [0; CHECK];
    let Some(from) = place.checked_sub(CHECK as u64) else { return String::new() };
    let read = open(&path(folder, generation)).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut check)
    });
    read.map_or_else(|_| String::new(), |()| hex::encode(&check))
}

/// Reads whole records from an offset on, until `most` bytes are exceeded.
pub(super) fn read(folder: &Path, generation: u32, from: u64, most: u64) -> io::Result<Read> {
    let mut read = Read { records: Vec::new(), bytes: 0, more: false, damage: None };
    let mut file = match open(&path(folder, generation)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(read),
        file => file?,
    };
    file.seek(SeekFrom::Start(from))?;
    let mut file = io::BufReader::new(file);
    loop {
        if read.bytes >= most {
            read.more = true;
            return Ok(read);
        }
        let mut before = [0; BEFORE];
        if !fill(&mut file, &mut before)? {
            return Ok(read);
        }
        let length = u32::from_be_bytes([before[1], before[2], before[3], before[4]]) as usize;
        if length > MAX_FRAME_BYTES {
            read.damage = Some("a record is longer than any frame");
            return Ok(read);
        }
        let mut payload = vec![0; length];
        let mut check = [0; CHECK];
        if !fill(&mut file, &mut payload)? || !fill(&mut file, &mut check)? {
            return Ok(read);
        }
        if Sha256::digest(&payload)[..CHECK] != check {
            read.damage = Some("a record does not match its check");
            return Ok(read);
        }
        read.bytes += (BEFORE + length + CHECK) as u64;
        match before[0] {
            FRAME if length >= MIN_FRAME_BYTES => read.records.push(Record::Frame(payload)),
            HEAD if length == 24 => {
                let (mut stream, mut sequence) = ([0; 16], [0; 8]);
                stream.copy_from_slice(&payload[..16]);
                sequence.copy_from_slice(&payload[16..]);
                read.records.push(Record::Head(Name(stream), u64::from_be_bytes(sequence)));
            }
            // A record of a newer program.
            _ => {}
        }
    }
}

/// Fills the buffer; false if the file ends before.
fn fill(file: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        done => done.map(|()| true),
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the log is damaged: {what}"))
}

/// The end of a log: reads all of it.
pub(super) fn tail(folder: &Path, generation: u32) -> io::Result<Tail> {
    let mut tail = Tail { generation, ..Tail::default() };
    loop {
        let read = read(folder, generation, tail.bytes, 4 * 1024 * 1024)?;
        if let Some(damage) = read.damage {
            return Err(damaged(damage));
        }
        tail.bytes += read.bytes;
        for record in &read.records {
            let Some((stream, sequence)) = record.sequence_after() else { continue };
            let head = tail.heads.entry(stream).or_default();
            *head = sequence.max(*head);
            if matches!(record, Record::Frame(_)) {
                tail.streams.insert(stream);
            }
        }
        if !read.more {
            return Ok(tail);
        }
    }
}

/// Appends records, durably. Overwrites what an interrupted write has left after the tail.
pub(super) fn append(folder: &Path, tail: &mut Tail, records: &[Record]) -> io::Result<()> {
    create_folder(folder)?;
    tail.generation = tail.generation.max(1);
    let path = path(folder, tail.generation);
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.encode(&mut bytes));
    let is_new = !transcript_file::exists(&path);
    let mut file = following_no_link().create_new(is_new).truncate(false).write(true).open(&path)?;
    if is_new {
        adopt_mode(&file, folder)?;
    }
    check_single(&file)?;
    file.set_len(tail.bytes)?;
    file.seek(SeekFrom::Start(tail.bytes))?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    if is_new {
        durable::sync_folder(folder)?;
    }
    tail.bytes += bytes.len() as u64;
    Ok(())
}

/// Writes the next generation of a log without the frames of a stream, and removes the older ones.
pub(super) fn rewrite_without(folder: &Path, tail: &Tail, stream: Name, head: u64) -> io::Result<Tail> {
    let mut rewritten = Tail { generation: tail.generation + 1, bytes: 0, ..tail.clone() };
    rewritten.streams.remove(&stream);
    let target = path(folder, rewritten.generation);
    write_with(&target, |out| {
        let mut bytes = Vec::new();
        Record::Head(stream, head).encode(&mut bytes);
        let mut from = 0;
        loop {
            let read = read(folder, tail.generation, from, 4 * 1024 * 1024)?;
            from += read.bytes;
            if let Some(damage) = read.damage {
                return Err(damaged(damage));
            }
            for record in read.records {
                if record.sequence_after().is_none_or(|(of, _)| of != stream) {
                    record.encode(&mut bytes);
                }
            }
            out.write_all(&bytes)?;
            rewritten.bytes += bytes.len() as u64;
            bytes.clear();
            if !read.more {
                return Ok(());
            }
        }
    })?;
    remove_before(folder, rewritten.generation)?;
    Ok(rewritten)
}

/// Removes the generations before one.
pub(super) fn remove_before(folder: &Path, generation: u32) -> io::Result<()> {
    let older: Vec<u32> = generations(folder).into_iter().filter(|older| *older < generation).collect();
    for older in &older {
        fs::remove_file(path(folder, *older))?;
    }
    if older.is_empty() { Ok(()) } else { durable::sync_folder(folder) }
}

/// Fails if the file has a second hard link: anyone who may write here could have linked another user's file.
fn check_single(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 1 {
        return Err(damaged("it is a link to another file"));
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Options that open a file but follow no link.
fn following_no_link() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no such flag"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        // Opening a pipe must not block.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options
}

/// Opens a file for reading. Follows no link, and does not block on a pipe.
fn open(path: &Path) -> io::Result<fs::File> {
    let file = following_no_link().read(true).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Creates a folder and its missing parents, each with the mode of its parent.
fn create_folder(folder: &Path) -> io::Result<()> {
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let above = folder.parent().ok_or(io::ErrorKind::NotFound)?;
    if !above.is_dir() {
        // A missing relay folder is not created: it may just not be mounted.
        let is_relay = |root: &Path| transcript_file::exists(&root.join(super::MARK));
        above.parent().filter(|root| is_relay(root)).ok_or(io::ErrorKind::NotFound)?;
        create_folder(above)?;
    }
    match fs::create_dir(folder) {
        // Another member was faster. A link is not accepted.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(folder)?.is_dir() => Ok(()),
        created => created.and_then(|()| match cfg!(unix) {
            true => adopt_mode(&following_no_link().read(true).open(folder)?, above),
            false => Ok(()),
        }),
    }
}

/// Gives a new file or folder the mode of its parent folder. Uses the handle, because the name may lead to another file
/// by now.
fn adopt_mode(created: &fs::File, folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (mode, found) = (fs::metadata(folder)?.permissions().mode(), created.metadata()?);
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(damaged("what was created is somebody else's"));
        }
        let mode = if found.is_dir() { mode & 0o7777 } else { mode & 0o666 };
        created.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (created, folder);
    Ok(())
}

/// Writes a whole file, durably: a reader sees all of it or none.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Removes unfinished temporary files of a file.
pub(super) fn remove_unfinished(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let is_of_it = |entry: &fs::DirEntry| {
        let other = entry.file_name();
        other.to_str().is_some_and(|other| other.starts_with(&format!(".{name}.")) && other.ends_with(".tmp"))
    };
    entries.filter(is_of_it).for_each(|entry| drop(fs::remove_file(entry.path())));
}

fn write_with(path: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    create_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Another member may write the same object at the same time, and the name must not be predictable.
    let random: [u8; 8] = crate::keys::random().map_err(io::Error::other)?;
    let temporary = folder.join(format!(".{name}.{}.tmp", hex::encode(&random)));
    let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        write(&mut file)?;
        adopt_mode(&file, folder)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    durable::sync_folder(folder)
}

/// Reads a whole file of at most `most` bytes; `None` if there is none.
pub(crate) fn read_whole(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(damaged("it is longer than anything that is stored there"));
    }
    Ok(Some(bytes))
}
