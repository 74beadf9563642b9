//! The command that starts a daemon.

use std::path::Path;
use std::process::Command;

use baton_protocol::Agent;

use crate::environment::Environment;

/// Allocator settings of a daemon, unless the environment sets them. glibc keeps freed memory in one arena per thread:
/// after a backfill that is three times what the daemon needs from then on. With few arenas, large blocks mapped
/// separately and the top of the heap trimmed, the memory goes back to the system. Other allocators ignore these
/// variables.
pub const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "1048576"), ("MALLOC_MMAP_THRESHOLD_", "262144")];

/// Returns the command that runs `program` as the daemon of `environment`; the caller adds the mode.
pub fn daemon_command(program: &Path, environment: &Environment) -> Command {
    let unset = ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    let mut command = Command::new(program);
    command.envs(unset).arg("daemon").env("BATON_HOME", &environment.home);
    for &agent in Agent::ALL {
        let Some(variable) = agent.home().variable else { continue };
        match environment.read_directory(agent) {
            Some(directory) => command.env(variable, directory),
            None => command.env_remove(variable),
        };
    }
    command
}
