use std::path::PathBuf;

use crate::agents::Host;
use crate::locations::Programs;
use baton_home::environment::Environment;

use super::*;

/// A server with a home of its own, or that of another home.
fn server(home: &str) -> Server {
    let programs = Programs { baton: PathBuf::from("/b \"b/baton"), hook: None };
    Server::new(Host::Codex, &programs, &Environment::isolated(home.into(), "/c".into()))
}

const MINE: [&str; 9] = [
    "\u{feff}a = 1\n",
    "",
    "\n",
    "# mine\n",
    "model = \"m\"\r\n\r\n[mcp_servers.x]\r\ncommand = 'x' # theirs\r\n",
    "model = 'm' # mine\n\n# theirs\n[mcp_servers.x]\ncommand = \"x\"\n\n# end\n",
    "[mcp_servers]\nx = { command = 'x' }\n[tui]\ntheme = \"\"\"\n[mcp_servers.baton]\n\"\"\"\n",
    "mcp_servers.x.command = 'x'\n",
    "[[array]]\na = 2026-11-29T10:00:00Z\nb = nan\n\n\n",
];

#[test]
fn it_is_put_in_beside_others_and_taken_out_without_a_trace() {
    let server = server("/h");
    for before in MINE {
        let after = put_in(&server, before).unwrap_or_else(|error| panic!("{before}: {error}"));
        assert!(after.starts_with(before), "{after}");
        assert_eq!(server.in_file(&value(&after).unwrap()), Registered::This, "{after}");
        assert_eq!(after.contains("\r\n"), before.contains("\r\n"));
        assert!(
            !after.replace("\r\n", "").contains('\r')
                && (!before.contains('\r') || !after.replace("\r\n", "").contains('\n'))
        );
        assert_eq!(put_in(&server, &after).unwrap(), after);
        assert_eq!(take_out(&server, &after).unwrap(), before);
        assert_eq!(take_out(&server, before).unwrap(), before);
        // What Codex or a person adds behind it stays.
        let more = format!("{after}\n# trusted\n[hooks.state.\"f:stop:0:0\"]\ntrusted_hash = 'x'\n");
        assert_eq!(take_out(&server, &more).unwrap(), more.replacen(&after[before.len()..], "", 1));
    }
    // A last line that is not terminated is, from then on.
    let after = put_in(&server, "a = 1").unwrap();
    assert_eq!(take_out(&server, &after).unwrap(), "a = 1\n");
}

#[test]
fn an_entry_of_another_home_is_renewed_where_it_stands() {
    let other = server("/other");
    let renewed = server("/h");
    for text in [
        "[mcp_servers.baton] # mine\ncommand = '/o/baton' # old\nargs = ['mcp']\nstartup_timeout_sec = 9\n\n[mcp_servers.baton.tools.search]\napproval_mode = 'approve'\n\n[z]\n",
        "[mcp_servers.baton]\ncommand = '/o/baton'\nargs = ['mcp']\nstartup_timeout_sec = 9\n[mcp_servers.baton.env]\nBATON_HOME = '/o' # old\nMINE = '1'\n[z]\n",
        "mcp_servers = { baton = { command = '/o/baton', args = ['mcp'], startup_timeout_sec = 9 }, x = { command = 'x' } }\n",
    ] {
        let first = put_in(&other, text).unwrap();
        let after = put_in(&renewed, &first).unwrap();
        let entry = &value(&after).unwrap()["mcp_servers"]["baton"];
        assert_eq!(renewed.in_file(&value(&after).unwrap()), Registered::This, "{after}");
        assert_eq!((&entry["startup_timeout_sec"], &entry["env"]["BATON_HOME"]), (&9.into(), &"/h".into()), "{after}");
        for kept in ["# mine", "# old", "approval_mode", "MINE = '1'", "[z]", "x = { command = 'x' }"] {
            assert_eq!(after.contains(kept), text.contains(kept), "{kept}: {after}");
        }
    }
    // In a file with other line ends it is written anew.
    let old = put_in(&other, MINE[3]).unwrap();
    assert_eq!(put_in(&renewed, &old).unwrap(), put_in(&renewed, MINE[3]).unwrap());
}

#[test]
fn every_table_of_the_server_goes_and_nothing_else() {
    let server = server("/h");
    let own =
        "[mcp_servers.baton]\ncommand = \"/b \\\"b/baton\"\nargs = [ # ours\n  'mcp',\n]\n# ours too\nenabled = true\n";
    let below = "[mcp_servers.baton.env]\nBATON_HOME = '/h'\n";
    for (text, expected) in [
        (format!("{own}\n{below}"), "\n".to_owned()),
        (format!("a = 1\n{own}[z]\n"), "a = 1\n[z]\n".to_owned()),
        (format!("{below}\n# x\n[x]\n\n{own}\n# z\n[z]\n"), "\n# x\n[x]\n\n# z\n[z]\n".to_owned()),
        (
            format!("[mcp_servers.x]\ncommand = 'x'\n\n{own}\n{below}\n[mcp_servers.y]\n"),
            "[mcp_servers.x]\ncommand = 'x'\n\n[mcp_servers.y]\n".to_owned(),
        ),
        (
            "[mcp_servers]\nbaton = { command = 'baton', args = ['mcp'] } # ours\nx = {}\n".to_owned(),
            "[mcp_servers]\nx = {}\n".to_owned(),
        ),
        (
            "mcp_servers.baton.command = 'baton'\nmcp_servers.x.command = 'x'\nmcp_servers.baton.args = ['mcp']\n"
                .to_owned(),
            "mcp_servers.x.command = 'x'\n".to_owned(),
        ),
        ("[mcp_servers.baton]\ncommand = 'cat'\n".to_owned(), "[mcp_servers.baton]\ncommand = 'cat'\n".to_owned()),
    ] {
        assert_eq!(take_out(&server, &text), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let server = server("/h");
    let inline = "mcp_servers = { x = { command = 'x' } }\n";
    assert_eq!(put_in(&server, inline), Err(Error::Form(SERVERS)));
    let both = "mcp_servers = { x = {}, baton = { command = 'baton', args = ['mcp'] } }\n";
    assert_eq!(take_out(&server, both), Err(Error::Form(SERVERS)));
    assert_eq!(put_in(&server, "mcp_servers = 7\n"), Err(Error::Form(SERVERS)));
    for broken in ["a = \n", "[mcp_servers.baton]\n[mcp_servers.baton]\n", "\u{feff}\u{0}", "a = 'é"] {
        assert!(matches!(put_in(&server, broken), Err(Error::InvalidToml(..))), "{broken}");
        assert!(matches!(take_out(&server, broken), Err(Error::InvalidToml(..))), "{broken}");
    }
}
