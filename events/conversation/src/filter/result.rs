//! Summarises a tool's whole output as one informative line.

mod ends;

use crate::item::{Act, Edit, GitOutput, Outcome, PERSONS_SHELL, Report, ToolResult, Verdict};
use baton_redaction::raw_json::{Size, Text, Value};

use super::git_output::{self, unmarked};
use super::media::{self, Media};
use super::open_calls::OpenCall;
use super::reason::{cause_line, finding_line, reason_line};
use super::telling::telling_line;
use super::work_tree;
use ends::{Ends, shown};

/// Bytes of an output's beginning, as written, that are searched for the telling line of an error.
const ERROR_HEAD_BYTES: usize = 32 * 1024;
/// Bytes of an output's beginning that are searched for statements about the output itself.
const LEAD_BYTES: usize = 400;
/// Bytes of an output's beginning that are searched for the path of a spilled output.
const SPILL_BYTES: usize = 5_000;
/// Tools that report on a command or an agent running elsewhere, whose outcome is not their own.
const WATCHERS: &[&str] = &["BashOutput", "TaskOutput", "AgentOutput", "AgentOutputTool"];
/// One of these occurs in every output with a line that names a cause of failure.
const COMPLAINTS: &[&[u8]] = &[b"rror", b"ERR", b"atal", b"FATAL", b"panic", b"xception", b"expect", b"ssert", b"FAIL"];
/// Longest name of a task in the background, in bytes.
const MAX_TASK_BYTES: usize = 64;
/// Text that the harness appends to results for the model only.
const REMINDER: &[u8] = b"<system-reminder>";

/// Facts about a result that the transcript has besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResultFacts {
    /// The exit code of a command.
    pub(crate) exit_code: Option<i32>,
    /// Meaning of that code for this command, on one bounded line.
    pub(crate) meaning: Option<String>,
    /// Duration in milliseconds.
    pub(crate) duration_ms: Option<u64>,
    /// Id of the subagent that did the work.
    pub(crate) agent: Option<Box<str>>,
    /// Name of the background task as which the call continues.
    pub(crate) background: Option<String>,
    /// True if a person interrupted it.
    pub(crate) interrupted: bool,
    /// Lines added and removed by all changes to a file.
    pub(crate) changed: Option<(u32, u32)>,
}

/// The output of a tool, still encoded as in the transcript.
#[derive(Default)]
pub(crate) struct Output<'a> {
    texts: Vec<Text<'a>>,
    media: Vec<Media>,
    /// Number of blocks of other kinds: links that a search found, tools that were looked up.
    others: usize,
    /// Facts about it besides its text.
    pub(crate) facts: ResultFacts,
    /// The whole text, if the transcript has only its beginning.
    pub(crate) spilled: Option<String>,
}

impl<'a> Output<'a> {
    /// Reads the content of a result: a string, an array of blocks, or the single object of the service's own tools.
    pub(crate) fn parse(content: Option<Value<'a>>) -> Self {
        let mut output = Self::default();
        match content {
            Some(Value::Text(text)) => output.texts.push(text.before(REMINDER)),
            Some(array @ Value::Array(_)) => array.elements().for_each(|block| output.block(block)),
            Some(object @ Value::Object(_)) => output.block(object),
            _ => {}
        }
        output
    }

    /// An output of these texts.
    pub(crate) fn of(texts: impl IntoIterator<Item = Text<'a>>) -> Self {
        Self { texts: texts.into_iter().map(|text| text.before(REMINDER)).collect(), ..Self::default() }
    }

    fn block(&mut self, block: Value<'a>) {
        let before = self.texts.len();
        let mut media = false;
        for (key, value) in block.fields() {
            match (key.raw(), value) {
                (b"text" | b"stdout" | b"stderr" | b"error_code", Value::Text(text)) => {
                    self.texts.push(text.before(REMINDER));
                }
                (b"return_code", Value::Number(digits)) => {
                    self.facts.exit_code = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                }
                (b"type", Value::Text(kind)) => media = media::name(kind.raw()).is_some(),
                _ => {}
            }
        }
        match media.then(|| Media::parse(block)).flatten() {
            Some(media) => self.media.push(media),
            None => self.others += usize::from(self.texts.len() == before),
        }
    }

    /// Cuts the last text where this mark stands last in it.
    pub(crate) fn cut_at(&mut self, mark: &[u8]) {
        if let Some(last) = self.texts.last_mut()
            && let Some(at) = memchr::memmem::rfind(last.raw(), mark)
        {
            *last = Text::new(&last.raw()[..at]);
        }
    }

