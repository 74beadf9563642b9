//! Which of a session's files have changed since, according to the file system; nothing is reported if that cannot be
//! known.
//!
//! # Hazards
//!
//! - A missing file is reported only below a project that exists, and not if the session ran a command that may have
//!   removed it. If most of many files were written within two seconds, that counts as a checkout and is not reported.
//!   Changes are detected by modification time, not by git.

use super::File;
use baton_conversation::record::Timestamp;

/// From this many files with the same time on, the time is that of a common operation and not of each file.
const MANY: usize = 6;
/// Times this close count as the same, in milliseconds: a checkout of many files takes a moment.
const ONE_TIME_MS: i64 = 2_000;
/// Tolerance for a file system whose clock is ahead of the transcript's, in milliseconds.
const AHEAD_MS: i64 = 1_000;
/// Maximum number of changed files that are reported; the rest are dropped.
const MAX_CHANGED: usize = 20;

/// State of a file according to the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Last written at this time.
    WrittenAt(Timestamp),
    /// Absent, in a directory that exists.
    Gone,
    /// Unknown.
    Unknown,
}

/// A file that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its path, as in the session's [`File`].
    pub path: String,
    /// True if it no longer exists.
    pub gone: bool,
}

/// Returns the files that were written or removed after `since`, the session's last record. Empty if most of many were
/// written at one time, as by a checkout; files that the session itself may have removed are not reported as gone.
pub fn files_changed(files: &[File], stats: &[Stat], since: Timestamp) -> Vec<Changed> {
    let newer = |stat: &Stat| match stat {
        Stat::WrittenAt(at) if at.since_ms(since) > AHEAD_MS => Some(at.0),
        _ => None,
    };
    let mut times: Vec<i64> = stats.iter().filter_map(newer).collect();
    times.sort_unstable();
    let at_once = |from: usize| times[from..].iter().take_while(|at| **at - times[from] <= ONE_TIME_MS).count();
    let most = (0..times.len()).map(at_once).max().unwrap_or(0);
    if most >= MANY && most * 2 > files.len() {
        return Vec::new();
    }
    let has_changed = files.iter().zip(stats).filter_map(|(file, stat)| match stat {
        Stat::Gone if !file.may_be_gone => Some(Changed { path: file.path.clone(), gone: true }),
        stat => newer(stat).map(|_| Changed { path: file.path.clone(), gone: false }),
    });
    has_changed.take(MAX_CHANGED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `files` lists `name:stat`, where a stat is seconds after the session's last record, `gone`, `GONE` (the session
    /// may have removed it) or `?`; `expected` lists the changed ones, removed ones with a minus.
    #[track_caller]
    fn check(files: &str, expected: &str) {
        let (files, stats): (Vec<File>, Vec<Stat>) = files
            .split_whitespace()
            .map(|file| {
                let (name, stat) = file.split_once(':').expect("name:stat");
                let read = match stat {
                    "gone" | "GONE" => Stat::Gone,
                    "?" => Stat::Unknown,
                    seconds => Stat::WrittenAt(Timestamp(1_000_000 + seconds.parse::<i64>().expect("seconds") * 1_000)),
                };
                (File { path: name.to_owned(), may_be_gone: stat == "GONE" }, read)
            })
            .unzip();
        let told = files_changed(&files, &stats, Timestamp(1_000_000));
        let told: Vec<_> = told.iter().map(|it| format!("{}{}", if it.gone { "-" } else { "" }, it.path)).collect();
        assert_eq!(told.join(" "), expected);
    }

    #[test]
    fn what_was_written_after_the_session_has_changed() {
        check("", "");
        check("a:-60 b:0 c:1 d:2 e:3600", "d e");
        check("a:gone b:GONE c:? d:-1", "-a");
    }

    #[test]
    fn a_checkout_is_no_change_of_each_file() {
        check("a:60 b:60 c:61 d:61 e:61 f:62 g:-5", "");
        check("a:60 b:60 c:61 d:61 e:61 f:62 g:900 h:-5", "");
        check("a:60 b:60 c:61 d:61 e:62", "a b c d e");
        check("a:10 b:20 c:30 d:40 e:50 f:60 g:70", "a b c d e f g");
        check("a:60 b:60 c:60 d:60 e:60 f:60 g:0 h:0 i:0 j:0 k:0 l:0", "a b c d e f");
    }
}
