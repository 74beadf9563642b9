//! `daemon.log`, rotated so that it never fills the disk.

mod follow;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use baton_base::transcript_file;
use tracing_subscriber::fmt::MakeWriter;

pub use follow::Follower;

/// Size at which the file becomes `daemon.log.1` and a new one is started.
const ROTATE_BYTES: u64 = 10 * 1024 * 1024;

/// Writes log lines.
pub struct LogFile(Mutex<Inner>);

struct Inner {
    path: PathBuf,
    file: File,
    bytes: u64,
    lost: u64,
    /// True if the last line was written only in part.
    torn: bool,
}

impl LogFile {
    /// Opens the file for appending; only its owner can read it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = append(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self(Mutex::new(Inner { path: path.to_owned(), file, bytes, lost: 0, torn: false })))
    }
}

/// Path of the rotated log.
fn rotated_path(path: &Path) -> PathBuf {
    let mut aside = path.to_owned().into_os_string();
    aside.push(".1");
    aside.into()
}

/// Opens a file for appending, creating it for its owner only.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    transcript_file::open_regular(path, &mut options)
}

impl Inner {
    fn rotate(&mut self) -> io::Result<()> {
        match std::fs::rename(&self.path, rotated_path(&self.path)) {
            // Not found: the last rotation moved the file but could not create a new one.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = append(&self.path)?;
        (self.bytes, self.torn) = (0, false);
        Ok(())
    }

    /// Writes all bytes, or remembers that a line is torn.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.bytes += written as u64;
                    self.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A line being written.
pub struct Line<'a>(MutexGuard<'a, Inner>);

impl Line<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let inner = &mut *self.0;
        if inner.bytes >= ROTATE_BYTES {
            inner.rotate()?;
        }
        if inner.torn {
            inner.write(b"\n")?;
            inner.torn = false;
        }
        inner.write(bytes)?;
        if inner.lost > 0 {
            let note = format!("{} log lines before this one could not be written\n", inner.lost);
            inner.write(note.as_bytes())?;
            inner.lost = 0;
        }
        Ok(())
    }
}

impl Write for Line<'_> {
    /// Never fails: a log that cannot be written (full disk) must not stop the program. Lost lines are counted.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.put(bytes).is_err() {
            self.0.lost += 1;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_loses_lines_and_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::open(&folder.path().join("daemon.log")).unwrap();
        log.0.lock().unwrap().file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        log.make_writer().write_all(b"lost\n").unwrap();
        log.make_writer().write_all(b"lost\n").unwrap();
        log.0.lock().unwrap().file = append(&folder.path().join("daemon.log")).unwrap();
        log.make_writer().write_all(b"there\n").unwrap();
        let text = std::fs::read_to_string(folder.path().join("daemon.log")).unwrap();
        assert_eq!(text, "there\n2 log lines before this one could not be written\n");
    }

    #[test]
    fn half_a_line_is_ended_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let log = LogFile::open(&path).unwrap();
        {
            let mut inner = log.0.lock().unwrap();
            inner.write(b"half a li").unwrap();
            (inner.torn, inner.lost) = (true, 1);
        }
        log.make_writer().write_all(b"whole\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "half a li\nwhole\n1 log lines before this one could not be written\n");
    }

    #[test]
    fn a_file_that_was_put_aside_without_a_new_one_is_begun_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let log = LogFile::open(&path).unwrap();
        log.0.lock().unwrap().bytes = ROTATE_BYTES;
        std::fs::rename(&path, folder.path().join("daemon.log.1")).unwrap();
        log.make_writer().write_all(b"there\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "there\n");
    }

    #[test]
    fn a_grown_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        std::fs::write(&path, vec![b'x'; ROTATE_BYTES as usize]).unwrap();
        let log = LogFile::open(&path).unwrap();
        log.make_writer().write_all(b"first\n").unwrap();
        log.make_writer().write_all(b"second\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first\nsecond\n");
        assert_eq!(std::fs::metadata(folder.path().join("daemon.log.1")).unwrap().len(), ROTATE_BYTES);
    }
}
