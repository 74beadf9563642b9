//! Speakers named in a text: `Ines: the ferry is late`.

/// Most lines of a text that are searched.
const LINES: usize = 40;
/// Longest name, in bytes.
const NAME_BYTES: usize = 40;
/// Most words of a name.
const NAME_WORDS: usize = 3;
/// Words before a colon that are not names, sorted.
const LABELS: [&str; 60] = [
    "action",
    "ai",
    "answer",
    "assistant",
    "background",
    "bug",
    "btw",
    "caution",
    "cause",
    "caveat",
    "changes",
    "command",
    "conclusion",
    "constraints",
    "context",
    "description",
    "done",
    "edit",
    "error",
    "example",
    "expected",
    "file",
    "files",
    "fix",
    "fixed",
    "goal",
    "hint",
    "human",
    "important",
    "input",
    "issue",
    "next",
    "note",
    "notes",
    "option",
    "output",
    "plan",
    "problem",
    "ps",
    "question",
    "reason",
    "recommendation",
    "requirements",
    "result",
    "results",
    "root",
    "solution",
    "status",
    "step",
    "summary",
    "system",
    "task",
    "test",
    "tests",
    "tip",
    "title",
    "todo",
    "update",
    "user",
    "warning",
];

/// Calls `each` with the name of every speaker of a text, as written.
pub fn speakers<'a>(text: &'a str, each: &mut dyn FnMut(&'a str)) {
    for line in text.lines().take(LINES) {
        if let Some(name) = speaker(line) {
            each(name);
        }
    }
}

/// The name at the beginning of a line: one to three capitalised words, followed by a colon, a space and text.
fn speaker(line: &str) -> Option<&str> {
    let end = line.bytes().take(NAME_BYTES + 1).position(|byte| byte == b':')?;
    let (name, said) = (line.get(..end)?, line.get(end + 1..)?);
    let is_said = said.starts_with(' ') && !said.trim().is_empty();
    let is_word = |word: &str| {
        word.starts_with(char::is_uppercase) && word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '\'' | '-'))
    };
    let mut words = name.split(' ');
    let label = words.clone().next().unwrap_or_default().to_lowercase();
    let is_name = words.clone().count() <= NAME_WORDS && words.all(is_word) && !LABELS.contains(&label.as_str());
    (is_said && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speakers_are_told_from_labels() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = Vec::new();
            speakers(text, &mut |name| found.push(name));
            assert_eq!(found, expected, "{text:?}");
        };
        check("Ines: the ferry is late", &["Ines"]);
        check("Ines Duarte: late\nTomas: no\n  Mei: indented", &["Ines Duarte", "Tomas"]);
        check("Émile: oui\nDr. O'Neil-Ray: well", &["Émile", "Dr. O'Neil-Ray"]);
        for nobody in [
            "",
            ":",
            "Ines:",
            "Ines:x",
            "Ines: ",
            "ines: x",
            "Note: x",
            "Root cause: x",
            "std::vec: x",
            "The four words here: x",
            "https://host: x",
            "Step 1: x",
            "A very long name that nobody has, as far as is known: x",
        ] {
            check(nobody, &[]);
        }
    }
}
