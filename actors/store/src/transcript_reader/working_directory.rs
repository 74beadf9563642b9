//! The working directory of a session outside of its records: in a file beside the transcript, in the name of a folder
//! above it, or the project in which it lies.

use std::fs;
use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::transcript::{WorkingDirectory, layout, store_file};

use crate::plain_file;

/// Most directory entries compared with a folder's name.
const MAX_ENTRIES: usize = 8_192;

/// The working directory of a session whose records name `recorded`: that one, unless the agent's sessions are all of the
/// project in which they lie. Blocks for short reads.
pub fn settle(agent: Agent, transcript: &str, recorded: Option<String>) -> Option<String> {
    let find = || find(agent, transcript);
    match layout(agent).working_directory {
        WorkingDirectory::Project => find().or(recorded),
        _ => recorded.or_else(find),
    }
}

/// Finds the working directory outside of the records. Blocks for short reads.
pub fn find(agent: Agent, transcript: &str) -> Option<String> {
    let path = Path::new(transcript);
    let found = match layout(agent).working_directory {
        WorkingDirectory::Recorded => None,
        WorkingDirectory::Beside { file, pointer } => plain_file::text_beside(path, file, pointer),
        WorkingDirectory::Above(folder) => {
            let folder = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == folder))?;
            named_by(folder.parent()?.file_name()?.to_str()?)
        }
        WorkingDirectory::Project => {
            let (file, below) = (Path::new(store_file(agent, transcript)?), Path::new(layout(agent).in_project?));
            let project = file.ancestors().nth(below.components().count())?;
            file.ends_with(below).then(|| project.to_str().map(str::to_owned))?
        }
    };
    found.filter(|directory| Path::new(directory).is_absolute())
}

/// The directory whose path gives this folder's name, if exactly one does. A name alone does not say where a `-` stands
/// for a separator, so the directories on the disk decide.
fn named_by(name: &str) -> Option<String> {
    let (mut found, mut entries) = (Vec::new(), MAX_ENTRIES);
    compare(Path::new("/"), name.trim_start_matches('-'), &mut found, &mut entries);
    match found.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Adds the directories below `above` whose path from there on gives `rest`.
fn compare(above: &Path, rest: &str, found: &mut Vec<String>, entries: &mut usize) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let Some(left) = entries.checked_sub(1) else { return };
        *entries = left;
        let name = entry.file_name();
        let Some(after) = name.to_str().and_then(|name| rest.strip_prefix(encoded(name).as_str())) else { continue };
        // A link would give a second path of one directory.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match after.strip_prefix('-') {
            Some(after) => compare(&entry.path(), after, found, entries),
            None if after.is_empty() => found.extend(entry.path().to_str().map(str::to_owned)),
            None => {}
        }
    }
}

fn encoded(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_the_one_directory_that_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        let name = |below: &str| encoded(root.join(below).to_str().unwrap()).trim_start_matches('-').to_owned();
        fs::create_dir_all(root.join("my-shop/web_app")).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let expected = root.join("my-shop/web_app").to_str().unwrap().to_owned();
        assert_eq!(named_by(&name("my-shop/web_app")), Some(expected.clone()));
        assert_eq!(named_by(&name("my-shop/none")), None);
        assert_eq!(named_by(&name("a/b")).as_deref(), root.join("a/b").to_str());
        fs::create_dir_all(root.join("a-b")).unwrap();
        assert_eq!(named_by(&name("a/b")), None, "two directories have this name");
        let transcript = format!("/c/projects/{}/agent-transcripts/x/x.jsonl", name("my-shop/web_app"));
        assert_eq!(find(Agent::Cursor, &transcript), Some(expected));
    }

    #[test]
    fn a_file_beside_the_transcript_names_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("one.jsonl");
        let file = temp.path().join("one.json");
        let found = |text: &str| {
            fs::write(&file, text).unwrap();
            find(Agent::Kiro, path.to_str().unwrap())
        };
        assert_eq!(found(r#"{"cwd":"/srv/shop"}"#).as_deref(), Some("/srv/shop"));
        for none in [r#"{"cwd":"shop"}"#, r#"{"cwd":7}"#, "{\"cwd\":\"/a", "[]", ""] {
            assert_eq!(found(none), None, "{none}");
        }
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
        assert_eq!(find(Agent::Kiro, path.to_str().unwrap()), None, "links are not followed");
    }

    #[test]
    fn a_file_in_a_project_names_it() {
        let found = |path: &str| find(Agent::Crush, path);
        assert_eq!(found("/srv/shop/.crush/crush.db/s1/s2").as_deref(), Some("/srv/shop"));
        assert_eq!(found("/srv/crush.db/a/.crush/crush.db/s1").as_deref(), Some("/srv/crush.db/a"));
        assert_eq!(found("/srv/shop/crush.db/s1"), None);
        assert_eq!(found("/.crush/crush.db/s1").as_deref(), Some("/"));
        let settled = |agent, recorded: &str| settle(agent, "/srv/a/.crush/crush.db/s1", Some(recorded.to_owned()));
        assert_eq!(settled(Agent::Crush, "/tmp").as_deref(), Some("/srv/a"), "a command ended elsewhere");
        assert_eq!(settled(Agent::Kiro, "/tmp").as_deref(), Some("/tmp"));
    }

    #[test]
    fn a_file_named_like_the_folder_names_it_for_all_transcripts_there() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("17_a");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("17_a.json"), r#"{"cwd":"/srv/shop"}"#).unwrap();
        for name in ["17_a.messages.json", "agent_18.messages.json"] {
            assert_eq!(find(Agent::Cline, folder.join(name).to_str().unwrap()).as_deref(), Some("/srv/shop"), "{name}");
        }
    }
}
