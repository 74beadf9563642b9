//! Compares a rendering with the expected one: finds the first line that differs, with its context.

use std::collections::VecDeque;
use std::io::{self, BufRead};

/// Equal lines shown before the one that differs.
const CONTEXT_LINES: usize = 4;

/// Compares a rendering piece by piece.
pub struct Comparison<R> {
    expected: R,
    line: u64,
    context: VecDeque<String>,
    different: Option<Verdict>,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal; holds the number of lines.
    Same(u64),
    /// Different.
    Different {
        /// Number of the line, from 1.
        line: u64,
        /// The lines before it, equal in both.
        context: Vec<String>,
        /// The expected line; `None` at the end.
        expected: Option<String>,
        /// The actual line; `None` at the end.
        came: Option<String>,
    },
}

impl<R: BufRead> Comparison<R> {
    /// Compares with these lines.
    pub fn new(expected: R) -> Self {
        Self { expected, line: 0, context: VecDeque::new(), different: None }
    }

    /// Compares the next lines. Returns false once any differs.
    pub fn compare(&mut self, text: &str) -> io::Result<bool> {
        for came in text.lines() {
            if self.different.is_some() {
                return Ok(false);
            }
            let expected = self.next()?;
            if expected.as_deref() == Some(came) {
                self.keep(came);
            } else {
                self.differ(expected, Some(came.to_owned()));
            }
        }
        Ok(self.different.is_none())
    }

    /// Ends the comparison.
    pub fn finish(mut self) -> io::Result<Verdict> {
        if self.different.is_none() {
            match self.next()? {
                None => return Ok(Verdict::Same(self.line - 1)),
                expected => self.differ(expected, None),
            }
        }
        Ok(self.different.unwrap_or(Verdict::Same(self.line)))
    }

    fn next(&mut self) -> io::Result<Option<String>> {
        self.line += 1;
        let mut bytes = Vec::new();
        self.expected.read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&bytes);
        Ok(Some(line.strip_suffix('\n').map_or(&*line, |line| line.strip_suffix('\r').unwrap_or(line)).to_owned()))
    }

    fn keep(&mut self, line: &str) {
        if self.context.len() == CONTEXT_LINES {
            self.context.pop_front();
        }
        self.context.push_back(line.to_owned());
    }

    fn differ(&mut self, expected: Option<String>, came: Option<String>) {
        let context = std::mem::take(&mut self.context).into();
        self.different = Some(Verdict::Different { line: self.line, context, expected, came });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, came: &[&str], verdict: &Verdict) {
        let mut comparison = Comparison::new(expected.as_bytes());
        for text in came {
            let same = comparison.compare(text).unwrap();
            assert!(same || *verdict != Verdict::Same(3), "{expected:?} {came:?}");
        }
        assert_eq!(comparison.finish().unwrap(), *verdict, "{expected:?} {came:?}");
    }

    #[test]
    fn the_first_difference_is_found_with_what_stands_before_it() {
        let at = |line: u64, context: &[&str], expected: Option<&str>, came: Option<&str>| Verdict::Different {
            line,
            context: context.iter().map(|line| (*line).to_owned()).collect(),
            expected: expected.map(str::to_owned),
            came: came.map(str::to_owned),
        };
        check("a\nb\nc\n", &["a\nb", "c"], &Verdict::Same(3));
        check("a\r\nb\r\nc", &["a", "b\nc"], &Verdict::Same(3));
        check("", &[], &Verdict::Same(0));
        check("a\nb\nc\n", &["a", "x\ny"], &at(2, &["a"], Some("b"), Some("x")));
        check("a\nb\n", &["a"], &at(2, &["a"], Some("b"), None));
        check("a\n", &["a\nb"], &at(2, &["a"], None, Some("b")));
        check("1\n2\n3\n4\n5\n6\n", &["1\n2\n3\n4\n5", "x"], &at(6, &["2", "3", "4", "5"], Some("6"), Some("x")));
    }
}
