//! Requests and answers, by tables: what a transcript may contain, and what a model may answer.

mod answers;
mod costs;
mod requests;

use super::*;
use baton_conversation::item::{Act, Body, Call, Item, Meta, Outcome, ToolResult};
use baton_conversation::record::Timestamp;
use baton_episode::digest::Show;

/// A plan that may show everything.
fn plan(items: &[Item], limits: &Limits) -> Plan {
    request::plan(items, limits, &Show::default())
}

/// One item per line: `5 user text`; `
/// ` in it is a line break.
fn items(story: &str) -> Vec<Item> {
    story.lines().map(str::trim).filter(|line| !line.is_empty()).map(item).collect()
}

fn item(line: &str) -> Item {
    let (number, rest) = line.split_once(' ').unwrap();
    let (who, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = text.replace("\\n", "\n");
    let number: u64 = number.parse().unwrap();
    let result = |outcome| {
        Body::Result(ToolResult {
            id: "t1".into(),
            name: Some("Bash".to_owned()),
            outcome,
            exit_code: None,
            text: text.clone(),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        })
    };
    let body = match who {
        "user" => Body::Prompt { text },
        "answer" => Body::Answer { text },
        "agent" => Body::Reply { text },
        "thinks" => Body::Thinking { text },
        "sums" => Body::Summary { text },
        "news" => Body::Notice { text },
        "calls" => {
            let input = [("command".to_owned(), text.into())].into();
            Body::Call(Call {
                act: Act::of_tool("Bash"),
                id: "t1".into(),
                name: "Bash".to_owned(),
                input,
                edit: None,
                commit: None,
                plan: None,
                git_line: None,
            })
        }
        "ok" => result(Outcome::Ok),
        "fails" => result(Outcome::Failed),
        "cwd" => Body::Meta(Meta::Cwd(text)),
        "withdraws" => Body::Meta(Meta::Withdrawn(text.parse().unwrap())),
        other => panic!("nobody is {other}"),
    };
    let at = Some(Timestamp(number as i64 * 1_000));
    Item { line: number, at, uuid: None, message: None, sidechain: false, body }
}

/// A short session.
const STORY: &str = "
    1 cwd /home/dev/ledger
    2 user fix the test of rounding
    3 thinks where may it be
    4 agent I look at it.
    5 calls cargo test rounding
    6 fails Bash cargo test rounding: exit 101, assertion failed
    7 agent We use banker's rounding because the law says so.
    9 ok Bash cargo test rounding: ok
    10 agent Done.";
