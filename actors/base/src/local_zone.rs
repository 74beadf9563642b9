//! The time zone of the person at this machine: `TZ`, else the system's.
//!
//! # Decisions
//!
//! - The rule at the end of a zone's file is enough, so no crate reads its table; see [`Zone`].
//! - Windows has no such files: without a POSIX rule in `TZ`, days there are those of UTC.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use baton_protocol::Zone;

use crate::bounded_fs::within;
use crate::limits::ROOT;

/// The system's zone.
const SYSTEM: &str = "/etc/localtime";
/// Folders with zone files by name.
const ZONES: [&str; 4] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];
/// Zone files are a few kilobytes; a longer one is truncated and gives no rule.
const MAX_BYTES: u64 = 256 * 1024;

/// The rule of the person's zone; `None` if it is not known. Read once.
pub fn rule() -> Option<String> {
    static RULE: OnceLock<Option<String>> = OnceLock::new();
    RULE.get_or_init(|| within(ROOT, || find(env::var("TZ").ok().as_deref(), &directories())).flatten()).clone()
}

/// The person's zone; UTC if it is not known.
pub fn zone() -> Zone {
    rule().as_deref().and_then(Zone::parse).unwrap_or(Zone::UTC)
}

fn directories() -> Vec<PathBuf> {
    let named = env::var_os("TZDIR").map(PathBuf::from);
    named.into_iter().chain(ZONES.map(PathBuf::from)).collect()
}

/// Finds the rule for a value of `TZ`: a path or a name of a zone, with or without a colon, or a rule.
fn find(value: Option<&str>, directories: &[PathBuf]) -> Option<String> {
    let Some(value) = value else { return read(Path::new(SYSTEM)) };
    let name = value.strip_prefix(':').unwrap_or(value);
    if name.is_empty() {
        return Some("UTC0".to_owned());
    }
    let path = Path::new(name);
    let is_name = !path.components().any(|part| !matches!(part, std::path::Component::Normal(_)));
    let read_named = || match path.is_absolute() {
        true => read(path),
        false => directories.iter().filter(|_| is_name).find_map(|directory| read(&directory.join(path))),
    };
    read_named().or_else(|| Zone::parse(name).map(|_| name.to_owned()))
}

/// Reads the rule at the end of a zone's file.
fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = bytes.strip_prefix(b"TZif")?.strip_suffix(b"\n")?;
    let rule = text.rsplit(|byte| *byte == b'\n').next()?;
    let rule = std::str::from_utf8(rule).ok()?.to_owned();
    Zone::parse(&rule).map(|_| rule)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_zone_is_found_by_name_by_path_and_as_a_rule() {
        let temp = tempfile::tempdir().unwrap();
        let directories = [temp.path().to_owned()];
        fs::create_dir(temp.path().join("America")).unwrap();
        let file = temp.path().join("America/Los_Angeles");
        fs::write(&file, b"TZif2\0\0binary\n\0\nPST8PDT,M3.2.0,M11.1.0\n").unwrap();
        fs::write(temp.path().join("Old"), b"TZif\0\0binary").unwrap();
        let found = |value: &str| find(Some(value), &directories);
        let pacific = Some("PST8PDT,M3.2.0,M11.1.0".to_owned());
        for value in ["America/Los_Angeles", ":America/Los_Angeles", file.to_str().unwrap()] {
            assert_eq!(found(value), pacific, "{value}");
        }
        assert_eq!(found("EST5").as_deref(), Some("EST5"));
        assert_eq!(found("").as_deref(), Some("UTC0"));
        for value in ["Old", "Nowhere", "../America/Los_Angeles", "America/../America/Los_Angeles", "America"] {
            assert_eq!(found(value), None, "{value}");
        }
    }
}
