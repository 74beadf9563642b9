//! A tool's whole output in, one informative line out.

use crate::conversation::{Edit, Outcome, ToolResult};
use crate::transcript::json::{Text, Value};
use crate::transcript::open_calls::OpenCall;

use super::telling::telling_line;

/// How much of an output is read to find the telling line of an error, in bytes: its head, as it is written.
const ERROR_HEAD_BYTES: usize = 32 * 1024;
/// The same for what an output says of itself at its beginning.
const LEAD_BYTES: usize = 400;
/// What the harness appends to results for the model's eyes.
const REMINDER: &[u8] = b"<system-reminder>";

/// What a tool gave back, still as it is written.
#[derive(Default)]
pub(crate) struct Output<'a> {
    texts: Vec<Text<'a>>,
    images: usize,
}

impl<'a> Output<'a> {
    /// Reads the content of a result: a string, or an array of blocks.
    pub(crate) fn of(content: Option<Value<'a>>) -> Self {
        match content {
            Some(Value::Text(text)) => Self { texts: vec![text.before(REMINDER)], images: 0 },
            Some(array @ Value::Array(_)) => {
                let mut output = Self::default();
                for block in array.elements() {
                    if let Some(text) = block.get(b"text").and_then(Value::text) {
                        output.texts.push(text.before(REMINDER));
                    } else if block.get(b"type").and_then(Value::text).is_some_and(|kind| kind.raw() == b"image") {
                        output.images += 1;
                    }
                }
                output
            }
            _ => Self::default(),
        }
    }

    /// The first bytes of the output, decoded; blocks are joined by line ends.
    pub(crate) fn head(&self, bytes: usize) -> String {
        let mut out = String::new();
        for text in &self.texts {
            if out.len() >= bytes {
                break;
            }
            out.push_str(if out.is_empty() { "" } else { "\n" });
            out.push_str(&text.head(bytes - out.len()).decode());
        }
        out
    }

    /// The same, without the word that the cut may have halved: half a key is no longer known for one.
    fn whole_words(&self, bytes: usize) -> String {
        let mut head = self.head(bytes);
        let written: usize = self.texts.iter().map(|text| text.raw().len() + 1).sum();
        if written > bytes {
            head.truncate(head.rfind(char::is_whitespace).unwrap_or(0));
        }
        head
    }

    /// The whole output, decoded.
    pub(crate) fn whole(&self) -> String {
        self.head(usize::MAX)
    }

    fn size(&self) -> Size {
        self.texts
            .iter()
            .map(|text| text.size())
            .fold(Size::default(), |sum, one| Size { lines: sum.lines + one.lines, bytes: sum.bytes + one.bytes })
    }
}

/// How much text there is, decoded.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Lines.
    pub(crate) lines: usize,
    /// Bytes in UTF-8.
    pub(crate) bytes: usize,
}

/// The one line that is kept of a tool's answer.
pub(crate) fn summarise(id: &str, call: Option<&OpenCall>, outcome: Outcome, output: &Output<'_>) -> ToolResult {
    let name = call.map(|call| call.name.clone());
    let lead = output.head(LEAD_BYTES);
    let exit_code = exit_code(&lead);
    // A command that says it failed has failed, whether or not the result was marked.
    let outcome =
        if outcome == Outcome::Ok && exit_code.is_some_and(|code| code != 0) { Outcome::Failed } else { outcome };
    let failed = outcome == Outcome::Failed;
    let error = failed.then(|| complaint(&output.whole_words(ERROR_HEAD_BYTES))).flatten();
    let said = match outcome {
        Outcome::Ok => success(call, &lead, output),
        Outcome::Failed => {
            let how = exit_code.map_or_else(|| "failed".to_owned(), |code| format!("exit {code}"));
            error.as_ref().map_or(how.clone(), |line| format!("{how}, {line}"))
        }
        Outcome::Denied => "denied".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
    };
    let subject = call.map_or_else(|| "result".to_owned(), OpenCall::subject);
    ToolResult {
        id: id.into(),
        name,
        outcome,
        exit_code,
        text: format!("{subject}: {said}"),
        error,
        duration_ms: None,
        agent: None,
    }
}

