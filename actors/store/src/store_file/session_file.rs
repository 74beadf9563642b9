//! Files with many sessions: lists the sessions of a file, and renders the lines of one.
//!
//! # Hazards
//!
//! - The file is read as a whole on each access.
//! - The only end known of a session is the beginning of the next one, in this machine's time zone.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use baton_base::transcript_file::{self, FileStat};
use baton_base::{limits, local_zone};
use baton_conversation::transcript::{SessionFile, StoredPath, StoredSession};

use super::{Rendered, SessionSeen};
use crate::plain_file;

/// The sessions of a file. Blocks for reading the file.
pub(crate) fn sessions(form: &SessionFile, file: &Path) -> io::Result<Arc<[SessionSeen]>> {
    let path = transcript_file::path_text(file).ok_or(io::ErrorKind::InvalidInput)?;
    let (bytes, metadata) = read(file)?;
    let (written, identity) = (FileStat::new(&metadata).modified_ns, transcript_file::identity(&metadata));
    let found = (form.sessions)(&path, &bytes);
    let ends = found.iter().skip(1).map(|next| next.began).chain([None]);
    let in_file = |(stored, end): (&StoredSession, Option<i64>)| {
        let ended = end.map(|wall| utc(wall).saturating_mul(1_000_000));
        let modified_ns = ended.map_or(written, |ended| ended.min(written));
        let stat = FileStat { modified_ns, size: stored.bytes.len() as u64 };
        SessionSeen { path: SessionFile::path_of(&path, &stored.session), stat, identity }
    };
    Ok(found.iter().zip(ends).map(in_file).collect())
}

/// Renders one session.
pub(crate) fn render(form: &SessionFile, path: &StoredPath<'_>) -> io::Result<Rendered> {
    let (bytes, metadata) = read(Path::new(path.file))?;
    let lines = (form.lines)(path, &bytes, &utc).ok_or(io::ErrorKind::NotFound)?;
    Ok(Rendered { metadata, lines, title: None })
}

fn utc(wall: i64) -> i64 {
    local_zone::zone().first_utc(wall)
}

/// Reads a regular file that is no link.
fn read(file: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let most = limits::DOCUMENT_BYTES;
    let metadata = file.symlink_metadata()?;
    let refused = || {
        let why = format!("it is not a file, or larger than {} MB", most >> 20);
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let opened = plain_file::open(&[], file, most).ok_or_else(refused)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
    let metadata = opened.metadata()?;
    opened.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_file::render;
    use baton_conversation::item::Agent;

    #[test]
    fn each_session_of_a_file_is_read_by_a_path_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(".aider.chat.history.md");
        let text = "\n# aider chat started at 2026-03-14 09:26:53\n\n> a  \n\n#### one  \n\n# aider chat started at 2026-03-14 10:00:00\n\n> a  \n\n#### two  \n";
        std::fs::write(&file, text).unwrap();
        let form = baton_conversation::transcript::session_file(Agent::Aider).unwrap();
        let found = sessions(form, &file).unwrap();
        let said = |path: &str| String::from_utf8(render(Agent::Aider, path).unwrap().unwrap().lines).unwrap();
        assert_eq!(found.len(), 2);
        assert!(said(&found[0].path).contains("one") && said(&found[1].path).contains("two"));
        assert!(said(&found[0].path).contains(temp.path().to_str().unwrap()), "the directory");
        assert_eq!(found[0].stat.modified_ns, utc(1_773_482_400_000) * 1_000_000);
        let kind = |path: String| render(Agent::Aider, &path).map(|read| read.err().map(|error| error.kind()));
        assert_eq!(kind(format!("{}/0000", file.display())), Some(Some(io::ErrorKind::NotFound)));
        assert_eq!(kind(temp.path().join("x.md/0000").to_str().unwrap().to_owned()), None);
        let linked = temp.path().join("linked");
        std::fs::create_dir(&linked).unwrap();
        let link = linked.join(".aider.chat.history.md");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert_eq!(sessions(form, &link).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(sessions(form, &file).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
