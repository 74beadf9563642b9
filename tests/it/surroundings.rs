//! Variables that do not name an absolute directory: people get an error that names the variable, agents are not held
//! up.

use std::path::Path;

use crate::world::{BATON, Ran, World, finished, list};

/// Runs `program` with these variables set, or unset if `None`.
fn ran(world: &World, program: &str, arguments: &[&str], variables: &[(&str, Option<&str>)]) -> Ran {
    let mut command = world.program(program, arguments);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    finished(command.output().unwrap())
}

#[test]
fn a_relative_directory_is_refused_and_the_variable_is_named() {
    let world = World::new();
    let cases = [
        ("BATON_HOME", "some/where"),
        ("CLAUDE_CONFIG_DIR", "some/where"),
        ("CODEX_HOME", "some/where"),
        ("HOME", ""),
        ("HOME", "user"),
    ];
    for (variable, holds) in cases {
        // HOME is used only if the other variable is not set.
        let mut variables = vec![(variable, Some(holds))];
        variables.extend((variable == "HOME").then_some(("CLAUDE_CONFIG_DIR", None)));
        for arguments in [&["doctor"][..], &["search", "x"], &["status"], &["daemon"], &["mcp"], &["stop"]] {
            let ran = ran(&world, BATON, arguments, &variables);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{variable} {arguments:?}: {}", ran.err);
            let said = format!("{variable} is {holds:?}, which is not an absolute path");
            assert!(ran.err.contains(&said), "{variable} {arguments:?}: {}", ran.err);
            assert!(ran.err.contains(&format!("set {variable} to an absolute path")), "{}", ran.err);
        }
        let ran = ran(&world, BATON, &["status", "--json"], &variables);
        assert!(ran.err.starts_with(r#"{"error":{"#), "{}", ran.err);
    }
    assert_eq!(std::fs::read_dir(world.path("work")).unwrap().count(), 0, "nothing is made where one works");
}

#[test]
fn a_hook_is_silent_about_it_and_ends_well() {
    let world = World::new();
    let hook = Path::new(BATON).with_file_name("baton-hook");
    let variables = [
        vec![("BATON_HOME", Some("some/where"))],
        vec![("CLAUDE_CONFIG_DIR", Some("some/where"))],
        vec![("HOME", Some("")), ("BATON_HOME", None)],
    ];
    for variables in variables {
        for (program, arguments) in [(hook.to_str().unwrap(), &["SessionEnd"][..]), (BATON, &["hook", "SessionEnd"])] {
            let ran = ran(&world, program, arguments, &variables);
            assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{program} {variables:?}");
        }
        assert_eq!(std::fs::read_dir(world.path("work")).unwrap().count(), 0, "nothing is made where one works");
    }
}

#[test]
fn without_need_of_it_an_empty_home_is_no_mistake() {
    let world = World::new();
    let ran = ran(&world, BATON, &["sessions", "--json"], &[("HOME", Some(""))]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(list(&ran.json()["sessions"]).is_empty());
}