    /// The last text.
    pub(crate) fn last_text(&self) -> Option<Text<'a>> {
        self.texts.last().copied()
    }

    /// Name of the file with the whole output, if the program spilled it.
    pub(crate) fn spilled_to(&self) -> Option<String> {
        let lead = self.head(LEAD_BYTES);
        lead.contains(SPILL).then(|| Spill::parse(&self.head(SPILL_BYTES)).and_then(|spill| spill.file)).flatten()
    }

    /// The first bytes of the text in the transcript, decoded; blocks are joined by line breaks.
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

    /// The first bytes of the whole output, without a word that the cut may have halved: half a key is not recognised
    /// as one.
    fn whole_words(&self, bytes: usize) -> String {
        let (mut head, cut) = match &self.spilled {
            Some(whole) => {
                let end = (0..=bytes.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
                (whole[..end].to_owned(), end < whole.len())
            }
            None => {
                let written: usize = self.texts.iter().map(|text| text.raw().len() + 1).sum();
                (self.head(bytes), written > bytes)
            }
        };
        if cut {
            head.truncate(head.rfind(char::is_whitespace).unwrap_or(0));
        }
        head
    }

    /// The whole text in the transcript, decoded.
    pub(crate) fn whole(&self) -> String {
        self.head(usize::MAX)
    }

    /// Quickly excludes outputs in which no line names a cause of failure.
    fn may_complain(&self) -> bool {
        let complains = |bytes: &[u8]| COMPLAINTS.iter().any(|word| memchr::memmem::find(bytes, word).is_some());
        match &self.spilled {
            Some(whole) => complains(&whole.as_bytes()[..whole.len().min(ERROR_HEAD_BYTES)]),
            None => self.texts.iter().any(|text| complains(text.raw())),
        }
    }

    fn size(&self) -> Size {
        if let Some(whole) = &self.spilled {
            let whole = whole.trim_end();
            return Size { lines: whole.lines().count(), bytes: whole.len() };
        }
        self.texts
            .iter()
            .map(|text| text.size())
            .fold(Size::default(), |sum, one| Size { lines: sum.lines + one.lines, bytes: sum.bytes + one.bytes })
    }
}

