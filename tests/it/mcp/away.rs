//! Daemons stop and start under a running server; several agents share a daemon.

use serde_json::{Value, json};

use super::agent::Agent;
use crate::world::{World, id, text, wait};

fn state(agent: &Agent, session: &str) -> Value {
    agent.call("session_tracking_status", json!({"session_id": session})).ok()
}

#[test]
fn the_daemon_may_die_and_be_stopped_between_calls() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("yes");
    let agent = Agent::start(&world);
    let mut daemons = vec![];
    for round in 0..4 {
        assert_eq!(state(&agent, &id(1))["session_id"], *id(1), "round {round}\n{}", world.log());
        daemons.push(world.daemon().expect("a daemon runs"));
        match round % 2 {
            0 => world.kill(),
            _ => world.stop(),
        }
    }
    daemons.dedup();
    assert_eq!(daemons.len(), 4, "each call met another one");
    // The server leaves no zombie processes.
    let is_zombie = |daemon: &rustix::process::Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.as_raw_nonzero())).unwrap_or_default();
        stat.contains("(baton) Z")
    };
    assert!(wait(|| !daemons.iter().any(is_zombie)));
    agent.end();
}

#[test]
fn a_close_is_answered_by_the_daemon_that_comes_next() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("yes");
    let agent = Agent::start(&world);
    let first = agent.call("session_tracking_close", json!({"session_id": id(1), "reason": "story done"})).ok();
    assert_eq!(first["status"], "success", "{first}");
    let message = text(&first["message"]);
    assert!(message.ends_with("; enrichment is off") && message.matches("enrichment").count() == 1, "{first}");
    world.kill();
    let again = agent.call("session_tracking_close", json!({"session_id": id(1)})).ok();
    assert_eq!(again["episode_uuid"], first["episode_uuid"], "unchanged content keeps its episode");
    let row = state(&agent, &id(1));
    assert_eq!(row["state"], "indexed", "{row}");
    assert_eq!(row["episode_uuid"], first["episode_uuid"]);
    agent.end();
}

#[test]
fn an_agent_closes_its_own_session_without_naming_it() {
    let mut world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("yes");
    world.transcript("-work-one", &id(2)).prompt("the hasty sloth").reply("no");
    world.set("CLAUDE_CODE_SESSION_ID", id(2));
    let agent = Agent::start(&world);
    let closed = agent.call("session_tracking_close", json!({})).ok();
    assert_eq!((&closed["status"], &closed["session_id"]), (&json!("success"), &json!(id(2))), "{closed}");
    agent.end();

    // The project's directory identifies the session if only one is open there.
    let mut world = World::new();
    world.transcript("-work-two", &id(3)).prompt("the only sloth").reply("yes");
    world.transcript("-work-one", &id(4)).prompt("of another project").reply("yes");
    world.set("CLAUDE_PROJECT_DIR", "/srv/-work-two");
    let agent = Agent::start(&world);
    let closed = agent.call("session_tracking_close", json!({})).ok();
    assert_eq!(closed["session_id"], *id(3), "{closed}");
    agent.end();

    // With two, the agent must name the session.
    world.transcript("-work-two", &id(5)).prompt("the other sloth").reply("yes");
    world.transcript("-work-two", &id(6)).prompt("and a third").reply("yes");
    let agent = Agent::start(&world);
    let refused = agent.call("session_tracking_close", json!({}));
    let message = refused.value["message"].as_str().unwrap_or_default();
    assert!(refused.is_error && message.contains(&id(5)) && message.contains(&id(6)), "{}", refused.value);
    agent.end();
}

#[test]
fn two_agents_at_once_share_one_daemon() {
    let world = World::new();
    for number in 0..20 {
        world.transcript("-work-one", &id(number)).prompt("the unmoved sloth").reply("yes");
    }
    std::thread::scope(|scope| {
        for half in 0..2 {
            let world = &world;
            scope.spawn(move || {
                let agent = Agent::start(world);
                for number in (0..20).filter(|number| number % 2 == half) {
                    let closed = agent.call("session_tracking_close", json!({"session_id": id(number)})).ok();
                    assert_eq!(closed["status"], "success", "{closed}");
                    assert_eq!(closed["session_id"], *id(number));
                }
                agent.end();
            });
        }
    });
    assert_eq!(world.log().matches("daemon started").count(), 1, "{}", world.log());
}
