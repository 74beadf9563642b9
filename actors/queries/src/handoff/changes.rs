//! Checks which files of a session have changed since, within a short time limit; reports nothing if that takes longer.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use baton_conversation::record::Timestamp;
use baton_episode::handoff::{Changed, Facts, Stat, files_changed};
use baton_events::session::State;
use tokio::time::Instant;

use baton_base::bounded_fs::BoundedFs;

/// Time limit for a few dozen files.
const LOOK: Duration = Duration::from_millis(30);

/// The files in the session's facts that were changed after its last record.
pub(super) async fn changed_since(looks: &BoundedFs, state: &State, facts: &Facts, until: Instant) -> Vec<Changed> {
    let Some(since) = state.last_at.max(state.last_conversation_at) else { return Vec::new() };
    let project = state.place.as_ref().map(|place| place.project.clone());
    let files = facts.files.clone();
    if files.is_empty() {
        return Vec::new();
    }
    let look = move || {
        let stats: Vec<Stat> = files.iter().map(|file| stat(&file.path, project.as_deref())).collect();
        files_changed(&files, &stats, since)
    };
    looks.run(until.min(Instant::now() + LOOK), look).await.unwrap_or_default()
}

/// A file counts as gone only if its project's folder exists.
fn stat(path: &str, project: Option<&str>) -> Stat {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Stat::Unknown;
    }
    match std::fs::metadata(path).and_then(|metadata| metadata.modified()) {
        Ok(modified) => {
            let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Stat::WrittenAt(Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let is_below = |project: &Path| path.starts_with(project) && project.is_dir();
            if project.is_some_and(|project| is_below(Path::new(project))) { Stat::Gone } else { Stat::Unknown }
        }
        Err(_) => Stat::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_gone_only_from_a_project_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().to_str().unwrap();
        let file = folder.path().join("a.rs");
        let shown = file.to_str().unwrap().to_owned();
        assert_eq!(stat(&shown, Some(project)), Stat::Gone);
        assert_eq!(stat(&shown, None), Stat::Unknown);
        assert_eq!(stat(&shown, Some("/elsewhere")), Stat::Unknown);
        assert_eq!(stat("a.rs", Some(project)), Stat::Unknown);
        std::fs::write(&file, "x").unwrap();
        assert!(matches!(stat(&shown, Some(project)), Stat::WrittenAt(at) if at.0 > 0));
        let inside_file = format!("{shown}/b.rs");
        assert_eq!(stat(&inside_file, Some(project)), Stat::Unknown, "what was a folder is a file");
        let gone = format!("{project}/none");
        assert_eq!(stat(&format!("{gone}/b.rs"), Some(&gone)), Stat::Unknown);
    }
}
