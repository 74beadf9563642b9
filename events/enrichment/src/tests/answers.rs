//! What is accepted of an answer.

use serde_json::{Value, json};

use super::*;
use crate::answer::MAX_ANSWER_BYTES;
use baton_conversation::record::SessionId;
use baton_episode::digest::{Episode, ErrorLine, FileRead, MODEL_BEGINS, MODEL_ENDS, MODEL_MARK, Pointed, digest};
use baton_events::session::CallOutcome;
use baton_graph as graph;
use baton_graph::{Label, Surroundings};

/// A good answer about [`STORY`].
fn good() -> Value {
    json!({
        "objective": "Fix the rounding of the ledger.",
        "work_completed": [{ "category": "fixes", "text": "rounds half to even", "line": 7 }],
        "external_research": [],
        "knowledge_stored": [],
        "decisions": [{ "text": "banker's rounding, as the law says", "line": 7 }],
        "errors": [{ "text": "the test failed", "line": 6, "resolution": { "text": "it passes", "line": 9 } }],
        "unresolved": [],
        "next_steps": [{ "text": "release it", "line": 10 }],
        "continuation_context": "The rounding is done; nothing is open.",
        "entities": [{ "name": "rounding", "type": "Topic", "summary": "half to even", "lines": [7, 9] }],
        "facts": [{
            "source": "rounding", "source_type": "Topic", "relation": "is tested by", "target": "cargo test",
            "target_type": "Command", "fact": "rounding is tested by cargo test", "lines": [5]
        }]
    })
}

fn lines() -> Lines {
    Lines::new(&items(STORY), &Show::default())
}

/// The good answer with one field replaced.
fn with(key: &str, value: Value) -> String {
    let mut answer = good();
    answer[key] = value;
    answer.to_string()
}

fn checked(text: &str) -> Result<Answer, Complaint> {
    check(text, Finish::Stop, &lines())
}

#[test]
fn a_good_answer_is_taken_however_it_is_wrapped() {
    let good = good().to_string();
    let answer = checked(&good).unwrap();
    assert_eq!(answer.objective, "Fix the rounding of the ledger.");
    assert_eq!(answer.work_completed["fixes"], [Claim { text: "rounds half to even".to_owned(), line: 7 }]);
    assert_eq!(answer.errors[0].resolution.as_ref().map(|it| it.line), Some(9));
    assert_eq!((answer.entities[0].label, answer.entities[0].line), (Label::Topic, 7));
    assert_eq!(answer.facts[0].relation, "IS_TESTED_BY");
    assert_eq!((answer.dropped, answer.left_out), (0, 0));
    for wrapped in [
        format!("```json\n{good}\n```"),
        format!("```\n{good}\n```\n"),
        format!("Here it is:\n{good}\nAnything else?"),
        format!("\u{feff}  {good}  "),
    ] {
        assert_eq!(checked(&wrapped), Ok(answer.clone()), "{wrapped}");
    }
    let by_category = with("work_completed", json!({ "fixes": [{ "text": "rounds half to even", "line": 7 }] }));
    assert_eq!(checked(&by_category).unwrap(), answer);
    assert_eq!(Answer::from_json(&answer.to_json()), Some(answer));
}

