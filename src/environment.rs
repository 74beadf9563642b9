//! What the environment means for this program: whose transcripts are read, which of the named directories must not be,
//! and who calls.

pub(crate) mod zone;

use std::env;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_base::transcript_root::Root;
use baton_conversation::item::Agent;
use baton_conversation::transcript::layout;
use baton_home::environment::{current_directory, project, user_home, working_directories};
use baton_protocol::{Caller, Welcome};
use baton_tracking::transcript_roots;

pub(crate) use baton_base::bounded_fs::{in_time, within};
pub use baton_home::environment::{Environment, Error};
pub use baton_home::hooks::Hooks;

/// Placeholder below the home for an agent's directory that is not read. Never created.
const NOWHERE: &str = "no-transcripts";

/// The directories in which the agents keep what is read.
pub(crate) fn read_directories(environment: &Environment) -> impl Iterator<Item = (Agent, &Path)> {
    Agent::ALL.iter().filter_map(|agent| Some((*agent, environment.read_directory(*agent)?)))
}

/// The directories searched for transcripts.
pub fn roots(environment: &Environment) -> Vec<Root> {
    let usual = read_directories(environment).flat_map(|(agent, directory)| Root::of_agent(agent, directory));
    let user = environment.searched_user_home().into_iter();
    let also = user.flat_map(|user| Agent::ALL.iter().flat_map(|agent| Root::additional(*agent, user)));
    let moved = moved_roots(environment).into_iter().map(|(_, root)| root);
    usual.chain(also).chain(moved.filter(|root| why_unfit_folder(&root.projects).is_none())).collect()
}

/// The directories that variables name for a part of an agent's files, each with its variable.
fn moved_roots(environment: &Environment) -> Vec<(&'static str, Root)> {
    let of_folder = |agent: Agent, folder: &str| {
        // The first variable that is set and moves the folder wins.
        agent.home().moved.iter().find_map(|part| {
            let (place, below) = (environment.moved(part.variable)?, part.place(folder)?);
            let projects = if below.is_empty() { place.to_owned() } else { place.join(below) };
            Some((part.variable, Root { agent, projects }))
        })
    };
    let of_agent = |agent: Agent| layout(agent).folders.iter().filter_map(move |folder| of_folder(agent, folder));
    let is_usual = |root: &Root| {
        let directory = environment.read_directory(root.agent);
        directory.is_some_and(|directory| Root::of_agent(root.agent, directory).contains(root))
    };
    Agent::ALL.iter().copied().flat_map(of_agent).filter(|(_, root)| !is_usual(root)).collect()
}

/// Directories that variables name but that must not be read: the agent, the variable, and the reason.
pub fn unfit_directories(environment: &Environment) -> Vec<Unfit> {
    let Some(user) = user_home() else { return Vec::new() };
    let unfit = |(agent, directory): (Agent, &Path)| {
        let (directory, why) = (directory.to_owned(), why_unfit(agent, directory, &user)?);
        Some(Unfit { agent, variable: agent.home().variable.unwrap_or_default(), directory, why })
    };
    let moved = |(variable, root): (&'static str, Root)| {
        let why = why_unfit_folder(&root.projects)?;
        Some(Unfit { agent: root.agent, variable, directory: root.projects, why })
    };
    let of_moved = moved_roots(environment).into_iter().filter_map(moved);
    named(environment).filter_map(unfit).chain(of_moved).collect()
}

/// A directory that a variable names but that must not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The agent whose transcripts it would hold.
    pub agent: Agent,
    /// The variable.
    pub variable: &'static str,
    /// The directory.
    pub directory: PathBuf,
    /// The reason.
    pub why: String,
}

/// True if a person's command ends where the agent's directory must not be read. Variables of other agents are often set
/// for other purposes: of those only the agent is left out.
pub fn is_required(agent: Agent) -> bool {
    matches!(agent, Agent::ClaudeCode | Agent::Codex)
}

/// A directory that a variable names but the daemon refuses, with the reason. `None` if the directory cannot hold
/// transcripts, if only its agent is left out, or if the configuration lists what is read, which overrides variables.
pub fn refused<'a>(environment: &'a Environment, welcome: &'a Welcome) -> Option<(Agent, &'a Path, &'a str)> {
    if welcome.roots_configured {
        return None;
    }
    let is_missing = |agent, directory: &Path| {
        let directory = directory.to_owned();
        in_time(move || transcript_roots::has_no_transcript_folder(agent, &directory)).unwrap_or(false)
    };
    named(environment).filter(|(agent, _)| is_required(*agent)).find_map(|(agent, directory)| {
        let why = match agent {
            Agent::ClaudeCode => welcome.root_refused.as_deref(),
            Agent::Codex => welcome.codex_refused.as_deref(),
            other => welcome.refused.get(other.as_str()).map(String::as_str),
        };
        why.filter(|_| !is_missing(agent, directory)).map(|why| (agent, directory, why))
    })
}

