//! What `migrat*` may be: the words and names of the memory that begin so.

use tantivy::Term;
use tantivy::schema::Field;

use super::Error;
use super::analyzer::NAME_PREFIX;
use super::limits::{PREFIX_LOOKED, PREFIX_TERMS};
use super::sequence::Phrase;
use super::snapshot::Snapshot;

/// The tokens of a field that begin like a text: words whose stem does, the word itself in any of its forms, and where the
/// text is part of a name (`src/au*`) the names. At most [`PREFIX_TERMS`], those in most documents.
pub(super) fn expanded(text: &str, field: Field, snapshot: &Snapshot) -> Result<Vec<String>, Error> {
    let lowered = text.to_lowercase();
    let is_name = !lowered.chars().all(char::is_alphanumeric);
    let start = match is_name {
        true => format!("{NAME_PREFIX}{}", lowered.trim_start_matches(|c: char| !c.is_alphanumeric())),
        false => lowered,
    };
    let mut found: Vec<(u64, String)> = Vec::new();
    for reader in snapshot.searcher.segment_readers() {
        let index = reader.inverted_index(field)?;
        let mut stream = index.terms().range().ge(&start).into_stream()?;
        let mut looked = 0;
        while looked < PREFIX_LOOKED && stream.advance() && stream.key().starts_with(start.as_bytes()) {
            looked += 1;
            let Ok(token) = std::str::from_utf8(stream.key()) else { continue };
            let frequency = u64::from(stream.value().doc_freq);
            match found.binary_search_by(|(_, known)| known.as_str().cmp(token)) {
                Ok(at) => found[at].0 += frequency,
                Err(at) => found.insert(at, (frequency, token.to_owned())),
            }
        }
    }
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.cmp(other)));
    found.truncate(PREFIX_TERMS);
    let mut tokens: Vec<String> = found.into_iter().map(|(_, token)| token).collect();
    // `migration*` is begun by no stem, but is the beginning of words that have one.
    if !is_name {
        for stem in Phrase::read(text).stems {
            let known = tokens.contains(&stem);
            if !known && snapshot.searcher.doc_freq(&Term::from_field_text(field, &stem))? > 0 {
                tokens.truncate(PREFIX_TERMS - 1);
                tokens.push(stem);
            }
        }
    }
    Ok(tokens)
}
