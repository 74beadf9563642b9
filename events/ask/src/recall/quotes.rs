//! Passages of one conversation that say most about a question's subject.
//!
//! An episode keeps the beginning of each prompt and what the agent concluded. The reason often stands elsewhere: in a
//! plan, between two tool calls, in a failing line.

use std::collections::BTreeMap;

use super::intent::{Intent, Kind, Tally};
use super::passages::{gives_reason_first, has_options, is_question, passages};
use baton_conversation::item::{Act, Body, Item, Outcome};
use baton_conversation::record::Timestamp;
use baton_episode::digest::{gives_reason, head, one_line, questions_with_answers};
use baton_words::WordList;

/// Maximum number of bytes of one text that are read.
const READ_BYTES: usize = 64 * 1024;
/// Maximum length of a passage, in characters.
const MOST_CHARS: usize = 420;
/// Maximum number of words that are remembered.
const VOCABULARY: usize = 50_000;
/// Maximum number of passages kept of a conversation.
const KEPT: usize = 24;
/// Weight of a word in a passage if an earlier passage already has it.
const SAID_BEFORE: f32 = 0.4;
/// Share of the exchange's relevance that counts for its passages.
const OF_THE_EXCHANGE: f32 = 0.25;
/// Factors on the relevance of a failing line alone, and of a plan or prompt.
const OF_A_RESULT: f32 = 0.8;
const OF_A_PROMPT: f32 = 0.9;
/// Maximum length of a failing line, in characters.
const FAILING_CHARS: usize = 160;
/// The same of an answer to a question, with the question.
const ANSWER_CHARS: usize = 320;
/// The same for the text of an edit, and for code and data in any text.
const OF_AN_EDIT: f32 = 0.6;
const OF_CODE: f32 = 0.5;
/// The same for a passage that gives a reason or names an alternative, and if a reason is asked for.
const WITH_REASON: f32 = 1.15;
const WITH_REASON_ASKED: f32 = 1.3;
/// The same for a passage with a line that begins like a reason, if one is asked for.
const LEADING_REASON_ASKED: f32 = 1.6;
/// If it is asked what is open: the same for a passage that says that something is left, and how much the last exchange
/// counts beside the first.
const WITH_REST: f32 = 1.3;
const LAST_EXCHANGE: f32 = 0.3;
/// Words for what is left.
static REST: WordList = WordList::words(crate::WORDS, "words for what is left");
/// Maximum length of what a person answered, in characters.
const ANSWERED_CHARS: usize = 160;
/// Maximum number of bytes of an edit that are read.
const EDIT_BYTES: usize = 4 * 1024;

/// A passage, on one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// The text.
    pub text: String,
    /// Transcript line.
    pub line: u64,
    /// Time of that line.
    pub at: Option<Timestamp>,
    /// Who says it.
    pub speaker: Speaker,
    /// How much it says about the subject.
    pub relevance: f32,
    tally: Tally,
    exchange: usize,
    factor: f32,
    /// True for the end of a message with a question, and for the list of options before it.
    asks: bool,
}

/// Who says a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A person, or a plan or an edit.
    Other,
    /// The agent.
    Agent,
    /// A tool that failed, and perhaps what the agent said next.
    Failure,
}

/// What a conversation says about a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quotes {
    /// The passages, best first; each further one is rated by what it adds.
    pub passages: Vec<Quote>,
    /// Relevance of the best exchange, whole.
    pub relevance: f32,
    /// Share of the subject that the passages have together; words that were never said count as missing.
    pub coverage: f32,
    /// The agent's last message, whole, with its line.
    pub last: Option<(u64, String)>,
}

impl Quotes {
    /// Returns the relevance of the best passage.
    pub fn best(&self) -> f32 {
        self.passages.first().map_or(0.0, |quote| quote.relevance)
    }
}