fn success(call: Option<&OpenCall>, head: &str, output: &Output<'_>) -> String {
    let name = call.map_or("", |call| call.name.as_str());
    if let Some(Edit { added, removed, .. }) = call.and_then(|call| call.edit.as_ref()) {
        return format!("+{added} -{removed}");
    }
    if let Some(size) = spilled(head) {
        return format!("ok, {size}, saved beside the transcript");
    }
    let size = output.size();
    match name {
        _ if output.images > 0 && size.lines == 0 => counted(output.images, "image"),
        "Read" | "NotebookRead" => counted(size.lines, "line"),
        "Bash" | "BashOutput" | "KillShell" | "PowerShell" => match head.lines().next() {
            Some(line) if line.starts_with("Command running in background") => "running in the background".to_owned(),
            Some(_) => format!("ok, {}", counted(size.lines, "line")),
            None => "ok, no output".to_owned(),
        },
        "Grep" | "Glob" | "LS" => matches(head, size.lines),
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "EnterPlanMode" | "ExitPlanMode" => "ok".to_owned(),
        _ if size.bytes == 0 => "ok, no output".to_owned(),
        _ => format!("{}, {}", counted(size.lines, "line"), bytes(size.bytes)),
    }
}

/// What a search found: its own count where it gives one (`Found 12 files`), else its lines.
fn matches(head: &str, lines: usize) -> String {
    let first = head.lines().next().unwrap_or("").trim();
    if first.is_empty() || first.starts_with("No files found") || first.starts_with("No matches found") {
        return "no matches".to_owned();
    }
    let found = first.strip_prefix("Found ").and_then(|rest| rest.split_once(' '));
    match found {
        Some((count, what)) if count.parse::<u64>().is_ok() => {
            let what: String = what.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
            format!("{count} {what}")
        }
        _ => counted(lines, "line"),
    }
}

/// The size of an output that was too large for the transcript, as the harness gives it.
fn spilled(head: &str) -> Option<String> {
    let rest = head.strip_prefix("<persisted-output>")?;
    let size = rest.split_once("Output too large (")?.1.split_once(')')?.0;
    (size.len() <= 20).then(|| size.to_owned())
}

/// `Exit code 101` at the beginning of a command's output.
fn exit_code(head: &str) -> Option<i32> {
    let rest = head.strip_prefix("<tool_use_error>").unwrap_or(head).strip_prefix("Exit code ")?;
    let digits = rest.lines().next()?.trim();
    digits.parse().ok()
}

