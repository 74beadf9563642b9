//! What agents and other programs write to a hook, and what becomes of its output.

use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::called::{Ended, HOOK, call, call_as, configure, event, lost, spool};
use super::peer::{Answer, Peer};
use crate::world::{World, files_below, id, wait};

#[test]
fn input_that_never_begins_or_never_ends_costs_the_budget_and_no_more() {
    let world = World::new();
    // No input, and the pipe stays open.
    let Ended(said) = call_as(world.program(HOOK, &["Stop"]), Some);
    assert_eq!((said, spool(world.home()).len(), lost(world.home())), (None, 0, 1));
    // Input without an end.
    let begun = format!(r#"{{"session_id":"{}","cwd":"/srv/one","reason":"clear","prompt":"and so"#, id(1));
    let Ended(said) = call_as(world.program(HOOK, &["SessionEnd"]), |mut stdin| {
        stdin.write_all(begun.as_bytes()).unwrap();
        Some(stdin)
    });
    let spooled = spool(world.home());
    assert_eq!((said, spooled.len(), lost(world.home())), (None, 1, 1));
    let hook = &spooled[0].hook;
    assert_eq!(
        (hook.session_id.as_str(), hook.cwd.as_deref(), hook.detail.as_deref()),
        (&*id(1), Some("/srv/one"), Some("clear"))
    );
    assert_eq!((spooled[0].why.as_str(), hook.event.as_str()), ("timeout", "SessionEnd"));
    // A complete object without an end of input: the hook does not wait for that.
    configure(&world, r#"{"hooks": {"timeout_ms": 3000}}"#);
    let whole = event(&world, "SessionEnd", &id(2));
    call_as(world.program(HOOK, &["SessionEnd"]), |mut stdin| {
        stdin.write_all(&whole).unwrap();
        Some(stdin)
    });
    assert!(spool(world.home()).iter().any(|spooled| spooled.why == "absent" && spooled.hook.session_id == id(2)));
}

#[test]
fn input_that_comes_late_is_not_lost() {
    let world = World::new();
    let (late, session) = (Duration::from_millis(250), id(1));
    for name in ["PreCompact", "SessionEnd", "Stop"] {
        let input = event(&world, name, &session);
        call_as(world.program(HOOK, &[name]), |mut stdin| {
            thread::spawn(move || {
                thread::sleep(late);
                let _ = stdin.write_all(&input);
            });
            None
        });
    }
    let mut told: Vec<String> = spool(world.home()).into_iter().map(|spooled| spooled.hook.event).collect();
    told.sort();
    assert_eq!((told, lost(world.home())), (["PreCompact", "SessionEnd", "Stop"].map(str::to_owned).into(), 0));
}

#[test]
fn a_prompt_of_any_size_is_passed_over() {
    let world = World::new();
    let Ended(said) = call_as(world.program(HOOK, &["UserPromptSubmit"]), |mut stdin| {
        thread::spawn(move || {
            let begin = format!(r#"{{"session_id":"{}","cwd":"/srv/one","prompt":""#, id(1));
            let piece = "walrus ".repeat(16 * 1024);
            // The hook does not read all of it.
            let _ = stdin.write_all(begin.as_bytes());
            let _ = (0..900).try_for_each(|_| stdin.write_all(piece.as_bytes()));
        });
        None
    });
    assert_eq!(said, None);
    let spooled = spool(world.home());
    assert_eq!(spooled.iter().map(|spooled| spooled.hook.session_id.as_str()).collect::<Vec<_>>(), [id(1)]);
    for file in files_below(world.home()) {
        assert!(!String::from_utf8_lossy(&std::fs::read(&file).unwrap()).contains("walrus"), "{file:?}");
    }
}

#[test]
fn broken_input_counts_as_far_as_it_was_good() {
    let world = World::new();
    configure(&world, r#"{"hooks": {"timeout_ms": 3000}}"#);
    let session = id(1);
    let broken: [(Vec<u8>, Option<&str>); 9] = [
        (b"".to_vec(), None),
        (b"null\n".to_vec(), None),
        (b"session_id".to_vec(), None),
        (vec![0xff; 4096], None),
        (format!(r#"{{"session_id":"{session}""#).into_bytes(), None),
        (format!(r#"{{"session_id":"{session}","cwd":"\ud800"}}"#).into_bytes(), None),
        (format!("\u{feff}{{\"cwd\":\"/a\",\"cwd\":\"/b\",\"session_id\":\"{session}\"}}").into_bytes(), Some("/b")),
        (
            format!(r#"{{"session_id":"{session}","x":[[[{{"session_id":"no"}}]]],"cwd":"/b"}} {{}}"#).into_bytes(),
            Some("/b"),
        ),
        (
            [format!("{{\"session_id\":\"{session}\",\"cwd\":\"/b\",\"p\":\"").as_bytes(), &[0xc3, 0x28, b'"', b'}']]
                .concat(),
            Some("/b"),
        ),
    ];
    for (input, cwd) in broken {
        let before = lost(world.home());
        let Ended(said) = call(&world, "SessionEnd", &input);
        let shown = String::from_utf8_lossy(&input[..input.len().min(100)]).into_owned();
        assert_eq!(said, None, "{shown}");
        let spooled = spool(world.home());
        match input.windows(session.len()).any(|window| window == session.as_bytes()) {
            true => {
                assert_eq!((spooled.len(), lost(world.home())), (1, before), "{shown}");
                assert_eq!(
                    (spooled[0].hook.session_id.as_str(), spooled[0].hook.cwd.as_deref()),
                    (&*session, cwd),
                    "{shown}"
                );
                std::fs::remove_dir_all(world.home().join("spool")).unwrap();
            }
            false => assert_eq!((spooled.len(), lost(world.home())), (0, before + 1), "{shown}"),
        }
    }
}

#[test]
fn a_full_pipe_that_nobody_reads_is_not_waited_for() {
    let world = World::new();
    let peer = Peer::listen(&world.home().join("baton.sock"), Answer::Context);
    let (_unread, mut output) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&output, rustix::fs::OFlags::NONBLOCK).unwrap();
    while output.write(&[b'x'; 4096]).is_ok() {}
    while output.write(b"x").is_ok() {}
    rustix::fs::fcntl_setfl(&output, rustix::fs::OFlags::empty()).unwrap();
    let mut command = world.program(HOOK, &["SessionStart"]);
    let mut child = command.stdin(Stdio::piped()).stdout(output).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(&event(&world, "SessionStart", &id(1)));
    let mut status = None;
    let ended = wait(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let _ = child.kill();
    assert!(ended, "it waits for a reader");
    assert_eq!(status.unwrap().code(), Some(0));
    drop(peer);
}
