//! A cache of question vectors: a repeated question costs nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use baton_memory::vectors::Key;

/// Limit of cached questions: 256 with 1,536 numbers each take 1.5 MB.
const QUESTIONS: usize = 256;

/// The cached questions, least recently used first.
#[derive(Default)]
pub(super) struct QuestionCache(VecDeque<(Key, Arc<[f32]>)>);

impl QuestionCache {
    /// Returns the cached vector of a question.
    pub(super) fn get(&mut self, key: Key) -> Option<Arc<[f32]>> {
        let at = self.0.iter().position(|(known, _)| *known == key)?;
        let found = self.0.remove(at)?;
        let vector = found.1.clone();
        self.0.push_back(found);
        Some(vector)
    }

    /// Caches a vector and evicts the least recently used one if the cache is full.
    pub(super) fn put(&mut self, key: Key, vector: Vec<f32>) -> Arc<[f32]> {
        let vector: Arc<[f32]> = vector.into();
        self.0.retain(|(known, _)| *known != key);
        if self.0.len() == QUESTIONS {
            self.0.pop_front();
        }
        self.0.push_back((key, vector.clone()));
        vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_questions_are_remembered() {
        let mut asked = QuestionCache::default();
        for key in 0..QUESTIONS as u64 {
            asked.put(key, vec![key as f32]);
        }
        assert_eq!(asked.get(0).as_deref(), Some(&[0.0][..]));
        asked.put(1_000, vec![7.0]);
        assert_eq!(asked.get(1), None, "not asked for the longest time");
        assert_eq!(asked.put(0, vec![5.0])[0], 5.0);
        assert_eq!((asked.get(0).as_deref(), asked.0.len()), (Some(&[5.0][..]), QUESTIONS));
    }
}
