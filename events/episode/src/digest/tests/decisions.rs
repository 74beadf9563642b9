use serde_json::json;

use super::Session;
use baton_conversation::item::{Body, Outcome};

#[track_caller]
fn check(session: Session, expected: &[(u64, &str)]) {
    let episode = session.digest();
    let found: Vec<_> = episode.decisions.iter().map(|decision| (decision.line, decision.text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_choice_of_the_agent_is_told_once_with_its_reason() {
    let choice = "I take a queue instead of a thread, because a queue is bounded by nature.";
    check(
        Session::default()
            .prompt("Make it faster")
            .reply(&format!("I looked at it. **{choice}** It works."))
            .reply(choice),
        &[(2, choice)],
    );
    check(Session::default().prompt("Make it faster").reply("I looked at it. All tests pass."), &[]);
    check(
        Session::default()
            .prompt("x")
            .reply("The lock cannot help, since two processes run. Dead end, I take it out again."),
        &[(2, "The lock cannot help, since two processes run. Dead end, I take it out again.")],
    );
}

#[test]
fn a_proposal_is_no_decision_and_the_answer_to_it_may_be_one() {
    let proposal = || Session::default().prompt("How would you do it?").reply("I'd keep the key in the header.");
    check(proposal().prompt("yes, do that"), &[]);
    check(proposal().prompt("no, use a cookie there"), &[(3, "User: no, use a cookie there")]);
}

#[test]
fn a_person_corrects_and_lays_down() {
    let start = || Session::default().prompt("never use tabs in this").reply("Done: the form is validated now.");
    check(start(), &[]);
    check(start().prompt("thanks. commit it"), &[]);
    check(
        start().prompt("good. please don't touch the lock file. two days is enough"),
        &[(3, "User: please don't touch the lock file"), (3, "User: two days is enough")],
    );
    check(start().prompt("why don't you use the lock file?"), &[]);
    check(start().prompt("leave that for tomorrow"), &[]);
    let interrupted = start().add(Body::Notice { text: "interrupted by the user".into() });
    check(interrupted.prompt("the library can do this"), &[(4, "User: the library can do this")]);
    let asked = || start().reply("Which one do you want, a table or a list?");
    check(asked().prompt("the table"), &[(4, "Which one do you want, a table or a list? User: the table")]);
    check(asked().prompt("what is the difference?"), &[]);
}

#[test]
fn answers_refusals_and_approved_plans_are_decisions() {
    let answered = "User has answered your questions: \"Where?\"=\"Postgres\", \"How long?\"=\"a day\". You can now continue with the user's answers in mind.";
    let question = json!({ "questions": [{ "question": "Where?" }, { "question": "How long?" }] });
    let mut session = Session::default().prompt("go").call("AskUserQuestion", question, None);
    session = session.result(Outcome::Ok, None, None).add(Body::Answer { text: answered.into() });
    session.items[3].line = 3;
    check(session, &[(3, "Where? User: Postgres"), (3, "How long? User: a day")]);

    let denied = |reason: &str| {
        let call = Session::default().prompt("go").call("Bash", json!({ "command": "git push" }), None);
        let mut session = call.result(Outcome::Denied, None, None).add(Body::Answer { text: reason.into() });
        session.items[3].line = 3;
        session
    };
    check(denied("never push from here"), &[(3, "User refused `git push`: never push from here")]);
    check(denied("what would that do?"), &[]);

    let plan = json!({ "plan": "# Faster\n\n1. Index it\n2. Page it…[+900 chars #01234567]" });
    let planned =
        |outcome| Session::default().prompt("go").call("ExitPlanMode", plan.clone(), None).result(outcome, None, None);
    check(planned(Outcome::Ok), &[(3, "Plan approved: Faster")]);
    check(planned(Outcome::Denied), &[]);
}
