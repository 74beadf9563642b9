//! Splits the text of a user's message into what was typed and what Cursor put around it.

use crate::record::Timestamp;

/// A part of such a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserText<'t> {
    /// Typed by a person.
    Prompt(&'t str),
    /// News for the model: a task in the background ended.
    Notice(&'t str),
    /// The directory that is open.
    Workspace(&'t str),
}

/// Tags around what was typed.
const QUERY: [&str; 2] = ["<user_query>", "</user_query>"];
/// Beginnings of prompts that nobody typed.
const FOLLOW_UPS: &[&str] = &["Briefly inform the user about the task result"];
/// Elements that Cursor writes, besides those with a `_` in their name.
const ELEMENTS: &[&str] =
    &["timestamp", "rules", "communication", "system-reminder", "attachment", "selection", "workspace"];
const NEWS: &str = "system_notification";
const USER_INFO: &str = "user_info";
const WORKSPACE: &str = "Workspace Path: ";
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// True if what was typed is marked in the text.
pub(super) fn has_query(text: &str) -> bool {
    next_query(text).is_some()
}

/// Splits a text. `is_marked`: what was typed is marked in this message, so all other text is Cursor's.
pub(super) fn split(text: &str, is_marked: bool) -> Vec<UserText<'_>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(query) = rest.strip_prefix(QUERY[0]) {
            // The typed text may mention the tags.
            let reach = next_query(query).map_or(query.len(), |next| next);
            let end = query[..reach].rfind(QUERY[1]);
            prompt(&query[..end.unwrap_or(reach)], &mut parts);
            rest = query[end.map_or(reach, |end| end + QUERY[1].len())..].trim_start();
        } else if let Some((name, inner, after)) = element(rest).filter(|(name, ..)| is_context(name)) {
            context(name, inner, &mut parts);
            rest = after.trim_start();
        } else if let Some(next) = next_query(rest) {
            rest = &rest[next..];
        } else {
            if !is_marked {
                prompt(rest, &mut parts);
            }
            break;
        }
    }
    parts
}

fn prompt<'t>(text: &'t str, parts: &mut Vec<UserText<'t>>) {
    let typed = text.trim();
    if !typed.is_empty() && !FOLLOW_UPS.iter().any(|start| typed.starts_with(start)) {
        parts.push(UserText::Prompt(typed));
    }
}

fn context<'t>(name: &str, inner: &'t str, parts: &mut Vec<UserText<'t>>) {
    match name {
        NEWS => parts.push(UserText::Notice(inner.trim())),
        USER_INFO => {
            let path = inner.lines().find_map(|line| line.trim().strip_prefix(WORKSPACE));
            parts.extend(path.map(|path| UserText::Workspace(path.trim())));
        }
        _ => {}
    }
}

/// Offset of the next query that begins a line.
fn next_query(text: &str) -> Option<usize> {
    let begins_line = |at: &usize| {
        text[..*at].trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n' || c == '>')
    };
    text.match_indices(QUERY[0]).map(|(at, _)| at).find(begins_line)
}

fn is_context(name: &str) -> bool {
    name.contains('_') || ELEMENTS.contains(&name)
}

/// The element at the beginning of the text: its name, its content, and what follows.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (open, rest) = text.strip_prefix('<')?.split_once('>')?;
    let name = open.split(' ').next().filter(|name| !name.is_empty())?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let close = format!("</{name}>");
    let end = rest.find(&close).filter(|_| is_name)?;
    Some((name, &rest[..end], &rest[end + close.len()..]))
}

