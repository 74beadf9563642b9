//! Files with many sessions: which are in one, and the lines of one of them.
//!
//! # Hazards
//!
//! - The file is read as a whole on each access.
//! - What is known of a session's end is the time at which the next one began, by the clock of this machine's zone.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::Path;

use baton_base::transcript_file::{self, FileStat};
use baton_base::{limits, local_zone};
use baton_conversation::item::Agent;
use baton_conversation::transcript::{SessionFile, StoredPath, StoredSession, session_file};

use super::beside;

/// One session of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFile {
    /// The path by which it is read.
    pub path: String,
    /// Its own size, and when it was last written to.
    pub stat: FileStat,
}

/// The sessions of a file, and the file's metadata. Blocks for reading the file.
pub fn sessions(agent: Agent, file: &Path) -> io::Result<(Vec<InFile>, Metadata)> {
    let path = transcript_file::path_text(file).ok_or(io::ErrorKind::InvalidInput)?;
    let (bytes, metadata) = read(file)?;
    let written = FileStat::new(&metadata).modified_ns;
    let found = session_file(agent).map(|file| (file.sessions)(&path, &bytes)).unwrap_or_default();
    let ends = found.iter().skip(1).map(|next| next.began).chain([None]);
    let in_file = |(stored, end): (&StoredSession, Option<i64>)| {
        let ended = end.map(|wall| utc(wall).saturating_mul(1_000_000));
        let modified_ns = ended.map_or(written, |ended| ended.min(written));
        let stat = FileStat { modified_ns, size: stored.bytes.len() as u64 };
        InFile { path: SessionFile::path_of(&path, &stored.session), stat }
    };
    Ok((found.iter().zip(ends).map(in_file).collect(), metadata))
}

/// The lines of one session, and the file's metadata; `None` if the path is not that of a session in a file.
pub(super) fn lines(agent: Agent, path: &str) -> Option<io::Result<(Vec<u8>, Metadata)>> {
    let file = session_file(agent)?;
    let stored = file.split(path)?;
    Some(lines_of(file, &stored))
}

fn lines_of(file: &SessionFile, path: &StoredPath<'_>) -> io::Result<(Vec<u8>, Metadata)> {
    let (bytes, metadata) = read(Path::new(path.file))?;
    let lines = (file.lines)(path, &bytes, &utc).ok_or(io::ErrorKind::NotFound)?;
    Ok((lines, metadata))
}

fn utc(wall: i64) -> i64 {
    local_zone::zone().first_utc(wall)
}

/// Reads a regular file that is no link.
fn read(file: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let most = limits::DOCUMENT_BYTES;
    let metadata = file.symlink_metadata()?;
    let refused = || {
        let why = format!("it is no file, or more than {} MB", most >> 20);
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let opened = beside::open(&[], file, most).ok_or_else(refused)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
    let metadata = opened.metadata()?;
    opened.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_of_a_file_is_read_by_a_path_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(".aider.chat.history.md");
        let text = "\n# aider chat started at 2026-03-14 09:26:53\n\n> a  \n\n#### one  \n\n# aider chat started at 2026-03-14 10:00:00\n\n> a  \n\n#### two  \n";
        std::fs::write(&file, text).unwrap();
        let (found, _) = sessions(Agent::Aider, &file).unwrap();
        let said = |path: &str| {
            let (lines, _) = lines(Agent::Aider, path).unwrap().unwrap();
            String::from_utf8(lines).unwrap()
        };
        assert_eq!(found.len(), 2);
        assert!(said(&found[0].path).contains("one") && said(&found[1].path).contains("two"));
        assert!(said(&found[0].path).contains(temp.path().to_str().unwrap()), "the directory");
        assert_eq!(found[0].stat.modified_ns, utc(1_773_482_400_000) * 1_000_000);
        let kind = |path: String| lines(Agent::Aider, &path).map(|read| read.unwrap_err().kind());
        assert_eq!(kind(format!("{}/0000", file.display())), Some(io::ErrorKind::NotFound));
        assert_eq!(kind(temp.path().join("x.md/0000").to_str().unwrap().to_owned()), None);
        let linked = temp.path().join("linked");
        std::fs::create_dir(&linked).unwrap();
        let link = linked.join(".aider.chat.history.md");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert_eq!(sessions(Agent::Aider, &link).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(sessions(Agent::Aider, &file).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
