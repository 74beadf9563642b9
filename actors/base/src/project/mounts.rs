//! The mount of a directory, from the kernel's list, which can be read while the mount itself does not answer.

use std::path::{Path, PathBuf};

/// The mount point above a directory, by its path as written. `None` if it is the root or unknown.
pub(super) fn mount_point(directory: &Path) -> Option<PathBuf> {
    // Only Linux has this file.
    longest(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, directory)
}

fn longest(listed: &str, directory: &Path) -> Option<PathBuf> {
    let points = listed.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let above = points.filter(|point| point.parent().is_some() && directory.starts_with(point));
    above.max_by_key(|point| point.as_os_str().len())
}

/// The kernel writes a space, a tab, a line break and a backslash as `\` and three octal digits.
fn unescaped(written: &str) -> PathBuf {
    let mut path = written.to_owned();
    for (escape, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        path = path.replace(escape, plain);
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_above_a_directory_is_its_own() {
        let listed = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      30 22 0:30 / /mnt/net rw - nfs4 host:/ rw\n\
                      31 30 0:31 / /mnt/net/two\\040words rw - nfs4 host:/x rw\n";
        for (directory, expected) in [
            ("/mnt/net", Some("/mnt/net")),
            ("/mnt/net/app/src", Some("/mnt/net")),
            ("/mnt/net/two words/app", Some("/mnt/net/two words")),
            ("/mnt/network", None),
            ("/srv/app", None),
        ] {
            assert_eq!(longest(listed, Path::new(directory)).as_deref(), expected.map(Path::new), "{directory}");
        }
    }
}
