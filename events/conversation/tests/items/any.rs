//! Random conversations, for property tests of everything made of items.

use baton_conversation::item::{
    Act, Body, Call, Edit, GitOutput, Item, Meta, Outcome, Report, TitleSource, ToolResult, Verdict,
};
use baton_conversation::record::Timestamp;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

/// Any items, plausible in parts: few ids so that calls and results match, related commands, odd texts.
pub(crate) fn any_items() -> impl Strategy<Value = Vec<Item>> {
    let text = || {
        prop_oneof![
            ".{0,80}",
            "(I fixed it\\. |Let me see: |- a\n|```\n|/x |\\. |語。|\\\\\n){0,30}",
            "(I keep it, because |## Next steps\n|- a\n|no, use x there|\"=\"|\", \"|not yet|tomorrow\\. |open: |\\? |1){0,20}",
            "[a-z]{1,9}( [a-z.`*]{1,9}){0,30}",
            (".{1,9}", 1..900_usize).prop_map(|(part, times)| part.repeat(times)),
        ]
    };
    let name = prop::sample::select(vec![
        "Bash",
        "Edit",
        "Read",
        "Task\" >\n<p",
        "",
        "TodoWrite",
        "AskUserQuestion",
        "ExitPlanMode",
        "TaskCreate",
        "TaskUpdate",
        "WebSearch",
        "mcp__notes__add_note",
    ]);
    let command = prop_oneof![
        Just("cargo test".to_owned()),
        Just("cd a && cargo test x | tail".to_owned()),
        Just("npm run test -- x || true".to_owned()),
        "[ a-z'\"|&;<>()$-]{0,40}",
    ];
    let call =
        (0..6_u8, name, command, text(), any::<Option<(u32, u32)>>()).prop_map(|(id, name, command, text, edit)| {
            let text_keys = ["description", "question", "plan", "subject", "query", "title", "taskId", "status"];
            let texts = text_keys.map(|key| (key, text.clone()));
            let input = [("command", command.clone()), ("file_path", command.clone())].into_iter().chain(texts);
            Body::Call(Call {
                act: Act::of_tool(name),
                id: if id == 0 { "".into() } else { format!("t{id}").into() },
                name: name.to_owned(),
                input: input.map(|(key, value)| (key.to_owned(), json!(value))).collect(),
                edit: edit.map(|(added, removed)| Edit { path: command, added, removed, ..Edit::default() }),
                commit: None,
                plan: None,
                git_line: None,
            })
        });
    let outcome =
        prop_oneof![Just(Outcome::Ok), Just(Outcome::Failed), Just(Outcome::Denied), Just(Outcome::Interrupted)];
    let result = (0..6_u8, outcome, any::<Option<i32>>(), text(), any::<bool>(), report()).prop_map(
        |(id, outcome, exit_code, text, e, report)| {
            let error = e.then(|| text.clone());
            let name = e.then(|| "Bash".to_owned());
            Body::Result(ToolResult {
                id: format!("t{id}").into(),
                name,
                outcome,
                exit_code,
                text,
                error,
                duration_ms: None,
                agent: None,
                report,
            })
        },
    );
    let result = result.boxed();
    let body = prop_oneof![
        text().prop_map(|text| Body::Prompt { text }),
        text().prop_map(|text| Body::Reply { text }),
        text().prop_map(|text| Body::Answer { text }),
        text().prop_map(|text| Body::Thinking { text }),
        text().prop_map(|text| Body::Summary { text }),
        text().prop_map(|text| Body::Notice { text }),
        text().prop_map(|text| Body::Meta(Meta::Title { source: TitleSource::Model, text })),
        text().prop_map(|text| Body::Meta(Meta::Cwd(text))),
        call.clone(),
        call,
        result.clone(),
        result,
    ];
    let item = (0..2_u64, any::<Option<i64>>(), any::<bool>(), body);
    prop::collection::vec(item, 0..40).prop_map(|entries| {
        let mut line = 1;
        let items = entries.into_iter().map(|(step, at, sidechain, body)| {
            line += step;
            Item { line, at: at.map(Timestamp), uuid: None, message: None, sidechain, body }
        });
        items.collect()
    })
}

/// Facts of a result, often none.
fn report() -> BoxedStrategy<Option<Box<Report>>> {
    let verdict =
        prop_oneof![Just(None), Just(Some(Verdict::Passed)), ".{0,40}".prop_map(|line| Some(Verdict::Failed(line)))];
    let commit = ".{0,40}".prop_map(|subject| GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject });
    let made = prop::collection::vec(commit, 0..2);
    let report = (verdict, made, any::<Option<(u32, u32)>>(), option::of(".{0,40}"), any::<bool>());
    let report = report.prop_map(|(verdict, made, changed, failing, in_background)| {
        Box::new(Report { verdict, made, changed, failing, in_background, ..Report::default() })
    });
    option::of(report).boxed()
}