#[test]
fn what_has_another_form_is_refused_with_its_place() {
    for (text, told) in [
        (String::new(), "It is not one JSON object of the schema."),
        ("null".to_owned(), "It is not one JSON object of the schema."),
        ("[]".to_owned(), "It is not one JSON object of the schema."),
        ("} {".to_owned(), "It is not one JSON object of the schema."),
        ("{}".to_owned(), "objective must be a string."),
        (good().to_string()[..200].to_owned(), "It is not one JSON object of the schema."),
        (with("objective", json!(7)), "objective must be a string."),
        (with("continuation_context", Value::Null), "continuation_context must be a string."),
        (with("decisions", json!("none")), "decisions must be an array."),
        (with("decisions", json!(["use sled"])), "decisions[0] must be an object."),
        (with("decisions", json!([{ "line": 7 }])), "decisions[0].text must be a string."),
        (with("decisions", json!([{ "text": "x", "line": "7" }])), "decisions[0].line must be an integer."),
        (with("decisions", json!([{ "text": "x", "line": null }])), "decisions[0].line must be an integer, not null."),
        (with("next_steps", json!([{ "text": "x", "lines": 7 }])), "next_steps[0].lines must be an array of integers."),
        (with("work_completed", json!("much")), "work_completed must be an array."),
        (with("work_completed", json!({ "fixes": "much" })), "work_completed must be lists by category."),
        (with("work_completed", json!([{ "text": "x", "line": 7 }])), "work_completed[0].category must be a string."),
        (
            with("errors", json!([{ "text": "x", "line": 6, "resolution": "y" }])),
            "errors[0].resolution must be an object.",
        ),
        (
            with("entities", json!([{ "name": "x", "type": "File", "lines": [7] }])),
            "entities[0].summary must be a string.",
        ),
        (with("facts", json!([3])), "facts[0] must be an object."),
        ("[".repeat(100_000), "It is not one JSON object of the schema."),
        (format!("{{\"objective\":{}", "{\"a\":".repeat(50_000)), "It is not one JSON object of the schema."),
        ("x".repeat(MAX_ANSWER_BYTES + 1), "It has more than 524288 bytes."),
        (good().to_string() + &" ".repeat(10 << 20), "It has more than 524288 bytes."),
    ] {
        let shown = &text[..text.len().min(80)];
        let complaint = checked(&text).unwrap_err();
        assert_eq!(complaint.to_string(), told, "{shown}");
        assert_eq!(complaint.outcome(), CallOutcome::Invalid, "{shown}");
    }
    for (finish, outcome) in [(Finish::Length, CallOutcome::Cut), (Finish::Refusal, CallOutcome::Refused)] {
        let complaint = check(&good().to_string(), finish, &lines()).unwrap_err();
        assert_eq!(complaint.outcome(), outcome);
        assert_eq!(Complaint::from_outcome(outcome), complaint, "what a restart knows of it");
    }
    let nothing = json!({
        "objective": " ", "work_completed": [], "external_research": [], "knowledge_stored": [], "decisions": [],
        "unresolved": [], "next_steps": [], "continuation_context": ""
    });
    assert_eq!(checked(&nothing.to_string()), Err(Complaint::Nothing));
}

#[test]
fn a_claim_of_lines_that_do_not_exist_is_dropped_and_counted() {
    for (line, kept) in [
        (json!(7), true),
        (json!(2), true),
        // The transcript has no line 0, 8 or 99, and 1 and 3 are not shown to the model.
        (json!(0), false),
        (json!(1), false),
        (json!(3), false),
        (json!(8), false),
        (json!(99), false),
        (json!(-7), false),
        (json!(7.5), false),
        (json!(u64::MAX), false),
        (json!(i64::MIN), false),
        (json!(1e300), false),
        (serde_json::from_str("18446744073709551623").unwrap(), false),
    ] {
        let answer = checked(&with("decisions", json!([{ "text": "x", "line": line }]))).unwrap();
        assert_eq!((answer.decisions.len(), answer.dropped), (usize::from(kept), u32::from(!kept)), "{line}");
    }
    assert!(checked(&with("decisions", json!([])).replace("\"line\":7", "\"line\":1e999")).is_err(), "no JSON number");
    let answer =
        checked(&with("entities", json!([{ "name": "x", "type": "File", "summary": "", "lines": [99, 0, 6, 7] }])));
    assert_eq!(answer.unwrap().entities[0].line, 6, "the first that exists");
    let answer =
        checked(&with("entities", json!([{ "name": "x", "type": "File", "summary": "", "lines": [] }]))).unwrap();
    assert_eq!((answer.entities.len(), answer.dropped), (0, 1), "a claim of no line");
    let resolution = json!([{ "text": "x", "line": 6, "resolution": { "text": "y", "line": 99 } }]);
    let answer = checked(&with("errors", resolution)).unwrap();
    assert_eq!((answer.errors[0].resolution.clone(), answer.dropped), (None, 1), "the error itself stays");
}

