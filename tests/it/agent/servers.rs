//! The agent's MCP server, whose pipe closes however the agent ends. The daemon runs in this process, with the test's
//! clock.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use baton_events::session::{CloseReason, Phase};

use super::{Script, configure};
use crate::time::{Held, after};
use crate::world::{World, id, wait};

/// Starts a server as an agent does for its session.
fn server(world: &World, session: &str) -> Child {
    let mut command = world.command(&["mcp"]);
    command.env("CLAUDE_CODE_SESSION_ID", session).env("CLAUDE_PROJECT_DIR", "/srv/-work-one");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let greeting = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
        r#""clientInfo":{"name":"agent","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n"
    );
    child.stdin.as_mut().unwrap().write_all(greeting.as_bytes()).unwrap();
    child
}

fn begun() -> Held {
    let mut held = Held::new();
    held.stop();
    configure(&held.world);
    held.begin();
    held
}

/// A session that was closed 20 s after the start while its server continued to run.
fn closed(held: &Held) -> (Script<'_>, Child) {
    let world = &held.world;
    let mut script = Script::unhooked(world, "-work-one", &id(1)).at(after(0));
    held.at(10);
    script.turn();
    world.ok(&["sessions"]);
    let child = server(world, &id(1));
    present(world, 1);
    held.at(20);
    held.close(&id(1), CloseReason::Explicit, "closed");
    (script, child)
}

/// Waits until the daemon knows of `count` servers.
fn present(world: &World, count: u64) {
    let known = || world.json(&["status"])["hooks"]["present"].as_u64();
    assert!(wait(|| known() == Some(count)), "{:?} of {count} servers are known", known());
}

#[test]
fn a_server_that_is_killed_ends_its_session_after_a_grace() {
    let mut held = begun();
    let world = &held.world;
    let mut script = Script::starts(world, "-work-one", &id(1), "startup").at(after(0));
    held.at(10);
    script.turn();
    let (mut one, mut other) = (server(world, &id(1)), server(world, &id(1)));
    present(world, 2);
    held.at(20);
    one.kill().unwrap();
    one.wait().unwrap();
    present(world, 1);
    let told = script.told();
    assert!(!told.contains("mcp_disconnect"), "another still serves it: {told}");
    held.at(30);
    other.kill().unwrap();
    other.wait().unwrap();
    held.wait_for(&id(1), |state| state.signals.disconnected_at.is_some());
    assert!(world.show(&id(1))["end"].is_null(), "it is a hint");
    held.at(95);
    held.settle(&id(1));
    script.ended("mcp_disconnect");
    script.tells(&["session_start (startup)", "mcp_disconnect"]);
    held.stop();
}

#[test]
fn a_session_that_was_closed_and_went_on_is_over_when_its_server_is_killed() {
    let mut held = begun();
    let (mut script, mut child) = closed(&held);
    // The next lines would be read within the check interval, and the agent is killed before.
    held.at(40);
    script.transcript.set_time(after(40));
    script.turn();
    assert!(held.state(&id(1)).unwrap().end.is_some(), "nothing of it is read yet");
    held.at(41);
    child.kill().unwrap();
    child.wait().unwrap();
    held.wait_for(&id(1), |state| state.end.is_none() && state.signals.disconnected_at == Some(after(41)));
    held.at(102);
    script.ended("mcp_disconnect");
    held.stop();
}

#[test]
fn a_session_that_was_closed_and_did_not_go_on_stays_as_it_is_when_its_server_goes() {
    let mut held = begun();
    let (script, mut child) = closed(&held);
    held.at(41);
    child.kill().unwrap();
    child.wait().unwrap();
    present(&held.world, 0);
    held.at(102);
    held.settle(&id(1));
    script.ended("explicit");
    assert!(!script.told().contains("mcp_disconnect"), "{}", script.told());
    held.stop();
}

#[test]
fn a_close_that_falls_due_just_after_another_moment_is_not_late() {
    let mut held = begun();
    let world = &held.world;
    let mut script = Script::unhooked(world, "-work-one", &id(1)).at(after(10));
    held.at(10);
    script.turn();
    world.ok(&["sessions"]);
    let mut child = server(world, &id(1));
    present(world, 1);
    held.at(15);
    child.kill().unwrap();
    child.wait().unwrap();
    held.wait_for(&id(1), |state| state.signals.disconnected_at == Some(after(15)));
    let quiet_at = held.state(&id(1)).unwrap().last_activity();
    // Idle for a minute first, then disconnected for a minute.
    held.at((quiet_at.since_ms(after(0)) + 999) / 1000 + 60);
    held.wait_for(&id(1), |state| state.phase == Phase::Inactive);
    held.at(75);
    let since = Instant::now();
    held.wait_for(&id(1), |state| state.end.is_some());
    // The session's own next check of its file would close it too, but a minute later.
    assert!(since.elapsed() < Duration::from_secs(30), "after {:?}", since.elapsed());
    script.ended("mcp_disconnect");
    held.stop();
}

#[test]
fn a_server_that_is_connected_again_or_whose_agent_works_on_ends_nothing() {
    let mut held = begun();
    let world = &held.world;
    let mut script = Script::starts(world, "-work-one", &id(1), "startup").at(after(0));
    held.at(10);
    script.turn();
    // The clock does not advance while the daemon looks, so the file must be known before the test advances it by a
    // minute at once.
    held.wait_for(&id(1), |state| state.transcript.is_some());
    let mut child = server(world, &id(1));
    present(world, 1);
    held.at(20);
    // `/mcp` reconnect: the pipe closes, and the agent continues to work.
    drop(child.stdin.take());
    child.wait().unwrap();
    held.wait_for(&id(1), |state| state.signals.disconnected_at.is_some());
    held.at(40);
    script.transcript.set_time(after(40));
    script.turn();
    held.at(120);
    held.settle(&id(1));
    let shown = world.show(&id(1));
    assert!(shown["end"].is_null(), "{}", script.told());
    script.ends("prompt_input_exit");
    script.ended("hook_prompt_input_exit");
    held.stop();
}