/// What an output says went wrong, in one line.
fn complaint(head: &str) -> Option<String> {
    telling_line(&super::kept(&super::without_colours(head))?)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn bytes(count: usize) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{}.{} KB", count / 1024, count % 1024 * 10 / 1024),
        _ => format!("{}.{} MB", count / 1_048_576, count % 1_048_576 * 10 / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(call: Option<(&str, &str)>, outcome: Outcome, content: &str, expected: &str) -> ToolResult {
        let call = call.map(|(name, target)| {
            let edit = (name == "Edit").then(|| Edit { path: target.to_owned(), added: 3, removed: 1 });
            OpenCall { id: "c".into(), name: name.to_owned(), target: target.to_owned(), edit }
        });
        let raw = serde_json::to_vec(
            &serde_json::json!({ "c": serde_json::from_str::<serde_json::Value>(content).unwrap() }),
        );
        let raw = raw.unwrap();
        let output = Output::of(Value::Object(&raw).get(b"c"));
        let result = summarise("c", call.as_ref(), outcome, &output);
        assert_eq!(result.text, expected, "{content}");
        result
    }

    #[test]
    fn successes_say_how_much() {
        let ok = |call, content: &str, expected| drop(check(Some(call), Outcome::Ok, content, expected));
        ok(("Read", "a.rs"), r#""     1→x\n     2→y""#, "Read a.rs: 2 lines");
        ok(("Read", "a.rs"), r#""     1→x\n\n<system-reminder>\nno\n</system-reminder>\n""#, "Read a.rs: 1 line");
        ok(("Read", "a.png"), r#"[{"type":"image","source":{"data":"AAAA"}}]"#, "Read a.png: 1 image");
        ok(("Bash", "ls"), r#""a\nb\n""#, "Bash ls: ok, 2 lines");
        ok(("Bash", "true"), r#""""#, "Bash true: ok, no output");
        ok(
            ("Bash", "sleep"),
            r#""Command running in background with ID: b1""#,
            "Bash sleep: running in the background",
        );
        ok(
            ("Bash", "cat"),
            r#""<persisted-output>\nOutput too large (45.2KB). Full output saved to: /x""#,
            "Bash cat: ok, 45.2KB, saved beside the transcript",
        );
        ok(("Edit", "a.rs"), r#""The file has been updated""#, "Edit a.rs: +3 -1");
        ok(("Grep", "fn"), r#""Found 12 files\na\nb""#, "Grep fn: 12 files");
        ok(("Grep", "fn"), r#""No matches found""#, "Grep fn: no matches");
        ok(("Glob", "*"), r#""a\nb\nc""#, "Glob *: 3 lines");
        ok(
            ("mcp__x__y", "q"),
            r#"[{"type":"text","text":"é\n"},{"type":"text","text":"b"}]"#,
            "mcp__x__y q: 2 lines, 3 B",
        );
        ok(("WebFetch", "u"), &format!("\"{}\"", "x".repeat(3_000)), "WebFetch u: 1 line, 2.9 KB");
        check(None, Outcome::Ok, r#""a""#, "result: 1 line, 1 B");
        check(None, Outcome::Ok, "null", "result: ok, no output");
    }

    #[test]
    fn failures_say_why() {
        let failed = |call, content: &str, expected| check(Some(call), Outcome::Failed, content, expected);
        let result = failed(
            ("Bash", "cargo test"),
            r#""Exit code 101\n   Compiling x\nwarning: unused\nerror[E0308]: mismatched types\n --> a.rs""#,
            "Bash cargo test: exit 101, error[E0308]: mismatched types",
        );
        assert_eq!((result.exit_code, result.error.as_deref()), (Some(101), Some("error[E0308]: mismatched types")));
        failed(("Bash", "x"), r#""Exit code 2\n\u001b[31m\nhm""#, "Bash x: exit 2, hm");
        failed(("Bash", "x"), r#""Exit code 1""#, "Bash x: exit 1");
        failed(
            ("Edit", "a.rs"),
            r#""<tool_use_error>String to replace not found in file.</tool_use_error>""#,
            "Edit a.rs: failed, String to replace not found in file.",
        );
        failed(
            ("Bash", "python x"),
            r#""Traceback (most recent call last):\n  File \"x\"\nImportError: cannot import name""#,
            "Bash python x: failed, ImportError: cannot import name",
        );
        failed(
            ("Bash", "x"),
            r#""error: <private>key\nmore</private> bad""#,
            "Bash x: failed, error: [redacted:private] bad",
        );
        failed(("Bash", "x"), r#""""#, "Bash x: failed");
        let unmarked = check(Some(("Bash", "x")), Outcome::Ok, r#""Exit code 3\nboom""#, "Bash x: exit 3, boom");
        assert_eq!(unmarked.outcome, Outcome::Failed);
        check(Some(("Bash", "x")), Outcome::Denied, r#""no""#, "Bash x: denied");
        check(Some(("Bash", "x")), Outcome::Interrupted, r#""no""#, "Bash x: interrupted");
    }

    #[test]
    fn a_key_that_the_bound_halves_leaves_nothing() {
        let key = format!("ghp_{}", "aB3".repeat(12));
        for before in ERROR_HEAD_BYTES - 40..ERROR_HEAD_BYTES {
            let text = format!("{} error: {key} is bad", "\n".repeat(before / 2 - 4));
            let output = serde_json::to_string(&text).unwrap();
            let raw = format!("{{\"c\":{output}}}");
            let output = Output::of(Value::Object(raw.as_bytes()).get(b"c"));
            let result = summarise("c", None, Outcome::Failed, &output);
            assert!(!format!("{result:?}").contains("aB3"), "{before}");
        }
    }

    #[test]
    fn sizes_do_not_depend_on_how_the_text_was_escaped() {
        let size = |raw: &str| {
            let raw = format!("{{\"c\":\"{raw}\"}}");
            Output::of(Value::Object(raw.as_bytes()).get(b"c")).size()
        };
        assert_eq!(size("é😀\\na"), size("\\u00e9\\ud83d\\ude00\\u000aa"));
        assert_eq!(size("a\\\\n\\n"), Size { lines: 1, bytes: 3 });
        assert_eq!(size(""), Size::default());
    }
}