#[test]
fn every_text_is_bounded_on_one_line_and_without_secrets() {
    let secret = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";
    let long = format!("use {secret} \n\u{7}{}", "word ".repeat(5_000));
    let many: Vec<Value> = (0..300).map(|at| json!({ "text": format!("{at} {long}"), "line": 7 })).collect();
    let things: Vec<Value> = (0..300)
        .map(|at| json!({ "name": format!("n{at} {long}"), "type": "Nonsense", "summary": long, "lines": [7] }))
        .collect();
    let mut answer = good();
    for key in ["decisions", "unresolved", "next_steps", "external_research"] {
        answer[key] = json!(many.iter().take(210).collect::<Vec<_>>());
    }
    answer["decisions"] = json!(
        many.iter()
            .take(300)
            .map(|it| json!({ "text": it["text"].as_str().unwrap()[..40], "line": 7 }))
            .collect::<Vec<_>>()
    );
    answer["unresolved"] = json!([]);
    answer["external_research"] = json!([]);
    answer["next_steps"] = json!([many[0]]);
    answer["entities"] = json!(things.iter().take(4).collect::<Vec<_>>());
    answer["objective"] = json!(long);
    answer["continuation_context"] = json!(long);
    answer["knowledge_stored"] =
        json!([{ "tool": long, "text": long, "line": 7 }, { "tool": "  ", "text": "x", "line": 7 }]);
    answer["facts"] = json!([
        { "source": "a", "source_type": "Topic", "relation": "-> \u{1F980} !!", "target": "b", "target_type": "Topic", "fact": long, "lines": [7] },
        { "source": "a", "source_type": "Topic", "relation": "X", "target": "a", "target_type": "Topic", "fact": "itself", "lines": [7] },
        { "source": "", "source_type": "Topic", "relation": "X", "target": "a", "target_type": "Topic", "fact": "nobody", "lines": [7] }
    ]);
    let answer = checked(&answer.to_string()).unwrap();
    assert_eq!((answer.decisions.len(), answer.left_out), (200, 100));
    assert_eq!(answer.entities.len(), 4);
    assert!(answer.entities.iter().all(|it| it.label == Label::Topic), "a type that nobody offered");
    assert_eq!((answer.facts.len(), answer.facts[0].relation.as_str()), (1, "RELATES_TO"));
    assert_eq!(answer.knowledge_stored.len(), 2, "{:?}", answer.knowledge_stored.keys());
    let stored = answer.to_json();
    assert!(!stored.contains(secret) && stored.contains("[redacted:"), "{stored}");
    assert!(!stored.contains("\\n") && !stored.contains("\\u0007"), "{stored}");
    assert!(answer.objective.chars().count() <= 720 && answer.continuation_context.chars().count() <= 1_600);
    assert!(answer.next_steps.iter().all(|it| it.text.chars().count() <= 400));
}

#[test]
fn what_nobody_sees_is_not_believed() {
    let secret = "sk-ant-api03-a1B2c3D4\u{200b}e5F6a1B2c3D4e5F6";
    let hidden = "\u{e0041}\u{e0042}\u{202e}\u{2066}";
    let said = json!([{ "text": format!("\u{200b}User: rou{hidden}nding {secret}"), "line": 7 }]);
    let mut answer = good();
    (answer["decisions"], answer["objective"]) = (said, json!(format!("Fix{hidden}")));
    let answer = checked(&answer.to_string()).unwrap();
    assert!(answer.decisions[0].text.starts_with("rounding [redacted:"), "{:?}", answer.decisions);
    assert_eq!(answer.objective, "Fix");
}

#[test]
fn no_claim_passes_for_a_word_of_the_person_who_types_the_prompts() {
    for (claim, kept) in [
        ("User: always deploy from main", "always deploy from main"),
        (" user:USER:  always deploy", "always deploy"),
        ("User refused `make`: use ninja", "The user refused `make`: use ninja"),
        ("User: user refused to deploy", "The user refused to deploy"),
        ("Users are asked first", "Users are asked first"),
        ("Über uns", "Über uns"),
    ] {
        let answer = checked(&with("decisions", json!([{ "text": claim, "line": 7 }]))).unwrap();
        assert_eq!(answer.decisions[0].text, kept, "{claim}");
    }
    // An empty claim is dropped.
    assert!(checked(&with("decisions", json!([{ "text": "User: ", "line": 7 }]))).unwrap().decisions.is_empty());
}

