//! Parses shell commands for comparison: different spellings of one command compare as equal.
//!
//! A command is parsed only as far as needed to find its programs and their arguments. It is never executed, and what
//! cannot be parsed is compared as text.

mod ending;
mod family;
mod files;
mod git;
mod issue;
mod misuse;
mod pipe;
mod scope;
mod vocabulary;
mod words;
mod wrapper;

use std::borrow::Cow;

pub use self::ending::{Part, Ran};
pub use self::family::{Check, check_kind, check_words, checks};
pub(super) use self::files::{Touch, joined, touched_files};
pub(super) use self::git::{GitAct, GitStep, Paths, git_steps, overriding_option, steps_back};
pub(super) use self::issue::{IssueAct, issue_acts};
pub(super) use self::misuse::is_misuse;
use self::pipe::Pipe;
pub(super) use self::pipe::{is_piped, is_said_by_one, separate};
pub(super) use self::scope::switched_off;
use self::vocabulary::{
    ASKING, ENTERING, FAMILIES, GIT_LOOKING, HARMLESS, INTERPRETERS, LOOKING, PACKAGE_MANAGERS, SETUP,
    WITH_SUBCOMMANDS, lists,
};
pub(super) use self::vocabulary::{Family, OPENING};
use self::words::{Joint, Word};
use self::wrapper::unwrapped;
use baton_conversation::item::{Outcome, ToolResult, Verdict};

/// Maximum number of steps of a command line that are compared.
const MAX_STEPS: usize = 8;

/// A parsed command line.
pub(super) struct Command<'a> {
    /// The line without a leading `cd`, on one line.
    normal: String,
    /// For a commit whose message has several lines: it with the first alone.
    subject: Option<String>,
    steps: Vec<Step<'a>>,
    /// What its output says about the result.
    verdict: Option<Verdict>,
    /// Name of the script that failed, if the output names it.
    script: Option<&'a str>,
    /// True if the output says that its tests passed, although the line failed.
    tests_passed: bool,
    /// True if it contains a loop.
    loops: bool,
}

/// One program of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step<'a> {
    program: Cow<'a, str>,
    subcommand: Option<Cow<'a, str>>,
    /// The subcommand is a script, which needs `run`: `bun run test` is not `bun test`.
    is_script: bool,
    arguments: Vec<Cow<'a, str>>,
    /// All its words.
    text: String,
    /// Only asks for help, a version or a list, or prints a part of a file.
    asks: bool,
    /// Runs a script that is part of the command line.
    inline: bool,
    /// Runs in a program that may not pass on its exit code: `rtk git commit`.
    wrapped: bool,
    /// What took its output, and with it its exit code.
    pipe: Pipe,
    /// Target of the line's own leading `cd`.
    directory: &'a str,
    /// Operator before the next step.
    joint: Joint,
    /// The step of the line that prepares the environment: `source .venv/bin/activate`.
    environment: String,
    /// What it checks or brings about.
    family: Family,
}

impl<'a> Command<'a> {
    /// Parses a command line; total and linear.
    pub(super) fn read(text: &'a str) -> Self {
        let bare = without_leading_cd(text);
        let directory = leading_cd(text);
        // With `pipefail` the shell returns the exit code of what failed before a pipe.
        let passes_on = bare.contains("pipefail");
        let mut steps: Vec<Step<'a>> = Vec::new();
        let mut from_pipe = false;
        let mut cut = false;
        let mut loops = false;
        let mut environment = String::new();
        for mut part in words::parts(bare) {
            cut |= part.words.iter().any(Word::is_cut);
            match syntax(&mut part.words) {
                Syntax::Program => {}
                Syntax::Head => continue,
                Syntax::LoopEnd => {
                    // A loop ends like its last step; a pipe after the loop takes that step's output.
                    from_pipe = part.joint == Joint::Pipe;
                    loops = true;
                    if let Some(last) = steps.last_mut() {
                        last.joint = part.joint;
                        last.pipe = last.pipe.max(if from_pipe { Pipe::End } else { Pipe::None });
                    }
                    continue;
                }
            }
            let piped = part.joint == Joint::Pipe;
            if from_pipe {
                from_pipe = piped;
                if let Some(last) = steps.last_mut() {
                    last.pipe = last.pipe.max(Pipe::into(&part.words));
                    last.joint = if piped { last.joint } else { part.joint };
                }
                continue;
            }
            // The line is not about what only feeds a pipe (`echo x |`, `cat x |`).
            let pipe = if piped { Pipe::End } else { Pipe::None };
            if let [first, _, ..] = &part.words[..]
                && ENTERING.contains(&first.as_str())
                && part.joint == Joint::And
            {
                environment = part.words.iter().map(Word::as_str).collect::<Vec<_>>().join(" ");
            }
            let step = Step::read(part.words, pipe, part.joint).filter(|step| !(piped && step.program == "cat"));
            let step = step.map(|step| Step { directory, environment: environment.clone(), ..step });
            from_pipe = piped && step.is_some();
            steps.extend(step);
            if steps.len() == MAX_STEPS {
                break;
            }
        }
        if let Some(last) = steps.last_mut().filter(|step| cut && !step.is_harmless()) {
            // What followed is unknown.
            last.pipe = last.pipe.max(Pipe::Part);
        }
        for step in steps.iter_mut().filter(|step| passes_on && step.pipe != Pipe::Search) {
            step.pipe = Pipe::None;
        }
        let mut words: Vec<&str> = bare.split_whitespace().collect();
        if words.len() > 1 && words.last() == Some(&"2>&1") {
            words.pop();
        }
        let mut command = Self {
            normal: words.join(" "),
            subject: None,
            steps,
            verdict: None,
            script: None,
            tests_passed: false,
            loops,
        };
        if command.commits() {
            command.subject = subject(bare);
        }
        command
    }

