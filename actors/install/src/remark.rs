//! Remarks on settings that Baton does not change.

use std::path::Path;

use serde_json::Value;

/// Days after which Claude Code deletes transcripts by default.
const RETENTION_DAYS: u64 = 30;
/// A lower setting gets a remark: history would vanish before it is searched.
const RETENTION_DAYS_LOW: u64 = 30;

/// The setting for how many days transcripts are kept.
pub(super) const RETENTION: &str = "cleanupPeriodDays";

/// The remark that an agent reads hooks from another file, whose form is uncertain.
pub fn reads_other_file(title: &str, path: &Path) -> String {
    format!(
        "{title} reads hooks from {} while that is there, and its versions differ in that file's form: Baton installs none \
         until its hooks have moved to settings.json",
        path.display()
    )
}

/// A remark if a setting keeps hooks from running.
pub(super) fn switched_off(path: &Path, settings: &Value) -> Option<String> {
    let key = ["disableAllHooks", "allowManagedHooksOnly"].into_iter().find(|key| settings[*key] == true)?;
    Some(format!("{} sets {key}: hooks do not run until that is removed", path.display()))
}

/// A remark on how long transcripts are kept, unless they are kept long enough.
pub fn retention(settings: &Value) -> Option<String> {
    let kept = "what Baton has indexed stays, but can no longer be read again";
    match settings.get(RETENTION) {
        None => Some(format!(
            "cleanupPeriodDays is not set: Claude Code deletes transcripts after {RETENTION_DAYS} days; {kept}"
        )),
        Some(days) if days.as_u64().is_some_and(|days| days < RETENTION_DAYS_LOW) => {
            Some(format!("cleanupPeriodDays is {days}: Claude Code deletes transcripts after {days} days; {kept}"))
        }
        Some(days) if days.as_u64().is_none() => {
            Some(format!("cleanupPeriodDays is {days}, and must be a number of days"))
        }
        Some(_) => None,
    }
}