/// Reads the items of one conversation, in bounded memory.
pub struct QuoteReader<'q> {
    asked: &'q Intent,
    /// Weights of the words met so far.
    known: BTreeMap<String, Vec<(usize, f32)>>,
    exchanges: Vec<Tally>,
    quotes: Vec<Quote>,
    last: Option<(u64, String)>,
    /// The last failing line, or answer to a question, if nothing was said since.
    before: Option<Before>,
    /// The line of the agent's last message, if it ends with a question.
    asking: Option<u64>,
}

/// The subject of the next words, which need not repeat it.
struct Before {
    text: String,
    line: u64,
    at: Option<Timestamp>,
    is_failure: bool,
    /// True if the agent ran something since.
    is_passed: bool,
}

impl<'q> QuoteReader<'q> {
    /// Reads for a question.
    pub fn new(asked: &'q Intent) -> Self {
        Self {
            asked,
            known: BTreeMap::new(),
            exchanges: vec![Tally::default()],
            quotes: Vec::new(),
            last: None,
            before: None,
            asking: None,
        }
    }

    /// Reads the next item.
    pub fn push(&mut self, item: &Item) {
        if item.sidechain {
            return;
        }
        let place = (item.line, item.at);
        match &item.body {
            Body::Prompt { text } => {
                self.hear_answer(text);
                // A person may give the reason of an answer.
                let answer = self.before.take_if(|before| !before.is_failure);
                self.read_before();
                self.exchanges.push(Tally::default());
                let text = answer.map_or_else(|| text.clone(), |answer| format!("{} → {text}", answer.text));
                self.read(place, &text, OF_A_PROMPT, Speaker::Other);
            }
            Body::Reply { text } => {
                match self.before.take() {
                    Some(before) => {
                        let speaker = if before.is_failure { Speaker::Failure } else { Speaker::Agent };
                        self.read(place, &format!("{} → {text}", before.text), 1.0, speaker);
                    }
                    None => self.read(place, text, 1.0, Speaker::Agent),
                }
                self.asking = is_question(text).then_some(item.line);
                self.last = Some((item.line, head(text, READ_BYTES).to_owned()));
            }
            Body::Answer { text } => {
                self.hear_answer(text);
                self.read_before();
                let text = one_line(text, ANSWER_CHARS);
                self.before = Some(Before { text, line: item.line, at: item.at, is_failure: false, is_passed: false });
            }
            Body::Call(call) => {
                let runs = call.act == Act::Shell;
                self.before.iter_mut().for_each(|before| before.is_passed |= before.is_failure && runs);
                if let Some(plan) = &call.plan {
                    self.read(place, plan, OF_A_PROMPT, Speaker::Other);
                }
                if let Some(edit) = &call.edit {
                    self.count(&edit.path);
                    self.read(place, head(&edit.new_text, EDIT_BYTES), OF_AN_EDIT, Speaker::Other);
                }
            }
            Body::Result(result) => {
                let whole = Some(&*result.text).filter(|_| result.outcome == Outcome::Failed);
                if let Some(text) = result.error.as_deref().or(result.failing()).or(whole) {
                    self.read_before();
                    let text = one_line(text, FAILING_CHARS);
                    self.before =
                        Some(Before { text, line: item.line, at: item.at, is_failure: true, is_passed: false });
                } else if self.before.as_ref().is_some_and(|before| before.is_passed) {
                    // Words after something else succeeded are about that.
                    self.read_before();
                }
            }
            _ => {}
        }
    }

