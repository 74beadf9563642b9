//! Passages of one conversation that say most about a question's subject.
//!
//! An episode keeps the beginning of each prompt and what the agent concluded. The reason often stands elsewhere: in a
//! plan, between two tool calls, in a failing line.

use std::collections::BTreeMap;

use super::intent::{Intent, Tally};
use baton_conversation::item::{Body, Item, Outcome};
use baton_conversation::record::Timestamp;
use baton_episode::digest::{gives_reason, head, one_line};

/// Maximum number of bytes of one text that are read.
const READ_BYTES: usize = 64 * 1024;
/// A passage ends with the line that takes it to so many characters.
const PASSAGE_CHARS: usize = 200;
/// Maximum length of a passage, in characters.
const MOST_CHARS: usize = 420;
/// Maximum number of passages kept of a conversation.
const KEPT: usize = 24;
/// What a word that an earlier passage has counts for in a further one.
const SAID_BEFORE: f32 = 0.4;
/// Share of the exchange's relevance that counts for its passages.
const OF_THE_EXCHANGE: f32 = 0.25;
/// Factors on the relevance of a failing line and of a plan or prompt.
const OF_A_RESULT: f32 = 0.8;
const OF_A_PROMPT: f32 = 0.9;
/// The same for the text of an edit, and for code and data in any text.
const OF_AN_EDIT: f32 = 0.6;
const OF_CODE: f32 = 0.5;
/// The same for a passage that gives a reason or names an alternative.
const WITH_REASON: f32 = 1.15;
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
    /// True if the agent says it.
    pub is_of_agent: bool,
    /// How much it says about the subject.
    pub relevance: f32,
    tally: Tally,
    exchange: usize,
    factor: f32,
}

/// What a conversation says about a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quotes {
    /// The passages, best first; each further one is rated by what it adds.
    pub passages: Vec<Quote>,
    /// Relevance of the best exchange, whole.
    pub relevance: f32,
    /// Share of the subject that the passages have together.
    pub coverage: f32,
    /// The agent's last message, whole, with its line.
    pub last: Option<(u64, String)>,
}

impl Quotes {
    /// Returns the relevance of the best passage.
    pub fn best(&self) -> f32 {
        self.passages.first().map_or(0.0, |quote| quote.relevance)
    }

    /// Returns the best passages that fit, as one text in the order of the transcript, without those of lines that are told
    /// already.
    pub fn within(&self, chars: usize, is_told: impl Fn(u64) -> bool) -> String {
        let mut left = chars;
        let fits = |quote: &&Quote| {
            left = left.saturating_sub(quote.text.chars().count());
            left > 0
        };
        let mut told: Vec<&Quote> =
            self.passages.iter().filter(|quote| !is_told(quote.line)).take_while(fits).collect();
        told.sort_by_key(|quote| quote.line);
        told.iter().map(|quote| quote.text.as_str()).collect::<Vec<_>>().join(" … ")
    }
}

/// Reads the items of one conversation, in bounded memory.
pub struct QuoteReader<'q> {
    asked: &'q Intent,
    /// What words that were met count for.
    known: BTreeMap<String, Vec<(usize, f32)>>,
    exchanges: Vec<Tally>,
    quotes: Vec<Quote>,
    last: Option<(u64, String)>,
}

impl<'q> QuoteReader<'q> {
    /// Reads for a question.
    pub fn new(asked: &'q Intent) -> Self {
        Self { asked, known: BTreeMap::new(), exchanges: vec![Tally::default()], quotes: Vec::new(), last: None }
    }

