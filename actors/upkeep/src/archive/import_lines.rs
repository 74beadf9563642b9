//! Reads an untrusted export line by line, with line numbers and a bound on the length.

use std::io::{BufRead, Read};

use super::Refusal;
use baton_store::chunks;

/// Longest line: the longest item with its surroundings.
const LINE_MAX_BYTES: usize = chunks::LINE_MAX_BYTES + 4096;

/// Reader of lines.
pub(super) struct ImportLines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl<'a> ImportLines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// The number of the last line, starting at 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>, Refusal> {
        self.line.clear();
        self.number += 1;
        let mut bounded = (&mut *self.input).take(LINE_MAX_BYTES as u64 + 1);
        bounded.read_until(b'\n', &mut self.line).map_err(Refusal::Read)?;
        if self.line.is_empty() {
            return Ok(None);
        }
        match self.line.pop() {
            Some(b'\n') => {}
            _ if self.line.len() >= LINE_MAX_BYTES => return Err(Refusal::LongLine { bound: LINE_MAX_BYTES }),
            _ => return Err(Refusal::CutOff),
        }
        std::str::from_utf8(&self.line).map(Some).map_err(|_| Refusal::NoText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_their_numbers_and_a_bound() {
        let mut input = &b"one\n\ntwo\n"[..];
        let mut incoming = ImportLines::new(&mut input);
        for (number, expected) in [(1, Some("one")), (2, Some("")), (3, Some("two")), (4, None)] {
            assert_eq!(incoming.next().unwrap(), expected);
            assert_eq!(incoming.number(), number);
        }
        let mut cut = &b"one\ntw"[..];
        let mut incoming = ImportLines::new(&mut cut);
        assert!(incoming.next().is_ok());
        assert!(matches!(incoming.next(), Err(Refusal::CutOff)));
        let mut endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert!(matches!(ImportLines::new(&mut endless).next(), Err(Refusal::LongLine { .. })));
        let mut binary = &b"\xff\n"[..];
        assert!(matches!(ImportLines::new(&mut binary).next(), Err(Refusal::NoText)));
    }
}
