//! Checks through a running daemon: its version, what it has read, its problems, and which hooks have called.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_config::endpoint::BaseUrl;
use baton_protocol::answer::{Enrichment, HookStats, Status, Unindexed, Vault, Vectors};
use baton_protocol::method;

use super::{Finding, formats};
use crate::client::{self, Client};
use crate::environment::{self, Environment};
use crate::print;
use baton_install::hooks::CLAUDE_AND_CODEX;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Time limit for counting transcripts if no daemon runs.
const COUNTING: Duration = Duration::from_secs(5);
/// Depth of transcripts below a root: project, session, subagents.
const DEPTH: usize = 4;

pub(super) fn check(environment: &Environment) -> Vec<Finding> {
    let stop = "see `baton logs`; `baton stop` and try again";
    let mut client = match Client::connect(environment) {
        Ok(Some(client)) => client,
        Ok(None) => {
            let (on_disk, is_all) = on_disk(environment);
            let on_disk = if is_all { on_disk.to_string() } else { format!("at least {on_disk}") };
            let first = if on_disk == "0" { "; agents write them when they are used" } else { "" };
            return vec![
                Finding::unknown("daemon", "none is running; any other command starts one"),
                Finding::unknown("transcripts", format!("{on_disk} on disk{first}")),
            ];
        }
        Err(error @ client::Error::NewerDaemon { .. }) => {
            return vec![Finding::error("daemon", error.to_string(), "update this program")];
        }
        Err(error) => return vec![Finding::error("daemon", error.to_string(), stop)],
    };
    let status: Status = match client.call(method::STATUS, &(), |_| {}) {
        Ok(status) => status,
        Err(error) => return vec![Finding::error("daemon", error.to_string(), stop)],
    };
    let mut findings = vec![version(&status)];
    let unindexed = client.call::<Unindexed>(method::UNINDEXED, &serde_json::json!({}), |_| {});
    findings.push(coverage(&status, unindexed.ok().map(|unindexed| unindexed.count)));
    findings.extend(formats::check(&status.formats));
    findings.push(tracking(&status));
    findings.push(log(&status));
    findings.push(vectors(&status.vectors));
    findings.push(chat_model(&status.enrichment));
    findings.push(vault(status.vault.as_ref()));
    // The finding about transcripts names a missing root already.
    let is_named = |what: &str| missing_roots(&status).any(|root| what == format!("there is no {root}"));
    let problems = status.problems.iter().filter(|problem| !(has_none(&status) && is_named(&problem.what)));
    findings.extend(problems.map(|problem| Finding::warn("problem", &problem.what, &problem.fix)));
    findings.extend(match client.call::<HookStats>(method::HOOK_STATS, &(), |_| {}) {
        Ok(stats) => signals(&stats),
        Err(error) => vec![Finding::unknown("signals", error.to_string())],
    });
    findings
}

fn version(status: &Status) -> Finding {
    if status.version == VERSION {
        return Finding::ok("daemon", format!("process {}, version {VERSION}", status.pid));
    }
    Finding::warn(
        "daemon",
        format!("process {} is version {}, and this is version {VERSION}", status.pid, status.version),
        "baton stop; the next command starts this version",
    )
}

fn missing_roots(status: &Status) -> impl Iterator<Item = &str> {
    status.roots.iter().filter(|root| !root.exists).map(|root| root.path.as_str())
}

/// True if there is no transcript, and never was one.
fn has_none(status: &Status) -> bool {
    status.transcripts == 0 && status.sessions.values().all(|count| *count == 0) && !status.looking
}

