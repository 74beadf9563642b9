//! `baton hook-stats`: with and without a daemon.

use super::called::{call, event, patient};
use crate::world::{World, id, wait};

#[test]
fn hook_statistics_are_shown_with_and_without_a_daemon() {
    let world = World::new();
    patient(&world);
    let human = world.ok(&["hook-stats"]);
    assert!(human.out.contains("No hook has run yet"), "{}", human.out);
    assert_eq!(world.daemon(), None, "it starts none");
    call(&world, "Stop", &event(&world, "Stop", &id(9)));
    assert_eq!(world.json(&["hook-stats"])["spooled"], 1);

    world.transcript("-srv-one", &id(1)).prompt("the visible walrus");
    world.ok(&["sessions"]);
    for _ in 0..3 {
        call(&world, "SessionStart", &event(&world, "SessionStart", &id(1)));
    }
    call(&world, "SessionEnd", &event(&world, "SessionEnd", &id(1)));
    // The report of its duration is the last message of a hook, and gets no answer.
    let told = || {
        let stats = world.json(&["hook-stats"]);
        stats["events"]["SessionStart"]["calls"] == 3 && stats["events"]["SessionEnd"]["p99_us"].is_u64()
    };
    assert!(wait(told), "{}", world.json(&["hook-stats"]));
    let stats = world.json(&["hook-stats"]);
    let start = &stats["events"]["SessionStart"];
    assert!(start["p50_us"].as_u64().unwrap() <= start["p99_us"].as_u64().unwrap(), "{stats}");
    assert!(start["last_at"].is_string(), "{stats}");
    let human = world.ok(&["hook-stats"]).out;
    assert!(human.contains("SessionStart") && human.contains("p95 ms"), "{human}");
    world.stop();
    assert_eq!(world.json(&["hook-stats"])["events"]["SessionStart"]["calls"], 3, "kept over the end of the daemon");
    // The counts are lost; the log still knows that hooks were called.
    std::fs::remove_file(world.home().join("hook_stats.json")).unwrap();
    let status = world.ok(&["status"]).out;
    assert!(status.contains("hooks     none counted, the last recorded at 20"), "{status}");
    let recorded = world.json(&["status"])["hooks"]["last_at"].as_str().unwrap().to_owned();
    let doctor = world.run(&["doctor"]).out;
    let said = format!(", when counting began; the last recorded one is from {recorded}");
    assert!(doctor.contains("no hook has run since 20") && doctor.contains(&said), "{doctor}");
}