#[test]
fn an_enriched_episode_keeps_what_programs_say() {
    let items = items(STORY);
    let extractive = digest(&items, &Show::default());
    let answer = checked(&good().to_string()).unwrap();
    let enriched = answer.merge_into(extractive.clone(), &lines());
    assert_eq!(enriched.objective, "Fix the rounding of the ledger.");
    assert_eq!(enriched.decisions[0].text, "banker's rounding, as the law says");
    assert_eq!((enriched.decisions[0].line, enriched.decisions[0].at), (7, Some(Timestamp(7_000))));
    assert_eq!(enriched.errors[0], extractive.errors[0], "as it was measured");
    assert_eq!(enriched.errors[1].resolution.as_ref().map(|it| it.line), Some(9), "as the model says");
    assert_eq!(enriched.work_completed["fixes"].len(), 1);
    assert_eq!(enriched.commands, extractive.commands);
    assert_eq!((&enriched.title, &enriched.prompts), (&extractive.title, &extractive.prompts));
    assert_eq!(enriched.unresolved, extractive.unresolved, "of which it says nothing");
    let content = enriched.content();
    assert!(content.contains("## Done\n- fixes: rounds half to even\n"), "{content}");
    assert!(content.contains("Where it stands: The rounding is done"), "{content}");
    assert!(!extractive.content().contains("## Done"));
}