/// The directories named by variables.
fn named(environment: &Environment) -> impl Iterator<Item = (Agent, &Path)> {
    let named = Agent::ALL.iter().filter(|agent| environment.is_named(**agent));
    named.map(|agent| (*agent, environment.directory(*agent)))
}

/// The environment of a detached daemon, which outlives the program that named the directories. One that must not
/// be read is replaced: in the user's own home by the default directories, so that no project can switch the memory
/// off; in another home by an empty one, because its owner did not ask for the defaults.
pub fn for_daemon(environment: &Environment) -> Environment {
    let Some(user) = user_home() else { return environment.clone() };
    let unfit = named(environment).filter(|(agent, directory)| why_unfit(*agent, directory, &user).is_some());
    let unfit: Vec<Agent> = unfit.map(|(agent, _)| agent).collect();
    let is_own_home = environment.home == user.join(".baton");
    unfit.into_iter().fold(environment.clone(), |environment, agent| {
        let directory = if is_own_home { user.join(agent.home().directory) } else { environment.home.join(NOWHERE) };
        environment.with_directory(agent, directory, true)
    })
}

/// True if nothing was ever recorded in this home.
pub fn log_is_empty(environment: &Environment) -> bool {
    let segments = environment.home.join("log").join("segments");
    let larger_than_header = |entry: std::fs::DirEntry| entry.metadata().is_ok_and(|file| file.len() > 256);
    !std::fs::read_dir(segments).is_ok_and(|entries| entries.flatten().any(larger_than_header))
}

/// True if there is a transcript, or may be: a root that does not answer may hold some.
pub fn has_transcripts(environment: &Environment) -> bool {
    // Claude Code's are looked for above its subagents' only.
    let deep = |root: &Root| if root.agent == Agent::ClaudeCode { 3 } else { root.depth() };
    let roots = roots(environment);
    let any = move || roots.iter().any(|root| has_transcript(root, &root.projects, deep(root)));
    in_time(any).unwrap_or(true)
}

/// Variables in which agents pass their session id to the programs they start.
const SESSIONS: [&str; 3] = ["CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID", "QWEN_CODE_SESSION_ID"];

/// The caller, as far as the environment tells.
pub fn caller() -> Caller {
    let named = |variable: &&str| env::var(variable).ok().filter(|id| !id.is_empty());
    Caller {
        agent_session: SESSIONS.iter().find_map(named),
        directory: current_directory(),
        since: None,
        zone: zone::rule(),
    }
}

/// The caller of a server just started by an agent: works in the project that the agent names, whatever the server's
/// own directory is, and outlives the agent's session.
pub fn agent() -> Caller {
    let caller = caller();
    let now = UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_millis()).ok());
    Caller { directory: project().or(caller.directory), since: now, ..caller }
}

/// Reason why a directory named by a variable must not be read, by the daemon's rules. The agents' default directories
/// in the user's home are always read.
fn why_unfit(agent: Agent, directory: &Path, user: &Path) -> Option<String> {
    if directory == user.join(agent.home().directory) {
        return None;
    }
    let (named, places) = (directory.to_owned(), working_directories());
    // If the file system does not answer, the daemon will report it.
    in_time(move || transcript_roots::why_unfit(agent, &named, &places)).flatten()
}

/// The same of a folder with transcripts.
fn why_unfit_folder(folder: &Path) -> Option<String> {
    let (named, places) = (folder.to_owned(), working_directories());
    in_time(move || transcript_roots::why_unfit_folder(&named, &places)).flatten()
}

fn has_transcript(root: &Root, directory: &Path, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => depth > 1 && has_transcript(root, &path, depth - 1),
            false => root.classify(&path).is_some(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_directory_excludes_no_other_agents_usual_one() {
        let roots = |environment: &Environment| -> Vec<String> {
            roots(environment).iter().map(|root| root.projects.display().to_string()).collect()
        };
        let environment = Environment::isolated("/b".into(), "/c".into());
        let usual = roots(&environment);
        let named = environment.with_directory(Agent::Codex, "/x".into(), true);
        let expected: Vec<String> = usual.iter().map(|root| root.replace("/c/.codex/", "/x/")).collect();
        assert_ne!(expected, usual);
        assert_eq!(roots(&named), expected);
        assert_eq!(roots(&named.only_named()), ["/x/sessions", "/x/archived_sessions"], "in a throwaway daemon");
    }
}
