//! Recognises the agent of a directory by its content: configurations and clients name directories, not agents.

use std::fs;
use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::transcript::layout;

/// Number of directory entries examined; any of them suffices.
const ENTRIES: usize = 32;

/// Returns the agent whose transcripts lie below a directory. An empty directory is judged by its name.
pub(super) fn agent_of(transcripts: &Path) -> Agent {
    let entries = fs::read_dir(transcripts).into_iter().flatten().flatten().take(ENTRIES);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let is_codex = |name: &String| name.starts_with("rollout-") || is_year(name);
    match names.is_empty() {
        true => agent_by_name(transcripts),
        false if names.iter().any(is_codex) => Agent::Codex,
        false => Agent::ClaudeCode,
    }
}

/// Returns the agent by the directory's name alone. Does not access the disk.
pub(super) fn agent_by_name(transcripts: &Path) -> Agent {
    match transcripts.file_name().is_some_and(|name| layout(Agent::Codex).folders.iter().any(|it| name == *it)) {
        true => Agent::Codex,
        false => Agent::ClaudeCode,
    }
}

/// Returns the agent of a configuration directory. Claude Code's may hold a folder named like Codex's, but not the
/// other way round.
pub(super) fn agent_with(directory: &Path) -> Agent {
    let holds = |agent: &Agent| layout(*agent).folders.first().is_some_and(|folder| directory.join(folder).is_dir());
    Agent::ALL.iter().copied().find(holds).unwrap_or(Agent::ClaudeCode)
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
    }
}
