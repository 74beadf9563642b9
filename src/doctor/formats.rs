//! Checks whether the readers know what the agents write.

use baton_protocol::answer::Format;

use super::Finding;
use crate::print;

const CHECK: &str = "formats";
/// Most unknown types that are named.
const NAMED: usize = 5;

/// One finding for each version of an agent that is ahead of its reader, or one that all is known.
pub(super) fn check(formats: &[Format]) -> Vec<Finding> {
    let behind: Vec<Finding> = formats.iter().filter(|format| format.behind).map(behind).collect();
    if !behind.is_empty() || formats.is_empty() {
        return behind;
    }
    let mut agents: Vec<String> = Vec::new();
    for (at, format) in formats.iter().enumerate() {
        // The version used last stands first.
        if at == 0 || formats[at - 1].agent != format.agent {
            agents.push(title(format));
        }
    }
    vec![Finding::ok(CHECK, format!("every kind of record is known: {}", agents.join(", ")))]
}

fn behind(format: &Format) -> Finding {
    let (named, more) = (format.unknown.iter().take(NAMED), format.unknown.len().saturating_sub(NAMED));
    let mut facts: Vec<String> = named
        .map(|(name, count)| {
            let (records, sessions) =
                (print::counted(count.records, "record"), print::counted(count.sessions, "session"));
            format!("{records} of unknown type `{name}` in {sessions}")
        })
        .collect();
    facts.extend((more > 0).then(|| format!("{more} more unknown types")));
    facts.extend(format.vanished.iter().map(|part| {
        let article = if part == "directory" { "working directory" } else { part };
        format!("no {article} in any of {}", print::counted(format.complete, "session"))
    }));
    Finding::warn(
        CHECK,
        format!("{}: {}: the reader may be behind", title(format), facts.join("; ")),
        "update Baton; if there is no newer version, please report this line. Everything else in these sessions is read",
    )
}

fn title(format: &Format) -> String {
    match &format.version {
        Some(version) => format!("{} {version}", format.title),
        None => format.title.clone(),
    }
}