/// The time in a text such as `Saturday, Sep 5, 2026, 4:51 PM (UTC+5:30)`.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    if let Some(at) = Timestamp::parse(text.trim()) {
        return Some(at);
    }
    let mut parts = text.trim().rsplit(", ");
    let (clock, year, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (month, day) = day.split_once(' ')?;
    let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
    let (clock, zone) = clock.split_once(" (UTC").unwrap_or((clock, ")"));
    let (clock, half) = clock.split_once([' ', '\u{202f}'])?;
    let (hour, minute) = clock.split_once(':')?;
    let number = |digits: &str| digits.trim().parse::<u8>().ok();
    let hour = number(hour)? % 12 + if half.starts_with(['P', 'p']) { 12 } else { 0 };
    let zone = zone.trim_end_matches(')');
    let sign = if zone.starts_with(['-', '\u{2212}']) { '-' } else { '+' };
    let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
    let hours = number(hours.trim_start_matches(['+', '-', '\u{2212}'])).unwrap_or(0);
    let (day, minute, minutes) = (number(day)?, number(minute)?, number(minutes)?);
    Timestamp::parse(&format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:00{sign}{hours:02}:{minutes:02}"))
}

#[cfg(test)]
mod tests {
    use super::UserText::{Notice, Prompt, Workspace};
    use super::*;

    #[test]
    fn what_was_typed_is_told_from_what_is_around_it() {
        let check = |text: &str, expected: &[UserText<'_>]| {
            assert_eq!(split(text, has_query(text)), expected, "{text}");
        };
        check("list the files", &[Prompt("list the files")]);
        check("<user_query>\nmend the crane\n</user_query>", &[Prompt("mend the crane")]);
        let around = "<cursor_commands>\n# /mend\nHow to mend\n</cursor_commands>\n<timestamp>x</timestamp>\n";
        check(&format!("{around}<user_query>\n/mend the crane\n</user_query>\nNote: x"), &[Prompt("/mend the crane")]);
        check("<attached_files>\n<code>x</code>\n</attached_files>", &[]);
        check("<system_reminder>x</system_reminder>\nand this", &[Prompt("and this")]);
        check("free context\n<user_query>a</user_query>\n<user_query>b</user_query>", &[Prompt("a"), Prompt("b")]);
        check("<rules>x</rules><user_query>a</user_query>", &[Prompt("a")]);
        check("<user_query>what is </user_query>?</user_query>", &[Prompt("what is </user_query>?")]);
        check("<user_query>what is <user_query>?</user_query>", &[Prompt("what is <user_query>?")]);
        check("what is <user_query>?", &[Prompt("what is <user_query>?")]);
        check("<user_query>never closed", &[Prompt("never closed")]);
        check("<div>why?</div>", &[Prompt("<div>why?</div>")]);
        check("a < b", &[Prompt("a < b")]);
        let news = "<system_notification>\nThe following task has finished.\n</system_notification>\n";
        let told = Notice("The following task has finished.");
        let follow_up = "Briefly inform the user about the task result and perform any follow-up actions (if needed).";
        check(&format!("{news}<user_query>{follow_up}</user_query>"), &[told]);
        check(&format!("{news}<user_query>and now?</user_query>"), &[told, Prompt("and now?")]);
        let info = "<user_info>\nOS Version: linux\nWorkspace Path: /home/u/app\n</user_info>\n";
        check(&format!("{info}<user_query>a</user_query>"), &[Workspace("/home/u/app"), Prompt("a")]);
        check("", &[]);
        assert_eq!(split("context in a block of its own", true), []);
    }

    #[test]
    fn times_are_read_with_their_zone() {
        for (text, expected) in [
            ("Saturday, Sep 5, 2026, 4:51 PM (UTC+5:30)", "2026-09-05T11:21:00.000Z"),
            ("Sunday, Mar 1, 2026, 12:05 AM (UTC-8)", "2026-03-01T08:05:00.000Z"),
            ("Sunday, March 1, 2026, 12:05 PM (UTC)", "2026-03-01T12:05:00.000Z"),
            ("2026-03-01T12:05:09.123456-06:00", "2026-03-01T18:05:09.123Z"),
        ] {
            assert_eq!(time(text).map(|at| at.to_string()).as_deref(), Some(expected), "{text}");
        }
        for none in ["", "x", "Saturday, Sep 5, 2026", "Foo 5, 2026, 4:51 PM (UTC)", "Sep 45, 2026, 4:51 PM (UTC)"] {
            assert_eq!(time(none), None, "{none}");
        }
    }
}
