//! What becomes of prompts that were typed while the agent was at work.

use super::*;
use crate::messages::message_count;
use crate::queued_prompts::{Withdrawn, standing};

/// A story in words: `start` an agent that begins to work, `call` one that goes on, `done` one that waits; `+text` into the
/// queue, `-` and `-text` taken out (`remove`), `>` taken by an agent that begins anew (`dequeue`), `^` and `^text` taken
/// back (`popAll`); `user:text` and `attached:text` delivered. In a text `~` is a blank and `|` a line break.
fn lines(story: &str) -> Vec<String> {
    let json = |text: &str| serde_json::Value::from(text.replace('~', " ").replace('|', "\n")).to_string();
    let moved = |operation: &str, text: &str| {
        let content = if text.is_empty() { String::new() } else { format!(r#","content":{}"#, json(text)) };
        format!(r#"{{"type":"queue-operation","operation":"{operation}"{content}}}"#)
    };
    let line = |(at, word): (usize, &str)| match word.split_at(1) {
        ("+", text) => moved("enqueue", text),
        ("-", text) => moved("remove", text),
        (">", text) => moved("dequeue", text),
        ("^", text) => moved("popAll", text),
        _ => match word.split_once(':') {
            Some(("user", text)) => user(&json(text)),
            Some(("attached", text)) => {
                let prompt = json(text);
                format!(
                    r#"{{"type":"attachment","uuid":"a","attachment":{{"type":"queued_command","prompt":{prompt},"commandMode":"prompt"}}}}"#
                )
            }
            _ if word == "start" => user(r#""start""#),
            _ if word == "call" => call(&format!("t{at}"), "Bash", r#"{"command":"x"}"#),
            _ if word == "done" => assistant(&format!("m{at}"), r#"{"type":"text","text":"done"}"#),
            _ => panic!("{word}"),
        },
    };
    story.split_whitespace().enumerate().map(line).collect()
}

/// Which prompts stand in the end, each with its line; and that the counts say the same.
fn check(story: &str, expected: &str) {
    let (items, cursor, seen) = read(format!("{}\n", lines(story).join("\n")).as_bytes());
    let prompts = standing(&items)
        .iter()
        .filter_map(|item| match &item.body {
            Body::Prompt { text } => Some(format!("{}:{}", item.line, text.replace('\n', "|").replace(' ', "~"))),
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(prompts.join(" "), expected, "{story}");
    assert_eq!(seen.messages - cursor.overcounted, message_count(&items), "{story}");
    assert_eq!(seen.malformed, 0, "{story}");
}

#[test]
fn what_is_never_delivered_and_not_taken_back_stands_where_it_was_typed() {
    check("start +b", "1:start 2:b");
    check("start +b call done", "1:start 2:b");
    check("start call +b +c~c done user:d", "1:start 3:b 4:c~c 6:d");
    check("start +b +<task-notification>x</task-notification>", "1:start 2:b");
    check("start +b +b", "1:start 2:b 3:b");
}

#[test]
fn what_is_delivered_stands_where_the_agent_got_it() {
    check("start +b > user:b done", "1:start 4:b");
    check("start +b - attached:b done", "1:start 4:b");
    check("start +b attached:b - done", "1:start 3:b");
    check("start +b attached:b -b done", "1:start 3:b");
    check("start +b +c -b -c attached:b attached:c done", "1:start 6:b 7:c");
    // Nothing says that it has left, but there it is: alone, with others, as the command that it is.
    check("start +b user:b", "1:start 3:b");
    check("start +b +c user:b|c|d done", "1:start 4:b|c|d");
    check("start +b|b +c user:b|b|c user:c", "1:start 4:b|b|c 5:c");
    check("start +<ide_opened_file>x</ide_opened_file>b user:b", "1:start 3:b");
}

#[test]
fn what_is_taken_back_stands_nowhere() {
    check("start +b ^", "1:start");
    check("start +b ^b done", "1:start");
    check("start +b -", "1:start");
    check("start +b - call done user:d", "1:start 6:d");
    check("start +b +c ^b", "1:start 3:c");
    check("start +b +c ^", "1:start");
    check("start +b +c ^b|c user:b|c|d", "1:start 5:b|c|d");
    check("start +b +c ^c ^b user:c", "1:start 6:c");
}

#[test]
fn what_leaves_without_a_name_is_the_oldest_and_for_an_agent_that_begins_anew_the_oldest_prompt() {
    let news = "+<task-notification>x</task-notification>";
    check("start +b +c -", "1:start 3:c");
    check(&format!("start {news} +b -"), "1:start 3:b");
    check(&format!("start {news} +b >"), "1:start");
    check(&format!("start {news} +b > >"), "1:start");
    check("start +b -c", "1:start 2:b");
    check("> - ^ start", "4:start");
}

#[test]
fn an_idle_agent_takes_what_is_queued_at_once() {
    check("+b > user:b", "3:b");
    check("start done +b > user:b", "1:start 5:b");
    check("start done +b user:b +c", "1:start 4:b 5:c");
}

#[test]
fn what_an_idle_agent_never_takes_is_undelivered() {
    let undelivered = |story: &str, expected: &[u64]| {
        let (items, ..) = read(format!("{}\n", lines(story).join("\n")).as_bytes());
        let withdrawn = Withdrawn::of(&items);
        let lines = items.iter().filter(|item| withdrawn.is_undelivered(item)).map(|item| item.line);
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{story}");
    };
    for (story, stands, never) in [
        ("+b", "", &[1][..]),
        ("start done +b", "1:start", &[3]),
        ("start done +b >", "1:start", &[3]),
        ("start done +b -b", "1:start", &[3]),
        ("start done +b +c > user:c", "1:start 6:c", &[3]),
        ("start done +b > user:b done", "1:start 5:b", &[]),
        ("start done +b +c user:b|c", "1:start 5:b|c", &[]),
        ("start done +/plan > user:<command-name>/plan</command-name>", "1:start", &[]),
        (
            "start done +/plan~b > user:<command-name>/plan</command-name><command-args>b</command-args>",
            "1:start 5:/plan~b",
            &[],
        ),
        ("start done +<task-notification>x</task-notification>", "1:start", &[]),
    ] {
        check(story, stands);
        undelivered(story, never);
    }
}

#[test]
fn the_queue_is_followed_within_bounds() {
    let many: Vec<String> = (0..MAX_QUEUED + 3).map(|at| format!("+q{at}")).collect();
    let (_, cursor, _) = read(format!("{}\n", lines(&format!("start {}", many.join(" "))).join("\n")).as_bytes());
    assert_eq!(cursor.queue.len(), MAX_QUEUED);
    check(&format!("start {} ^", many.join(" ")), "1:start 2:q0 3:q1 4:q2");
}

#[test]
fn a_queue_is_read_in_pieces_as_at_once() {
    let story = "start +b +c call - attached:b +d > user:c ^d +<task-notification>x</task-notification> +e done user:e";
    let bytes = format!("{}\n", lines(story).join("\n")).into_bytes();
    let (whole, end, all) = read(&bytes);
    for split in 0..=bytes.len() {
        let (mut items, cursor, mut seen) = read_as(MAIN, &bytes[..split]);
        let rest = &bytes[usize::try_from(cursor.offset).unwrap()..];
        let mut later = Vec::new();
        let mut reader = Reader::new(MAIN, cursor, items.iter().collect(), &mut later);
        reader.feed(rest);
        let (cursor, more) = reader.into_parts();
        seen.absorb(&more);
        items.append(&mut later);
        assert_eq!((&items, &cursor, &seen), (&whole, &end, &all), "split at {split}");
    }
}
