//! A list to choose from, narrowed by typing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::query_line::{Edit, QueryLine};
use super::text;

/// One of the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item<T> {
    /// What is shown, on one line.
    pub(super) text: String,
    /// What stands beside.
    pub(super) about: String,
    pub(super) value: T,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chosen<T> {
    /// Nothing yet.
    Nothing,
    /// Nothing at all: it is closed.
    Closed,
    One(T),
}

/// See the module.
pub(super) struct Choice<T> {
    pub(super) title: String,
    items: Vec<Item<T>>,
    /// What is typed.
    pub(super) typed: QueryLine,
    selected: usize,
    /// Makes a choice of a text that no item fits.
    other: Option<fn(&str) -> T>,
}

impl<T: Clone> Choice<T> {
    /// A list; with `other`, a text that no item fits can be chosen, too.
    pub(super) fn new(title: impl Into<String>, items: Vec<Item<T>>, other: Option<fn(&str) -> T>) -> Self {
        Self { title: title.into(), items, typed: QueryLine::default(), selected: 0, other }
    }

    /// The items that fit what is typed.
    pub(super) fn fitting(&self) -> Vec<Item<T>> {
        let typed = self.typed.text().trim().to_lowercase();
        let fits = |item: &&Item<T>| item.text.to_lowercase().contains(&typed);
        let mut fitting: Vec<Item<T>> = self.items.iter().filter(fits).cloned().collect();
        if let Some(other) = self.other.filter(|_| fitting.is_empty() && !typed.is_empty()) {
            let typed = self.typed.text().trim().to_owned();
            fitting.push(Item { value: other(&typed), text: typed, about: "as typed".to_owned() });
        }
        fitting
    }

    /// Index of the selected one among those that fit.
    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    /// Inserts a text.
    pub(super) fn paste(&mut self, pasted: &str) {
        self.typed.insert(&text::one_line(pasted));
        self.selected = 0;
    }

    /// Moves the selection.
    pub(super) fn scroll(&mut self, by: isize) {
        let last = self.fitting().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Chooses an item by its index among those that fit.
    pub(super) fn choose(&self, index: usize) -> Chosen<T> {
        self.fitting().into_iter().nth(index).map_or(Chosen::Nothing, |item| Chosen::One(item.value))
    }

    /// Applies a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Chosen<T> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Chosen::Closed,
            KeyCode::Enter => return self.choose(self.selected),
            KeyCode::Up => self.scroll(-1),
            KeyCode::Down => self.scroll(1),
            KeyCode::Char('p') if control => self.scroll(-1),
            KeyCode::Char('n') if control => self.scroll(1),
            KeyCode::PageUp => self.scroll(-10),
            KeyCode::PageDown => self.scroll(10),
            _ => {
                if self.typed.key(key) == Edit::Changed {
                    self.selected = 0;
                }
            }
        }
        Chosen::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_narrows_and_what_fits_nothing_may_be_chosen_as_typed() {
        let item = |text: &str| Item { text: text.to_owned(), about: String::new(), value: text.to_owned() };
        let items = || vec![item("harbor-ui"), item("ledger-api")];
        let press = |choice: &mut Choice<String>, typed: &str| {
            typed.chars().for_each(|c| drop(choice.key(KeyCode::Char(c).into())));
            choice.key(KeyCode::Enter.into())
        };
        let mut choice = Choice::new("x", items(), None);
        assert_eq!(press(&mut choice, "LED"), Chosen::One("ledger-api".to_owned()));
        assert_eq!(press(&mut choice, "x"), Chosen::Nothing);
        assert_eq!(choice.key(KeyCode::Esc.into()), Chosen::Closed);
        let mut choice = Choice::new("x", items(), Some(str::to_owned));
        choice.key(KeyCode::Down.into());
        choice.key(KeyCode::Down.into());
        assert_eq!(press(&mut choice, ""), Chosen::One("ledger-api".to_owned()));
        assert_eq!(press(&mut choice, "Other"), Chosen::One("Other".to_owned()));
    }
}
