//! Projects: a directory with a few dozen source files, topics, and identifiers made of them.

use std::fmt::Write;

use super::random::Random;
use super::vocabulary::Vocabulary;

/// Source files of a project.
const FILES: usize = 48;
/// Words that are more frequent in this project than elsewhere.
const TOPICS: usize = 120;
/// Identifiers in its code.
const IDENTIFIERS: usize = 900;

/// A project.
#[derive(Debug)]
pub(super) struct Project {
    /// Its directory.
    pub(super) directory: String,
    topics: Vec<String>,
    identifiers: Vec<String>,
    files: Vec<SourceFile>,
}

/// A source file. Its lines are escaped for a JSON string.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Path relative to the project's directory.
    pub(super) path: String,
    /// Module name in the names of its tests.
    pub(super) module: String,
    lines: Vec<String>,
}

impl Project {
    pub(super) fn new(seed: u64, number: usize, vocabulary: &Vocabulary) -> Self {
        let random = &mut Random::for_part(seed, 1000 + number as u64);
        let topics: Vec<String> = (0..TOPICS).map(|_| vocabulary.uncommon_word(random).to_owned()).collect();
        let directory = format!("/home/dev/projects/{}-{}", topics[0], topics[1]);
        let identifiers = (0..IDENTIFIERS).map(|_| identifier(random, &topics, vocabulary)).collect();
        let mut project = Self { directory, topics, identifiers, files: Vec::new() };
        for _ in 0..FILES {
            let (folder, name) = (project.topic(random).to_owned(), project.topic(random).to_owned());
            let ending = *random.pick(&["rs", "rs", "ts", "tsx", "py", "md"]);
            let lines = (0..random.between(20, 100) + random.skewed(0, 1200)).map(|_| project.code(random)).collect();
            project.files.push(SourceFile {
                path: format!("src/{folder}/{name}.{ending}"),
                module: format!("{folder}::{name}"),
                lines,
            });
        }
        project
    }

    /// The folder of its transcripts below `projects/`.
    pub(super) fn slug(&self) -> String {
        self.directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }

    pub(super) fn topic(&self, random: &mut Random) -> &str {
        // Early topics are more frequent.
        &self.topics[random.skewed(0, TOPICS - 1)]
    }

    pub(super) fn identifier(&self, random: &mut Random) -> &str {
        &self.identifiers[random.skewed(0, IDENTIFIERS - 1)]
    }

    pub(super) fn file(&self, random: &mut Random) -> &SourceFile {
        &self.files[random.skewed(0, self.files.len() - 1)]
    }

    /// A line of code.
    fn code(&self, random: &mut Random) -> String {
        let mut line = " ".repeat(4 * random.below(4));
        let (a, b, c) = (self.identifier(random), self.identifier(random), self.identifier(random));
        let number = random.below(4096);
        let _ = match random.below(11) {
            0 => return String::new(),
            1 => write!(line, "let {a} = {b}.{c}({number});"),
            2 => write!(line, "if {a}.is_empty() && {b} != {number} {{"),
            3 => write!(line, "}}"),
            4 => write!(line, "pub fn {a}({b}: &{c}) -> Result<(), Error> {{"),
            5 => write!(line, "return Err(Error::new(\\\"{a} has no {b}\\\"));"),
            6 => write!(line, "// {a} before {b}: {} {}", self.topic(random), self.topic(random)),
            7 => write!(line, "import {{ {a}, {b} }} from \\\"./{c}\\\";"),
            8 => write!(line, "assert_eq!({a}({number}), {b});"),
            9 => write!(line, "self.{a}.{b}(|{c}| {c} + {number})?;"),
            _ => write!(line, "{a}: {b}::{c}({number}),"),
        };
        line
    }
}

impl SourceFile {
    /// Number of lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, random: &mut Random) -> &str {
        random.pick::<String>(&self.lines)
    }

    /// Writes `count` lines from `from` on.
    pub(super) fn write(&self, from: usize, count: usize, out: &mut String) {
        for line in self.lines.iter().skip(from).take(count) {
            out.push_str(line);
            out.push_str("\\n");
        }
    }

    /// Writes `count` lines from `from` on, each with its number.
    pub(super) fn write_numbered(&self, from: usize, count: usize, out: &mut String) {
        for (index, line) in self.lines.iter().enumerate().skip(from).take(count) {
            let _ = write!(out, "{:>6}\u{2192}{line}\\n", index + 1);
        }
    }
}

fn identifier(random: &mut Random, topics: &[String], vocabulary: &Vocabulary) -> String {
    let mut name = random.pick(topics).clone();
    for _ in 0..random.between(0, 2) {
        let word = if random.percent(50) { random.pick(topics) } else { vocabulary.word(random) };
        name.push('_');
        name.push_str(&word.replace('\'', ""));
    }
    name
}