    /// Returns what was found, with at most `most` passages.
    pub fn finish(mut self, most: usize) -> Quotes {
        self.read_before();
        let relevance = |tally: &Tally| self.asked.relevance_of(tally);
        let of_exchanges: Vec<f32> = self.exchanges.iter().map(relevance).collect();
        let late = if self.asked.seeks_open() { LAST_EXCHANGE } else { 0.0 };
        let latest = (of_exchanges.len() - 1).max(1) as f32;
        let mut passages: Vec<Quote> = Vec::new();
        while passages.len() < most {
            let worth = |quote: &Quote| {
                let new = quote.tally.without_repeated(passages.iter().map(|it| &it.tally), SAID_BEFORE);
                let own = self.asked.relevance_of(&new);
                let lateness = 1.0 + late * quote.exchange as f32 / latest;
                lateness
                    * quote.factor
                    * (own + if own > 0.0 { OF_THE_EXCHANGE * of_exchanges[quote.exchange] } else { 0.0 })
            };
            let rated = self.quotes.iter().map(worth).enumerate();
            let Some((at, worth)) = rated.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if worth <= 0.0 {
                break;
            }
            passages.push(self.quotes.remove(at));
        }
        let mut said = Tally::default();
        passages.iter().for_each(|quote| said.add(&quote.tally));
        let relevance = of_exchanges.into_iter().fold(0.0, f32::max);
        Quotes { coverage: self.asked.share_of(&said), passages, relevance, last: self.last }
    }

    /// Adds what a person answered to the question with which the agent's last message ends.
    fn hear_answer(&mut self, text: &str) {
        let Some(line) = self.asking.take() else { return };
        let answers: Vec<&str> = questions_with_answers(text).into_iter().map(|(_, answer)| answer).collect();
        let answer = if answers.is_empty() { text.to_owned() } else { answers.join("; ") };
        for quote in self.quotes.iter_mut().filter(|quote| quote.line == line && quote.asks) {
            quote.text = format!("{} → user: {}", quote.text, one_line(&answer, ANSWERED_CHARS));
        }
    }

    /// Reads a failing line or answer about which nothing is said.
    fn read_before(&mut self) {
        if let Some(Before { text, line, at, is_failure, .. }) = self.before.take() {
            let (factor, speaker) = if is_failure { (OF_A_RESULT, Speaker::Failure) } else { (1.0, Speaker::Other) };
            self.read((line, at), &text, factor, speaker);
        }
    }

    /// Reads a text in passages.
    fn read(&mut self, (line, at): (u64, Option<Timestamp>), text: &str, factor: f32, speaker: Speaker) {
        let all = passages(head(text, READ_BYTES));
        let (count, mut above) = (all.len(), Tally::default());
        for (number, (passage, is_code)) in all.into_iter().enumerate() {
            let asks = number + 1 == count || number + 2 == count && has_options(&passage);
            let speaker = if number > 0 && speaker == Speaker::Failure { Speaker::Agent } else { speaker };
            let factor = if is_code { factor * OF_CODE } else { factor };
            let own = self.count(&passage);
            let mut tally = own.clone();
            if self.asked.is(Kind::Decisions) && gives_reason_first(&passage) {
                // It is about what stands above it.
                tally.add(&above);
            }
            above = own;
            if tally.is_empty() {
                continue;
            }
            let exchange = self.exchanges.len() - 1;
            let text = one_line(&passage, MOST_CHARS);
            let factor = factor * self.answering(&passage);
            let relevance = factor * self.asked.relevance_of(&tally);
            self.quotes.push(Quote { text, line, at, speaker, relevance, tally, exchange, factor, asks });
        }
        if self.quotes.len() > 2 * KEPT {
            self.quotes.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
            self.quotes.truncate(KEPT);
        }
    }

    /// Returns the factor for a passage that says the kind of thing that is asked for.
    fn answering(&self, passage: &str) -> f32 {
        let says_rest = || passage.split(|c: char| !c.is_alphanumeric()).any(|word| REST.has(&word.to_lowercase()));
        match gives_reason(passage) {
            _ if self.asked.seeks_open() && says_rest() => WITH_REST,
            _ if self.asked.is(Kind::Decisions) && gives_reason_first(passage) => LEADING_REASON_ASKED,
            true if self.asked.is(Kind::Decisions) => WITH_REASON_ASKED,
            true => WITH_REASON,
            false => 1.0,
        }
    }

    /// Counts the words of a text for its exchange.
    fn count(&mut self, text: &str) -> Tally {
        if self.known.len() > VOCABULARY {
            self.known.clear();
        }
        let tally = self.asked.tally(text, &mut self.known);
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.add(&tally);
        }
        tally
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::read_description;
    use super::*;
    use baton_conversation::item::{Call, Edit, ToolResult};

