//! The text of an episode: the content of `show`, and what is searched for the session as a whole.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::command::Command;
use super::continuation;
use super::excerpt::one_line;
use super::{Corrected, Episode, MODEL_BEGINS, PERSON_MARK, Pointed, model_marks};
use baton_events::session::Verdict;

/// Maximum length of the content, in bytes.
const MAX_BYTES: usize = 16_000;
/// Categories of work that other sections show.
const OWN_CATEGORIES: [&str; 3] = ["answers", "changes", "commands"];
/// Maximum size of one section, in bytes, so that none crowds out the next.
const SECTION_BYTES: usize = 3_500;

impl Episode {
    /// Returns the episode as Markdown-like text of at most 16,000 bytes, the most important parts first. Line numbers
    /// and commands that only looked are omitted; the fields have them.
    pub fn content(&self) -> String {
        self.render(false)
    }

    /// The same; with `is_apart` the model's marks do not count towards the length.
    pub(super) fn render(&self, is_apart: bool) -> String {
        let mut content = Content { text: String::with_capacity(4_096), is_apart };
        // The mark is for readers, not for the search.
        let by = if self.is_titled_by_person && !is_apart { PERSON_MARK } else { "" };
        content.paragraph("# ", &format!("{}{by}", self.title));
        content.paragraph("Objective: ", &self.objective);
        let (label, standing) = self.standing();
        content.paragraph(label, standing);
        if self.left_out > 0 {
            content.paragraph("Left out: ", &format!("{} parts of a very long conversation", self.left_out));
        }
        content.section("Decisions", &texts(&self.decisions));
        content.section("Decided before and overruled", &texts(&self.superseded_by_rules()));
        content.section("Done", &self.done());
        content.section("Open", &self.open());
        content.section("Corrected", &self.corrected_lines(is_apart));
        content.section("Asked and answered", &self.asked_and_answered());
        content.section("Errors", &self.error_lines());
        let shown = |path: &str| self.relative(path).into_owned();
        let files = self.files_modified.iter();
        let files = files.map(|file| match (file.added, file.removed) {
            _ if file.deleted => format!("{} (deleted)", shown(&file.path)),
            (0, 0) => shown(&file.path),
            (added, removed) => format!("{} (+{added} -{removed})", shown(&file.path)),
        });
        content.section("Files changed", &files.collect::<Vec<_>>());
        content.section("Commands", &self.command_lines());
        content.section("Looked up", &texts(&self.external_research));
        content.section("Stored", &self.stored());
        let files = self.files_read.iter().map(|file| match file.count {
            1 => shown(&file.path),
            count => format!("{} ({count} times)", shown(&file.path)),
        });
        content.section("Files read", &files.collect::<Vec<_>>());
        content.text
    }

    /// Returns the continuation without the objective, which has its own paragraph, and its label.
    fn standing(&self) -> (&'static str, &str) {
        let said = continuation::objective(self);
        let rest = said.and_then(|said| self.continuation_context.strip_prefix(&said));
        let rest = rest.unwrap_or(&self.continuation_context).trim_start();
        match rest.strip_prefix(continuation::STATE) {
            Some(report) => ("Where it stands, as the agent reported: ", report),
            None => ("Where it stands: ", rest),
        }
    }

