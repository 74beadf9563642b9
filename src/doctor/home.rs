//! Checks Baton's home: its owner, its permissions, and the signals that wait in it.

use std::path::Path;

use baton_actors::gateway::{SocketError, check_socket_folder};
use baton_base::lock;
use baton_base::lock::{LockError, Untrusted};
use baton_home::connection;
use baton_home::endpoint::Endpoint;
use baton_protocol::{OWN_CHILD, SPOOL, SPOOL_DROPPED, SPOOL_FILES_MAX};

use super::Finding;
use crate::client;
use crate::environment::{self, Environment, Hooks, Unfit};
use crate::print;
use baton_install::hook_command::quoted;
use baton_protocol::Agent;

pub(super) fn check(environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![home(&environment.home)];
    let configured = environment.endpoint();
    let elsewhere = connection::other_endpoints(&environment.home, &configured);
    if let Err(SocketError::Exposed { folder, why, fix }) = check_socket_folder(&configured, &environment.home) {
        let what = format!("hooks.socket_path is in {}, which {why}: no daemon listens there", folder.display());
        findings.push(Finding::error("socket", what, fix));
    }
    let socket_of = |endpoint: &Endpoint| socket(endpoint.path());
    findings.extend(std::iter::once(&configured).chain(&elsewhere).find_map(socket_of));
    findings.push(spool(&environment.home.join(SPOOL)));
    findings.push(variables(environment));
    if !Hooks::read(&environment.home).enabled {
        let file = environment.home.join("config.json");
        findings.push(Finding::warn(
            "hooks",
            format!("hooks.enabled is false in {}: hooks are ignored", file.display()),
            "set it to true, or run `baton uninstall`",
        ));
    }
    findings
}

fn home(home: &Path) -> Finding {
    let shown = home.display();
    if !home.exists() {
        return Finding::ok("home", format!("{shown} does not exist yet; the first command creates it"));
    }
    if !home.is_dir() {
        return Finding::error(
            "home",
            format!("{shown} is not a folder"),
            "move it away, or set BATON_HOME to a folder",
        );
    }
    match lock::check_home(home) {
        Err(LockError::Untrusted(Untrusted::Exposed { .. })) => Finding::error(
            "home",
            format!("others can write to {shown}, so its contents cannot be trusted"),
            format!("chmod 700 {}", quoted(&home.display().to_string())),
        ),
        Err(error) => Finding::error("home", error.to_string(), "set BATON_HOME to a folder of your own"),
        Ok(()) if is_open(home, 0o055) => Finding::warn(
            "home",
            format!("others can read {shown}; it holds your conversations"),
            format!("chmod 700 {}", quoted(&home.display().to_string())),
        ),
        Ok(()) => Finding::ok("home", format!("{shown} is yours alone")),
    }
}

/// `None` if no daemon listens there.
fn socket(socket: &Path) -> Option<Finding> {
    if cfg!(windows) || !socket.exists() {
        return None;
    }
    let shown = socket.display();
    Some(match is_open(socket, 0o077) {
        true => {
            Finding::error("socket", format!("others can use {shown}"), "`baton stop`; the next daemon creates it anew")
        }
        false => Finding::ok("socket", format!("{shown} is yours alone")),
    })
}

fn spool(folder: &Path) -> Finding {
    if std::fs::symlink_metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
        let shown = folder.display();
        return Finding::error(
            "spool",
            format!(
                "{shown} is not a folder of its own: hooks leave nothing there, and no daemon takes anything from it"
            ),
            format!("rm {}; the next hook creates the folder", quoted(&shown.to_string())),
        );
    }
    let count = std::fs::read_dir(folder).map_or(0, |entries| {
        let is_signal = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".json");
        entries.flatten().take(2 * SPOOL_FILES_MAX).filter(|entry| is_signal(&entry.file_name())).count()
    });
    let dropped = std::fs::metadata(folder.join(SPOOL_DROPPED)).map_or(0, |file| file.len());
    let start = "`baton daemon` starts a daemon, which takes them";
    match (count, dropped) {
        (count, _) if count >= SPOOL_FILES_MAX => {
            Finding::error("spool", format!("it is full ({count} signals of hooks): further ones are lost"), start)
        }
        (_, 1..) => Finding::warn(
            "spool",
            format!("{}; {count} in the spool", print::lost_signals(dropped)),
            format!("{start}; the next search makes up for what was lost"),
        ),
        (0, 0) => Finding::ok("spool", "no signal of a hook is waiting"),
        (1, 0) => Finding::warn("spool", "1 signal of a hook is waiting for a daemon", start),
        (count, 0) => Finding::warn("spool", format!("{count} signals of hooks are waiting for a daemon"), start),
    }
}

fn variables(environment: &Environment) -> Finding {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set(&OWN_CHILD) {
        return Finding::warn(
            "environment",
            format!("{OWN_CHILD} is set: hooks that see it do nothing"),
            format!("unset {OWN_CHILD}; Baton sets it for the programs that it starts"),
        );
    }
    if let Err(client::Error::NotRead { variable, directory, why, .. }) = client::check_named_directories(environment) {
        let what = format!("{variable} names {}, which is not read: {why}; commands fail", directory.display());
        return Finding::error("environment", what, format!("unset {variable}, or mend that"));
    }
    let unfit = environment::unfit_directories(environment);
    if !unfit.is_empty() && !Hooks::read(&environment.home).names_directories {
        let one = |unfit: &Unfit| {
            let Unfit { agent, variable, directory, why } = unfit;
            format!("{variable} names {}, which is not read for {}: {why}", directory.display(), agent.title())
        };
        let names: std::collections::BTreeSet<&str> = unfit.iter().map(|unfit| unfit.variable).collect();
        let fix = format!("mend that, or unset {}", names.into_iter().collect::<Vec<_>>().join(" and "));
        return Finding::warn("environment", unfit.iter().map(one).collect::<Vec<_>>().join("; "), fix);
    }
    let of = |agent: &Agent| {
        let home = agent.home();
        home.variable.into_iter().chain(home.moved.iter().map(|part| part.variable))
    };
    let agents = Agent::ALL.iter().flat_map(of);
    let names: std::collections::BTreeSet<&str> = std::iter::once("BATON_HOME").chain(agents).collect();
    let set: Vec<String> = names
        .into_iter()
        .filter(is_set)
        .map(|name| format!("{name}={}", std::env::var_os(name).unwrap_or_default().display()))
        .collect();
    match set.is_empty() {
        true => Finding::ok("environment", "no variable is set: ~/.baton and the agents' usual directories are used"),
        false => Finding::ok("environment", set.join(", ")),
    }
}

#[cfg(unix)]
fn is_open(path: &Path, bits: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & bits != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path, _: u32) -> bool {
    false
}
