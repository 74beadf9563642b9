//! `config.json` and the copy of the last good one on disk.
//!
//! # Decisions
//!
//! - A `config.json` that vanishes stays in force until `config.last-good.json` is deleted too, because editors replace
//!   files. A mistaken one without a good copy turns tracking off until it is fixed, because an exclusion that cannot
//!   be parsed must not cause more to be read. Configuration is read below `actors/`, not in `src/`, because the daemon
//!   writes and watches the file.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use baton_base::durable;
use baton_base::transcript_file;
use baton_base::transcript_file::{FileStat, identity};

/// File name of the configuration in the home.
pub(super) const NAME: &str = "config.json";
/// File name of the last good copy.
const COPY: &str = "config.last-good.json";

/// Largest configuration in bytes: thousands of projects fit into it.
pub(super) const BYTES_MAX: u64 = 1024 * 1024;

/// Tells whether the file has changed without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(FileStat, baton_events::session::FileIdentity);

/// The result of reading one of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Text(String),
    /// The path exists but cannot be used: the reason and what to do.
    Unusable {
        line: Option<usize>,
        why: String,
    },
}

/// The paths of the file and of its copy.
#[derive(Clone, Debug)]
pub(super) struct ConfigFiles {
    pub(super) path: PathBuf,
    copy: PathBuf,
}

impl ConfigFiles {
    pub(super) fn new(home: &Path) -> Self {
        Self { path: home.join(NAME), copy: home.join(COPY) }
    }

    /// The stamp of the file, or of the copy while there is no file; `None` without both.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(&self.path).or_else(|_| fs::metadata(&self.copy)).ok()?;
        Some(Stamp(FileStat::new(&metadata), identity(&metadata)))
    }

    pub(super) fn read(&self) -> Found {
        read(&self.path)
    }

    pub(super) fn read_copy(&self) -> Found {
        read(&self.copy)
    }

    /// Replaces the file atomically, readable by this user only.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        write(&self.path, text)
    }

    pub(super) fn write_copy(&self, text: &str) -> io::Result<()> {
        write(&self.copy, text)
    }
}

fn read(path: &Path) -> Found {
    let unusable = |why: String| Found::Unusable { line: None, why };
    let metadata = match fs::metadata(path) {
        // A dangling link counts as an unusable file, not as a missing one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => unusable("is a link to nothing; fix or remove it".to_owned()),
                Err(_) => Found::Nothing,
            };
        }
        Err(error) => return unusable(format!("cannot be examined: {error}")),
        Ok(metadata) => metadata,
    };
    if metadata.is_dir() {
        return unusable("is a directory; move it away".to_owned());
    }
    if !metadata.is_file() {
        return unusable("is not a regular file; replace it with one".to_owned());
    }
    let too_large = || unusable(format!("is larger than {} KB, the limit of a configuration", BYTES_MAX / 1024));
    if metadata.len() > BYTES_MAX {
        return too_large();
    }
    let mut bytes = Vec::new();
    match transcript_file::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes)) {
        Err(error) => return unusable(format!("cannot be read: {error}; make it readable for you")),
        Ok(read) if read as u64 > BYTES_MAX => return too_large(),
        Ok(_) => {}
    }
    match String::from_utf8(bytes) {
        Ok(text) => Found::Text(text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count();
            Found::Unusable { line: Some(line), why: "is not UTF-8 from this line on; save it as UTF-8".to_owned() }
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    // Writes through a link: people keep such files elsewhere.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    durable::write_file(path, text.as_bytes())?;
    durable::sync_parent(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_configuration_is_told_in_a_sentence() {
        let temp = tempfile::tempdir().unwrap();
        let files = ConfigFiles::new(temp.path());
        assert_eq!((files.read(), files.stamp()), (Found::Nothing, None));
        let why = |files: &ConfigFiles| match files.read() {
            Found::Unusable { line, why } => (line, why),
            found => panic!("{found:?}"),
        };
        fs::create_dir(&files.path).unwrap();
        assert!(why(&files).1.contains("is a directory"));
        fs::remove_dir(&files.path).unwrap();
        fs::write(&files.path, b"{\n\"a\": \"\xff\"}").unwrap();
        assert_eq!(why(&files), (Some(2), "is not UTF-8 from this line on; save it as UTF-8".to_owned()));
        fs::write(&files.path, vec![b' '; 1024 * 1024 + 1]).unwrap();
        assert!(why(&files).1.contains("larger than 1024 KB"));
        #[cfg(unix)]
        {
            fs::remove_file(&files.path).unwrap();
            std::os::unix::fs::symlink("/nowhere/at/all", &files.path).unwrap();
            assert!(why(&files).1.contains("link to nothing"));
        }
    }

    #[test]
    fn a_written_file_is_whole_and_private_and_another_one() {
        let temp = tempfile::tempdir().unwrap();
        let files = ConfigFiles::new(temp.path());
        files.write("{\"a\": 1}\n").unwrap();
        let before = files.stamp();
        files.write("{\"a\": 2}\n").unwrap();
        assert_eq!(files.read(), Found::Text("{\"a\": 2}\n".to_owned()));
        assert_ne!(files.stamp(), before);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&files.path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let names: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, [NAME], "nothing else is left behind");
        files.write_copy("{}").unwrap();
        assert_eq!(files.read_copy(), Found::Text("{}".to_owned()));
        let stamp = files.stamp();
        fs::remove_file(&files.path).unwrap();
        assert!(files.stamp().is_some() && files.stamp() != stamp, "the copy's");
    }
}
