//! Disk use: the size of the home compared to that of the transcripts.

use std::collections::BTreeMap;
use std::fs;
use std::ops::AddAssign;
use std::path::Path;

use serde::Serialize;

use super::table::{megabytes, percent};
use super::{Table, TestDaemon};

/// Parts of the home.
const PARTS: [&str; 4] = ["log/segments", "log/sled", "blobs", "memory"];

/// Disk use by part of the home.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// How this was measured.
    pub how: &'static str,
    /// Bytes of all transcripts.
    pub raw_bytes: u64,
    /// The parts.
    pub parts: BTreeMap<&'static str, Part>,
    /// The whole home.
    pub all: Part,
    /// Bytes of the home divided by bytes of the transcripts.
    pub share_of_raw: f64,
    /// The same in whole blocks.
    pub share_of_raw_on_disk: f64,
}

/// Files in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Number of files.
    pub files: u64,
    /// Sum of their lengths.
    pub bytes: u64,
    /// Disk space in whole blocks.
    pub bytes_on_disk: u64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.bytes_on_disk += other.bytes_on_disk;
    }
}

pub(super) fn measure(daemon: &TestDaemon, raw_bytes: u64) -> Disk {
    let home = &daemon.environment().home;
    let all = folder_size(home);
    Disk {
        how: "Lengths of all files of the home after indexing, the daemon running; and in whole blocks.",
        raw_bytes,
        parts: PARTS.into_iter().map(|part| (part, folder_size(&home.join(part)))).collect(),
        all,
        share_of_raw: all.bytes as f64 / raw_bytes as f64,
        share_of_raw_on_disk: all.bytes_on_disk as f64 / raw_bytes as f64,
    }
}

impl Disk {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Disk", self.how);
        let mut row = |name: &str, part: &Part| {
            let share = |bytes: u64| percent(bytes as f64, self.raw_bytes as f64);
            let (bytes, files) = (megabytes(part.bytes), part.files);
            table.row(
                name,
                format!(
                    "{bytes} in {files} files, {} of raw; in blocks {}",
                    share(part.bytes),
                    share(part.bytes_on_disk)
                ),
            );
        };
        self.parts.iter().for_each(|(name, part)| row(name, part));
        row("all", &self.all);
        table
    }
}

/// Counts the files below a folder; zero if it does not exist.
pub(super) fn folder_size(path: &Path) -> Part {
    let mut part = Part::default();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            part += folder_size(&entry.path());
        } else {
            part += Part { files: 1, bytes: metadata.len(), bytes_on_disk: on_disk(&metadata) };
        }
    }
    part
}

#[cfg(unix)]
fn on_disk(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn on_disk(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_counted_with_all_below_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("a"), "12345").unwrap();
        fs::write(folder.path().join("in/b"), "123").unwrap();
        let part = super::folder_size(folder.path());
        assert_eq!((part.files, part.bytes), (2, 8));
        assert_eq!(super::folder_size(&folder.path().join("gone")), Part::default());
    }
}
