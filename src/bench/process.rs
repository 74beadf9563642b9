//! What the system says of a process and of a folder. Where it says nothing, there is no figure.

use std::fs;
use std::path::Path;

use super::report::Part;

/// Ticks of `/proc/<pid>/stat` in a second: the same for all programs on Linux, whatever the kernel's own.
const TICKS: f64 = 100.0;

/// Processor time of a process until now, in seconds: its own and the system's on its behalf, all threads.
pub(super) fn cpu_seconds(pid: u32) -> Option<f64> {
    cpu_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn cpu_of(stat: &str) -> Option<f64> {
    // The name, in brackets, may itself hold brackets and spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) as f64 / TICKS)
}

/// Bytes in memory: most ever, and now.
pub(super) fn resident_bytes(pid: u32) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some((kib_of(&status, "VmHWM:")? * 1024, kib_of(&status, "VmRSS:")? * 1024))
}

fn kib_of(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

/// What lies in a folder, and below it. One that is not there has nothing.
pub(super) fn folder(path: &Path) -> Part {
    let mut part = Part::default();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            part += folder(&entry.path());
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
    fn the_systems_words_are_understood() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 500 0 0 0 150 50 0 0 20 0 9 0 1 2 3";
        assert_eq!(cpu_of(stat), Some(2.0));
        for garbled in ["", "42 (a", "42 (a) S 1 2"] {
            assert_eq!(cpu_of(garbled), None, "{garbled:?}");
        }
        let status = "Name:\tbaton\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!((kib_of(status, "VmHWM:"), kib_of(status, "VmRSS:")), (Some(2048), Some(1024)));
        assert_eq!(kib_of(status, "VmPeak:"), None);
    }

    #[test]
    fn a_folder_is_counted_with_all_below_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("a"), "12345").unwrap();
        fs::write(folder.path().join("in/b"), "123").unwrap();
        let part = super::folder(folder.path());
        assert_eq!((part.files, part.bytes), (2, 8));
        assert_eq!(super::folder(&folder.path().join("gone")), Part::default());
    }
}