fn coverage(status: &Status, unindexed: Option<u64>) -> Finding {
    let on_disk = status.transcripts;
    let known: u64 = status.sessions.values().sum();
    // A transcript belongs to a session or a subagent.
    let subagents: u64 = status.subagents.values().sum();
    let and_subagents = if subagents > 0 { format!(" and {subagents} of subagents") } else { String::new() };
    let counts = [&status.sessions, &status.subagents];
    let indexed: u64 = counts.iter().filter_map(|counts| counts.get("indexed")).sum();
    let open = unindexed.map_or(String::new(), |count| format!(", {count} not fully indexed"));
    let what = format!("{on_disk} on disk, {known} sessions{and_subagents} known, {indexed} indexed{open}");
    let missing: Vec<&str> = missing_roots(status).collect();
    let failed = status.sessions.get("failed").copied().unwrap_or(0);
    match () {
        () if has_none(status) => Finding::warn(
            "transcripts",
            match missing.is_empty() {
                true => "none found".to_owned(),
                false => format!("none found; {} does not exist", missing.join(", ")),
            },
            "use one of the agents in `baton help agents`, or set its variable there to its directory",
        ),
        () if status.looking || status.backlog.pending > 0 => {
            Finding::ok("transcripts", format!("{what}; {} still to be read", status.backlog.pending))
        }
        () if failed > 0 => Finding::warn(
            "transcripts",
            format!("{what}, {failed} failed"),
            "`baton sessions --state failed` lists them, `baton explain SESSION` says why",
        ),
        () => Finding::ok("transcripts", what),
    }
}

/// Switches of single projects are no finding: somebody chose them.
fn tracking(status: &Status) -> Finding {
    match &status.note {
        Some(note) => Finding::warn("tracking", note, "`baton session-tracking enable`"),
        None => Finding::ok("tracking", "on: sessions are read"),
    }
}

fn log(status: &Status) -> Finding {
    let (log, memory) = (&status.log, &status.memory);
    let what = format!(
        "{} events; the memory has {} turns and episodes, {} events behind",
        log.position, memory.documents, memory.lag
    );
    match log.unreadable {
        0 => Finding::ok("log", what),
        count => Finding::warn(
            "log",
            format!("{what}; {count} events cannot be read"),
            "`baton log verify` says where; a newer version of Baton may have written them",
        ),
    }
}

/// Failures of the embedding model are listed among the daemon's problems.
fn vectors(vectors: &Vectors) -> Finding {
    let Vectors { state, model: Some(model), base_url: Some(url), .. } = vectors else {
        let what = "off: searches use words only, and nothing is sent anywhere";
        return Finding::ok("vectors", what);
    };
    let url = BaseUrl::new(url).ok();
    let whose = match (&url, &vectors.api_key_env) {
        (Some(url), None) if !url.is_local() => "without a key".to_owned(),
        (_, None) => "on this machine, without a key".to_owned(),
        (_, Some(variable)) => format!("with the key in {variable}"),
    };
    let shown = vectors.base_url.as_deref().unwrap_or_default();
    let what = format!("{state}: {model} at {shown}, {whose}; {} texts done, {} to do", vectors.done, vectors.pending);
    match url.filter(|url| !url.is_local()) {
        Some(url) if !url.is_encrypted() => Finding::warn(
            "vectors",
            format!("{what}; texts of conversations are sent there unencrypted"),
            "use https or an endpoint on this machine, or accept it in a network that you trust",
        ),
        Some(_) if vectors.api_key_env.is_none() => Finding::warn(
            "vectors",
            what,
            "if it asks for a key, name the variable that holds it in memory.embedding.api_key_env",
        ),
        _ => Finding::ok("vectors", what),
    }
}

/// `1 session waits for it`.
fn owed(count: u64) -> String {
    match count {
        0 => "no session waits for it".to_owned(),
        1 => "1 session waits for it".to_owned(),
        count => format!("{count} sessions wait for it"),
    }
}

/// The model that enriches episodes, and where conversations are sent. Its failures are listed among the daemon's problems.
fn chat_model(enrichment: &Enrichment) -> Finding {
    let Enrichment { state, model: Some(model), base_url: Some(url), .. } = enrichment else {
        return Finding::ok("model", "off: episodes are made by rules, and nothing is sent anywhere");
    };
    let whose = enrichment.api_key.as_ref().map_or("without a key".to_owned(), |key| format!("with the key in {key}"));
    let spent = format!("${:.2} spent today", enrichment.spent_today_usd);
    let what = format!("{state}: {model} at {url}, {whose}; {}, {spent}", owed(enrichment.owed));
    match BaseUrl::new(url).ok().filter(|url| !url.is_local()) {
        Some(url) if !url.is_encrypted() => Finding::warn(
            "model",
            format!("{what}; conversations are sent there unencrypted"),
            "use https or an endpoint on this machine, or accept it in a network that you trust",
        ),
        _ => Finding::ok("model", what),
    }
}