    /// Reads the next item.
    pub fn push(&mut self, item: &Item) {
        if item.sidechain {
            return;
        }
        match &item.body {
            Body::Prompt { text } => {
                self.exchanges.push(Tally::default());
                self.read(item, text, OF_A_PROMPT);
            }
            Body::Reply { text } => {
                self.read(item, text, 1.0);
                self.last = Some((item.line, head(text, READ_BYTES).to_owned()));
            }
            Body::Answer { text } => self.read(item, text, 1.0),
            Body::Call(call) => {
                if let Some(plan) = &call.plan {
                    self.read(item, plan, OF_A_PROMPT);
                }
                if let Some(edit) = &call.edit {
                    self.count(&edit.path);
                    self.read(item, head(&edit.new_text, EDIT_BYTES), OF_AN_EDIT);
                }
            }
            Body::Result(result) if result.outcome == Outcome::Failed => {
                let error = result.error.as_deref().or(result.failing());
                self.read(item, error.unwrap_or(&result.text), OF_A_RESULT);
            }
            _ => {}
        }
    }

    /// Returns what was found, with at most `most` passages.
    pub fn finish(mut self, most: usize) -> Quotes {
        let relevance = |tally: &Tally| self.asked.relevance_of(tally);
        let of_exchanges: Vec<f32> = self.exchanges.iter().map(relevance).collect();
        let mut passages: Vec<Quote> = Vec::new();
        while passages.len() < most {
            let worth = |quote: &Quote| {
                let new = quote.tally.without_repeated(passages.iter().map(|it| &it.tally), SAID_BEFORE);
                let own = self.asked.relevance_of(&new);
                quote.factor * (own + if own > 0.0 { OF_THE_EXCHANGE * of_exchanges[quote.exchange] } else { 0.0 })
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
        Quotes { coverage: self.asked.fit_of(&said), passages, relevance, last: self.last }
    }

    /// Reads a text in passages.
    fn read(&mut self, item: &Item, text: &str, factor: f32) {
        for (passage, is_code) in passages(head(text, READ_BYTES)) {
            let factor = if is_code { factor * OF_CODE } else { factor };
            let tally = self.count(&passage);
            if tally.is_empty() {
                continue;
            }
            let exchange = self.exchanges.len() - 1;
            let text = one_line(&passage, MOST_CHARS);
            let factor = if gives_reason(&passage) { factor * WITH_REASON } else { factor };
            let relevance = factor * self.asked.relevance_of(&tally);
            let is_of_agent = matches!(item.body, Body::Reply { .. });
            let (line, at) = (item.line, item.at);
            self.quotes.push(Quote { text, line, at, is_of_agent, relevance, tally, exchange, factor });
        }
        if self.quotes.len() > 2 * KEPT {
            self.quotes.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
            self.quotes.truncate(KEPT);
        }
    }

    /// Counts the words of a text for its exchange.
    fn count(&mut self, text: &str) -> Tally {
        let tally = self.asked.tally(text, &mut self.known);
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.add(&tally);
        }
        tally
    }
}

/// Splits a text into passages: paragraphs and list items, short ones together, each below its heading. The second value
/// is true for code and data.
fn passages(text: &str) -> Vec<(String, bool)> {
    let (mut passages, mut heading, mut passage, mut chars) = (Vec::new(), "", String::new(), 0);
    let (mut in_code, mut was_code) = (false, false);
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        let is_heading = !in_code && line.starts_with('#');
        let is_code = in_code || line.starts_with(['{', '}', '"', '<', '[']) && !line.starts_with("[ ]");
        let ends = is_heading || is_code != was_code || line.is_empty() && chars >= PASSAGE_CHARS / 2;
        if (ends || chars >= PASSAGE_CHARS) && chars > 0 {
            passages.push((std::mem::take(&mut passage), was_code));
            chars = 0;
        }
        was_code = is_code;
        if is_heading {
            heading = line.trim_start_matches('#').trim();
            continue;
        }
        if is_fence || !line.chars().any(char::is_alphanumeric) {
            continue;
        }
        if chars == 0 && !heading.is_empty() {
            passage = format!("{}: ", heading.trim_end_matches(':'));
        }
        passage.push_str(line);
        passage.push('\n');
        chars += line.chars().count();
    }
    if chars > 0 {
        passages.push((passage, was_code));
    }
    passages
}
