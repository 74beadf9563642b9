//! The bytes of a transcript in any form: plain, compressed in place by its agent when it is cold, a document that its
//! agent writes anew as a whole, or one session of a file with many.
//!
//! Offsets count bytes of the plain transcript. A compressed one is streamed from its beginning on each access: it is
//! cold, and does not grow before its agent has restored it. The stream's window bounds memory, and the file's size
//! bounds the length of its content. A document is held as a whole, as [lines](Document::lines), and its size bounds
//! memory. So are the lines of a session in a [file with many](crate::store_file).
//!
//! # Hazards
//!
//! - A compressed transcript is always read from its beginning to its end, so its time is not bounded, and one that is
//!   damaged anywhere fails as a whole.
//! - Documents and sessions of a file with many are read as a whole on each access too. A document whose last message
//!   is written step by step counts as rewritten with each step.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::transcript::{Document, Fault, Messages, document, layout, other_form, plain};
use baton_events::session::TailDigest;
use sha2::{Digest, Sha256};

use crate::store_file::{self, Rendered};
use baton_base::{limits, transcript_file};

/// Most messages that are files of their own.
const MAX_MESSAGES: usize = 50_000;

/// An open transcript.
pub(super) struct Content {
    metadata: Metadata,
    form: Form,
    title: Option<String>,
}

enum Form {
    Plain(File),
    Compressed(File),
    /// The lines of a document, or of a session in a file with many.
    Lines(Vec<u8>),
}

impl Content {
    /// Opens a transcript. If it does not exist under its name, its other form is tried: its agent may have compressed
    /// or restored it since it was seen, or have replaced a document.
    pub(super) fn open(agent: Agent, path: &str) -> io::Result<Self> {
        if let Some(rendered) = store_file::render(agent, path) {
            let Rendered { metadata, lines, title } = rendered?;
            return Ok(Self { metadata, form: Form::Lines(lines), title });
        }
        let open = |path: &str| Self::of(transcript_file::open(Path::new(path))?, agent, path);
        match (open(path), other_form(agent, path)) {
            (Err(error), Some(other)) if error.kind() == io::ErrorKind::NotFound => open(&other),
            (opened, _) => opened,
        }
    }

    fn of(file: File, agent: Agent, path: &str) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let form = match document(agent, path) {
            Some(document) => Form::Lines(lines_of(document, &file, Path::new(path))?),
            None if layout(agent).plain(path).is_some() => Form::Compressed(file),
            None => Form::Plain(file),
        };
        Ok(Self { metadata, form, title: None })
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// True if it is compressed. It is then read in one pass, because the next one would start from its beginning.
    pub(super) fn is_compressed(&self) -> bool {
        matches!(self.form, Form::Compressed(_))
    }

    /// The session's title, if it stands beside the lines.
    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Its length in bytes, if that is known without reading.
    pub(super) fn size(&self) -> Option<u64> {
        match &self.form {
            Form::Plain(_) => Some(self.metadata.len()),
            Form::Compressed(_) => None,
            Form::Lines(lines) => Some(lines.len() as u64),
        }
    }

    /// The bytes from an offset on; none if it is beyond the end.
    pub(super) fn from(&self, offset: u64) -> io::Result<Box<dyn Read + '_>> {
        match &self.form {
            Form::Plain(file) => {
                let mut file = file;
                file.seek(SeekFrom::Start(offset))?;
                Ok(Box::new(file))
            }
            Form::Compressed(file) => {
                let mut stream = self.stream(file)?;
                io::copy(&mut stream.by_ref().take(offset), &mut io::sink())?;
                Ok(Box::new(stream))
            }
            Form::Lines(lines) => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                Ok(Box::new(lines.get(offset..).unwrap_or_default()))
            }
        }
    }

    /// The digest of up to [`limits::TAIL_BYTES`] before `offset`; `None` if there are fewer bytes than `offset`.
    pub(super) fn digest_before(&self, offset: u64) -> io::Result<Option<TailDigest>> {
        let from = offset.saturating_sub(limits::TAIL_BYTES);
        let wanted = offset - from;
        let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or(0));
        self.from(from)?.take(wanted).read_to_end(&mut bytes)?;
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(&bytes)[..16]);
        Ok((bytes.len() as u64 == wanted).then_some(TailDigest(digest)))
    }

    fn stream<'f>(&self, mut file: &'f File) -> io::Result<impl Read + use<'f>> {
        file.seek(SeekFrom::Start(0))?;
        let file = BufReader::with_capacity(limits::READ_BLOCK_BYTES, file);
        let mut decoder = zstd::Decoder::with_buffer(file).map_err(broken)?;
        decoder.window_log_max(limits::COMPRESSED_WINDOW_LOG)?;
        let most = self.metadata.len().saturating_mul(limits::COMPRESSED_RATIO).max(limits::COMPRESSED_ALWAYS_BYTES);
        Ok(Bounded { inner: decoder, left: most })
    }
}

/// Reads a document as lines. One that is torn may be whole a moment later; the other faults last until it is written.
fn lines_of(document: &Document, file: &File, path: &Path) -> io::Result<Vec<u8>> {
    let bytes = bounded(file, limits::DOCUMENT_BYTES)?;
    let mut lines = document.lines(&bytes).map_err(|fault| match fault {
        Fault::Torn => io::Error::new(io::ErrorKind::UnexpectedEof, "it is being written, or was left incomplete"),
        Fault::Foreign => lasting("it is no JSON document with messages".to_owned()),
    })?;
    if let Messages::Files { folder, .. } = document.messages {
        add_messages(document, &path.with_file_name(folder), &mut lines)?;
    }
    Ok(lines)
}

