//! Lines of a client as the library can read them: an escaped half of a surrogate pair, which agents write when they cut
//! an emoji, becomes a replacement character. Such a line is no JSON for most readers, and would never be answered.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// Longest line that is looked at as a whole; what is longer goes on in parts.
const LINE_BYTES: usize = 16 * 1024 * 1024;

/// Reads lines, and hands them on mended.
pub(super) struct Mended<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// How much of the line was handed on; it is handed on only when it is whole.
    handed: usize,
    whole: bool,
}

impl<R: AsyncRead> Mended<R> {
    /// Of what `reader` reads.
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), handed: 0, whole: false }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Mended<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.whole {
            let read = ready!(Pin::new(&mut this.reader).poll_fill_buf(context))?;
            let end = read.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let taken = end.unwrap_or(read.len());
            this.line.extend_from_slice(&read[..taken]);
            Pin::new(&mut this.reader).consume(taken);
            // No more is to come, or enough has.
            this.whole = end.is_some() || taken == 0 || this.line.len() >= LINE_BYTES;
            if this.whole {
                mend(&mut this.line);
            }
        }
        let rest = &this.line[this.handed..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        this.handed += count;
        if this.handed == this.line.len() {
            this.line.clear();
            (this.handed, this.whole) = (0, false);
        }
        Poll::Ready(Ok(()))
    }
}

/// Replaces each escape of a lone surrogate by one of the replacement character, in place: they are equally long.
fn mend(line: &mut [u8]) {
    let mut at = 0;
    while at < line.len() {
        if line[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(line, at), surrogate(line, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(_), _) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            // Another escape: what follows its backslash is not the beginning of one.
            (None, _) => at += 2,
        }
    }
}

/// The surrogate that is escaped at a place.
fn surrogate(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdfff).contains(unit))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn check(line: &str, expected: &str) {
        let mut mended = line.as_bytes().to_vec();
        mend(&mut mended);
        assert_eq!(String::from_utf8(mended).unwrap(), expected, "{line}");
    }

    #[test]
    fn halves_are_replaced_and_nothing_else() {
        check(r#"{"a":"cut \ud83d"}"#, r#"{"a":"cut \ufffd"}"#);
        check(r#""\ude00 \ud83d\ude00 \uD83D\uD83D\uDE00""#, r#""\ufffd \ud83d\ude00 \ufffd\uD83D\uDE00""#);
        check(r#""\\ud83d \u00e9 \n \"""#, r#""\\ud83d \u00e9 \n \"""#);
        for cut in [r"\", r"\u", r"\ud8", r"\ud83d", r"\ud83d\u", r"\ud83d\ude0", r"\ud83d\u+e00"] {
            let expected = if cut.len() >= 6 { cut.replacen("d83d", "fffd", 1) } else { cut.to_owned() };
            check(cut, &expected);
        }
    }

    #[test]
    fn lines_come_whole_whatever_the_reader_has_room_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let text = "{\"a\":\"\\ud83d\"}\nnot json\n\nlast";
            let mut reader = Mended::new(text.as_bytes());
            let mut read = Vec::new();
            let mut piece = [0; 5];
            loop {
                match reader.read(&mut piece).await.unwrap() {
                    0 => break,
                    count => read.extend_from_slice(&piece[..count]),
                }
            }
            assert_eq!(String::from_utf8(read).unwrap(), text.replace("d83d", "fffd"));
        });
    }
}
