//! The agent's queue against a model of it: whatever is queued, delivered and taken back, each prompt appears once,
//! where the agent received it, and one that it never received is undelivered.

use std::collections::VecDeque;

use baton_conversation::item::{Agent, Body};
use baton_conversation::queued_prompts::{Withdrawn, without_withdrawn};
use baton_conversation::transcript::Source;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::files::items;

/// Operations of the queue.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// A person types a prompt.
    Type,
    /// The harness adds a message.
    News,
    /// An agent that begins anew takes the oldest prompt, or else the oldest message.
    Begin,
    /// The agent takes the oldest prompt while it works, or else the oldest message; `named`: the queue records its text; `first`: before the
    /// delivery.
    Take { named: bool, first: bool },
    /// A person takes all prompts back; `named`: each is recorded with its text.
    Back { named: bool },
    /// The agent continues.
    Work,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => Just(Move::Type),
        1 => Just(Move::News),
        2 => Just(Move::Begin),
        3 => any::<(bool, bool)>().prop_map(|(named, first)| Move::Take { named, first }),
        1 => any::<bool>().prop_map(|named| Move::Back { named }),
        2 => Just(Move::Work),
    ];
    proptest::collection::vec(one, 0..24)
}

#[derive(Default)]
struct Model {
    lines: Vec<Value>,
    /// Waiting entries; true for a person's.
    queue: VecDeque<(String, bool)>,
    delivered: Vec<String>,
    /// Number of queued prompts.
    typed: usize,
    count: usize,
}

impl Model {
    fn moved(&mut self, operation: &str, content: Option<&str>) {
        let mut record = json!({ "type": "queue-operation", "operation": operation });
        content.into_iter().for_each(|content| record["content"] = json!(content));
        self.lines.push(record);
    }

    fn chain(&mut self, kind: &str, field: &str, value: Value) {
        let uuid = format!("u-{}", self.lines.len());
        self.lines.push(json!({ "type": kind, "uuid": uuid, field: value }));
    }

    fn deliver(&mut self, text: &str) {
        self.chain("user", "message", json!({ "role": "user", "content": text }));
    }

    fn attach(&mut self, (text, typed): &(String, bool)) {
        let mode = if *typed { "prompt" } else { "task-notification" };
        self.chain(
            "attachment",
            "attachment",
            json!({ "type": "queued_command", "prompt": text, "commandMode": mode }),
        );
    }

    fn make(&mut self, change: Move) {
        self.count += 1;
        match change {
            Move::Type | Move::News if self.queue.len() >= 8 => {}
            Move::Type | Move::News => {
                let typed = matches!(change, Move::Type);
                let number = self.count;
                let news = format!("<task-notification><summary>news {number}</summary></task-notification>");
                let text = if typed { format!("typed {number}") } else { news };
                self.typed += usize::from(typed);
                self.moved("enqueue", Some(&text));
                self.queue.push_back((text, typed));
            }
            Move::Begin => {
                let at = self.queue.iter().position(|(_, typed)| *typed).unwrap_or(0);
                let Some((text, typed)) = self.queue.remove(at) else { return };
                self.moved("dequeue", None);
                self.deliver(&text);
                self.delivered.extend(Some(text).filter(|_| typed));
            }
            Move::Take { named, first } => {
                let at = self.queue.iter().position(|(_, typed)| *typed).unwrap_or(0);
                let Some(entry) = self.queue.remove(at) else { return };
                if first {
                    self.moved("remove", Some(&*entry.0).filter(|_| named));
                }
                self.attach(&entry);
                if !first {
                    self.moved("remove", Some(&entry.0));
                }
                self.delivered.extend(Some(entry.0).filter(|_| entry.1));
            }
            Move::Back { named } => {
                let (typed, news): (VecDeque<_>, VecDeque<_>) = self.queue.drain(..).partition(|(_, typed)| *typed);
                self.queue = news;
                for (text, _) in typed {
                    self.moved("popAll", Some(&*text).filter(|_| named));
                }
            }
            Move::Work => {
                let block = json!({ "type": "thinking", "thinking": "on", "signature": "AA" });
                let id = format!("m{}", self.count);
                self.chain("assistant", "message", json!({ "id": id, "role": "assistant", "content": [block] }));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn each_prompt_stands_once_or_is_undelivered(moves in moves()) {
        let mut model = Model::default();
        model.deliver("start");
        moves.iter().for_each(|change| model.make(*change));
        let text: String = model.lines.iter().map(|record| format!("{record}\n")).collect();
        let items = items(Source { agent: Agent::ClaudeCode, subagent: false }, text.as_bytes());
        let mut stand: Vec<&str> = Vec::new();
        let standing = without_withdrawn(&items);
        for item in standing.iter() {
            if let Body::Prompt { text } = &item.body {
                stand.push(text);
            }
        }
        stand.sort_unstable();
        let mut expected: Vec<&str> = model.delivered.iter().map(|text| &**text).chain(["start"]).collect();
        expected.sort_unstable();
        prop_assert_eq!(stand, expected, "{}", text);
        let withdrawn = Withdrawn::from_items(&items);
        let undelivered = items.iter().filter(|item| withdrawn.is_undelivered(item)).count();
        let queued = model.typed - model.delivered.len();
        prop_assert_eq!(undelivered, queued, "{}", text);
    }
}
