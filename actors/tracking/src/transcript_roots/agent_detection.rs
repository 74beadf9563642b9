//! Recognises the agent of a directory by its path and content: configurations and recorded roots name directories, not
//! agents.

use std::fs;
use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::transcript::{layout, store_file};

use baton_base::transcript_root::Root;

/// Number of entries examined in a directory; any of them suffices.
const ENTRIES: usize = 32;
/// Number of entries examined below a directory.
const LOOKS: usize = 500;

/// Returns the agent whose transcripts lie below a directory. An empty directory is judged by its path.
pub(super) fn agent_of(transcripts: &Path) -> Agent {
    let by_name = agent_by_name(transcripts);
    if !matches!(by_name, Agent::ClaudeCode | Agent::Codex) {
        return by_name;
    }
    let entries = fs::read_dir(transcripts).into_iter().flatten().flatten().take(ENTRIES);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let is_codex = |name: &String| name.starts_with("rollout-") || is_year(name);
    match names.is_empty() {
        true => by_name,
        false if names.iter().any(is_codex) => Agent::Codex,
        false => holder(transcripts, |folder| transcripts.ends_with(folder)).unwrap_or(Agent::ClaudeCode),
    }
}

/// Returns the agent by the directory's path alone: its usual one, or a folder that only Codex has. Does not access the
/// disk.
pub(super) fn agent_by_name(transcripts: &Path) -> Agent {
    let is_usual = |agent: &&Agent| {
        let (usual, also) = (Path::new(agent.home().directory), agent.home().also);
        layout(**agent).folders.iter().any(|folder| transcripts.ends_with(usual.join(folder)))
            || also.iter().any(|folder| transcripts.ends_with(folder))
    };
    let is_codex =
        || transcripts.file_name().is_some_and(|name| layout(Agent::Codex).folders.iter().any(|it| name == *it));
    let usual = Agent::ALL.iter().find(is_usual).copied();
    usual.or_else(|| is_codex().then_some(Agent::Codex)).unwrap_or(Agent::ClaudeCode)
}

/// Returns the agent of a configuration directory: by its usual name, by the transcripts in it, or by its folders. Claude
/// Code's may hold a folder named like Codex's, but not the other way round.
pub(super) fn agent_with(directory: &Path) -> Agent {
    let is_usual = |agent: &&Agent| {
        let usual = agent.home().directory;
        !usual.is_empty() && directory.ends_with(usual)
    };
    if let Some(agent) = Agent::ALL.iter().find(is_usual) {
        return *agent;
    }
    let main_folder = |agent: &Agent| layout(*agent).folders.first().filter(|folder| !folder.is_empty());
    let holds = |agent: &&Agent| main_folder(agent).is_some_and(|folder| directory.join(folder).is_dir());
    let held = || Agent::ALL.iter().find(holds).copied();
    holder(directory, |_| true).or_else(held).unwrap_or(Agent::ClaudeCode)
}

/// Returns the first agent with a transcript below one of its folders that `is_folder` accepts.
fn holder(directory: &Path, is_folder: impl Fn(&str) -> bool) -> Option<Agent> {
    let has_transcript = |agent: &Agent| {
        layout(*agent).folders.iter().filter(|folder| is_folder(folder)).any(|folder| {
            let projects = if directory.ends_with(folder) { directory.to_owned() } else { directory.join(folder) };
            let root = Root { agent: *agent, projects };
            holds_transcript(&root, &root.projects, root.depth(), &mut { LOOKS })
        })
    };
    Agent::ALL.iter().copied().find(has_transcript)
}

fn holds_transcript(root: &Root, directory: &Path, depth: usize, looks: &mut usize) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(ENTRIES);
    entries.into_iter().any(|entry| {
        let Some(left) = looks.checked_sub(1) else { return false };
        *looks = left;
        let path = entry.path();
        match path.is_dir() {
            true => depth > 1 && holds_transcript(root, &path, depth - 1, looks),
            false => root.classify(&path).is_some() || is_database(root, &path),
        }
    })
}

fn is_database(root: &Root, path: &Path) -> bool {
    path.to_str().is_some_and(|path| store_file(root.agent, path) == Some(path))
}

fn is_year(name: &str) -> bool {
    name.len() == 4 && name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_known_by_what_lies_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let check = |name: &str, holds: &[&str], expected: Agent| {
            let folder = temp.path().join(name);
            holds.iter().for_each(|held| fs::create_dir_all(folder.join(held)).unwrap());
            assert_eq!(agent_of(&folder), expected, "{name} {holds:?}");
        };
        check("a/projects", &["-home-u-app"], Agent::ClaudeCode);
        check("b/sessions", &["2026/06/17"], Agent::Codex);
        check("c/elsewhere", &["2026/06/17"], Agent::Codex);
        check("d/elsewhere", &["rollout-x.jsonl"], Agent::Codex);
        check("e/sessions", &["-home-u-app"], Agent::ClaudeCode);
        check("f/archived_sessions", &[], Agent::Codex);
        check("g/any", &[], Agent::ClaudeCode);
        assert_eq!(agent_with(&temp.path().join("a")), Agent::ClaudeCode);
        assert_eq!(agent_with(&temp.path().join("b")), Agent::Codex);
        assert_eq!(agent_with(&temp.path().join("nowhere")), Agent::ClaudeCode);
        let own = |name: &str, transcript: &str, expected: Agent| {
            let path = temp.path().join(name).join(transcript);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            assert_eq!(agent_with(&temp.path().join(name)), expected, "{name} {transcript}");
        };
        own("qwen-home", "projects/-srv-app/chats/5d2f.jsonl", Agent::Qwen);
        own("cursor-home", "projects/srv-app/agent-transcripts/5d2f/5d2f.jsonl", Agent::Cursor);
        own("claude-home", "projects/-srv-app/5d2f.jsonl", Agent::ClaudeCode);
    }

    #[test]
    fn a_database_in_the_directory_itself_is_recognised() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(agent_with(temp.path()), Agent::ClaudeCode, "a directory alone shows nothing");
        fs::write(temp.path().join("state.db"), "").unwrap();
        assert_eq!(agent_with(temp.path()), Agent::Hermes);
        assert_eq!(Root::of_agent(Agent::Hermes, temp.path())[0].projects.as_os_str(), temp.path().as_os_str());
    }
}
