//! Reads `daemon.log` while it is written, across rotations.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Longest line that is held; a longer one is cut.
const LINE_BYTES: usize = 64 * 1024;
const BLOCK_BYTES: usize = 64 * 1024;

/// Reads a log from its oldest line on and passes each complete line on once, in order.
pub struct Follower {
    path: PathBuf,
    /// The rotated file, read first.
    aside: Option<Source>,
    open: Option<Source>,
}

struct Source {
    file: File,
    line: Vec<u8>,
    cut: bool,
}

impl Follower {
    /// Starts with the oldest kept line. The log need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        // Open the newer file first: if it is rotated meanwhile, it is not read twice.
        let open = Source::open(&path);
        let aside = Source::open(&super::rotated_path(&path))
            .filter(|aside| open.as_ref().is_none_or(|open| !is_same(&aside.file, &open.file)));
        Self { path, aside, open }
    }

    /// True if there is a file to read.
    pub fn is_there(&self) -> bool {
        self.aside.is_some() || self.open.is_some()
    }

    /// Passes on every line written since the last call.
    pub fn read(&mut self, each: &mut impl FnMut(&str)) -> io::Result<()> {
        if let Some(mut aside) = self.aside.take() {
            aside.read(each)?;
            aside.end(each);
        }
        loop {
            let Some(open) = &mut self.open else {
                self.open = Source::open(&self.path);
                if self.open.is_none() {
                    return Ok(());
                }
                continue;
            };
            open.read(each)?;
            // A removed file may still be written to, and a new one may appear.
            let Some(next) = Source::open(&self.path) else { return Ok(()) };
            if is_same(&open.file, &next.file) {
                return open.restart_if_shorter();
            }
            // Lines may have been added after it was read.
            open.read(each)?;
            open.end(each);
            self.open = Some(next);
        }
    }

    /// Passes on an incomplete last line, if the log is read only once.
    pub fn finish(mut self, each: &mut impl FnMut(&str)) {
        if let Some(open) = &mut self.open {
            open.end(each);
        }
    }
}

impl Source {
    fn open(path: &std::path::Path) -> Option<Self> {
        baton_base::transcript_file::open(path).ok().map(|file| Self { file, line: Vec::new(), cut: false })
    }

    fn read(&mut self, each: &mut impl FnMut(&str)) -> io::Result<()> {
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let count = match self.file.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for piece in block[..count].split_inclusive(|byte| *byte == b'\n') {
                match piece.strip_suffix(b"\n") {
                    Some(end) => {
                        self.append(end);
                        self.emit(each);
                    }
                    None => self.append(piece),
                }
            }
        }
    }

    fn append(&mut self, piece: &[u8]) {
        let room = LINE_BYTES - self.line.len();
        self.cut |= piece.len() > room;
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn emit(&mut self, each: &mut impl FnMut(&str)) {
        let mut line = String::from_utf8_lossy(&self.line).into_owned();
        if std::mem::take(&mut self.cut) {
            line.push('…');
        }
        self.line.clear();
        each(&line);
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.emit(each);
        }
    }

    /// Starts over in a truncated file.
    fn restart_if_shorter(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() < self.file.stream_position()? {
            self.line.clear();
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_same(one: &File, other: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: &File| file.metadata().map(|found| (found.dev(), found.ino())).ok();
    identity(one) == identity(other)
}

/// For systems without file numbers: the rotated log is longer than the new one.
#[cfg(not(unix))]
fn is_same(one: &File, other: &File) -> bool {
    let length = |file: &File| file.metadata().map_or(0, |found| found.len());
    length(one) <= length(other)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Log {
        folder: tempfile::TempDir,
        told: Vec<String>,
    }

    impl Log {
        fn path(&self) -> PathBuf {
            self.folder.path().join("daemon.log")
        }

        fn write(&self, text: &str) {
            super::super::append(&self.path()).unwrap().write_all(text.as_bytes()).unwrap();
        }

        fn rotate(&self) {
            std::fs::rename(self.path(), super::super::rotated_path(&self.path())).unwrap();
        }

        fn check(&mut self, follower: &mut Follower, expected: &[&str]) {
            follower.read(&mut |line| self.told.push(line.to_owned())).unwrap();
            assert_eq!(std::mem::take(&mut self.told), expected);
        }
    }

    fn log() -> Log {
        Log { folder: tempfile::tempdir().unwrap(), told: Vec::new() }
    }

    #[test]
    fn lines_come_once_and_in_order_over_rotations() {
        let mut log = log();
        log.write("1\n2\n");
        log.rotate();
        log.write("3\nha");
        let mut follower = Follower::new(log.path());
        log.check(&mut follower, &["1", "2", "3"]);
        log.check(&mut follower, &[]);
        log.write("lf\n4\n");
        log.rotate();
        log.check(&mut follower, &["half", "4"]);
        log.write("5\n");
        log.check(&mut follower, &["5"]);
        log.write("6\n");
        log.rotate();
        log.write("7\n");
        log.check(&mut follower, &["6", "7"]);
    }

    #[test]
    fn a_log_may_come_later_be_emptied_and_end_without_an_end() {
        let mut log = log();
        let mut follower = Follower::new(log.path());
        assert!(!follower.is_there());
        log.check(&mut follower, &[]);
        log.write("first line\n");
        log.check(&mut follower, &["first line"]);
        std::fs::write(log.path(), "").unwrap();
        log.check(&mut follower, &[]);
        log.write("again\nend");
        log.check(&mut follower, &["again"]);
        let mut told = Vec::new();
        follower.finish(&mut |line| told.push(line.to_owned()));
        assert_eq!(told, ["end"]);
    }

    #[test]
    fn a_line_without_bound_is_cut_and_the_next_one_whole() {
        let mut log = log();
        log.write(&format!("{}\nshort\n\u{fffd}", "x".repeat(3 * LINE_BYTES)));
        let mut follower = Follower::new(log.path());
        let cut = format!("{}…", "x".repeat(LINE_BYTES));
        log.check(&mut follower, &[&cut, "short"]);
    }
}
