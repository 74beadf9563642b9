//! Fields by which a session is found for what it did: what it committed and which files it changed.

use baton_graph::Label;

use super::Entry;

/// First lines of its commit messages, and titles of its pull requests.
pub(super) fn commits<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let made = |label| matches!(label, Label::Commit | Label::PullRequest);
    entry.graph.mentions.iter().filter(|mention| made(mention.label)).map(|mention| mention.name.as_str()).collect()
}

/// Files that it changed: each path, and its file name if the path has folders.
pub(super) fn changed<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for file in entry.outcomes.files.iter().filter(|file| file.changed) {
        names.push(file.path.as_str());
        // Queries often name a file without its folders.
        names.extend(file.path.rsplit_once(['/', '\\']).map(|(_, name)| name));
    }
    names
}
