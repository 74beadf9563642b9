//! Shortens an answer to fit into the request that reads it, as models do not always respect the length limit.

use super::answer::Answer;
use baton_conversation::tokens;

/// Percentage that is kept of what would fit by the average length, since entries differ.
const KEPT_PERCENT: u64 = 90;

impl Answer {
    /// Shortens the answer until its stored form has at most `tokens` tokens. The first entries of each list are kept;
    /// the others are counted as [left out](Self::left_out). If `tokens` is too small for any text, the result is
    /// longer.
    pub fn shortened_to(mut self, tokens: u64) -> Self {
        loop {
            let has = tokens::max_token_count(&self.to_json());
            if has <= tokens || self.is_bare() {
                return self;
            }
            let percent = tokens.saturating_mul(KEPT_PERCENT) / has.max(1);
            let before = self.left_out;
            self.keep(percent);
            if self.left_out == before {
                let chars = |text: &str| text.chars().count() as u64 * percent / 100;
                for text in [&mut self.objective, &mut self.continuation_context] {
                    let most = usize::try_from(chars(text)).unwrap_or_default();
                    *text = text.chars().take(most).collect();
                }
            }
        }
    }

    fn is_bare(&self) -> bool {
        let lists = [&self.external_research, &self.decisions, &self.unresolved, &self.next_steps];
        let maps = [&self.work_completed, &self.knowledge_stored];
        lists.iter().all(|list| list.is_empty())
            && maps.iter().all(|map| map.is_empty())
            && self.errors.is_empty()
            && self.entities.is_empty()
            && self.facts.is_empty()
            && self.objective.is_empty()
            && self.continuation_context.is_empty()
    }

    /// Keeps this percentage, less than 100, of each list.
    fn keep(&mut self, percent: u64) {
        let mut gone = 0;
        let mut most = |len: usize| {
            let kept = usize::try_from(len as u64 * percent / 100).unwrap_or_default().min(len);
            gone += len - kept;
            kept
        };
        for list in [&mut self.external_research, &mut self.decisions, &mut self.unresolved, &mut self.next_steps] {
            list.truncate(most(list.len()));
        }
        for map in [&mut self.work_completed, &mut self.knowledge_stored] {
            map.values_mut().for_each(|list| list.truncate(most(list.len())));
            map.retain(|_, list| !list.is_empty());
        }
        self.errors.truncate(most(self.errors.len()));
        self.entities.truncate(most(self.entities.len()));
        self.facts.truncate(most(self.facts.len()));
        self.left_out = self.left_out.saturating_add(u32::try_from(gone).unwrap_or(u32::MAX));
    }
}
