//! The subset of YAML in frontmatter: values as Baton writes them, and as people and Obsidian rewrite them.

use super::note::Value;

/// Maximum length of a list that is parsed; a longer one is left as it is.
const MAX_ITEMS: usize = 1_000;

/// Formats a key with its value: on one line, or as a list below the key.
pub(super) fn written(key: &str, value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{key}: {}\n", scalar(text)),
        Value::List(items) if items.is_empty() => format!("{key}: []\n"),
        Value::List(items) => {
            let items: String = items.iter().map(|item| format!("  - {}\n", scalar(item))).collect();
            format!("{key}:\n{items}")
        }
    }
}

/// Formats a text: plain if that is unambiguous, otherwise quoted.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn is_plain(text: &str) -> bool {
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | ' '))
        && !text.ends_with(' ');
    let means_more = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    (word && !means_more.contains(&text.to_ascii_lowercase().as_str())) || is_date(text)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && super::Day::parse(text).is_some()
}

/// Parses the value of a key from the rest of its line and the lines below. `None` for anything but a text or a list of
/// texts.
pub(super) fn read(inline: &str, below: &[&str]) -> Option<Value> {
    let inline = inline.trim();
    let below: Vec<&str> =
        below.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    if !inline.is_empty() && !inline.starts_with('#') {
        return if !below.is_empty() {
            None
        } else if inline.starts_with('[') {
            flow(inline).map(Value::List)
        } else {
            whole_scalar(inline).map(Value::Text)
        };
    }
    if below.len() > MAX_ITEMS {
        return None;
    }
    if below.is_empty() {
        return Some(Value::Text(String::new()));
    }
    let item = |line: &&str| match *line {
        "-" => Some(String::new()),
        line => whole_scalar(line.strip_prefix("- ")?.trim()),
    };
    below.iter().map(item).collect::<Option<Vec<_>>>().map(Value::List)
}

/// Returns true if a single-line value is invalid YAML: unclosed quotes or brackets, or a colon where none is allowed.
/// Values of several lines are not judged.
pub(super) fn is_broken(inline: &str, below: &[&str]) -> bool {
    let inline = inline.trim();
    if !below.iter().all(|line| line.trim().is_empty()) {
        return false;
    }
    match inline.chars().next() {
        Some('"' | '\'') => !quoted(inline).is_some_and(|(_, rest)| is_comment(rest)),
        Some('[') => !inline.contains(']'),
        Some('{') => !inline.contains('}'),
        Some('@' | '`' | '%' | ',' | ']' | '}') => true,
        Some('|' | '>' | '&' | '*' | '!' | '#') | None => false,
        Some(_) => {
            let text = inline.split(" #").next().unwrap_or_default().trim_end();
            text.contains(": ") || text.ends_with(':')
        }
    }
}

/// Parses `[a, "b, c"]`.
fn flow(text: &str) -> Option<Vec<String>> {
    let mut rest = text.strip_prefix('[')?.trim_start();
    let mut items = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            return is_comment(after).then_some(items);
        }
        let (item, after) = match rest.chars().next()? {
            '"' | '\'' => quoted(rest)?,
            '{' | '[' | ',' => return None,
            _ => {
                let end = rest.find([',', ']'])?;
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        items.push(item);
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None => after.starts_with(']').then_some(after)?,
        };
        if items.len() > MAX_ITEMS {
            return None;
        }
    }
}

/// Parses a text followed by nothing but a comment.
fn whole_scalar(text: &str) -> Option<String> {
    match text.chars().next() {
        None => Some(String::new()),
        Some('"' | '\'') => quoted(text).filter(|(_, rest)| is_comment(rest)).map(|(text, _)| text),
        Some('{' | '[' | '|' | '>' | '&' | '*' | '!' | '%' | '@' | '`' | ',' | ']' | '}') => None,
        Some(_) => {
            let text = text.split(" #").next().unwrap_or_default().trim_end();
            let is_map = text.contains(": ") || text.ends_with(':');
            (!is_map).then(|| text.to_owned())
        }
    }
}

fn is_comment(rest: &str) -> bool {
    rest.trim().is_empty() || (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#'))
}

/// Parses a quoted text; also returns what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next()?;
    let mut out = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if quote == '\'' => match text[at + 1..].starts_with('\'') {
                true => {
                    chars.next();
                    out.push('\'');
                }
                false => return Some((out, &text[at + 1..])),
            },
            '"' if quote == '"' => return Some((out, &text[at + 1..])),
            '\\' if quote == '"' => out.push(escape(&mut chars)?),
            c => out.push(c),
        }
    }
    None
}

/// Returns the character of an escape in double quotes.
fn escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match chars.next()?.1 {
        'x' => hex(chars, 2)?,
        'u' => hex(chars, 4)?,
        'U' => hex(chars, 8)?,
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'e' => '\u{1b}',
        c @ ('"' | '\\' | '/' | ' ') => c,
        _ => return None,
    })
}

fn hex(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let code =
        (0..digits).try_fold(0_u32, |code, _| code.checked_mul(16)?.checked_add(chars.next()?.1.to_digit(16)?))?;
    char::from_u32(code)
}
