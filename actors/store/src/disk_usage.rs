//! Adds up a home's bytes on disk by purpose.

use std::fs;
use std::path::Path;

use baton_protocol::answer::Footprint;

/// Deepest folder that is read: a home has four levels.
const DEPTH_MAX: u32 = 8;

/// Adds up the files of a home. Files that vanish meanwhile or cannot be examined count as 0. Blocks: some ten thousand
/// files take tens of milliseconds.
pub fn add_up(home: &Path) -> Footprint {
    let mut found = Footprint::default();
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        match name.to_str() {
            Some("log") => add_log(&path, &mut found),
            Some("blobs") => found.conversations += below(&path, 0),
            Some("memory") => found.memory += below(&path, 0),
            _ => found.total += below(&path, 0),
        }
    }
    found.total += found.segments + found.index + found.aside + found.conversations + found.memory;
    found
}

fn add_log(log: &Path, found: &mut Footprint) {
    for entry in fs::read_dir(log).into_iter().flatten().flatten() {
        let bytes = below(&entry.path(), 0);
        match entry.file_name().to_str() {
            Some("segments") => found.segments += bytes,
            Some("sled") => found.index += bytes,
            _ if entry.path().is_dir() => found.aside += bytes,
            _ => found.total += bytes,
        }
    }
}

/// The size of a file, or of all files below a folder, in bytes. Links are not followed.
fn below(path: &Path, depth: u32) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    if depth == DEPTH_MAX {
        return 0;
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| below(&entry.path(), depth + 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_counted_once_where_it_belongs() {
        let home = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("log/segments/0001.seg", 1),
            ("log/sled/db", 2),
            ("log/sled/blobs/7", 4),
            ("log/cut-1/0001.seg.at-3", 8),
            ("log/imported.json", 128),
            ("blobs/s/a.zst", 16),
            ("memory/meta.json", 32),
            ("daemon.log", 64),
        ] {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![0; bytes]).unwrap();
        }
        let expected = Footprint { segments: 1, index: 6, aside: 8, conversations: 16, memory: 32, total: 255 };
        assert_eq!(add_up(home.path()), expected);
        assert_eq!(add_up(&home.path().join("none")), Footprint::default());
    }
}