/// Summarises a tool's result as one line.
pub(crate) fn summarise(id: &str, call: Option<&OpenCall>, outcome: Outcome, output: &Output<'_>) -> ToolResult {
    let name = call.map(|call| call.name.clone());
    let lead = output.head(LEAD_BYTES);
    let facts = &output.facts;
    let watches = call.is_some_and(|call| WATCHERS.contains(&call.name.as_str()));
    let exit_code = facts.exit_code.or_else(|| exit_code(&lead)).or_else(|| watches.then(|| watched_code(&lead))?);
    // A nonzero exit code is a failure, whether or not the result is marked as one.
    let fails = !watches && exit_code.is_some_and(|code| code != 0);
    let outcome = if outcome == Outcome::Ok && fails { Outcome::Failed } else { outcome };
    let failed = outcome == Outcome::Failed;
    let ends = Ends::new(output);
    let complaint = if failed { ends.head() } else { None };
    let (report, stored) = if watches { Default::default() } else { report(call, &lead, outcome, output, &ends) };
    let said = match outcome {
        Outcome::Ok if watches => watched(&lead, exit_code, output.size()),
        Outcome::Ok => format!("{}{}", success(call, &lead, output), stored.suffix()),
        Outcome::Failed => {
            let how = exit_code.map_or_else(|| "failed".to_owned(), |code| format!("exit {code}"));
            let line = complaint.and_then(telling_line);
            line.map_or(how.clone(), |line| format!("{how}, {}{}", unmarked(&line), stored.suffix()))
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
        text: format!("{}: {said}", unmarked(&subject)),
        error: complaint.and_then(reason_line),
        duration_ms: facts.duration_ms,
        agent: facts.agent.clone(),
        report: Some(Box::new(report)),
    }
}

const IN_BACKGROUND: &str = "running in the background";

fn success(call: Option<&OpenCall>, head: &str, output: &Output<'_>) -> String {
    let name = call.map_or("", |call| call.name.as_str());
    if let Some(Edit { added, removed, .. }) = call.and_then(|call| call.edit.as_ref()) {
        let (added, removed) = output.facts.changed.unwrap_or((*added, *removed));
        return format!("+{added} -{removed}");
    }
    if let Some(task) = in_background(name, head, &output.facts) {
        return if task.is_empty() { IN_BACKGROUND.to_owned() } else { format!("{IN_BACKGROUND} as {task}") };
    }
    let size = output.size();
    if head.contains(SPILL)
        && let Some(Spill { size: said, .. }) = Spill::parse(&output.head(SPILL_BYTES))
    {
        let lines = output.spilled.as_ref().map_or(String::new(), |_| format!("{}, ", counted(size.lines, "line")));
        return format!("ok, {lines}{said}, saved beside the transcript");
    }
    let seen = seen(&output.media);
    if size.lines == 0 && !seen.is_empty() {
        return seen;
    }
    let said = match usual_name(call) {
        "Read" | "NotebookRead" => counted(size.lines, "line"),
        "Bash" | "KillShell" | "PowerShell" | "shell" | "bash" => match size.lines {
            0 => "ok, no output".to_owned(),
            lines => format!("ok, {}", counted(lines, "line")),
        },
        "Grep" | "Glob" | "LS" => matches(head, size.lines),
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "EnterPlanMode" | "ExitPlanMode" => "ok".to_owned(),
        "ToolSearch" if output.others > 0 => counted(output.others, "tool"),
        _ if size.bytes == 0 && output.others > 0 => counted(output.others, "result"),
        _ if size.bytes == 0 => "ok, no output".to_owned(),
        _ => format!("{}, {}", counted(size.lines, "line"), bytes(size.bytes)),
    };
    let meaning = output.facts.meaning.as_ref().map_or(String::new(), |meaning| format!(" ({meaning})"));
    if seen.is_empty() { format!("{said}{meaning}") } else { format!("{said}{meaning}, {seen}") }
}

/// The name of a call's tool; for a tool that only its agent knows by name, a known one of the same act.
fn usual_name(call: Option<&OpenCall>) -> &str {
    let Some(call) = call else { return "" };
    match call.act {
        _ if Act::of_tool(&call.name) != Act::Other => &call.name,
        Act::Shell => "Bash",
        Act::Read => "Read",
        Act::Search => "Grep",
        Act::Todo => "TodoWrite",
        _ => &call.name,
    }
}

/// What the stored line of a result, which is hashed, says about its output: as it was when that form was set.
#[derive(Default)]
struct StoredLine {
    made: Vec<GitOutput>,
    verdict: Option<Verdict>,
}

impl StoredLine {
    fn suffix(&self) -> String {
        let mut said: String = self.made.iter().map(GitOutput::suffix).collect();
        said.extend(self.verdict.as_ref().map(Verdict::suffix));
        said
    }
}

/// Facts in an output. Of a command line: commits and pull requests, also if the rest of the line failed, and what the
/// output says about the result, which counts if the exit code may be another program's.
fn report(
    call: Option<&OpenCall>,
    lead: &str,
    outcome: Outcome,
    output: &Output<'_>,
    ends: &Ends<'_>,
) -> (Report, StoredLine) {
    let (mut report, mut stored) = (Report::default(), StoredLine::default());
    let Some(call) = call else { return (report, stored) };
    let went_well = outcome == Outcome::Ok;
    if went_well && let Some(Edit { added, removed, compared, .. }) = call.edit {
        report.changed = Some(output.facts.changed.or(compared).unwrap_or((added, removed)));
    }
    report.in_background = went_well && in_background(&call.name, lead, &output.facts).is_some();
    if !matches!(outcome, Outcome::Ok | Outcome::Failed) || call.act != Act::Shell {
        return (report, stored);
    }
    let is_cut = call.target.ends_with('…');
    let makes = is_cut || call.target.contains("git ") || call.target.contains("gh ");
    // Of a person's command no exit code is recorded.
    let is_shared = is_cut || call.name == PERSONS_SHELL || call.target.contains(['|', ';', '&']);
    if let Some(end) = (makes || went_well && is_shared).then(|| ends.tail()).flatten() {
        if makes {
            stored.made = GitOutput::find_all(end);
        }
        if went_well && is_shared {
            stored.verdict = Verdict::find_for_line(end);
        }
    }
    if !makes && !is_shared && !output.may_complain() {
        return (report, stored);
    }
    let said = ends.both();
    if makes {
        report.work_tree = work_tree::find(said.as_deref().unwrap_or_default(), &call.target);
    }
    let Some(said) = said else { return (report, stored) };
    if makes {
        report.made = shown(&git_lines(output)).map_or_else(Vec::new, |lines| GitOutput::find_all(&lines));
        report.logged = if call.target.contains("git log") { git_output::logged(&said) } else { Vec::new() };
        report.echoed = git_output::echoed(&said);
    }
    if went_well {
        report.verdict = Verdict::printed(&call.target, &said).or_else(|| Verdict::find(&said));
        report.failing = if is_shared { finding_line(&said) } else { cause_line(&said) };
    } else {
        report.verdict = Some(Verdict::Passed).filter(|_| is_shared && Verdict::tests_passed(&said));
    }
    if !matches!((outcome, &report.verdict), (Outcome::Ok, None | Some(Verdict::Passed))) {
        report.script = Verdict::failed_script(&said);
    }
    (report, stored)
}

/// The lines of the whole output that may report a commit or a pull request.
fn git_lines(output: &Output<'_>) -> String {
    let may = |line: &&str| line.contains('[') || line.contains("https://");
    let pick = |text: &str| text.lines().filter(may).collect::<Vec<_>>().join("\n");
    output.spilled.as_deref().map_or_else(|| pick(&output.whole()), pick)
}

/// Images and documents in a result: `image, 34 KB`, `2 images, 80 KB`.
fn seen(media: &[Media]) -> String {
    let kinds = ["image", "document"].map(|what| {
        let these = || media.iter().filter(|media| media.what == what);
        let known: usize = these().filter_map(|media| media.bytes).sum();
        let size = if known > 0 { format!(", {}", media::size(known)) } else { String::new() };
        match these().count() {
            0 => None,
            1 => Some(format!("{what}{size}")),
            count => Some(format!("{count} {what}s{size}")),
        }
    });
    kinds.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The background task as which a call continues; empty if it has no name.
fn in_background(name: &str, head: &str, facts: &ResultFacts) -> Option<String> {
    let first = head.lines().next().unwrap_or("");
    let says = first.starts_with("Command running in background")
        || first.starts_with("Command was ") && first.contains(" backgrounded ");
    let says = says && matches!(name, "Bash" | "PowerShell");
    let named = || {
        let id: String = first
            .split_once("ID: ")?
            .1
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
            .collect();
        (id.len() <= MAX_TASK_BYTES).then_some(id)
    };
    facts.background.clone().or_else(|| says.then(|| named().unwrap_or_default()))
}

/// Summary for a tool that reports on another: `running, 9 lines`, `exit 0, 13 lines`.
fn watched(head: &str, exit_code: Option<i32>, size: Size) -> String {
    let status = inside(head, "status")
        .filter(|status| status.len() <= 20 && status.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_'));
    let how = exit_code.map(|code| format!("exit {code}")).or_else(|| status.map(str::to_owned));
    let lines = if size.lines == 0 { "no output".to_owned() } else { counted(size.lines, "line") };
    format!("{}, {lines}", how.as_deref().unwrap_or("ok"))
}

/// The value of `<exit_code>0</exit_code>` in the report.
fn watched_code(head: &str) -> Option<i32> {
    inside(head, "exit_code")?.trim().parse().ok()
}

fn inside<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner)
}

/// Result of a search: its own count if it gives one (`Found 12 files`), else its lines.
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

/// Start of the harness' notice that an output was spilled to a file beside the transcript.
const SPILL: &str = "<persisted-output>";

/// The harness' notice in place of an output that is too large for the transcript.
struct Spill<'t> {
    /// Size in the harness' words: `45.2KB`.
    size: &'t str,
    /// Name of the file, without its folder.
    file: Option<String>,
}

impl<'t> Spill<'t> {
    fn parse(head: &'t str) -> Option<Self> {
        // A failed command's exit code comes first.
        let rest = head.split_once(SPILL).filter(|(before, _)| before.lines().count() <= 1)?.1;
        let (size, rest) = rest.split_once("Output too large (")?.1.split_once(')')?;
        let path = rest.split_once("saved to: ").and_then(|(_, path)| path.lines().next()).unwrap_or("").trim();
        let file = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).map(str::to_owned);
        (size.len() <= 20).then_some(Self { size, file })
    }
}

/// The value of `Exit code 101` at the beginning of an output.
fn exit_code(head: &str) -> Option<i32> {
    let rest = head.strip_prefix("<tool_use_error>").unwrap_or(head).strip_prefix("Exit code ")?;
    let digits = rest.lines().next()?.trim();
    digits.parse().ok()
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
mod tests;
