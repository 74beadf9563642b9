//! What a session did, in the words that it is asked for by: what it committed, which files it changed.

use baton_graph::Label;

use super::Entry;

/// The messages of its commits and the titles of its pull requests: first lines, as its graph has them.
pub(super) fn commits<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let made = |label| matches!(label, Label::Commit | Label::PullRequest);
    entry.graph.mentions.iter().filter(|mention| made(mention.label)).map(|mention| mention.name.as_str()).collect()
}

/// The files that it changed, each as the project has it and by its name.
pub(super) fn changed<'a>(entry: &Entry<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for file in entry.outcomes.files.iter().filter(|file| file.changed) {
        names.push(file.path.as_str());
        // A file is asked for by its last part, too.
        names.extend(file.path.rsplit_once(['/', '\\']).map(|(_, name)| name));
    }
    names
}
