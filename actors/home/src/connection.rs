//! Finds the socket of a home's daemon, connects to it and greets.

use std::io;
use std::path::Path;

use baton_protocol::{Agent, Hello, VERSION};
use interprocess::local_socket::traits::Stream as _;
use interprocess::local_socket::{GenericFilePath, Stream, ToFsName};

use crate::endpoint::Endpoint;
use crate::environment::{self, Environment};
use crate::hooks::Hooks;
use crate::{lock, trust};

/// Builds the greeting for a daemon. Does no file-system access: the daemon checks the directories itself, with a time
/// limit.
pub fn hello(environment: &Environment, client: &str) -> Hello {
    let text = |directory: &Path| directory.to_str().map(str::to_owned);
    let is_other = |agent: &&Agent| !matches!(agent, Agent::ClaudeCode | Agent::Codex) && environment.is_named(**agent);
    let others = Agent::ALL.iter().filter(is_other);
    Hello {
        protocol: VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        client: client.to_owned(),
        claude_config_dir: environment.read_directory(Agent::ClaudeCode).and_then(text),
        codex_home: environment.read_directory(Agent::Codex).and_then(text),
        directories: others
            .filter_map(|agent| Some((agent.to_string(), text(environment.directory(*agent))?)))
            .collect(),
        works_in: environment::working_directories(),
    }
}

/// Connects to the home's daemon at the configured endpoint, or else at one from [`other_endpoints`]. Refuses a listener
/// of another user, because its answers may reach an agent. An error is the one from the configured endpoint.
pub fn connect(environment: &Environment, hooks: &Hooks) -> io::Result<Stream> {
    let configured = environment.endpoint_of(hooks);
    connect_to(&configured).or_else(|error| {
        let others = other_endpoints(&environment.home, &configured);
        others.iter().find_map(|endpoint| connect_to(endpoint).ok()).ok_or(error)
    })
}

fn connect_to(endpoint: &Endpoint) -> io::Result<Stream> {
    let stream = Stream::connect(endpoint.path().to_fs_name::<GenericFilePath>()?)?;
    trust::check_peer(&stream)?;
    Ok(stream)
}

/// Other endpoints at which a home's daemon may listen: it may have been started with an earlier configuration, or use
/// the last good one because the current one has a mistake. Empty if nobody holds the home's lock.
pub fn other_endpoints(home: &Path, configured: &Endpoint) -> Vec<Endpoint> {
    let recorded = lock::recorded_socket(home).map(Endpoint::from_path);
    let others: Vec<Endpoint> =
        recorded.into_iter().chain([Endpoint::for_home(home)]).filter(|endpoint| endpoint != configured).collect();
    if others.is_empty() || lock::is_free(home) { Vec::new() } else { others }
}