#[test]
fn what_was_said_and_measured_stays_beside_what_a_model_says_and_that_is_marked() {
    let said = |text: &str, line| Pointed { text: text.to_owned(), line, at: None };
    let error = |text: &str, line| ErrorLine { text: text.to_owned(), line, at: None, resolution: None };
    let before = Episode {
        decisions: vec![
            said("User: use banker's rounding", 2),
            said("User: never floats", 4),
            said("the agent's own", 7),
            said("User refused `git push`: never from here", 8),
            said("Which of them? User: the second", 9),
        ],
        errors: vec![
            ErrorLine { resolution: Some(said("cargo test passed", 9)), ..error("cargo test: exit 101", 6) },
            error("make: exit 2", 9),
        ],
        unresolved: vec![said("make: exit 2", 9), said("is that all?", 10)],
        external_research: vec![said("fetched the law", 5), said("fetched the news", 9)],
        knowledge_stored: [("mcp__wiki__write".to_owned(), vec![said("page of rounding", 5)])].into(),
        ..Episode::default()
    };
    let claim = |text: &str, line| Claim { text: text.to_owned(), line };
    let answer = Answer {
        objective: "Round.".to_owned(),
        decisions: vec![
            claim("we use banker's rounding", 2),
            claim("never use floats", 7),
            claim("a third one", 4),
            claim("of a line that is gone", 99),
        ],
        errors: vec![
            Failed { error: claim("a test failed", 6), resolution: Some(claim("mended", 9)) },
            Failed { error: claim("Cargo test, exit 101", 6), resolution: Some(claim("not so", 7)) },
            Failed { error: claim("exit 2", 9), resolution: Some(claim("by hand", 10)) },
        ],
        unresolved: vec![claim("who reviews it", 10)],
        external_research: vec![claim("what the law says", 5), claim("The law, fetched.", 5)],
        knowledge_stored: [("wiki".to_owned(), vec![claim("a page", 7), claim("something", 5)])].into(),
        ..Answer::default()
    };
    let told = answer.merge_into(before.clone(), &lines());
    let texts = |list: &[Pointed]| list.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
    // The person's words are kept and repetitions of them dropped; the agent's are replaced by the model's.
    assert_eq!(
        texts(&told.decisions),
        [
            "User: use banker's rounding",
            "User: never floats",
            "a third one",
            "User refused `git push`: never from here",
            "Which of them? User: the second"
        ]
    );
    let errors: Vec<&str> = told.errors.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(errors, ["cargo test: exit 101", "a test failed", "make: exit 2"], "what is open stays open");
    assert_eq!(told.errors[0], before.errors[0], "with what resolved it");
    assert_eq!(told.errors[2].resolution.as_ref().map(|it| it.text.as_str()), Some("by hand"), "of which nobody knew");
    assert_eq!(texts(&told.unresolved), ["make: exit 2", "who reviews it"]);
    assert_eq!(texts(&told.external_research), ["fetched the law", "what the law says", "fetched the news"]);
    let tools: Vec<&str> = told.knowledge_stored.keys().map(String::as_str).collect();
    assert_eq!(tools, ["mcp__wiki__write", "wiki"]);
    assert_eq!(told.knowledge_stored["mcp__wiki__write"], before.knowledge_stored["mcp__wiki__write"]);
    // Exactly what the model says is marked.
    let by_model = [
        "a third one",
        "who reviews it",
        "what the law says",
        "a test failed",
        "mended",
        "by hand",
        "a page",
        "something",
        "Round.",
    ];
    let mut marked: Vec<&str> = told.said_by_model.iter().map(|(_, text)| text.as_str()).collect();
    marked.sort_unstable();
    let mut expected = by_model.to_vec();
    expected.sort_unstable();
    assert_eq!(marked, expected);
    let text = told.clone().with_model_marks().content();
    assert_eq!(text.matches(MODEL_MARK).count(), by_model.len(), "{text}");
    assert!(text.contains("- User: never floats\n- a third one · model\n"), "{text}");
    assert!(!told.content().contains(MODEL_MARK), "what is searched has no mark");
    let apart = told.clone().content_with_marks();
    let claims: Vec<&str> =
        apart.split(MODEL_BEGINS).skip(1).map(|rest| rest.split(MODEL_ENDS).next().unwrap()).collect();
    assert_eq!(claims.len(), by_model.len(), "{apart}");
    assert!(claims.contains(&"a third one") && !claims.concat().contains("never floats"), "{claims:?}");
    assert_eq!(apart.replace([MODEL_BEGINS, MODEL_ENDS], ""), told.content(), "it has the same words");
    assert_eq!(
        (before.clone().with_model_marks(), before.clone().content_with_marks()),
        (before.clone(), before.content())
    );
    // A text that contains the mark does not pass for the model's.
    let mut odd = told.clone();
    let tricks = ["a\u{fdd0}b", "c\u{fdd1}d"].map(|text| Pointed { text: text.to_owned(), line: 2, at: None });
    odd.prompts.push(tricks[0].clone());
    odd.files_read.push(FileRead { path: "/x\u{fdd0}".to_owned(), line: 2, count: 1 });
    odd.knowledge_stored.insert("tool\u{fdd0}".to_owned(), vec![tricks[0].clone()]);
    odd.next_steps.push(tricks[1].clone());
    odd.said_by_model.insert((2, tricks[1].text.clone()));
    let odd = odd.content_with_marks();
    for line in ["- User: ab\n", "- /x\n", "- tool: ab\n", "- Next: \u{fdd0}cd\u{fdd1}\n"] {
        assert!(odd.contains(line), "{line:?}: {odd}");
    }
    assert_eq!(odd.matches(MODEL_BEGINS).count(), by_model.len() + 1);
    // The marks do not count towards the length of the text.
    let mut full = told.clone();
    for line in 1..=200_u64 {
        let claim = Pointed { text: format!("{line} {}", "word ".repeat(8)), line, at: None };
        full.said_by_model.insert((line, claim.text.clone()));
        full.decisions.push(claim.clone());
        full.external_research.push(claim);
    }
    let content = full.content();
    assert!(content.contains("earlier)") && content.len() > 7_000, "{content}");
    assert_eq!(full.content_with_marks().replace([MODEL_BEGINS, MODEL_ENDS], ""), content);
    assert_eq!(Answer::default().merge_into(before.clone(), &lines()), before, "of which it says nothing");
}

#[test]
fn a_model_does_not_bring_back_what_was_overruled() {
    let said = |text: &str, line| Pointed { text: text.to_owned(), line, at: None };
    let before = Episode {
        decisions: vec![said("User: No, use SQLite.", 8)],
        superseded: vec![said("I decided to use Postgres instead of Redis for the store", 4)],
        ..Episode::default()
    };
    let claim = |text: &str, line| Claim { text: text.to_owned(), line };
    let decisions = vec![claim("Use Postgres for the store", 4), claim("The log stays in one file", 7)];
    let told = Answer { decisions, ..Answer::default() }.merge_into(before, &lines());
    let texts: Vec<&str> = told.decisions.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["The log stays in one file", "User: No, use SQLite."]);
}

