//! Why changes below a root are found by sweeping instead of notification, and what helps.

use std::io;
use std::path::Path;
use std::time::Duration;

use notify::ErrorKind;

/// Where Linux publishes the limits of watches and instances per user.
const WATCHES: &str = "/proc/sys/fs/inotify/max_user_watches";
const INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";
/// The least values worth setting: the defaults of current distributions.
const ENOUGH_WATCHES: u64 = 524_288;
const ENOUGH_INSTANCES: u64 = 1_024;
/// `EMFILE`: the user has no more instances, or the process no more open files.
const TOO_MANY: i32 = 24;

/// Why changes below a root are not announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// The user's watches are used up; holds the machine's limit, if known.
    NoMoreWatches(Option<u64>),
    /// The user's notification instances are used up; holds the machine's limit, if known.
    NoMoreInstances(Option<u64>),
    /// The named file system is shared, and changes made by others are not announced here.
    Shared(String),
    /// Change notification was interrupted or does not answer.
    Silent,
    /// The root's file system does not answer; the root is left out.
    Hung,
    /// Notification failed for another reason, in the system's words.
    Failed(String),
}

impl Swept {
    /// Returns a reason if the root's file system may be changed without this machine's kernel noticing. Blocks for a
    /// short look.
    pub(super) fn of_file_system(folder: &Path) -> Option<Self> {
        shared(folder).map(Self::Shared)
    }

    /// Classifies an error of change notification.
    pub(crate) fn from_error(error: &notify::Error) -> Self {
        match &error.kind {
            ErrorKind::MaxFilesWatch => Self::NoMoreWatches(limit(WATCHES)),
            ErrorKind::Io(error) if error.kind() == io::ErrorKind::StorageFull => Self::NoMoreWatches(limit(WATCHES)),
            ErrorKind::Io(error) if error.raw_os_error() == Some(TOO_MANY) => Self::NoMoreInstances(limit(INSTANCES)),
            _ => Self::Failed(error.to_string()),
        }
    }

    /// The bare reason, such as `its file system (nfs) may be changed from elsewhere`.
    pub fn why(&self) -> String {
        let allowed = |limit: &Option<u64>| limit.map_or(String::new(), |limit| format!(" ({limit})"));
        match self {
            Self::NoMoreWatches(limit) => format!("this user's inotify watches are used up{}", allowed(limit)),
            Self::NoMoreInstances(limit) => format!("this user's inotify instances are used up{}", allowed(limit)),
            Self::Shared(name) => format!("its file system ({name}) may be changed from elsewhere"),
            Self::Silent => "change notification does not answer".to_owned(),
            Self::Hung => "its file system does not answer".to_owned(),
            Self::Failed(why) => format!("change notification fails: {why}"),
        }
    }

    /// Describes the problem of a root.
    pub fn describe(&self, root: &Path) -> String {
        match self {
            Self::Hung => format!("{} is left out: {}", root.display(), self.why()),
            _ => format!("changes below {} are not announced: {}", root.display(), self.why()),
        }
    }

    /// Says what helps, and that everything is swept at this interval in the meantime.
    pub fn fix(&self, every: Duration) -> String {
        let more = |name: &str, limit: &Option<u64>, enough: u64| {
            let wanted = limit.map_or(enough, |limit| enough.max(limit.saturating_mul(4)));
            format!(
                "`sudo sysctl {name}={wanted}` helps, and a line in /etc/sysctl.d makes it last; it is tried again by itself"
            )
        };
        let help = match self {
            Self::Hung => {
                return "mount it again, or take it out of session_tracking.watch_directories; it is read again as soon as it \
                        answers"
                    .to_owned();
            }
            Self::NoMoreWatches(limit) => more("fs.inotify.max_user_watches", limit, ENOUGH_WATCHES),
            Self::NoMoreInstances(limit) => more("fs.inotify.max_user_instances", limit, ENOUGH_INSTANCES),
            Self::Shared(_) => "nothing need be done".to_owned(),
            Self::Silent | Self::Failed(_) => "it is tried again by itself; `daemon.log` says more".to_owned(),
        };
        format!("nothing is lost: it is scanned every {} s and before each search; {help}", every.as_secs().max(1))
    }
}

