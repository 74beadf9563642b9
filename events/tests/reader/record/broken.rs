//! Records of no known kind, of wrong types, and no records at all.

use crate::dice::Dice;

use super::frame::record;
use super::pool::WRONG;
use super::said::{prompt, reply};

pub(super) fn unknown(dice: &mut Dice) -> String {
    let number = dice.below(200);
    match dice.below(4) {
        0 => format!(r#"{{"type":"{}","x":1}}"#, "k".repeat(1 + dice.below(10_000))),
        1 => r#"{"x":1}"#.to_owned(),
        2 => "{}".to_owned(),
        _ => format!(r#"{{"type":"kind-{number}","message":{{"content":"x"}}}}"#),
    }
}

pub(super) fn wrong_types(dice: &mut Dice) -> String {
    let kind = dice.pick(&["user", "assistant", "system", "attachment", "queue-operation", "custom-title"]);
    let names = [
        "message",
        "content",
        "uuid",
        "timestamp",
        "cwd",
        "attachment",
        "toolUseResult",
        "isMeta",
        "operation",
        "customTitle",
    ];
    let fields: Vec<(&str, String)> = names.iter().map(|name| (*name, dice.pick(WRONG).to_owned())).collect();
    record(dice, kind, &fields)
}

pub(super) fn no_record(dice: &mut Dice) -> String {
    let torn = prompt(dice);
    let inside = (0..torn.len()).rev().find(|at| *at < torn.len() / 2 && torn.is_char_boundary(*at)).unwrap_or(0);
    match dice.below(9) {
        0 => String::new(),
        1 => "  \t\r".to_owned(),
        2 => "[1,2]".to_owned(),
        3 => "word".to_owned(),
        4 => "\0\0\0".to_owned(),
        5 => torn[..inside].to_owned(),
        6 => format!("{torn}{}", reply(dice)),
        7 => format!("\u{feff}{torn}"),
        _ => format!("\0\0{torn}\r"),
    }
}
