//! Checks that the disk below the home has room: a daemon without any records nothing.

use std::path::Path;

use super::Finding;
use crate::print;

/// Share of a disk in percent from which it counts as full. The daemon keeps answering on a full disk, but what agents do
/// meanwhile is read only once there is room again.
const FULL_PERCENT: u64 = 90;

/// Checks the disk that holds `home`, or would. `None` if the system does not tell.
pub(super) fn check(home: &Path) -> Option<Finding> {
    let there = home.ancestors().find(|folder| folder.is_dir())?;
    let (total, free) = room(there)?;
    Some(judge(home, total, free))
}

fn judge(home: &Path, total: u64, free: u64) -> Finding {
    let used = 100 - free.saturating_mul(100).div_ceil(total.max(1)).min(100);
    let what = format!("the disk below {} is {used} % full, {} are free", home.display(), print::size(free));
    match used {
        FULL_PERCENT.. => Finding::warn(
            "disk",
            what,
            "free space; `baton status` shows what Baton takes, `baton keep --days 365` shows what old conversations take, \
             `baton log compact` frees what nothing needs",
        ),
        _ => Finding::ok("disk", what),
    }
}

/// Size of the file system for its user, and what is free of it, in bytes.
#[cfg(unix)]
fn room(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    // What is reserved for the system is neither used nor free.
    let used = found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize);
    Some((used.saturating_add(free), free)).filter(|(total, _)| *total > 0)
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn a_disk_counts_as_full_from_nine_tenths_on() {
        for (total, free, expected) in [
            (1000, 1000, Health::Ok),
            (1000, 101, Health::Ok),
            (1000, 100, Health::Warn),
            (1000, 0, Health::Warn),
            (u64::MAX, 1 << 40, Health::Warn),
            (0, 0, Health::Warn),
        ] {
            let found = judge(Path::new("/home"), total, free);
            assert_eq!(found.status, expected, "{total} {free}: {}", found.what);
            assert_eq!(found.fix.is_some(), expected == Health::Warn, "{}", found.what);
        }
    }

    #[test]
    fn the_disk_of_a_home_that_does_not_exist_yet_is_that_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&folder.path().join("no/home")).is_some(), cfg!(unix));
    }
}
