//! Questions, asked of a real daemon as a person asks them, and the points of their answers.

use std::path::Path;

use serde::Serialize;

use super::super::{Error, TestDaemon, io_error};
use super::figures::{Points, QuestionFigures};
use super::gold::{Command, Question, UNANSWERABLE};

/// Characters of a session's id that an answer must name.
const ID_CHARS: usize = 8;
/// Most lines of an answer that are kept.
const KEPT_LINES: usize = 12;

/// A question, how it was asked, and what its answer is worth.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedAnswer {
    /// The question's id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The text asked for: that of the question, the exact error, or the variant for `recall`.
    pub form: Form,
    /// The command line.
    pub command: String,
    /// What a right answer contains.
    pub gold: String,
    /// 1, 0.5 or 0.
    pub score: f64,
    /// True if it says that nothing is known.
    pub abstains: bool,
    /// Keys that the answer lacks.
    pub missing_keys: Vec<String>,
    /// The first lines of the answer and the remarks on it.
    pub answer: Vec<String>,
}

/// The text asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The question as it is.
    Question,
    /// The exact text of the error.
    ExactError,
    /// The variant for `recall`.
    RecallVariant,
}

/// Asks a question in all its forms.
pub(super) fn ask(daemon: &TestDaemon, question: &Question) -> Result<Vec<JudgedAnswer>, Error> {
    let forms = [
        Some((Form::Question, question.cmd, &question.text)),
        question.exact_error.as_ref().map(|text| (Form::ExactError, Command::Fix, text)),
        question.recall_variant.as_ref().map(|text| (Form::RecallVariant, Command::Recall, text)),
    ];
    let forms = forms.into_iter().flatten();
    forms.map(|(form, command, text)| ask_in_form(daemon, question, form, command, text)).collect()
}

fn ask_in_form(
    daemon: &TestDaemon,
    question: &Question,
    form: Form,
    command: Command,
    text: &str,
) -> Result<JudgedAnswer, Error> {
    let mut arguments = vec![command.name()];
    if let Some(project) = &question.project {
        arguments.extend(["--project", project]);
    }
    arguments.extend(["--", text]);
    let mut asking = daemon.command(&arguments)?;
    // The question belongs to no session, and to no project but its own.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().ends_with("_SESSION_ID")) {
        asking.env_remove(name);
    }
    let ended = asking.current_dir(&daemon.environment().home).output().map_err(io_error("run", Path::new("baton")))?;
    let (printed, remarks) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    if !ended.status.success() {
        let what = format!("question {}: `baton {}` failed: {}", question.id, arguments.join(" "), remarks.trim());
        return Err(Error::NothingMeasured(what));
    }
    Ok(judge(question, form, format!("baton {}", arguments.join(" ")), &printed, &remarks))
}

fn judge(question: &Question, form: Form, command: String, printed: &str, remarks: &str) -> JudgedAnswer {
    let abstains = printed.trim().is_empty() || printed.lines().take(1).chain(remarks.lines()).any(is_abstention);
    // An abstention repeats the words of the question, which may be those of a key.
    let (first, rest) = printed.split_once('\n').unwrap_or((printed, ""));
    let told = if is_abstention(first) { rest } else { printed };
    let missing = question.patterns.iter().filter(|pattern| !pattern.is_match(told));
    let missing_keys: Vec<String> = missing.map(|pattern| pattern.as_str().to_owned()).collect();
    let session = question.session.as_ref().and_then(|id| id.get(..ID_CHARS));
    let score = if question.kind == UNANSWERABLE {
        f64::from(u8::from(abstains))
    } else if missing_keys.is_empty() {
        1.0
    } else if session.is_some_and(|id| printed.contains(id)) {
        0.5
    } else {
        0.0
    };
    let lines = printed.lines().take(KEPT_LINES).chain(remarks.lines().filter(|line| !line.is_empty()));
    JudgedAnswer {
        id: question.id.clone(),
        kind: question.kind.clone(),
        form,
        command,
        gold: question.gold.clone(),
        score,
        abstains,
        missing_keys,
        answer: lines.map(str::to_owned).collect(),
    }
}

/// True if the line says that nothing is known. An answer about other projects than the one asked for is an answer.
fn is_abstention(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    let begins = ["no ", "nothing ", "not seen", "too general"].iter().any(|begin| line.starts_with(begin));
    let unknown = ["known", "found", "seen", "too general", "single sentence"].iter().any(|word| line.contains(word));
    begins && unknown && !line.contains("this is of all of them")
}

/// The figures of all answers.
pub(super) fn figures(answers: &[JudgedAnswer]) -> QuestionFigures {
    let mut figures = QuestionFigures::default();
    for answer in answers {
        let is_unanswerable = answer.kind == UNANSWERABLE;
        let is_wrong = answer.score == 0.0 && !answer.abstains;
        let points = Points {
            questions: 1,
            points: answer.score,
            confidently_wrong: usize::from(is_wrong && is_unanswerable),
            beside_the_point: usize::from(is_wrong && !is_unanswerable),
        };
        match answer.form {
            Form::Question => {
                figures.all += points;
                *figures.kinds.entry(answer.kind.clone()).or_default() += points;
            }
            Form::ExactError => figures.exact_error += points,
            Form::RecallVariant => figures.recall_variant += points,
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::gold::Gold;
    use super::*;

    fn check(kind: &str, printed: &str, remarks: &str, score: f64, abstains: bool) {
        let keys: &[&str] = if kind == UNANSWERABLE { &[] } else { &["ark.{0,9}directly", "provider"] };
        let question =
            json!({"id": "W1", "kind": kind, "cmd": "recall", "text": "x", "session": "8ecab05f", "keys": keys});
        let gold = Gold::parse(json!({"questions": [question]}).to_string().as_bytes()).unwrap();
        let answer = judge(&gold.questions[0], Form::Question, "recall x".to_owned(), printed, remarks);
        assert_eq!((answer.score, answer.abstains), (score, abstains), "{kind} {printed} {remarks}");
        let figures = figures(&[answer]);
        let wrong = usize::from(score == 0.0 && !abstains);
        let expected = if kind == UNANSWERABLE { (wrong, 0) } else { (0, wrong) };
        assert_eq!((figures.all.confidently_wrong, figures.all.beside_the_point), expected);
        assert_eq!(figures.kinds[kind], figures.all);
    }

    #[test]
    fn an_answer_gets_its_points() {
        check("why", "decision Ark UI\ndirectly, no Provider", "", 1.0, false);
        check("why", "decision Ark UI directly  (8ecab05f:12)", "", 0.5, false);
        check("why", "decision Ark UI directly  (8ecab05e:12)", "", 0.0, false);
        check("why", "", "Nothing was found; try other words.", 0.0, true);
        check("none", "session x", "\nNo decision about it is known; these only have its words.", 1.0, true);
        check("none", "No conversation found speaks of x. Nearest:\nsession y", "", 1.0, true);
        check("none", "Not seen as a failure in any session that is known.", "", 1.0, true);
        check("none", "No known session ran `x`.", "", 1.0, true);
        check("how", "No known session ran `ark directly provider`.", "", 0.0, true);
        check("none", "passage nothing was found", "Nothing of it is known of it; this is of all of them", 0.0, false);
        check("none", "session x", "4 more entries did not fit", 0.0, false);
    }
}
