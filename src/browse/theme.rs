//! How things look. Only the terminal's 16 colours and attributes are used, and never a background, so that it can be
//! read on dark and on light terminals.

use ratatui_core::style::{Color, Modifier, Style};

/// The styles. Without colours attributes alone make the differences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Theme {
    /// False if `NO_COLOR` is set.
    pub(super) has_colours: bool,
}

impl Theme {
    /// As the environment wants it.
    pub(super) fn of_environment() -> Self {
        Self { has_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Usual text.
    pub(super) fn plain(self) -> Style {
        Style::new()
    }

    /// Titles.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What stands beside.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Headings, and what a person said.
    pub(super) fn heading(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Calls of tools.
    pub(super) fn tool(self) -> Style {
        self.coloured(Color::Blue)
    }

    /// What went wrong, or needs attention.
    pub(super) fn bad(self) -> Style {
        self.coloured(Color::Red)
    }

    /// A session's state.
    pub(super) fn state(self, state: &str) -> Style {
        match state {
            "failed" => self.bad(),
            "indexed" => self.coloured(Color::Green),
            "active" | "indexing" => self.strong(),
            _ => self.faint(),
        }
    }

    /// What matches, in a text of this style.
    pub(super) fn matching(self, style: Style) -> Style {
        let marked = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED).remove_modifier(Modifier::DIM);
        if self.has_colours { marked.fg(Color::Magenta) } else { marked }
    }

    /// The chosen one.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