fn limit(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the name of a root's file system if it may be changed without this machine's kernel noticing. Unknown kinds
/// count as shared.
#[cfg(target_os = "linux")]
fn shared(folder: &Path) -> Option<String> {
    // A missing directory has no changes.
    rustix::fs::statfs(folder).ok().and_then(|kind| shared_kind(u64::from(kind.f_type as u32)))
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
fn shared(_folder: &Path) -> Option<String> {
    None
}

/// Classifies by the `statfs` magic number.
#[cfg(target_os = "linux")]
fn shared_kind(kind: u64) -> Option<String> {
    // ext, btrfs, xfs, tmpfs, overlay, f2fs, zfs, bcachefs, ramfs.
    const LOCAL: [u64; 9] = [
        0xef53,
        0x9123_683e,
        0x5846_5342,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
        0x8584_58f6,
    ];
    const SHARED: [(u64, &str); 13] = [
        (0x6969, "nfs"),
        (0xff53_4d42, "cifs"),
        (0xfe53_4d42, "smb2"),
        (0x517b, "smb"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "fuse"),
        (0x00c3_6400, "ceph"),
        (0x5346_414f, "afs"),
        (0x7375_7245, "coda"),
        (0x0bd0_0bd0, "lustre"),
        (0x0116_1970, "gfs2"),
        (0x7461_636f, "ocfs2"),
        (0x786f_4256, "vboxsf"),
    ];
    if LOCAL.contains(&kind) {
        return None;
    }
    let name = SHARED.iter().find(|(shared, _)| *shared == kind).map(|(_, name)| (*name).to_owned());
    Some(name.unwrap_or_else(|| format!("an unknown one, 0x{kind:x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_helps() {
        let check = |swept: &Swept, what: &str, fix: &str| {
            let (said, advised) = (swept.describe(Path::new("/p")), swept.fix(Duration::from_secs(30)));
            assert!(said.starts_with("changes below /p are not announced: ") && said.contains(what), "{said}");
            assert!(
                advised.starts_with("nothing is lost: it is scanned every 30 s") && advised.contains(fix),
                "{advised}"
            );
        };
        let full = notify::Error::new(ErrorKind::MaxFilesWatch);
        assert!(matches!(Swept::from_error(&full), Swept::NoMoreWatches(_)));
        let instances = notify::Error::io(io::Error::from_raw_os_error(TOO_MANY));
        assert!(matches!(Swept::from_error(&instances), Swept::NoMoreInstances(_)));
        check(&Swept::NoMoreWatches(Some(8192)), "watches are used up (8192)", "fs.inotify.max_user_watches=524288`");
        check(&Swept::NoMoreWatches(Some(1 << 20)), "(1048576)", "fs.inotify.max_user_watches=4194304`");
        check(&Swept::NoMoreInstances(None), "instances are used up", "fs.inotify.max_user_instances=1024`");
        check(&Swept::Shared("nfs".to_owned()), "(nfs) may be changed from elsewhere", "nothing need be done");
        check(&Swept::from_error(&notify::Error::generic("odd")), "odd", "tried again by itself");
        check(&Swept::Silent, "does not answer", "tried again by itself");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn file_systems_are_known_by_their_numbers() {
        let shown = |kind| shared_kind(kind).unwrap_or_default();
        let cases = [
            (0xef53, ""),
            (0x794c_7630, ""),
            (0x6969, "nfs"),
            (0xff53_4d42, "cifs"),
            (0x0102_1997, "9p"),
            (0x6573_5546, "fuse"),
        ];
        for (kind, name) in cases {
            assert_eq!(shown(kind), name, "{kind:x}");
        }
        assert_eq!(shown(0xabc), "an unknown one, 0xabc");
        assert_eq!(shared(Path::new("/nowhere/at/all")), None);
    }
}