    fn item(line: u64, body: Body) -> Item {
        Item { line, at: None, uuid: None, message: None, sidechain: false, body }
    }

    fn prompt(line: u64, text: &str) -> Item {
        item(line, Body::Prompt { text: text.to_owned() })
    }

    pub(in super::super) fn reply(line: u64, text: &str) -> Item {
        item(line, Body::Reply { text: text.to_owned() })
    }

    pub(in super::super) fn fails(line: u64, error: &str) -> Item {
        let result = ToolResult {
            id: "".into(),
            name: None,
            outcome: Outcome::Failed,
            exit_code: Some(1),
            text: error.to_owned(),
            error: Some(error.to_owned()),
            duration_ms: None,
            agent: None,
            report: None,
        };
        item(line, Body::Result(result))
    }

    pub(in super::super) fn quotes(asked: &str, items: &[Item]) -> Quotes {
        let asked = read_description(asked);
        let mut reader = QuoteReader::new(&asked);
        items.iter().for_each(|item| reader.push(item));
        reader.finish(2)
    }

    #[test]
    fn the_passage_between_two_tool_calls_is_found() {
        let items = [
            prompt(1, "# Plan\n\nMove the crane log to a ring buffer.\n\n## Why\n\nThe pelican export was too slow."),
            reply(2, "The pelican id is never read, so a ref will do."),
            reply(3, "All tests pass."),
            item(4, Body::Reply { text: "A subagent speaks of the pelican id and of a ref.".to_owned() }),
        ];
        let mut items = items.to_vec();
        items[3].sidechain = true;
        let found = quotes("why is the pelican id kept in a ref", &items);
        let lines: Vec<u64> = found.passages.iter().map(|quote| quote.line).collect();
        assert_eq!(lines, [2, 1]);
        assert_eq!(found.passages[1].text, "Why: The pelican export was too slow.");
        assert_eq!(found.last, Some((3, "All tests pass.".to_owned())));
        assert!(found.relevance > 0.0 && found.coverage > 0.5, "{found:?}");
        assert_eq!(quotes("walrus", &items).passages, []);
        let mut asked = read_description("pelican walrus");
        asked.weigh(|words| Some(words.iter().map(|word| f32::from(u8::from(*word == "pelican"))).collect()));
        let mut reader = QuoteReader::new(&asked);
        items.iter().for_each(|item| reader.push(item));
        assert!(reader.finish(2).coverage <= 0.5, "a word that was never said is missing");
    }

    #[test]
    fn what_the_agent_says_next_is_about_the_failure() {
        let items = [
            fails(1, "pelican.test.ts: unexpected token"),
            fails(2, "heron.test.ts: unexpected token"),
            reply(3, "The star ends the comment early."),
            reply(4, "Fixed."),
            fails(5, "heron.test.ts: timed out"),
            prompt(6, "stop"),
            reply(7, "Stopped."),
        ];
        let found = quotes("heron test", &items);
        let told: Vec<(u64, &str)> = found.passages.iter().map(|quote| (quote.line, quote.text.as_str())).collect();
        let expected = [
            (3, "heron.test.ts: unexpected token → The star ends the comment early."),
            (5, "heron.test.ts: timed out"),
        ];
        assert_eq!(told, expected);
        let call = |name: &str| Call {
            act: Act::of_tool(name),
            id: "".into(),
            name: name.to_owned(),
            input: BTreeMap::new(),
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        };
        let Body::Result(failed) = fails(3, "").body else { unreachable!("it is a result") };
        let done = ToolResult { outcome: Outcome::Ok, error: None, text: "ok".to_owned(), ..failed };
        let items = [
            fails(1, "heron.test.ts: unexpected token"),
            item(2, Body::Call(call("Bash"))),
            item(3, Body::Result(done)),
            reply(4, "All is done."),
        ];
        let found = quotes("heron test", &items);
        let told: Vec<&str> = found.passages.iter().map(|quote| quote.text.as_str()).collect();
        assert_eq!(told, ["heron.test.ts: unexpected token"], "the summary is not about the failure");
    }

