//! Speed of turning a conversation into an episode and search units, per byte of its text.

use std::collections::BTreeMap;

use baton_conversation::item::{Body, Call, Edit, Item, Outcome, ToolResult};
use baton_conversation::turns;
use baton_episode::digest;
use divan::counter::BytesCount;
use serde_json::json;

fn main() {
    divan::main();
}

const PROSE: &str = "The refresh token is compared in local time, e.g. in `src/auth.rs`. I moved the check to UTC and \
                     ran the tests again; version 1.2.3 passes now.\n\n- one point\n- another point\n\n";

/// Rounds of a prompt, thinking, a file read, a failing test, an edit, a passing test and a long reply.
fn conversation(rounds: u64) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |body: Body| {
        let line = items.len() as u64 + 1;
        items.push(Item { line, at: None, uuid: None, message: None, sidechain: false, body });
    };
    for round in 0..rounds {
        add(Body::Prompt { text: format!("Please fix problem {round}. {PROSE}") });
        add(Body::Thinking { text: PROSE.repeat(6) });
        let steps = [
            ("Read", "file_path", format!("/p/src/file{}.rs", round % 60), Outcome::Ok),
            ("Bash", "command", format!("cd /p && cargo test -p part{} 2>&1 | tail -20", round % 40), Outcome::Failed),
            ("Edit", "file_path", format!("/p/src/file{}.rs", round % 60), Outcome::Ok),
            ("Bash", "command", format!("cargo test -p part{}", round % 40), Outcome::Ok),
        ];
        for (step, (name, key, value, outcome)) in steps.into_iter().enumerate() {
            let id: Box<str> = format!("toolu_{round}_{step}").into();
            let edit = (name == "Edit").then(|| Edit { path: value.clone(), added: 3, removed: 1, ..Edit::default() });
            let input = BTreeMap::from([(key.to_owned(), json!(value))]);
            add(Body::Call(Call {
                act: baton_conversation::item::Act::of_tool(name),
                id: id.clone(),
                name: name.into(),
                input,
                edit,
                commit: None,
                plan: None,
                git_line: None,
            }));
            let error = (outcome == Outcome::Failed).then(|| format!("assertion {round} failed"));
            let text = format!("{name} {value}: 20 lines");
            add(Body::Result(ToolResult {
                id,
                name: Some(name.into()),
                outcome,
                exit_code: None,
                text,
                error,
                duration_ms: None,
                agent: None,
                report: None,
            }));
        }
        add(Body::Reply { text: PROSE.repeat(8) });
    }
    items
}

fn text_bytes(items: &[Item]) -> usize {
    turns::units(items).iter().map(|unit| unit.text.len()).sum()
}

#[divan::bench(args = [10, 1_000])]
fn episode(bencher: divan::Bencher<'_, '_>, rounds: u64) {
    let items = conversation(rounds);
    bencher.counter(BytesCount::new(text_bytes(&items))).bench(|| digest::digest(&items, &digest::Show::default()));
}

#[divan::bench(args = [10, 1_000])]
fn units(bencher: divan::Bencher<'_, '_>, rounds: u64) {
    let items = conversation(rounds);
    bencher.counter(BytesCount::new(text_bytes(&items))).bench(|| turns::units(&items));
}

#[divan::bench(args = [10, 1_000])]
fn bodies(bencher: divan::Bencher<'_, '_>, rounds: u64) {
    let items = conversation(rounds);
    let units = turns::units(&items);
    bencher.counter(BytesCount::new(text_bytes(&items))).bench(|| {
        let mut out = String::new();
        for unit in &units {
            out.clear();
            turns::write_body(unit, &mut out);
            divan::black_box(&out);
        }
    });
}
