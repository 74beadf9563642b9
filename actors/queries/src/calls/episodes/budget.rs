//! Divides a token budget among episodes: short ones are complete, the others get equal parts.

use baton_conversation::tokens;
use baton_protocol::answer::EpisodeEntry;
use baton_protocol::tool::EPISODES_TOKENS_MOST;

/// Default budget of a list, in tokens.
const LIST_TOKENS: u64 = 6_000;
/// Additional budget per requested episode, in tokens.
const ONE_TOKENS: u64 = 150;
/// Least tokens of an episode; if that does not fit, fewer episodes are returned.
const LEAST_TOKENS: u64 = 80;

/// The token budget of an answer with so many episodes. `asked` 0 means the default: for named episodes as much as one
/// answer holds.
pub(super) fn tokens(asked: u32, episodes: usize, is_named: bool) -> u64 {
    let most = u64::from(EPISODES_TOKENS_MOST);
    match asked {
        0 if is_named => most,
        0 => LIST_TOKENS.max(ONE_TOKENS * episodes as u64).min(most),
        asked => u64::from(asked).min(most),
    }
}

/// Cuts the texts of episodes to a token budget and marks what is cut with `mark`. Episodes at the end without room are
/// removed, but never the first. Returns how many were cut.
pub(super) fn fit(episodes: &mut Vec<EpisodeEntry>, budget: u64, mark: &str) -> usize {
    let mut room = budget;
    // Tokens reserved for the texts.
    let mut spare = 0;
    let mut sizes: Vec<u64> = Vec::new();
    for episode in episodes.iter() {
        let bare = EpisodeEntry { content: String::new(), ..episode.clone() };
        let frame = serde_json::to_string(&bare).map_or(0, |json| tokens::of_text(&json));
        let size = tokens::of_text(&episode.content);
        let least = frame + size.min(LEAST_TOKENS);
        if !sizes.is_empty() && room < least {
            break;
        }
        room = room.saturating_sub(least);
        spare += size.min(LEAST_TOKENS);
        sizes.push(size);
    }
    episodes.truncate(sizes.len());
    let share = share(sizes.clone(), room + spare);
    let mut cut = 0;
    for (episode, size) in episodes.iter_mut().zip(sizes) {
        if size > share {
            episode.content = format!("{}{mark}", head(&episode.content, share.saturating_sub(tokens::of_text(mark))));
            cut += 1;
        }
    }
    cut
}

/// The note on the cut.
pub(super) fn cut_note(cut: usize, budget: u64) -> String {
    match cut {
        0 => String::new(),
        cut => format!(
            "; {cut} cut to fit {budget} tokens: budget_tokens takes another number, episode_uuids tells more of one"
        ),
    }
}

/// The most that each may take so that all fit: what short ones leave goes to the long ones.
fn share(mut sizes: Vec<u64>, mut room: u64) -> u64 {
    sizes.sort_unstable();
    let mut left = sizes.len() as u64;
    for size in sizes {
        if size > room / left {
            return room / left;
        }
        room -= size;
        left -= 1;
    }
    u64::MAX
}

/// The beginning of a text, up to so many tokens.
fn head(text: &str, tokens: u64) -> &str {
    // Counts quarters of a token: four ASCII characters are one token.
    let mut room = tokens.saturating_mul(4);
    for (at, c) in text.char_indices() {
        let cost = if c.is_ascii() { 1 } else { 4 };
        if room < cost {
            return &text[..at];
        }
        room -= cost;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(tokens: usize) -> EpisodeEntry {
        EpisodeEntry {
            uuid: "7acd37a8-2745-4b58-a8a9-46164b22ad9e".to_owned(),
            name: "session_7acd37a8".to_owned(),
            content: "wort".repeat(tokens),
            created_at: None,
            source: "claude_code_jsonl".to_owned(),
            source_description: "Session from /srv/shop".to_owned(),
            group_id: None,
        }
    }

    /// Checks how many episodes of these sizes stay, and how many are cut.
    fn check(sizes: &[usize], budget: u64, left: usize, cut: usize) {
        let mut episodes: Vec<EpisodeEntry> = sizes.iter().map(|size| entry(*size)).collect();
        let was_cut = fit(&mut episodes, budget, "… cut");
        assert_eq!((episodes.len(), was_cut), (left, cut), "{sizes:?} in {budget}");
        let all = serde_json::to_string(&episodes).unwrap();
        // A frame that exceeds the budget by itself is returned all the same.
        assert!(tokens::of_text(&all) <= budget.max(200) + 10 * left as u64, "{sizes:?}: {}", tokens::of_text(&all));
        for (episode, size) in episodes.iter().zip(sizes) {
            let whole = tokens::of_text(&episode.content) == *size as u64;
            assert!(whole || episode.content.ends_with("… cut"), "{sizes:?}");
        }
    }

    #[test]
    fn all_are_told_as_far_as_there_is_room() {
        check(&[], 6_000, 0, 0);
        check(&[100, 200, 300], 6_000, 3, 0);
        check(&[1_500; 10], 6_000, 10, 10);
        check(&[50, 20_000, 50], 6_000, 3, 1);
        check(&[20_000], 6_000, 1, 1);
        check(&[1_000; 100], 1_000, 7, 7);
        check(&[1_000; 3], 1, 1, 1);
        assert_eq!([10, 60, 100].map(|episodes| tokens(0, episodes, false)), [6_000, 9_000, 15_000]);
        assert_eq!([tokens(0, 1, true), tokens(99_999, 10, false), tokens(700, 1, true)], [15_000, 15_000, 700]);
        assert_eq!(head("aaaa語語b", 2), "aaaa語");
        assert!(cut_note(0, 9).is_empty() && cut_note(2, 900).contains("2 cut to fit 900 tokens"));
    }
}
