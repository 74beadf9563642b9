//! The common fields of chain records, in any order and sometimes absent.

use crate::dice::Dice;

use super::pool::{TIMES, VERSIONS, WRONG};

/// A record with these fields and the common ones of chain records, in any order, each sometimes absent.
pub(super) fn record(dice: &mut Dice, kind: &str, fields: &[(&str, String)]) -> String {
    let uuid = dice.below(40);
    let parent = dice.below(44);
    let mut all = vec![
        ("type".to_owned(), format!("\"{kind}\"")),
        ("uuid".to_owned(), format!("\"u-{uuid}\"")),
        ("parentUuid".to_owned(), if parent < 40 { format!("\"u-{parent}\"") } else { "null".to_owned() }),
        ("timestamp".to_owned(), if dice.once_in(4) { dice.pick(TIMES) } else { TIMES[0] }.to_owned()),
        ("version".to_owned(), dice.pick(VERSIONS).to_owned()),
        ("cwd".to_owned(), dice.pick(&[r#""/p""#, r#""/p/sub""#, r#""/srv/sk-ant-a1B2a1B2a1B2a1B2""#]).to_owned()),
        ("gitBranch".to_owned(), dice.pick(&[r#""main""#, r#""""#, r#""HEAD""#, r#""dev""#]).to_owned()),
        ("sessionId".to_owned(), dice.pick(&[r#""s-1""#, r#""s-2""#]).to_owned()),
        ("isSidechain".to_owned(), dice.once_in(8).to_string()),
    ];
    if dice.once_in(3) {
        all.retain(|_| !dice.once_in(4));
    }
    all.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    if dice.once_in(16) {
        let again = all[dice.below(all.len())].0.clone();
        all.push((again, dice.pick(WRONG).to_owned()));
    }
    object(dice, all)
}

/// Fields as one object, sometimes shuffled, with or without space between them.
pub(super) fn object(dice: &mut Dice, mut fields: Vec<(String, String)>) -> String {
    if dice.once_in(3) {
        (1..fields.len()).rev().for_each(|at| fields.swap(at, dice.below(at + 1)));
    }
    let (comma, colon) = dice.pick(&[&(",", ":"), &(",", ":"), &(", ", ": "), &(" ,\t", " :\r")]).to_owned();
    let fields: Vec<String> = fields.into_iter().map(|(key, value)| format!("\"{key}\"{colon}{value}")).collect();
    format!("{{{}}}", fields.join(comma))
}

pub(super) fn flag(dice: &mut Dice, fields: &mut Vec<(&'static str, String)>) {
    if dice.once_in(3) {
        let (name, value) = dice.pick(&[
            &("isMeta", "true"),
            &("origin", r#"{"kind":"human"}"#),
            &("origin", r#"{"kind":"coordinator"}"#),
            &("origin", r#"{"kind":"task-notification"}"#),
            &("origin", "null"),
            &("promptSource", r#""typed""#),
            &("promptSource", r#""sdk""#),
            &("promptSource", r#""system""#),
            &("toolDenialKind", r#""user-rejected""#),
            &("toolDenialKind", r#""rule""#),
            &("isVisibleInTranscriptOnly", "true"),
            &("permissionMode", r#""plan""#),
            &("imagePasteIds", "[1]"),
        ]);
        fields.push((name, (*value).to_owned()));
    }
}