    /// Makes paths below the working directory relative.
    fn relative<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(cwd) = self.cwd.as_deref().filter(|cwd| cwd.len() > 1) else { return Cow::Borrowed(text) };
        let mut out = String::new();
        let mut copied = 0;
        for (at, _) in text.match_indices(cwd) {
            let end = at + cwd.len();
            let begins =
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '-' | '_'));
            if at >= copied && begins && text[end..].starts_with(['/', '\\']) {
                out.push_str(&text[copied..at]);
                copied = end + 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// Returns prompts and answers in transcript order.
    fn asked_and_answered(&self) -> Vec<String> {
        let answers = self.work_completed.get("answers").map(Vec::as_slice).unwrap_or_default();
        let mut told: Vec<(u64, u8, &Pointed)> = Vec::with_capacity(self.prompts.len() + answers.len());
        told.extend(self.prompts.iter().map(|prompt| (prompt.line, 0, prompt)));
        told.extend(answers.iter().map(|answer| (answer.line, 1, answer)));
        told.sort_by_key(|&(line, kind, _)| (line, kind));
        let line = |(_, kind, said): (u64, u8, &Pointed)| {
            let who = if kind == 0 { "User" } else { "Assistant" };
            format!("{who}: {}", said.text)
        };
        told.into_iter().map(line).collect()
    }

    /// Returns the work in a model's own categories.
    fn done(&self) -> Vec<String> {
        let told = self.work_completed.iter().filter(|(category, _)| !OWN_CATEGORIES.contains(&category.as_str()));
        let lines = |(category, entries): (&String, &Vec<Pointed>)| {
            entries.iter().map(|entry| format!("{category}: {}", self.relative(&entry.text))).collect::<Vec<_>>()
        };
        told.flat_map(lines).collect()
    }

    /// Returns open matters and next steps.
    fn open(&self) -> Vec<String> {
        let open = self.unresolved.iter().map(|entry| self.relative(&entry.text).into_owned());
        let next = self.next_steps.iter().map(|entry| {
            let text = self.relative(&entry.text);
            if text.trim_start_matches(MODEL_BEGINS).starts_with("Next") {
                text.into_owned()
            } else {
                format!("Next: {text}")
            }
        });
        open.chain(next).collect()
    }

    fn stored(&self) -> Vec<String> {
        let line = |(tool, entries): (&String, &Vec<Pointed>)| {
            entries.iter().map(|entry| format!("{tool}: {}", entry.text)).collect::<Vec<_>>()
        };
        self.knowledge_stored.iter().flat_map(line).collect()
    }

    /// Returns the overruled decisions that are not among the corrected entries.
    fn superseded_by_rules(&self) -> Vec<Pointed> {
        let is_corrected = |said: &Pointed| self.corrected.iter().any(|it| it.said == *said);
        self.superseded.iter().filter(|said| !is_corrected(said)).cloned().collect()
    }

    /// Returns what a person has corrected and no other section shows. A search does not find what is wrong.
    fn corrected_lines(&self, is_searched: bool) -> Vec<String> {
        let is_told = |corrected: &&Corrected| match corrected.verdict {
            Verdict::Wrong => !is_searched,
            Verdict::Superseded | Verdict::Done => true,
            Verdict::NotAFix => false,
        };
        self.corrected.iter().filter(is_told).map(|it| self.relative(&it.text()).into_owned()).collect()
    }

    /// Only what is open at the end is known not to be resolved.
    fn error_lines(&self) -> Vec<String> {
        let is_open = |error: &super::ErrorLine| {
            self.unresolved.iter().any(|open| open.line == error.line && open.text == error.text)
        };
        let line = |error: &super::ErrorLine| {
            let told = self.relative(&error.text);
            match &error.resolution {
                Some(resolution) => format!("{told} -> resolved: {}", self.relative(&resolution.text)),
                None if is_open(error) => format!("{told} -> not resolved{}", self.relative(&self.not_a_fix(error))),
                None => format!("{told}{}", self.relative(&self.not_a_fix(error))),
            }
        };
        self.errors.iter().map(line).collect()
    }

    fn command_lines(&self) -> Vec<String> {
        let line = |command: &super::CommandLine| {
            let mut text = format!("`{}`: {}", self.relative(&command.text), command.outcome);
            let differ = command.alike < command.count;
            if differ {
                text.push_str(" at last");
            }
            if let Some(code) = command.exit_code.filter(|&code| code != 0) {
                let _ = write!(text, ", exit {code}");
            }
            if differ {
                let _ = write!(text, ", in {} of {} runs", command.alike, command.count);
            } else if command.count > 1 {
                let _ = write!(text, ", {} times", command.count);
            }
            text
        };
        let works = |command: &&super::CommandLine| !Command::read(&command.text).only_looks();
        self.commands.iter().filter(works).map(line).collect()
    }
}

fn texts(entries: &[Pointed]) -> Vec<String> {
    entries.iter().map(|entry| entry.text.clone()).collect()
}

/// The text so far, within its limit.
struct Content {
    text: String,
    /// True if the text contains marks around what only a model says.
    is_apart: bool,
}

impl Content {
    fn paragraph(&mut self, head: &str, text: &str) {
        let room = MAX_BYTES.saturating_sub(self.bytes(&self.text) + head.len() + 2);
        let marks = if self.is_apart { 2 } else { 0 };
        let line = one_line(text, room / 4 + marks);
        if !line.is_empty() {
            self.separate();
            let _ = writeln!(self.text, "{head}{line}");
        }
    }

    /// Adds a heading and one item per entry. If not all fit, the last ones are kept, and the others are counted.
    fn section(&mut self, heading: &str, entries: &[String]) {
        let room = SECTION_BYTES.min(MAX_BYTES.saturating_sub(self.bytes(&self.text) + heading.len() + 64));
        let mut used = 0;
        let fits = entries.iter().rev().take_while(|entry| {
            used += self.bytes(entry) + 3;
            used <= room
        });
        let kept = fits.count();
        if kept == 0 {
            return;
        }
        self.separate();
        let _ = writeln!(self.text, "## {heading}");
        let skipped = entries.len() - kept;
        if skipped > 0 {
            let _ = writeln!(self.text, "- ({skipped} earlier)");
        }
        for entry in &entries[skipped..] {
            let _ = writeln!(self.text, "- {entry}");
        }
    }

    fn bytes(&self, text: &str) -> usize {
        if self.is_apart { model_marks::bytes_without_marks(text) } else { text.len() }
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}
