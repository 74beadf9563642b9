//! Splits a file into blocks of whole lines.

use std::io::{ErrorKind, Read};

/// Approximate size of a block, in bytes.
const BLOCK_BYTES: usize = 512 * 1024;
/// Longest line, in bytes: an item of a conversation comes from a transcript's line, which has the same limit.
const LINE_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Whole lines.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// The number of the first line, from 1.
    pub(super) first_line: u64,
}

/// Iterates over the blocks of a file. Ends after an error.
pub(super) struct Blocks {
    source: Option<Box<dyn Read + Send>>,
    rest: Vec<u8>,
    line: u64,
    size: usize,
}

impl Blocks {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        Self { source: Some(source), rest: Vec::new(), line: 1, size: BLOCK_BYTES }
    }

    fn block(&mut self, bytes: Vec<u8>) -> Block {
        let first_line = self.line;
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Block { bytes, first_line }
    }

    fn fail(&mut self, reason: String) -> Option<Result<Block, String>> {
        self.source = None;
        Some(Err(reason))
    }
}

impl Iterator for Blocks {
    type Item = Result<Block, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let source = self.source.as_mut()?;
            let (before, wanted) = (self.rest.len(), self.size);
            match source.by_ref().take(wanted as u64).read_to_end(&mut self.rest) {
                Ok(0) => {
                    self.source = None;
                    let last = std::mem::take(&mut self.rest);
                    return (!last.is_empty()).then(|| Ok(self.block(last)));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.fail(format!("the file cannot be read: {error}")),
            }
            let end = self.rest[before..].iter().rposition(|byte| *byte == b'\n');
            if let Some(end) = end {
                let rest = self.rest.split_off(before + end + 1);
                let whole = std::mem::replace(&mut self.rest, rest);
                return Some(Ok(self.block(whole)));
            }
            if self.rest.len() > LINE_MAX_BYTES {
                return self.fail(format!("line {} has more than {LINE_MAX_BYTES} bytes", self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, size: usize, expected: &[(&str, u64)]) {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let blocks: Vec<Block> = Blocks { size, ..Blocks::new(source) }.map(Result::unwrap).collect();
        let found: Vec<_> =
            blocks.iter().map(|block| (std::str::from_utf8(&block.bytes).unwrap(), block.first_line)).collect();
        assert_eq!(found, expected, "{text:?} by {size}");
    }

    #[test]
    fn blocks_end_with_lines_and_know_where_they_begin() {
        check("", 3, &[]);
        check("a", 3, &[("a", 1)]);
        check("a\nbb\nc", 3, &[("a\n", 1), ("bb\n", 2), ("c", 3)]);
        check("a\n\nlonger\nd\n", 2, &[("a\n", 1), ("\n", 2), ("longer\n", 3), ("d\n", 4)]);
        check("a\nbb\nccc\n", 99, &[("a\nbb\nccc\n", 1)]);
    }

    #[test]
    fn a_line_without_an_end_is_refused_and_not_held() {
        let mut blocks = Blocks::new(Box::new(std::io::repeat(b'x')));
        assert!(blocks.next().unwrap().unwrap_err().contains("line 1 has more than"));
        assert!(blocks.next().is_none());
        assert!(blocks.rest.len() <= LINE_MAX_BYTES + BLOCK_BYTES);
    }
}