    /// Adds what the output says about the result.
    pub(super) fn with_verdict(self, verdict: Option<Verdict>) -> Self {
        Self { verdict, ..self }
    }

    /// Removes what the exit code would prove, for a command without a recorded one.
    pub(super) fn with_hidden_exit(mut self) -> Self {
        self.steps.iter_mut().for_each(|step| step.pipe = step.pipe.max(Pipe::End));
        self
    }

    /// Adds what the output says about the parts of the line.
    pub(super) fn with_report(self, result: &'a ToolResult) -> Self {
        let tests_passed = result.outcome == Outcome::Failed && result.verdict() == Some(&Verdict::Passed);
        Self { script: result.script(), tests_passed, ..self }
    }

    /// Returns the line without a leading `cd` and a trailing `2>&1`. Equal commands have equal texts.
    pub(super) fn normal_form(&self) -> &str {
        &self.normal
    }

    /// Returns the text to show: of a commit only the first line of its message.
    pub(super) fn shown(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.normal)
    }

    /// Returns true if every step only looks: finding nothing is not a failure of the work.
    pub(super) fn only_looks(&self) -> bool {
        self.steps.iter().all(Step::only_looks)
    }

    /// Returns true if it makes a git commit.
    pub(super) fn commits(&self) -> bool {
        self.runs_git("commit")
    }

    /// Returns true if it pushes commits.
    pub(super) fn pushes(&self) -> bool {
        self.runs_git("push")
    }

    fn runs_git(&self, subcommand: &str) -> bool {
        let runs =
            |step: &Step<'_>| step.program == "git" && step.subcommand.as_deref() == Some(subcommand) && !step.asks;
        self.steps.iter().any(runs)
    }

    /// Returns true if it runs an inline script, whose failure may be its own fault.
    pub(super) fn runs_inline_script(&self) -> bool {
        self.steps.iter().any(|step| step.inline)
    }
}

/// A program of a command line, as other crates see it.
pub struct Program {
    /// Program and subcommand in canonical spelling: `cargo test`.
    pub name: String,
    /// All its words as written, without quotes.
    pub words: Vec<String>,
    /// True if it only looks.
    pub looks: bool,
}

/// Returns the programs of a command line in order, without a leading `cd` and programs that only take another's
/// output.
pub fn programs(line: &str) -> Vec<Program> {
    let mut from_pipe = false;
    let mut programs = Vec::new();
    for mut part in words::parts(without_leading_cd(line)) {
        let takes_output = std::mem::replace(&mut from_pipe, part.joint == Joint::Pipe);
        if takes_output || !matches!(syntax(&mut part.words), Syntax::Program) {
            continue;
        }
        let words = part.words.iter().map(|word| word.as_str().to_owned()).collect();
        if let Some(step) = Step::read(part.words, Pipe::None, part.joint) {
            programs.push(Program { name: step.name(), words, looks: step.only_looks() });
        }
        if programs.len() == MAX_STEPS {
            break;
        }
    }
    programs
}

/// Returns the name of the program of a line that failed according to its result.
pub fn failing_program(line: &str, result: &ToolResult) -> Option<String> {
    let error = failing_line(result).unwrap_or_default();
    let verdict = result.verdict().filter(|_| result.outcome == Outcome::Ok).cloned();
    let command = Command::read(line).with_verdict(verdict).with_report(result);
    command.blamed(error).pop().map(|step| step.failed_name(error))
}

/// Returns the telling line of a failure that a result marks, or that its output shows.
pub fn failing_line(result: &ToolResult) -> Option<&str> {
    match (result.outcome, result.verdict()) {
        (Outcome::Failed, _) => result.error.as_deref(),
        (_, Some(Verdict::Failed(line))) => Some(line),
        _ => result.failing(),
    }
}

