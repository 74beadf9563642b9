//! The failure for an ambiguous prefix: lists the sessions with their distinguishing features.

use baton_views::visibility;
use std::cmp::Reverse;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_protocol::{Failure, code};

use crate::SESSIONS_NAMED;
use crate::client::failure;
use baton_views::conversation::Conversations;

/// Longest title, in characters.
const TITLE_CHARS: usize = 60;

/// Lists the sessions, the latest first: id, last activity, project, title.
pub(super) async fn refusal(conversations: &Arc<Conversations>, text: &str, several: Vec<SessionId>) -> Failure {
    let (count, conversations) = (several.len(), conversations.clone());
    // Titles are read from files.
    let listing = baton_base::task::spawn_blocking(move || listed(&conversations, several)).await;
    let (lines, example) = listing.unwrap_or_default();
    let message = format!(
        "{text:?} fits {count} sessions; give more of the id, as {example}; `baton sessions` lists all:{lines}"
    );
    failure(code::NOT_FOUND, message)
}

/// One line for each of the first sessions, and the shortest id of one of them. Blocks for disk reads.
fn listed(conversations: &Conversations, several: Vec<SessionId>) -> (String, String) {
    let (table, settings) = conversations.catalog().now();
    let mut rows: Vec<_> = several.iter().filter_map(|id| Some((id, table.get(id)?))).collect();
    rows.sort_by_key(|(id, row)| (Reverse(row.state.last_activity()), *id));
    let example = rows.first().map(|(id, _)| table.short_id(id).to_owned()).unwrap_or_default();
    let mut lines = String::new();
    for (id, row) in rows.iter().take(SESSIONS_NAMED) {
        let at = row.state.last_activity();
        // Of a hidden session only the id is shown.
        let (project, title) = match visibility::is_hidden(&table, &settings, &[], id.as_str()) {
            true => (None, None),
            false => {
                let read = row.state.episode.clone();
                let read = read.and_then(|current| conversations.digest(id, current, &settings.filtering).ok());
                (row.state.place.as_ref(), read.map(|(_, episode)| episode.title))
            }
        };
        let title = title.map(|title| title.chars().take(TITLE_CHARS).collect::<String>()).unwrap_or_default();
        let project = project.map_or("-", |place| place.project.as_str());
        lines.push_str(format!("\n  {id}  {at}  {project}  {title}").trim_end());
    }
    if rows.len() > SESSIONS_NAMED {
        lines.push_str(&format!("\n  and {} more", rows.len() - SESSIONS_NAMED));
    }
    (lines, example)
}