/// Failures to write notes are listed among the daemon's problems.
fn vault(vault: Option<&Vault>) -> Finding {
    let Some(vault) = vault.filter(|vault| vault.enabled) else {
        return Finding::ok("vault", "off: no notes are written");
    };
    let notes = print::counted(vault.notes, "note");
    let what = format!("{}: {notes} in {}/{}", vault.state, vault.path, vault.root);
    match (vault.left_alone.len(), vault.conflicts) {
        (0, 0) => Finding::ok("vault", what),
        (0, 1) => Finding::ok("vault", format!("{what}; 1 block was changed by people")),
        (0, edited) => Finding::ok("vault", format!("{what}; {edited} blocks were changed by people")),
        (left, _) => Finding::warn(
            "vault",
            format!(
                "{what}; {} left alone",
                if left == 1 { "1 file is".to_owned() } else { format!("{left} files are") }
            ),
            "`baton vault status` names them and says why",
        ),
    }
}

fn signals(stats: &HookStats) -> Vec<Finding> {
    let came: Vec<String> = stats
        .events
        .iter()
        .filter_map(|(event, of_event)| Some(format!("{event} {}", of_event.last_at.as_ref()?)))
        .collect();
    let mut findings = vec![match (came.is_empty(), &stats.last_recorded_at) {
        (true, recorded) => {
            let before =
                recorded.as_ref().map_or_else(String::new, |at| format!("; the last recorded one is from {at}"));
            Finding::unknown("signals", format!("no hook has run since {}, when counting began{before}", stats.since))
        }
        (false, _) => Finding::ok("signals", format!("last: {}", came.join(", "))),
    }];
    let ends = |name: &str| stats.events.get(name).is_some_and(|event| event.calls > 0);
    if ends("UserPromptSubmit") && !ends("SessionStart") {
        let known: Vec<&str> =
            CLAUDE_AND_CODEX.events.iter().map(|(event, _)| *event).filter(|event| ends(event)).collect();
        findings.push(Finding::unknown(
            "signals",
            format!("only {} so far: sessions that ran before `baton install` send no SessionStart", known.join(", ")),
        ));
    }
    let lost = (stats.dropped > 0).then(|| print::lost_signals(stats.dropped));
    let unreadable = (stats.unreadable > 0).then(|| print::unreadable_signals(stats.unreadable));
    for what in lost.into_iter().chain(unreadable) {
        let fix = "`baton logs` says more; the next search makes up for what was lost";
        findings.push(Finding::warn("signals", what, fix));
    }
    if !stats.ignored.is_empty() {
        let ignored: Vec<String> = stats.ignored.iter().map(|(why, count)| format!("{count} {why}")).collect();
        findings.push(Finding::unknown("signals", format!("ignored: {}", ignored.join(", "))));
    }
    findings
}

/// Counts the transcripts on disk, for when no daemon runs. The second value is false if the count is incomplete,
/// because a root did not answer in time.
fn on_disk(environment: &Environment) -> (u64, bool) {
    let (roots, count) = (environment::roots(environment), Arc::new(AtomicU64::new(0)));
    let counting = count.clone();
    let all = environment::within(COUNTING, move || {
        roots.iter().for_each(|root| transcripts(&root.projects, DEPTH, &counting));
    });
    (count.load(Ordering::Relaxed), all.is_some())
}

fn transcripts(folder: &Path, depth: usize, count: &AtomicU64) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => transcripts(&path, depth - 1, count),
            Ok(kind)
                if kind.is_file() && path.extension().is_some_and(|ending| ending == "jsonl" || ending == "zst") =>
            {
                count.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn who_reads_along_is_warned_of() {
        let told = |url: &str| {
            let (model, base_url) = (Some("m".to_owned()), Some(url.to_owned()));
            chat_model(&Enrichment { state: "ready".to_owned(), model, base_url, ..Enrichment::default() })
        };
        assert!(chat_model(&Enrichment::default()).what.starts_with("off"));
        for (url, health) in [
            ("http://127.0.0.1:1/v1", Health::Ok),
            ("https://api.openai.com/v1", Health::Ok),
            ("http://models.example.com/v1", Health::Warn),
        ] {
            assert_eq!(told(url).status, health, "{url}");
        }
    }
}
