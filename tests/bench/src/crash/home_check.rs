//! Checking a home on disk, while no process uses it, against what was promised.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::envelope::Tail;
use baton_store::chunks::ChunkStore;

use super::history::History;
use super::promises::Promises;
use crate::{Error, latency, workspace};

/// The result of a check.
pub(super) struct HomeCheck {
    /// Each broken promise in a sentence.
    pub(super) losses: Vec<String>,
    /// The end of the log, if it could be read.
    pub(super) tail: Option<Tail>,
    /// Conversations that were read completely.
    pub(super) conversations: u64,
}

/// Checks a home against promises. Its log is opened in a copy at `copy`, so that the daemon's own recovery still finds
/// what the crash has left. `earlier` is a former end of the log. With `anew` the copy is opened a second time without
/// its index, which must give the same result.
pub(super) fn check_home(
    home: &Path,
    copy: &Path,
    promises: &Promises,
    earlier: Option<Tail>,
    anew: bool,
) -> Result<HomeCheck, Error> {
    let log = home.join("log");
    let _ = fs::remove_dir_all(copy);
    if log.is_dir() {
        workspace::copy(&log, copy)?;
    }
    let now = Timestamp(latency::now_ms());
    let history = match History::read(copy, now, earlier) {
        Ok(history) => history,
        Err(what) => return Ok(HomeCheck { losses: vec![what], tail: None, conversations: 0 }),
    };
    let mut losses = promises.broken(&history, &project_switches(home));
    if anew {
        let _ = fs::remove_dir_all(copy.join("sled"));
        match History::read(copy, now.plus_ms(1), Some(history.tail)) {
            Ok(again) if again.state_hash == history.state_hash && again.tail == history.tail => {}
            Ok(_) => losses.push("without its index the log tells something else".to_owned()),
            Err(what) => losses.push(format!("without its index: {what}")),
        }
    }
    let conversations = read_conversations(home, &history, &mut losses);
    Ok(HomeCheck { losses, tail: Some(history.tail), conversations })
}

/// Reads the conversation of every current episode.
fn read_conversations(home: &Path, history: &History, losses: &mut Vec<String>) -> u64 {
    let mut read = 0;
    for (session, history) in &history.sessions {
        let Some(episode) = &history.state.episode else { continue };
        let whole = ChunkStore::open(home.join("blobs"))
            .and_then(|chunks| SessionId::new(session).map(|id| chunks.read(&id, &episode.manifest)).transpose());
        match whole {
            Ok(Some((manifest, _))) if manifest.items == episode.items => read += 1,
            Ok(_) => losses.push(format!("session {session}: its conversation has another number of items")),
            Err(error) => losses.push(format!("session {session}: {error}")),
        }
    }
    read
}

/// Switches of projects in the home's configuration.
fn project_switches(home: &Path) -> BTreeMap<String, bool> {
    let text = fs::read(home.join("config.json")).unwrap_or_default();
    let config: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let projects = config["session_tracking"]["projects"].as_object().cloned().unwrap_or_default();
    projects.into_iter().filter_map(|(path, project)| Some((path, project["enabled"].as_bool()?))).collect()
}
