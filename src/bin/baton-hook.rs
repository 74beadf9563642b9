//! The `baton-hook` command, which an agent runs at each of its events. It links the crate `baton_hook` and
//! nothing else of this package, and always exits 0.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::Instant;

const USAGE: &str = "\
usage: baton-hook [--agent NAME] [EVENT]

Called by an agent's hook: reads one JSON object from standard input, reports the event to Baton's daemon, and ends
within its budget, always with exit code 0. EVENT is a name such as SessionStart or session-start; without it the object's
hook_event_name is used. NAME is the agent that calls, such as qwen; without it the object tells. `baton install` registers it, `baton hook-stats` shows how fast it is.
";

fn main() {
    let started = Instant::now();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some("--version" | "-V") => {
            let _ = writeln!(std::io::stdout(), "baton-hook {}", env!("CARGO_PKG_VERSION"));
        }
        Some("--help" | "-h") => usage(),
        // Run by a person; agents give it a pipe.
        _ if std::io::stdin().is_terminal() => usage(),
        _ => baton_hook::run(arguments, started),
    }
}

fn usage() {
    let _ = std::io::stderr().write_all(USAGE.as_bytes());
}