/// Adds the messages that are files in a folder, up to the first that is missing, or is the last and is being written:
/// what is added later then only adds lines.
fn add_messages(document: &Document, folder: &Path, lines: &mut Vec<u8>) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut files = BTreeMap::new();
    for (count, entry) in entries.enumerate() {
        if count > MAX_MESSAGES {
            return Err(lasting(format!("it has more than {MAX_MESSAGES} messages")));
        }
        let name = entry?.file_name();
        if let Some(number) = name.to_str().and_then(|name| document.number(name)) {
            files.insert(number, name);
        }
    }
    let last = files.keys().next_back().copied();
    for (expected, (number, name)) in (0..).zip(files) {
        if number != expected {
            break;
        }
        let left = limits::DOCUMENT_BYTES.saturating_sub(lines.len() as u64);
        let path = folder.join(name);
        // A message that is gone is an error of its own, not a conversation that is gone.
        let at_fault = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other(format!("its message {} is gone", path.display())),
            kind => io::Error::new(kind, format!("its message {} cannot be read: {error}", path.display())),
        };
        let bytes = transcript_file::open(&path).and_then(|file| bounded(&file, left)).map_err(at_fault)?;
        let before = lines.len();
        if Document::add(&bytes, lines) == Err(Fault::Torn) && Some(number) == last {
            lines.truncate(before);
        }
    }
    Ok(())
}

/// The bytes of a file, if there are at most so many.
fn bounded(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(lasting(format!("it is a document of more than {} MB", limits::DOCUMENT_BYTES >> 20)));
    }
    Ok(bytes)
}

/// An error that lasts until the file is written to.
fn lasting(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// True if two paths are the two forms of one transcript.
pub(super) fn are_one(agent: Agent, one: &str, other: &str) -> bool {
    let of = |path: &str| plain(agent, path).unwrap_or_else(|| path.to_owned());
    of(one) == of(other)
}

/// True if a path is the other form of a transcript whose plain form exists: the plain one takes precedence.
pub(super) fn is_beside_plain(agent: Agent, path: &str) -> bool {
    plain(agent, path).is_some_and(|plain| Path::new(&plain).exists())
}

/// A stream that fails if it is longer than plausible.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(broken)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let ratio = limits::COMPRESSED_RATIO;
            let what =
                format!("its content is more than {ratio} times its compressed size, which no transcript reaches");
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        Ok(read)
    }
}

/// Marks an error of the stream itself as lasting until the file is written to; errors of the system stay as they are.
fn broken(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::new(io::ErrorKind::InvalidData, format!("it is compressed and damaged: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(compressed: bool, bytes: &[u8]) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let (name, bytes) = match compressed {
            true => ("rollout.jsonl.zst", zstd::encode_all(bytes, 3).unwrap()),
            false => ("rollout.jsonl", bytes.to_owned()),
        };
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path.to_str().unwrap().to_owned())
    }

    fn rest(content: &Content, offset: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        content.from(offset).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_compressed_transcript_reads_as_the_plain_one() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let (_plain_folder, plain) = content(false, &text);
        let (_folder, packed) = content(true, &text);
        let plain = Content::open(Agent::Codex, &plain).unwrap();
        let packed = Content::open(Agent::Codex, &packed).unwrap();
        assert_eq!((plain.size(), packed.size()), (Some(text.len() as u64), None));
        for offset in [0, 1, 5_000, text.len() as u64 - 1, text.len() as u64] {
            assert_eq!(rest(&plain, offset), rest(&packed, offset), "{offset}");
            let digest = plain.digest_before(offset).unwrap();
            assert!(digest.is_some());
            assert_eq!(digest, packed.digest_before(offset).unwrap(), "{offset}");
        }
        let behind = text.len() as u64 + 1;
        assert_eq!(packed.digest_before(behind).unwrap(), None);
        assert_eq!(plain.digest_before(behind).unwrap(), None);
        assert!(rest(&packed, behind).is_empty());
    }

    #[test]
    fn a_transcript_is_found_in_its_other_form() {
        let (_folder, packed) = content(true, b"x\n");
        let plain = packed.strip_suffix(".zst").unwrap();
        assert!(Content::open(Agent::Codex, plain).unwrap().is_compressed());
        assert!(Content::open(Agent::ClaudeCode, plain).is_err(), "of which there is none");
        std::fs::write(plain, "x\n").unwrap();
        assert!(!Content::open(Agent::Codex, plain).unwrap().is_compressed());
        assert!(is_beside_plain(Agent::Codex, &packed) && !is_beside_plain(Agent::Codex, plain));
        std::fs::remove_file(&packed).unwrap();
        assert!(!Content::open(Agent::Codex, &packed).unwrap().is_compressed(), "turned back");
        assert!(are_one(Agent::Codex, &packed, plain) && !are_one(Agent::Codex, plain, "/other.jsonl"));
    }

    #[test]
    fn what_comes_to_too_much_or_is_broken_is_refused_with_a_reason() {
        let zeros = vec![b' '; usize::try_from(limits::COMPRESSED_ALWAYS_BYTES).unwrap() + 1];
        let (_folder, bomb) = content(true, &zeros);
        let bomb = Content::open(Agent::Codex, &bomb).unwrap();
        let error = io::copy(&mut bomb.from(0).unwrap(), &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("times its compressed size"), "{error}");
        let (_folder, path) = content(true, b"whole\n");
        let bytes = std::fs::read(&path).unwrap();
        let refused = |what: &[u8]| {
            std::fs::write(&path, what).unwrap();
            let content = Content::open(Agent::Codex, &path).unwrap();
            let error = io::copy(&mut content.from(0).unwrap(), &mut io::sink()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
            assert!(error.to_string().contains("damaged"), "{error}");
        };
        refused(&bytes[..bytes.len() - 3]);
        refused(b"no zstd at all");
    }
}
