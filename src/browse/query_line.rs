//! A line that is typed, with the usual keys of a shell.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::text;

/// Most characters of the line.
const MOST_CHARS: usize = 2_000;

/// The line and the place in it where is typed.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryLine {
    chars: Vec<char>,
    at: usize,
}

/// What a key did to the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The text is another one.
    Changed,
    /// At most the place is another one.
    Moved,
    /// The key means nothing here.
    Unknown,
}

impl QueryLine {
    /// A line with a text.
    pub(super) fn new(text: &str) -> Self {
        let mut line = Self::default();
        line.insert(text);
        line
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// True if nothing is typed.
    pub(super) fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// The text before the place and the text behind it.
    pub(super) fn halves(&self) -> (String, String) {
        (self.chars[..self.at].iter().collect(), self.chars[self.at..].iter().collect())
    }

    /// Deletes everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Inserts a text, on one line.
    pub(super) fn insert(&mut self, text: &str) {
        let text = text::clean(text).replace('\n', " ");
        let room = MOST_CHARS.saturating_sub(self.chars.len());
        let typed: Vec<char> = text.chars().take(room).collect();
        let count = typed.len();
        self.chars.splice(self.at..self.at, typed);
        self.at += count;
    }

    /// Applies a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Edit {
        let before = self.chars.len();
        let with = |modifier| key.modifiers.contains(modifier);
        let (control, alt) = (with(KeyModifiers::CONTROL), with(KeyModifiers::ALT));
        match key.code {
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.chars.len(),
            KeyCode::Char('u') if control => drop(self.chars.drain(..std::mem::take(&mut self.at))),
            KeyCode::Char('k') if control => self.chars.truncate(self.at),
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char('h') if control => self.delete_char(),
            KeyCode::Backspace if alt || control => self.delete_word(),
            KeyCode::Backspace => self.delete_char(),
            KeyCode::Delete if self.at < self.chars.len() => drop(self.chars.remove(self.at)),
            KeyCode::Left if alt || control => self.at = self.word_start(),
            KeyCode::Right if alt || control => self.at = self.word_end(),
            KeyCode::Char('b') if alt => self.at = self.word_start(),
            KeyCode::Char('f') if alt => self.at = self.word_end(),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = usize::min(self.at + 1, self.chars.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.chars.len(),
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            _ => return Edit::Unknown,
        }
        if self.chars.len() == before { Edit::Moved } else { Edit::Changed }
    }

    fn delete_char(&mut self) {
        if let Some(last) = self.at.checked_sub(1) {
            self.chars.remove(last);
            self.at = last;
        }
    }

    fn delete_word(&mut self) {
        let start = self.word_start();
        self.chars.drain(start..self.at);
        self.at = start;
    }

    fn word_start(&self) -> usize {
        let before = &self.chars[..self.at];
        let end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1);
        before[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1)
    }

    fn word_end(&self) -> usize {
        let start =
            self.chars[self.at..].iter().position(|c| !c.is_whitespace()).map_or(self.chars.len(), |at| self.at + at);
        self.chars[start..].iter().position(|c| c.is_whitespace()).map_or(self.chars.len(), |at| start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut line = QueryLine::new("web locks\nfast\u{1b}[31m");
        let mut key = |code, modifiers| {
            let edit = line.key(KeyEvent::new(code, modifiers));
            let (before, behind) = line.halves();
            (edit, format!("{before}|{behind}"))
        };
        let (none, control, alt) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT);
        for (code, modifiers, edit, expected) in [
            (KeyCode::Char('w'), control, Edit::Changed, "web locks |"),
            (KeyCode::Backspace, none, Edit::Changed, "web locks|"),
            (KeyCode::Left, alt, Edit::Moved, "web |locks"),
            (KeyCode::Char('東'), none, Edit::Changed, "web 東|locks"),
            (KeyCode::Delete, none, Edit::Changed, "web 東|ocks"),
            (KeyCode::Char('k'), control, Edit::Changed, "web 東|"),
            (KeyCode::Home, none, Edit::Moved, "|web 東"),
            (KeyCode::Backspace, none, Edit::Moved, "|web 東"),
            (KeyCode::Right, control, Edit::Moved, "web| 東"),
            (KeyCode::Char('u'), control, Edit::Changed, "| 東"),
            (KeyCode::Tab, none, Edit::Unknown, "| 東"),
            (KeyCode::Char('q'), control, Edit::Unknown, "| 東"),
        ] {
            assert_eq!(key(code, modifiers), (edit, expected.to_owned()), "{code:?}");
        }
    }
}
