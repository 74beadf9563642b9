//! The reasons why a hit was found.
//!
//! # Hazards
//!
//! - A turn found only by its neighbours (`context`) may have an excluded word in a neighbour.

use std::collections::BTreeSet;
use std::ops::Range;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Term};

use super::Error;
use super::analyzer::{Analyzer, NAME_PREFIX};
use super::query::{Found, Plan, find};
use super::snapshot::Snapshot;

/// Extensions of file names that are recognised without a folder. Other words with a dot are fields, hosts and
/// abbreviations.
const FILE_EXTENSIONS: [&str; 45] = [
    "astro", "bash", "c", "cc", "cfg", "clj", "conf", "cpp", "cs", "css", "csv", "dart", "env", "ex", "go", "gradle",
    "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "php", "proto", "py",
    "rb", "rs", "scala", "sh", "sql", "svelte", "swift", "toml", "ts", "tsx", "xml", "yaml", "yml",
];

/// A part of a hit that matches the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Words of the text.
    Text,
    /// A phrase, word for word.
    Phrase,
    /// The name of a file in the text.
    File,
    /// An error: an error code, or words in a line about a failure.
    Error,
    /// Words of neighbouring turns only, none of its own.
    Context,
    /// The session's title.
    Title,
    /// The session's episode.
    Episode,
    /// The name of an entity of the session.
    Entity,
    /// The vector.
    Vector,
}

impl Reason {
    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Phrase => "phrase",
            Self::File => "file",
            Self::Error => "error",
            Self::Context => "context",
            Self::Title => "title",
            Self::Episode => "episode",
            Self::Entity => "entity",
            Self::Vector => "vector",
        }
    }
}

/// Reasons in a turn's own text; [`Reason::Context`] if there are none.
pub(super) fn turn_reasons(text: &str, is_tool: bool, plan: &Plan, analyzer: &mut Analyzer) -> BTreeSet<Reason> {
    let mut reasons = BTreeSet::new();
    for Found { wanted, at } in find(analyzer, text, &plan.wanted) {
        reasons.insert(Reason::Text);
        if is_path(run_around(text, &at)) {
            reasons.insert(Reason::File);
        }
        if is_error_code(&plan.wanted[wanted].token) || is_tool && is_failure(line_around(text, &at)) {
            reasons.insert(Reason::Error);
        }
    }
    if reasons.is_empty() {
        reasons.insert(Reason::Context);
    }
    reasons
}

/// True if a title contains a wanted token.
pub(super) fn is_in_title(title: &str, plan: &Plan, analyzer: &mut Analyzer) -> bool {
    let wanted = if plan.wanted.is_empty() { &plan.episode } else { &plan.wanted };
    !find(analyzer, title, wanted).is_empty()
}

/// Those of the sessions with an entity that the query names: a file, an error code, a dotted name.
pub(super) fn sessions_with_named_entity(
    snapshot: &Snapshot,
    plan: &Plan,
    sessions: &[&str],
) -> Result<BTreeSet<Box<str>>, Error> {
    let mut found = BTreeSet::new();
    if plan.names.is_empty() {
        return Ok(found);
    }
    let fields = &snapshot.fields;
    for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
        if segment.graph.is_none() {
            continue;
        }
        let mut mentions = Vec::new();
        let index = reader.inverted_index(fields.graph_of)?;
        for session in sessions {
            let term = Term::from_field_text(fields.graph_of, session);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != tantivy::TERMINATED {
                mentions.push(postings.doc());
                postings.advance();
            }
        }
        mentions.sort_unstable();
        let index = reader.inverted_index(fields.entity)?;
        for name in &plan.names {
            let term = Term::from_field_text(fields.entity, name);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            for mention in &mentions {
                if postings.doc() < *mention {
                    postings.seek(*mention);
                }
                if postings.doc() == *mention && !reader.is_deleted(*mention) {
                    found.extend(segment.id_of(*mention).map(Box::from));
                }
            }
        }
    }
    Ok(found)
}

/// The run of characters around a token without white space, quotes, brackets or commas.
fn run_around<'a>(text: &'a str, at: &Range<usize>) -> &'a str {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>' | '[' | ']' | ',');
    let start = text[..at.start]
        .rfind(ends)
        .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
    let end = text[at.end..].find(ends).map_or(text.len(), |after| at.end + after);
    &text[start..end]
}

fn line_around<'a>(text: &'a str, at: &Range<usize>) -> &'a str {
    let start = text[..at.start].rfind('\n').map_or(0, |before| before + 1);
    let end = text[at.end..].find('\n').map_or(text.len(), |after| at.end + after);
    &text[start..end]
}

/// True if a word without spaces is the path of a file, such as `src/auth.rs`, `Cargo.toml` or `auth.rs:12`, and not a
/// URL.
fn is_path(word: &str) -> bool {
    if word.contains("://") {
        return false;
    }
    let word = word.trim_end_matches(['.', ':', ';', '!', '?']);
    let file = word.split(':').next().unwrap_or(word);
    let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let extension = last.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let is_extension = |it: &str| {
        (1..=5).contains(&it.len())
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && it.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    extension.is_some_and(|it| is_extension(it) && (file.contains(['/', '\\']) || FILE_EXTENSIONS.contains(&it)))
}

/// True if a token is a name of an error: `E0382`, `TypeError`, `ENOENT`.
fn is_error_code(token: &str) -> bool {
    let Some(name) = token.strip_prefix(NAME_PREFIX) else { return false };
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let is_code = name.len() <= 10
        && digits >= 3
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().skip_while(u8::is_ascii_alphabetic).all(|byte| byte.is_ascii_digit());
    is_code || ["error", "exception", "panic"].iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

/// True if a tool's line reports a failure.
fn is_failure(line: &str) -> bool {
    let lower = line.to_lowercase();
    let exits = lower.find("exit ").is_some_and(|at| {
        lower[at + 5..].trim_start_matches("code ").starts_with(|c: char| ('1'..='9').contains(&c) || c == '-')
    });
    exits
        || ["error", "failed", "failure", "panicked", "exception", "traceback", "denied"]
            .iter()
            .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::query::Wanted;
    use super::*;

    #[test]
    fn reasons_are_only_what_is_true() {
        let check = |text: &str, is_tool: bool, tokens: &[&str], expected: &str| {
            let wanted = |token: &&str| Wanted::unsought(token);
            let plan = Plan { wanted: tokens.iter().map(wanted).collect(), ..Plan::default() };
            let reasons = turn_reasons(text, is_tool, &plan, &mut Analyzer::default());
            let names: Vec<&str> = reasons.into_iter().map(Reason::as_str).collect();
            assert_eq!(names.join(" "), expected, "{text} {tokens:?}");
        };
        check("The refresh token expires", false, &["refresh"], "text");
        check("The refresh token expires", false, &["auth"], "context");
        check("look at src/auth.rs please", false, &["auth"], "text file");
        check("look at `auth.rs:12`.", false, &["=auth.rs"], "text file");
        check("see https://auth.example/a.rs now", false, &["auth"], "text");
        check("that is e.g. auth. Yes", false, &["auth"], "text");
        check("Bash: cargo test\nexit 101, auth broke", true, &["auth"], "text error");
        check("Bash: cargo test auth\nexit 101, it broke", true, &["auth"], "text");
        check("Bash: cargo test auth\nexit 0", true, &["auth"], "text");
        check("the auth failed", false, &["auth"], "text");
        check("why E0382 here", false, &["=e0382"], "text error");
        check("why ConfigError here", false, &["=configerror"], "text error");
        check("Read src/auth.rs: 12 lines", true, &["auth"], "text file");
    }
}
