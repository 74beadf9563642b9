use serde_json::json;

use super::Session;
use baton_conversation::item::{Body, Meta, Outcome};

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
    let again = |prompt| start().add(Body::Notice { text: "interrupted by the user".into() }).prompt(prompt);
    check(again("no, the library can do this"), &[(4, "User: no, the library can do this")]);
    check(again("another program was here, read the files again"), &[]);
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
}

#[test]
fn a_plan_decides_what_it_lists_as_decided_or_names_as_its_approach() {
    let planned = |plan: &str, outcome| {
        let plan = json!({ "plan": plan });
        Session::default().prompt("go").call("ExitPlanMode", plan, None).result(outcome, None, None)
    };
    let listed = "# Faster\n\n## Design decisions\n- **Store**: one file\n  - how it is named\n- No index\n\n## Steps\n1. Index it instead of a scan\n";
    check(planned(listed, Outcome::Ok), &[(3, "Plan: Store: one file"), (3, "Plan: No index")]);
    check(planned(listed, Outcome::Denied), &[]);
    let approach = "# Faster\n\n## Approach\nAn index is kept beside the file. It is small.\n\n## Steps\n- Read pages instead of lines there\n- The sorting stays unchanged in it\n";
    let chosen = [(3, "Plan: An index is kept beside the file."), (3, "Plan: Read pages instead of lines there")];
    check(planned(approach, Outcome::Ok), &chosen);
    check(planned("# Faster\n\n1. Index it\n2. Page it…[+900 chars #01234567]", Outcome::Ok), &[]);
}

#[test]
fn what_is_done_for_a_reason_is_a_choice_where_the_change_follows() {
    let said = "The cache is shared. Since two processes write it, we need to lock it first.";
    let chosen = [(2, said)];
    check(Session::default().prompt("Make it safe").reply(said).edit("a.rs", 1, 1), &chosen);
    check(Session::default().prompt("Make it safe").reply(said).read("a.rs"), &[]);
}

#[test]
fn what_overruled_a_decision_is_told_with_it() {
    let told = |session: Session| {
        let episode = session.digest();
        let by = |said: &super::Pointed| episode.overruled_by[&(said.line, said.text.clone())].text.clone();
        episode.superseded.iter().map(|said| (said.text.clone(), by(said))).collect::<Vec<_>>()
    };
    let choice = "I take a queue instead of a thread, because a queue is bounded by nature.";
    let start = || Session::default().prompt("Make it faster").reply(choice).edit("a.rs", 1, 1);
    assert_eq!(told(start().prompt("commit it")), []);
    let objection = "no, a queue is not bounded here, use the thread";
    assert_eq!(told(start().prompt(objection)), [(choice.to_owned(), format!("User: {objection}"))]);
}

#[test]
fn what_a_person_went_back_from_decides_nothing() {
    let below = |session: Session, parent: &str| session.add(Body::Meta(Meta::Below(parent.into())));
    let asked = || below(Session::default(), "").prompt("Make it faster").reply("An index helps, or a cache.");
    let first = below(asked(), "a").prompt("use a cache for it").edit("a.rs", 1, 1).reply("The cache is there.");
    let again = below(first, "a").prompt("use an index for it").edit("b.rs", 1, 1).reply("The index is there.");
    let found: Vec<_> = again.digest().decisions.into_iter().map(|said| said.text).collect();
    assert_eq!(found, ["User: use an index for it"]);
}
