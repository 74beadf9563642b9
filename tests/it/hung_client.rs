//! Programs with an agent's directory on a file system that does not answer: none of them waits for it for ever.

use std::time::Duration;

use crate::full_disk::{Hung, run_where_hung_may_be_mounted};

#[test]
fn where_a_root_does_not_answer() {
    run_where_hung_may_be_mounted("hung_client::mounted::", 3);
}

/// Tests in a mount namespace of their own.
mod mounted {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    use std::sync::mpsc;

    use super::*;
    use crate::world::{BATON, DEADLINE, World, finished, id, wait_within};

    /// Maximum runtime of a command, which allows for many file system calls that time out.
    const BOUND: Duration = Duration::from_secs(25);

    fn with_one_session() -> World {
        let world = World::new();
        world.transcript("-work-one", &id(1)).prompt("the wolverine was here").reply("it was");
        std::fs::create_dir_all(world.path("codex/sessions")).unwrap();
        world.close(&id(1));
        world
    }

    /// Exit code and output of a command, which must end within [`BOUND`].
    fn ends(world: &World, arguments: &[&str]) -> (i32, String) {
        let mut child = world.spawn(arguments);
        let ended = wait_within(BOUND, || child.try_wait().unwrap().is_some());
        if !ended {
            let _ = child.kill();
        }
        let ran = finished(child.wait_with_output().unwrap());
        assert!(ended, "baton {arguments:?} waits for ever\n{}{}", ran.out, ran.err);
        (ran.code, ran.out + &ran.err)
    }

    fn answers(world: &World) {
        for arguments in [&["search", "wolverine", "--no-wait"][..], &["search", "wolverine"], &["show", &id(1)]] {
            let (code, said) = ends(world, arguments);
            assert!(code == 0 && said.contains("wolverine"), "{arguments:?}: {said}");
        }
        for arguments in [&["recall", "wolverine"][..], &["sessions"], &["status"]] {
            let (code, said) = ends(world, arguments);
            assert_eq!(code, 0, "{arguments:?}: {said}");
        }
        let (_, said) = ends(world, &["doctor"]);
        assert!(said.contains("sessions known"), "{said}");
    }

    #[test]
    #[ignore = "run by where_a_root_does_not_answer"]
    fn a_root_of_claude_keeps_no_program() {
        let world = with_one_session();
        let _hung = Hung::mount(world.projects());
        answers(&world);
        // The same without a running daemon.
        ends(&world, &["stop"]);
        let (_, said) = ends(&world, &["doctor"]);
        assert!(said.contains("at least 0 on disk"), "{said}");
        let (code, said) = ends(&world, &["search", "wolverine", "--no-wait"]);
        assert!(code == 0 && said.contains("wolverine"), "{said}");
        // The daemon reports a project that does not answer.
        let project = world.projects().join("app");
        let (_, said) = ends(&world, &["search", "wolverine", "--project", project.to_str().unwrap()]);
        assert!(said.contains("does not answer") || said.contains("no session"), "{said}");
        ends(&world, &["stop"]);
    }

    #[test]
    #[ignore = "run by where_a_root_does_not_answer"]
    fn an_agent_s_directory_keeps_no_installation() {
        let world = World::new();
        for (directory, agent) in [(world.config().to_owned(), "claude"), (world.path("codex"), "codex")] {
            let hung = Hung::mount(directory.clone());
            for arguments in [&["install", "--yes"][..], &["uninstall", agent, "--yes"]] {
                let (code, said) = ends(&world, arguments);
                let is_named = said.contains(&format!("{} does not answer", directory.display()));
                assert!(code == 1 && is_named, "{arguments:?}: {said}");
            }
            drop(hung);
        }
    }

    #[test]
    #[ignore = "run by where_a_root_does_not_answer"]
    fn a_root_of_codex_keeps_no_program() {
        let world = with_one_session();
        let _hung = Hung::mount(world.path("codex/sessions"));
        answers(&world);
        let mut server = world.program(BATON, &["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":{"query":"wolverine"}}}"#,
        ] {
            writeln!(input, "{line}").unwrap();
        }
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| drop(tell.send(line))));
        let answered = std::iter::from_fn(|| told.recv_timeout(BOUND).ok()).any(|line| line.contains(r#""id":2"#));
        drop(input);
        let ended = wait_within(DEADLINE, || server.try_wait().unwrap().is_some());
        let _ = server.kill();
        assert!(answered && ended, "answered {answered}, ended {ended}");
        // A daemon starts there, too.
        ends(&world, &["stop"]);
        answers(&world);
        ends(&world, &["stop"]);
    }
}