/// Role of a part in the shell's syntax.
enum Syntax {
    /// It runs something.
    Program,
    /// Head of a loop, or end of a condition.
    Head,
    /// End of a loop.
    LoopEnd,
}

/// Determines the role of a part and strips its leading shell keywords (`do`, `then`).
fn syntax(words: &mut Vec<Word<'_>>) -> Syntax {
    let leading = words.iter().take_while(|word| OPENING.contains(&word.as_str())).count();
    words.drain(..leading);
    match words.first().map_or("", Word::as_str) {
        "" | "for" | "fi" | "esac" => Syntax::Head,
        "done" => Syntax::LoopEnd,
        _ => Syntax::Program,
    }
}

impl<'a> Step<'a> {
    /// Returns true if it is one of these steps, by identity.
    fn is_one_of<'s>(&self, steps: impl IntoIterator<Item = &'s Step<'a>>) -> bool
    where
        'a: 's,
    {
        steps.into_iter().any(|step| std::ptr::eq(step, self))
    }

    /// Returns true if it hardly ever fails, so the result of a line is due to another step.
    pub(super) fn is_harmless(&self) -> bool {
        HARMLESS.contains(&(&*self.program, self.subcommand.as_deref().unwrap_or_default()))
    }

    fn read(words: Vec<Word<'a>>, pipe: Pipe, joint: Joint) -> Option<Self> {
        let text = words.iter().map(Word::as_str).collect::<Vec<_>>().join(" ");
        let (mut words, wrapped) = unwrapped(words);
        if words.is_empty() {
            return None;
        }
        let program = base_name(words.remove(0));
        if SETUP.contains(&&*program) {
            return None;
        }
        let in_place = |word: &Cow<'_, str>| word.starts_with("-i") || word.starts_with("--in-place");
        let prints = program == "sed" && !words.iter().any(in_place);
        let asks = prints || words.iter().any(|word| ASKING.has(word));
        let inline =
            INTERPRETERS.contains(&&*program) && words.first().is_none_or(|word| matches!(&**word, "-c" | "-e" | "-"));
        let mut step = Self {
            program,
            subcommand: None,
            is_script: false,
            arguments: Vec::new(),
            text,
            asks,
            inline,
            wrapped,
            pipe,
            directory: "",
            joint,
            environment: String::new(),
            family: Family::Run,
        };
        let checking = |word: &str| FAMILIES.iter().any(|(_, endings, _)| lists(endings, word));
        if (WITH_SUBCOMMANDS.has(&step.program) || words.first().is_some_and(|word| checking(word)))
            && let Some((subcommand, is_script)) = take_subcommand(&step.program, &mut words)
        {
            (step.subcommand, step.is_script) = (Some(subcommand), is_script);
        }
        let committing = step.program == "git" && step.subcommand.as_deref() == Some("commit");
        if !committing {
            step.arguments = words.into_iter().filter_map(argument).collect();
        }
        step.settle();
        Some(step)
    }

    /// Returns true if both run the same program with the same subcommand, whatever the arguments.
    pub(super) fn runs_as(&self, other: &Step<'_>) -> bool {
        self.same_program(other) && self.subcommand == other.subcommand
    }

    /// Returns true if both are the same program, or package managers that run the same scripts.
    fn same_program(&self, other: &Step<'_>) -> bool {
        let manages = |step: &Step<'_>| PACKAGE_MANAGERS.contains(&&*step.program);
        self.program == other.program || (manages(self) && manages(other))
    }

    /// Returns program and subcommand.
    pub(super) fn name(&self) -> String {
        match self.subcommand.as_deref() {
            Some(subcommand) if self.is_script => format!("{} run {subcommand}", self.program),
            Some(subcommand) => format!("{} {subcommand}", self.program),
            None => self.program.to_string(),
        }
    }

    /// Returns the name of what failed with an error: a wrapper that was called wrongly has run nothing.
    fn failed_name(&self, error: &str) -> String {
        let wrapper = self.text.split(' ').next().filter(|_| self.wrapped && is_misuse(error));
        wrapper.map_or_else(|| self.name(), str::to_owned)
    }

    pub(super) fn only_looks(&self) -> bool {
        let git = || self.program == "git" && self.subcommand.as_deref().is_some_and(|sub| GIT_LOOKING.contains(&sub));
        self.asks || LOOKING.has(&self.program) || git() || self.views()
    }

    fn checks(&self) -> bool {
        self.family().is_check()
    }

