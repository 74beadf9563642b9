//! Fits answers into an agent's context: lists are cut at whole entries, and say so. Searches are paged already.

use serde::Serialize;
use serde_json::{Value, json};

/// Longest text of an answer, in bytes: about 25,000 tokens. Agents cut longer ones at any place.
pub(super) const ANSWER_BYTES: usize = 80_000;
/// Most bytes of an answer besides its list.
const FRAME_BYTES: usize = 2_000;
/// Initial bound of a string in an entry that is too long by itself, in bytes.
const STRING_BYTES: usize = 8_000;
/// Initial bound of a list in such an entry.
const LIST_ENTRIES: usize = 50;

/// Keeps as many entries of the list as fit. If some are left out, `left_out` counts them and `truncated` says what to
/// do.
pub(super) fn cut(mut answer: Value, list: &str, more: &str) -> Value {
    if length(&answer) <= ANSWER_BYTES {
        return answer;
    }
    let Some(entries) = answer.get_mut(list).and_then(Value::as_array_mut) else { return answer };
    let all = entries.len();
    let rest = {
        let entries = std::mem::take(entries);
        let rest = length(&answer);
        answer[list] = Value::Array(entries);
        rest
    };
    let mut room = ANSWER_BYTES.saturating_sub(rest + FRAME_BYTES);
    if let Some(entries) = answer.get_mut(list).and_then(Value::as_array_mut) {
        let count = entries.iter().take_while(|entry| take_room(&mut room, length(entry) + 1)).count();
        entries.truncate(count);
        if count < all {
            answer["left_out"] = json!(all - count);
            answer["truncated"] = json!(format!("{} of {all} are left out: {more}", all - count));
        }
    }
    answer
}

/// Shortens texts and lists until the answer fits; `truncated` says so.
pub(super) fn whole(mut answer: Value) -> Value {
    let (mut bytes, mut entries) = (STRING_BYTES, LIST_ENTRIES);
    // Halves the bounds until it fits; a dozen rounds leave nothing.
    while length(&answer) > ANSWER_BYTES && bytes > 0 {
        shorten(&mut answer, bytes, entries);
        if let Value::Object(fields) = &mut answer {
            fields
                .entry("truncated")
                .or_insert_with(|| json!("long texts and lists are cut; `baton show` has them whole"));
        }
        (bytes, entries) = (bytes / 2, entries / 2);
    }
    answer
}

fn shorten(value: &mut Value, bytes: usize, entries: usize) {
    match value {
        Value::String(text) if text.len() > bytes => {
            let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        Value::Array(list) => {
            list.truncate(entries);
            list.iter_mut().for_each(|value| shorten(value, bytes, entries));
        }
        Value::Object(fields) => fields.values_mut().for_each(|value| shorten(value, bytes, entries)),
        _ => {}
    }
}

fn take_room(room: &mut usize, bytes: usize) -> bool {
    let fits = bytes <= *room;
    *room = room.saturating_sub(bytes);
    fits
}

/// Length as JSON text.
fn length(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that cannot be serialised counts as empty; the error is reported when it is written.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize, bytes: usize) -> Vec<Value> {
        (0..count).map(|number| json!({"number": number, "text": "é".repeat(bytes / 2)})).collect()
    }

    #[test]
    fn a_list_is_cut_at_whole_entries_and_says_so() {
        // Number of entries, bytes of each, least and most entries that stay.
        for (count, bytes, least, most) in [(0, 0, 0, 0), (10, 100, 10, 10), (1000, 1000, 70, 80), (3, 70_000, 1, 1)] {
            let answer = json!({"status": "success", "count": count, "sessions": entries(count, bytes)});
            let cut = cut(answer, "sessions", "ask for fewer");
            let left = cut["sessions"].as_array().expect("the list stays").len();
            assert!((least..=most).contains(&left), "{count} of {bytes}: {left}");
            assert!(length(&cut) <= ANSWER_BYTES);
            assert_eq!(cut["count"], count);
            assert_eq!(cut["left_out"].as_u64().unwrap_or(0) as usize, count - left);
            assert_eq!(cut["truncated"].is_string(), left < count);
        }
    }

    #[test]
    fn whatever_it_is_it_fits_in_the_end() {
        let small = json!({"text": "short", "list": [1, 2, 3]});
        assert_eq!(whole(small.clone()), small);
        let deep = json!({"episodes": [{"content": "ü".repeat(300_000), "list": vec!["x".repeat(100); 5_000]}]});
        let cut = whole(deep);
        assert!(length(&cut) <= ANSWER_BYTES);
        assert!(cut["truncated"].is_string());
        assert!(cut["episodes"][0]["content"].as_str().is_some_and(|text| text.len() > 1_000 && text.ends_with('…')));
        assert!(length(&whole(json!({"nodes": entries(1_000, 900_000 / 1_000)}))) <= ANSWER_BYTES);
    }
}