    #[test]
    fn what_is_said_next_belongs_to_an_answer() {
        let items = [
            item(1, Body::Answer { text: "Where is the heron kept? Option B".to_owned() }),
            reply(2, "Good, one file is simpler."),
            item(3, Body::Answer { text: "Which heron test? None".to_owned() }),
            prompt(4, "it is too slow"),
        ];
        let found = quotes("heron", &items);
        let mut told: Vec<&str> = found.passages.iter().map(|quote| quote.text.as_str()).collect();
        told.sort_unstable();
        let first = "Where is the heron kept? Option B → Good, one file is simpler.";
        assert_eq!(told, [first, "Which heron test? None → it is too slow"].map(|it| it));
    }

    #[test]
    fn what_is_left_and_late_leads_if_that_is_asked() {
        let items = [
            prompt(1, "The heron export is missing a test."),
            reply(2, "The heron export is fast."),
            prompt(3, "The heron export has remaining gaps."),
        ];
        let asked = |question: &str| {
            let around = super::super::Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
            let asked = super::super::read(question, &around);
            let mut reader = QuoteReader::new(&asked);
            items.iter().for_each(|item| reader.push(item));
            reader.finish(1).passages[0].line
        };
        assert_eq!(asked("what is still open about the heron export"), 3);
        assert_eq!(asked("heron export fast"), 2);
    }

    #[test]
    fn a_question_carries_what_was_answered() {
        let options = "The heron hook fails.\n\n1. Mend the heron\n2. Skip the heron, which leaves it as it was before all of \
                       this and takes no time at all";
        let answer = "User has answered your questions: \"Which?\"=\"mend it\". You can now continue with the user's \
                      answers in mind.";
        let told = |asks: &str, answer: Body| {
            let items = [reply(1, &format!("{options}\n\n{asks}")), item(2, answer), prompt(3, "go on")];
            quotes("heron", &items).passages.remove(0).text
        };
        let typed = || Body::Prompt { text: "the first".to_owned() };
        assert!(told("Which one?", Body::Answer { text: answer.to_owned() }).ends_with(" → user: mend it"));
        assert!(told("Which one of them? ", typed()).ends_with(" → user: the first"));
        assert!(!told("I did the first.", typed()).contains("user:"));
    }

    #[test]
    fn what_begins_like_a_reason_leads_if_one_is_asked_for() {
        let items = [
            reply(2, "The heron lies in two files, which the loader reads one by one."),
            reply(3, "**Rationale**: the heron of two files is loaded in parts."),
            reply(4, &format!("{}\n\n**Reason**: it loads in parts.", "The heron file is one of these. ".repeat(4))),
        ];
        let around = super::super::Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
        let asked = super::super::read("why does the heron lie in two files", &around);
        let mut reader = QuoteReader::new(&asked);
        items.iter().for_each(|item| reader.push(item));
        let found = reader.finish(4).passages;
        assert_eq!(found[0].line, 3);
        // A reason without a word of the question is about what stands above it.
        assert!(found.iter().any(|quote| quote.text == "**Reason**: it loads in parts."), "{found:?}");
    }

    #[test]
    fn edits_and_code_count_less_than_words() {
        let edit = Edit { path: "crane.ts".to_owned(), new_text: "const pelican = 1".to_owned(), ..Edit::default() };
        let call = Call {
            act: baton_conversation::item::Act::Edit,
            id: "".into(),
            name: "Edit".to_owned(),
            input: BTreeMap::new(),
            edit: Some(edit),
            commit: None,
            plan: None,
            git_line: None,
        };
        let items = [
            item(1, Body::Call(call)),
            reply(2, "```\nconst pelican = 2\n```"),
            reply(3, "The pelican constant is one."),
        ];
        let found = quotes("pelican", &items);
        assert_eq!(found.passages.iter().map(|quote| quote.line).collect::<Vec<_>>(), [3, 1]);
    }
}