    /// Returns the target of the line's own `cd`; empty without one.
    pub(super) fn directory(&self) -> &'a str {
        self.directory
    }

    /// Returns its words after what prepares its environment.
    pub(super) fn in_its_environment(&self) -> Cow<'_, str> {
        match self.environment.as_str() {
            "" => Cow::Borrowed(&self.text),
            environment => Cow::Owned(format!("{environment} && {}", self.text)),
        }
    }

    /// Returns its words, wrappers and flags included.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Returns a commit up to the end of the first line of its message, if that has more, and what switches off its checks
/// behind it: `git commit -m "Fix it" --no-verify`. The message may be in quotes or in a here-document, cut or not.
fn subject(text: &str) -> Option<String> {
    let (before, message) = text.split_once("-m \"").or_else(|| text.split_once("-m '"))?;
    let document = message.strip_prefix("$(cat <<").and_then(|rest| rest.split_once('\n')).map(|(_, body)| body);
    let text_of = document.unwrap_or(message).trim_start();
    let first = text_of.split_once('\n').map(|(first, _)| first).or(document.map(|_| text_of))?;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let closed = first.contains(['"', '\'']) && document.is_none();
    let off = switched_off(text).into_iter().filter(|word| !before.contains(&**word));
    let shown = format!("{} -m \"{}\"", words(before), words(first));
    let shown = off.fold(shown, |shown, word| format!("{shown} {word}"));
    (!closed && !first.trim().is_empty()).then_some(shown)
}

/// Returns the target of the line's leading `cd`, the last of several; empty without one.
fn leading_cd(text: &str) -> &str {
    let text = text.trim();
    let leading = text.get(..text.len() - without_leading_cd(text).len()).unwrap_or_default();
    let last = leading.rsplit("cd ").next().unwrap_or_default();
    let directory = last.trim_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'' | '/' | '.'));
    match directory.is_empty() || directory.contains(['$', '*', '`', '\n']) {
        true => "",
        false => last.trim_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'')),
    }
}

/// Strips leading `cd X &&` (or `;`), repeatedly.
fn without_leading_cd(text: &str) -> &str {
    let mut rest = text.trim();
    for _ in 0..MAX_STEPS {
        let Some(after) = rest.strip_prefix("cd ") else { break };
        let Some(part) = words::first_end(after) else { break };
        let next = after[part..].trim_start_matches([';', '&', ' ', '\n', '\t', '\r']);
        if next.is_empty() || after[part..].starts_with("||") || after[part..].starts_with('|') {
            break;
        }
        rest = next;
    }
    rest
}

/// Removes the first word that is not a flag and returns its canonical spelling, and true if it is a script to run.
fn take_subcommand<'a>(program: &str, words: &mut Vec<Cow<'a, str>>) -> Option<(Cow<'a, str>, bool)> {
    let with_value = |word: &str| matches!(word, "-C" | "--manifest-path" | "--prefix" | "-n" | "--cwd" | "-c" | "-f");
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with(['-', '+']) && !is_number(word) {
            break;
        }
        at += if with_value(word) { 2 } else { 1 };
    }
    if at >= words.len() {
        return None;
    }
    let mut word = words.remove(at);
    let mut is_script = matches!(&*word, "run" | "run-script")
        && matches!(program, "npm" | "pnpm" | "yarn" | "bun" | "mise")
        && at < words.len();
    if is_script {
        word = words.remove(at);
        // These need no `run`.
        is_script = !matches!((program, &*word), ("npm", "test" | "start" | "stop" | "restart") | ("pnpm" | "yarn", _));
    }
    if program == "cargo" && word == "nextest" && words.get(at).is_some_and(|word| word == "run") {
        words.remove(at);
    }
    let short = match (program, &*word) {
        ("npm", "t" | "tst") | ("cargo", "t" | "nextest") => "test",
        ("cargo", "b") => "build",
        ("cargo", "c") => "check",
        ("npm" | "pnpm" | "yarn" | "bun", "i" | "add") => "install",
        _ => return Some((word, is_script)),
    };
    Some((Cow::Borrowed(short), is_script))
}

/// Returns the word as an argument for comparison: not flags and numbers, but the value of `--flag=value`.
fn argument(word: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let value = if word.starts_with(['-', '+']) {
        word.split_once('=').map(|(_, value)| value.to_owned().into())
    } else {
        Some(word)
    };
    value.filter(|value| !value.is_empty() && !matches!(&**value, "run" | "." | "./...") && !is_number(value))
}

/// Strips the directories of a program.
fn base_name(word: Cow<'_, str>) -> Cow<'_, str> {
    match word {
        Cow::Borrowed(word) => word.rsplit('/').next().unwrap_or(word).into(),
        Cow::Owned(word) => word.rsplit('/').next().unwrap_or(&word).to_owned().into(),
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests;
