//! A table as wide as its content, or with shortened titles and a shortened last column if the width is limited.

use super::text::{columns, one_line, one_line_end};
use super::{Output, Style};

/// Least width of the last column, and of titles.
const LAST_MIN: usize = 12;
/// Gap between two columns.
const GAP: &str = "  ";

/// A column. The last one of a table is shortened if there is no room, and then shows the end of its text; a title is
/// shortened, too, and shows its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    head: &'static str,
    right: bool,
    is_title: bool,
}

impl Column {
    /// A left-aligned column, for words.
    pub const fn words(head: &'static str) -> Self {
        Self { head, right: false, is_title: false }
    }

    /// A left-aligned column, for titles.
    pub const fn title(head: &'static str) -> Self {
        Self { is_title: true, ..Self::words(head) }
    }

    /// A right-aligned column, for numbers.
    pub const fn number(head: &'static str) -> Self {
        Self { head, right: true, is_title: false }
    }
}

/// The content of a cell.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    /// A cell without a style.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self { text: one_line(text.as_ref(), usize::MAX), style: None }
    }

    /// A cell with a style.
    pub fn styled(style: Style, text: impl AsRef<str>) -> Self {
        Self { style: Some(style), ..Self::new(text) }
    }
}

/// Rows under a heading.
#[derive(Clone, Debug)]
pub struct Table<const N: usize> {
    columns: [Column; N],
    hidden: [bool; N],
    rows: Vec<[Cell; N]>,
}

impl<const N: usize> Table<N> {
    /// Creates a table without rows.
    pub fn new(columns: [Column; N]) -> Self {
        Self { columns, hidden: [false; N], rows: Vec::new() }
    }

    /// Hides a column, which must not be the last.
    pub fn hide(&mut self, column: usize) {
        if let Some(hidden) = self.hidden.get_mut(column) {
            *hidden = true;
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [Cell; N]) {
        self.rows.push(cells);
    }

    /// The lines of the table, headings first.
    pub fn lines(&self, output: &Output) -> Vec<String> {
        let mut widths = self.columns.map(|column| columns(column.head));
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = usize::max(*width, columns(&cell.text));
            }
        }
        if let (Some(fit), Some((last, others))) = (output.fit(), widths.split_last_mut()) {
            let is_title = |at: usize| self.columns[at].is_title && !self.hidden[at];
            let shown = (0..others.len()).filter(|at| !self.hidden[*at]);
            let taken: usize = shown.map(|at| GAP.len() + if is_title(at) { 0 } else { others[at] }).sum();
            let mut room = fit.saturating_sub(taken);
            for at in (0..others.len()).filter(|at| is_title(*at)) {
                // The last column gets what titles leave, and they leave it a third.
                others[at] = usize::min(
                    others[at],
                    room.saturating_sub(usize::min(*last, (room / 3).max(LAST_MIN))).max(LAST_MIN),
                );
                room = room.saturating_sub(others[at]);
            }
            *last = usize::min(*last, room.max(LAST_MIN));
        }
        let heads = self.columns.map(|column| Cell::styled(Style::Faint, column.head));
        std::iter::once(&heads).chain(&self.rows).map(|row| self.line(output, row, &widths)).collect()
    }

    fn line(&self, output: &Output, row: &[Cell; N], widths: &[usize; N]) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            if self.hidden[at] {
                continue;
            }
            let is_last = at + 1 == N;
            let text = match (is_last, self.columns[at].is_title) {
                (true, _) => one_line_end(&cell.text, *width),
                (_, true) => one_line(&cell.text, *width),
                _ => cell.text.clone(),
            };
            let room = " ".repeat(width.saturating_sub(columns(&text)));
            let shown = cell.style.map_or_else(|| text.clone(), |style| output.styled(style, &text));
            match (self.columns[at].right, is_last) {
                (true, _) => line.extend([room.as_str(), &shown]),
                (false, true) => line.push_str(&shown),
                (false, false) => line.extend([shown.as_str(), &room]),
            }
            if !is_last {
                line.push_str(GAP);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fit: Option<usize>, expected: &[&str]) {
        let mut table = Table::new([Column::words("name"), Column::number("n"), Column::words("place")]);
        table.row([Cell::new("日本"), Cell::new("7"), Cell::new("/srv/projects/ledger-api")]);
        table.row([Cell::new("a\u{1b}b"), Cell::new("1234"), Cell::new("/x")]);
        let lines = table.lines(&Output::plain(fit));
        assert_eq!(lines, expected);
        if let Some(fit) = fit {
            assert!(lines.iter().all(|line| columns(line) <= fit), "{lines:?}");
        }
    }

    #[test]
    fn columns_stand_under_each_other_and_the_last_gives_way() {
        check(None, &["name     n  place", "日本     7  /srv/projects/ledger-api", "a\u{fffd}b   1234  /x"]);
        check(Some(30), &["name     n  place", "日本     7  …ojects/ledger-api", "a\u{fffd}b   1234  /x"]);
        let mut titled = Table::new([Column::title("title"), Column::number("n"), Column::words("place")]);
        titled.row([Cell::new("Rotate the refresh token"), Cell::new("7"), Cell::new("/srv/projects/ledger-api")]);
        titled.row([Cell::new(""), Cell::new("8"), Cell::new("/x")]);
        let lines = titled.lines(&Output::plain(Some(40)));
        assert_eq!(
            lines,
            [
                "title                    n  place",
                "Rotate the refresh tok…  7  …/ledger-api",
                "                         8  /x"
            ]
        );
        check(Some(200), &["name     n  place", "日本     7  /srv/projects/ledger-api", "a\u{fffd}b   1234  /x"]);
    }
}
