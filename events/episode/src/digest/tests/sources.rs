//! Facts known only from a result, from a picture, or from the harness's own list.

use super::*;
use baton_conversation::item::Report;

fn call(id: &str, name: &str, input: serde_json::Value, edit: Option<Edit>) -> Body {
    let input = input.as_object().cloned().unwrap_or_default().into_iter().collect();
    Body::Call(Call {
        act: Act::of_tool(name),
        id: id.into(),
        name: name.into(),
        input,
        edit,
        commit: None,
        plan: None,
        git_line: None,
    })
}

fn result(id: &str, text: &str) -> Body {
    reported(id, text, Report::default())
}

fn reported(id: &str, text: &str, report: Report) -> Body {
    Body::Result(ToolResult {
        id: id.into(),
        name: None,
        outcome: Outcome::Ok,
        exit_code: None,
        text: text.into(),
        error: None,
        duration_ms: None,
        agent: None,
        report: Some(Box::new(report)),
    })
}

#[test]
fn what_a_write_changed_is_what_its_result_counted() {
    let edit = |added| Some(Edit { path: "a.rs".into(), added, removed: 0, ..Edit::default() });
    let input = || json!({ "file_path": "a.rs" });
    let episode = Session::default()
        .add(call("c1", "Write", input(), edit(300)))
        .add(reported("c1", "Write a.rs: +2 -1", Report { changed: Some((2, 1)), ..Report::default() }))
        .add(call("c2", "Write", input(), edit(7)))
        .add(result("c2", "Write a.rs: done"))
        .digest();
    let [file] = &episode.files_modified[..] else { panic!("one file: {:?}", episode.files_modified) };
    assert_eq!((file.added, file.removed), (2 + 7, 1));
}

#[test]
fn a_result_before_its_call_is_its_result() {
    let episode = Session::default()
        .add(result("c1", "result: 3 lines"))
        .add(call("c1", "Bash", json!({ "command": "cargo test" }), None))
        .digest();
    let [command] = &episode.commands[..] else { panic!("one command: {:?}", episode.commands) };
    assert_eq!((command.text.as_str(), command.outcome, command.count, command.line), ("cargo test", "ok", 1, 2));
}

#[test]
fn a_command_that_goes_on_in_the_background_is_not_known_to_have_succeeded() {
    let outcome = |in_background: bool| {
        let run = call("c1", "Bash", json!({ "command": "npm run dev" }), None);
        Session::default()
            .add(run)
            .add(reported("c1", "Bash", Report { in_background, ..Report::default() }))
            .digest()
            .commands[0]
            .outcome
    };
    assert_eq!(outcome(true), "unknown");
    assert_eq!(outcome(false), "ok");
}

#[test]
fn a_poll_tells_how_the_command_ended() {
    let shell = |id: &str, name: &str, text: &str, outcome: Outcome, in_background: bool| {
        let report = Some(Box::new(Report { in_background, ..Report::default() }));
        let exit_code = (!in_background).then_some(i32::from(outcome == Outcome::Failed));
        let (name, text, id) = (Some(name.into()), text.into(), id.into());
        Body::Result(ToolResult {
            id,
            name,
            outcome,
            exit_code,
            text,
            error: None,
            duration_ms: None,
            agent: None,
            report,
        })
    };
    let goes_on = "shell make: running in the background";
    let poll = |id: &str, chars: &str| call(id, "write_stdin", json!({ "session_id": 71, "chars": chars }), None);
    let commands = |chars: &str, outcome: Outcome| {
        let started = Session::default()
            .prompt("Build it")
            .add(call("c1", "shell", json!({ "command": "make" }), None))
            .add(shell("c1", "shell", goes_on, Outcome::Ok, true))
            .add(poll("c2", ""))
            .add(shell("c2", "write_stdin", "write_stdin: running in the background", Outcome::Ok, true));
        let ended =
            started.add(poll("c3", chars)).add(shell("c3", "write_stdin", "write_stdin: 2 lines", outcome, false));
        let episode = ended.digest();
        (episode.commands[0].outcome, episode.commands[0].exit_code, episode.commands[0].count, episode.errors.len())
    };
    assert_eq!(commands("", Outcome::Ok), ("ok", Some(0), 1, 0));
    assert_eq!(commands("", Outcome::Failed), ("failed", Some(1), 1, 1));
    assert_eq!(commands("y", Outcome::Ok), ("unknown", None, 1, 0), "what is typed may end it");
}

#[test]
fn a_picture_alone_is_a_prompt_without_words() {
    let media = || Body::Media { text: "[image image/png, 34 KB]".into() };
    let mut session = Session::default().prompt("what is this?").add(media()).reply("A dock.").add(media());
    session.items[1].line = 1;
    let messages = |session: &Session| Metadata::new(&session.items, 0).message_count;
    assert_eq!(messages(&session), 3, "a prompt with a picture, a reply, a picture");
    let episode = session.digest();
    assert_eq!(episode.prompts.len(), 1, "{:?}", episode.prompts);
    assert_eq!(episode.objective, "what is this?");
    assert_eq!(Session::default().add(media()).reply("A dock leveller is shown.").digest().objective, "");
}

#[test]
fn a_prompt_that_the_harness_repeats_is_neither_title_nor_purpose() {
    use TitleSource::{LastPrompt, Model, Summary};
    let session =
        || Session::default().prompt("The refresh token expires too early.").title(LastPrompt, "now commit it");
    let (title, first) = ("The refresh token expires too early", "The refresh token expires too early.");
    check_purpose(session(), title, first);
    check_purpose(session().title(Summary, "older"), title, first);
    let nothing_typed = Session::default().title(LastPrompt, "now commit it");
    check_purpose(nothing_typed, "", "");
    let named = session().title(Model, "Token expiry").title(LastPrompt, "and push");
    check_purpose(named, "Token expiry", first);
}

#[test]
fn a_file_that_was_put_back_is_not_modified() {
    let check = |session: Session, expected: &[&str]| {
        let episode = session.digest();
        let files: Vec<_> = episode.files_modified.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, expected);
    };
    let edited = || Session::default().edit("src/jib.rs", 1, 0).edit("src/jib.rs", 12, 2).edit("src/mast.rs", 3, 1);
    check(edited().edit("src/jib.rs", 2, 12), &["src/jib.rs", "src/mast.rs"]);
    check(Session::default().edit("a.rs", 1, 0).edit("a.rs", 0, 1), &["a.rs"]);
    check(edited().ok("git checkout -- src/jib.rs"), &["src/mast.rs"]);
    check(edited().ok("git restore src/"), &[]);
    check(edited().ok("git checkout src/jib.rs").edit("src/jib.rs", 2, 1), &["src/jib.rs", "src/mast.rs"]);
    // What was committed before stays.
    check(edited().ok("git commit -am x").ok("git restore ."), &["src/jib.rs", "src/mast.rs"]);
    check(edited().ok("git checkout HEAD~1 -- src/jib.rs"), &["src/jib.rs", "src/mast.rs"]);
    check(edited().ok("git restore src/jib.rs || true"), &["src/jib.rs", "src/mast.rs"]);
}