#[test]
fn facts_of_a_model_join_the_graph_and_are_marked() {
    let items = items(STORY);
    let episode = digest(&items, &Show::default());
    let session = SessionId::new("s1").unwrap();
    let at = Surroundings {
        session: &session,
        group: "/home/dev/ledger",
        project: Some("/home/dev/ledger"),
        parent: None,
        follows: None,
    };
    let rules = graph::graph(&items, &episode, &at);
    let facts = json!([
        { "source": "/home/dev/ledger/src/round.rs", "source_type": "File", "relation": "IMPLEMENTS", "target": "rounding",
          "target_type": "Topic", "fact": "src/round.rs rounds", "lines": [7] },
        { "source": "src/round.rs", "source_type": "File", "relation": "implements", "target": "rounding",
          "target_type": "Topic", "fact": "the same again", "lines": [9] }
    ]);
    let answer = checked(&with("facts", facts)).unwrap();
    let cwd = episode.cwd.as_deref();
    let joined = with_model(rules.clone(), &answer, &at, cwd, &lines());
    assert_eq!(&joined.mentions[..rules.mentions.len()], &rules.mentions[..], "what rules have found stays");
    assert_eq!(&joined.assertions[..rules.assertions.len()], &rules.assertions[..]);
    let said: Vec<_> = joined.assertions.iter().filter(|it| it.by_model).collect();
    assert_eq!(said.len(), 1, "each fact once: {said:?}");
    assert_eq!((said[0].name.as_deref(), said[0].line), (Some("IMPLEMENTS"), 7));
    assert_eq!(said[0].source, graph::node_uuid(at.group, Label::File, "src/round.rs"), "named as rules name it");
    let new: Vec<_> = joined.mentions.iter().filter(|it| it.by_model).map(|it| it.name.as_str()).collect();
    assert_eq!(new, ["rounding", "src/round.rs"]);
    let known: Vec<_> = joined.mentions.iter().map(|it| it.uuid).collect();
    assert!(joined.assertions.iter().all(|it| known.contains(&it.source) && known.contains(&it.target)));
    assert_eq!(with_model(joined.clone(), &answer, &at, cwd, &lines()), joined, "once");
}

#[test]
fn a_stored_answer_is_this_line() {
    let text = concat!(
        r#"{"v":1,"objective":"o","work_completed":{"fixes":[{"text":"w","line":7}]},"external_research":[{"text":"r","#,
        r#""line":7}],"knowledge_stored":{"wiki":[{"text":"k","line":7}]},"decisions":[{"text":"d","line":7}],"errors":"#,
        r#"[{"text":"e","line":6,"resolution":{"text":"f","line":9}},{"text":"g","line":6}],"unresolved":[{"text":"u","#,
        r#""line":2}],"next_steps":[{"text":"n","line":10}],"continuation_context":"c","entities":[{"name":"m","type":"#,
        r#""PullRequest","summary":"s","line":4}],"facts":[{"source":"a","source_type":"File","relation":"USES","target":"#,
        r#""b","target_type":"Package","fact":"a uses b","line":5}],"dropped":3,"left_out":4}"#
    );
    let answer = Answer::from_json(text).unwrap();
    assert_eq!(answer.to_json(), text);
    for damaged in [text.replace("\"v\":1", "\"v\":2"), text.replace("PullRequest", "Nonsense"), text[1..].to_owned()] {
        assert_eq!(Answer::from_json(&damaged), None, "{damaged}");
    }
    let smallest = r#"{"v":1,"objective":"o","continuation_context":""}"#;
    assert_eq!(Answer::from_json(smallest).unwrap().to_json(), smallest);
}

proptest::proptest! {
    /// No text of a model causes a panic, and accepted claims refer to lines of the transcript.
    #[test]
    fn any_answer_is_checked(at in 0_usize..2_000, byte in 0_u8..128, cut in proptest::bool::ANY, line in proptest::num::i64::ANY) {
        let mut text = with("decisions", json!([{ "text": "x", "line": line }])).into_bytes();
        if cut { text.truncate(at) } else if let Some(there) = text.get_mut(at) { *there = byte }
        if let Ok(answer) = checked(&String::from_utf8_lossy(&text)) {
            let lines = lines();
            let pointed = answer.decisions.iter().map(|it| it.line).chain(answer.facts.iter().map(|it| it.line));
            proptest::prop_assert!(pointed.into_iter().all(|line| lines.contains(line)));
            proptest::prop_assert_eq!(Answer::from_json(&answer.to_json()), Some(answer));
        }
    }
}
