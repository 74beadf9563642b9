//! Generated text: sentences, commands' output. All of it is escaped for a JSON string: a line ends with the two
//! characters `\n`, and quotation marks are escaped.

use std::fmt::Write;

use super::project::Project;
use super::random::Random;
use super::vocabulary::Vocabulary;

/// Generates text about one project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speaker<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) project: &'a Project,
}

impl Speaker<'_> {
    /// Writes sentences of about `bytes` bytes.
    pub(super) fn sentences(&self, random: &mut Random, bytes: usize, out: &mut String) {
        let end = out.len() + bytes;
        while out.len() < end {
            let start = out.len();
            for place in 0..random.between(5, 19) {
                if place > 0 {
                    out.push_str(if random.percent(6) { ", " } else { " " });
                }
                self.term(random, out);
            }
            if let Some(first) = out[start..].chars().next().filter(char::is_ascii_lowercase) {
                out.replace_range(start..=start, &first.to_ascii_uppercase().to_string());
            }
            out.push_str(match random.below(20) {
                0 => "? ",
                1 => ".\\n\\n",
                2 => ":\\n\\n- ",
                3 => " \u{2192} done. ",
                _ => ". ",
            });
        }
        out.truncate(out.trim_end_matches([' ', '-']).len());
    }

    fn term(&self, random: &mut Random, out: &mut String) {
        match random.below(100) {
            0..2 => _ = write!(out, "`{}`", self.project.file(random).path),
            2..6 => _ = write!(out, "`{}`", self.project.identifier(random)),
            6..7 => _ = write!(out, "{}", random.between(2, 5000)),
            7..22 => out.push_str(self.project.topic(random)),
            _ => out.push_str(self.vocabulary.word(random)),
        }
    }

    /// Writes one sentence with a decision and its reason.
    pub(super) fn decision(&self, random: &mut Random, out: &mut String) {
        let (chosen, other, reason) =
            (self.project.identifier(random), self.project.identifier(random), self.project.topic(random));
        let _ = write!(out, "I decided to use `{chosen}` instead of `{other}` because {reason} ");
        self.sentences(random, 60, out);
    }

    /// Writes the output of a command: steps, tests, or an error with its place.
    pub(super) fn output(&self, random: &mut Random, bytes: usize, failed: bool, out: &mut String) {
        let end = out.len() + bytes;
        if failed {
            let (file, line) = (self.project.file(random), random.between(1, 300));
            let (expected, found) = (self.project.identifier(random), self.project.identifier(random));
            let _ = write!(
                out,
                "error[E{:04}]: mismatched types\\n  --> {}:{line}:{}\\n   |\\n{line} |     {}\\n   |     ^^^^ expected \
                 `{expected}`, found `{found}`\\n\\n",
                random.between(1, 800),
                file.path,
                random.between(5, 60),
                file.line(random).trim_start(),
            );
        }
        while out.len() < end {
            self.line(random, out);
            out.push_str("\\n");
        }
        if failed {
            out.push_str("error: could not compile due to 1 previous error\\n");
        }
    }

    /// Writes one line of output.
    fn line(&self, random: &mut Random, out: &mut String) {
        let file = self.project.file(random);
        let _ = match random.below(5) {
            0 => {
                let (name, minor, patch) = (self.project.topic(random), random.below(20), random.below(9));
                write!(out, "   Compiling {name} v0.{minor}.{patch}")
            }
            1 => write!(out, "test {}::{} ... ok", file.module, self.project.identifier(random)),
            2 => write!(out, "{}:{}:{}", file.path, random.between(1, 400), file.line(random)),
            3 => {
                let _ = write!(out, "[{:>5} ms] INFO ", random.between(1, 90_000));
                self.words(random, 10, out);
                write!(out, "{}={}", self.project.topic(random), random.below(100_000))
            }
            _ => {
                random.hex(7, out);
                out.push(' ');
                self.words(random, 8, out);
                Ok(())
            }
        };
    }

    fn words(&self, random: &mut Random, most: usize, out: &mut String) {
        for _ in 0..random.between(3, most) {
            out.push_str(self.vocabulary.word(random));
            out.push(' ');
        }
    }
}
