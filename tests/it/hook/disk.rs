//! What a hook does with a home that is full, missing, owned by another user, or configured in various ways.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use baton_protocol::{SPOOL, SPOOL_FILES_MAX};

use super::called::{HOOK, call, call_as, configure, event, lost, spool};
use super::peer::{Answer, Peer};
use crate::world::{BATON, World, files_below, id, skipped};

fn end(world: &World, number: u32) {
    call(world, "SessionEnd", &event(world, "SessionEnd", &id(number)));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_home_is_made_for_this_user_alone() {
    let world = World::with_home("a/b");
    end(&world, 1);
    assert_eq!(spool(world.home()).len(), 1);
    assert_eq!((mode(world.home()), mode(&world.home().join(SPOOL))), (0o700, 0o700));
    let files = files_below(world.home());
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600));
}

#[test]
fn a_full_spool_counts_what_it_cannot_take() {
    let world = World::new();
    configure(&world, r#"{"hooks": {"timeout_ms": 3000}}"#);
    end(&world, 1);
    for number in 1..SPOOL_FILES_MAX {
        fs::write(world.home().join(SPOOL).join(format!("{number:013}-x.json")), "{}").unwrap();
    }
    end(&world, 2);
    end(&world, 3);
    assert_eq!((spool(world.home()).len(), lost(world.home())), (SPOOL_FILES_MAX, 2));
}

#[test]
fn a_home_that_cannot_be_written_to_is_left_alone() {
    let Some(world) = World::without_superpowers() else { return };
    configure(&world, "{}");
    fs::set_permissions(world.home(), Permissions::from_mode(0o500)).unwrap();
    end(&world, 1);
    call(&world, "UserPromptSubmit", &event(&world, "UserPromptSubmit", &id(1)));
    fs::set_permissions(world.home(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(files_below(world.home()), [world.home().join("config.json")]);
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_hook() {
    for program in [HOOK, BATON] {
        let limited = World::new().run_by(&["sh", "-c", "ulimit -f 0; exec \"$0\" \"$@\""]);
        configure(&limited, "{}");
        for name in ["SessionStart", "UserPromptSubmit", "SessionEnd"] {
            let hook: &[&str] = if program == BATON { &["hook", name] } else { &[name] };
            let input = event(&limited, name, &id(1));
            let ended = call_as(limited.program(program, hook), |mut stdin| {
                let _ = stdin.write_all(&input);
                None
            });
            assert_eq!(ended.0, None, "{name}");
        }
        assert!(spool(limited.home()).is_empty() && limited.daemon().is_none(), "nothing can be left there");
    }
    // With room for less than a signal, the loss is still counted.
    let narrow = World::new().run_by(&["prlimit", "--fsize=64", "--"]);
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skipped("there is no prlimit to set a limit of some bytes");
    }
    configure(&narrow, "{}");
    end(&narrow, 1);
    assert_eq!((spool(narrow.home()).len(), lost(narrow.home())), (0, 1));
}

#[test]
fn a_home_that_others_can_write_to_is_not_believed() {
    let world = World::new();
    configure(&world, r#"{"hooks": {"timeout_ms": 3000}}"#);
    let peer = Peer::listen(&world.home().join("baton.sock"), Answer::Context);
    for mode in [0o777, 0o720, 0o702] {
        fs::set_permissions(world.home(), Permissions::from_mode(mode)).unwrap();
        let ended = call(&world, "SessionStart", &event(&world, "SessionStart", &id(1)));
        assert_eq!(ended.0, None, "{mode:o}");
    }
    fs::set_permissions(world.home(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(peer.end(), (0, 0));
    assert!(!world.home().join(SPOOL).exists());
}

#[test]
fn a_home_that_is_a_file_is_none() {
    let world = World::new();
    fs::write(world.home(), "notes").unwrap();
    end(&world, 1);
    assert_eq!(fs::read_to_string(world.home()).unwrap(), "notes");
}

/// The outcome of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    Told,
    Spooled,
    Nothing,
}

/// Enough calls that one of them is in time: on a busy machine any of them may time out.
const ENOUGH: usize = 50;

#[test]
fn the_configuration_is_heeded_and_a_mistake_in_it_is_none() {
    let world = World::new();
    let elsewhere = world.path("run/other.sock");
    for (config, expected) in [
        // The configured socket.
        (format!(r#"{{"_note": 1, "hooks": {{"socket_path": {elsewhere:?}, "timeout_ms": 3000}}}}"#), Becomes::Told),
        // Disabled: sent to a running daemon, which counts it.
        (
            format!(r#"{{"hooks": {{"enabled": false, "socket_path": {elsewhere:?}, "timeout_ms": 3000}}}}"#),
            Becomes::Told,
        ),
        (r#"{"hooks": {"enabled": false}}"#.to_owned(), Becomes::Nothing),
        // Mistakes in the file.
        (
            r#"{"hooks": {"enabled": 7, "socket_path": "run/other.sock", "timeout_ms": "soon"}}"#.to_owned(),
            Becomes::Spooled,
        ),
        ("{\"hooks\": ".to_owned(), Becomes::Spooled),
        ("x".repeat(2 * 1024 * 1024), Becomes::Spooled),
    ] {
        configure(&world, &config);
        let peer = Peer::listen(&elsewhere, Answer::Taken);
        for _ in 0..ENOUGH {
            end(&world, 1);
            let is_decided = match expected {
                Becomes::Told => peer.calls() > 0,
                Becomes::Spooled => !spool(world.home()).is_empty(),
                Becomes::Nothing => true,
            };
            if is_decided {
                break;
            }
        }
        let (calls, _) = peer.end();
        // A late hook gives "timeout" as its reason, which says nothing about the configuration.
        let spooled = spool(world.home()).iter().filter(|spooled| spooled.why != "timeout" || calls == 0).count();
        let shown = &config[..config.len().min(80)];
        let became = match (calls, spooled) {
            (1.., 0) => Becomes::Told,
            (0, 1..) => Becomes::Spooled,
            (0, 0) => Becomes::Nothing,
            both => panic!("{both:?}: {shown}"),
        };
        assert_eq!((became, lost(world.home())), (expected, 0), "{shown}");
        fs::remove_file(&elsewhere).unwrap();
        let _ = fs::remove_dir_all(world.home().join(SPOOL));
    }
}
