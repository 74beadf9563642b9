//! A last line that is still being written: held back, not lost, and counted once.

use crate::record::Log;
use crate::world::{World, id};

#[test]
fn a_torn_last_line_is_held_back_until_it_is_whole() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the first whole line");
    let line = format!("{}\n", transcript.reply_record("the ibis came ümläut \u{1f426} later"));
    // Torn in the middle of a character.
    let torn = line.find('\u{1f426}').unwrap() + 2;
    transcript.write(&line.as_bytes()[..torn]);
    assert_eq!(world.found("ibis"), [""; 0]);
    let first = world.close(&id(1));
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], &shown["malformed_lines"]), (&1.into(), &0.into()), "{shown}");

    // The daemon that reads the complete line is not the one that held it back.
    world.stop();
    assert_eq!(world.found("ibis"), [""; 0]);
    transcript.write(&line.as_bytes()[torn..]);
    assert_eq!(world.found("ibis"), [id(1)]);
    assert_ne!(world.close(&id(1)), first);
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], &shown["malformed_lines"]), (&2.into(), &0.into()), "{shown}");
    world.stop();
    Log::of(&world);
}

#[test]
fn a_whole_object_without_its_newline_is_seen_at_once_and_once() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the first whole line");
    let record = transcript.reply_record("the heron stands");
    transcript.write(record.to_string().as_bytes());
    assert_eq!(world.found("heron"), [id(1)]);
    assert_eq!(world.show(&id(1))["message_count"], 2);

    let uuid = world.close(&id(1));
    transcript.write(b"\n");
    assert_eq!(world.close(&id(1)), uuid, "a newline is no content");
    transcript.prompt("and one more line");
    world.close(&id(1));
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], &shown["malformed_lines"]), (&3.into(), &0.into()), "{shown}");
    world.stop();
    Log::of(&world);
}

#[test]
fn a_line_that_stays_broken_costs_only_itself() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("before the break");
    // The agent crashes in the middle of a line and starts again.
    transcript.write(b"{\"type\":\"assistant\",\"message\":{\"role\":\"assist\n");
    transcript.reply("after the break the gannet dives");
    assert_eq!(world.found("gannet"), [id(1)]);
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], &shown["malformed_lines"]), (&2.into(), &1.into()), "{shown}");
}
