//! A cache of the conversations that the memory indexed last, so that an append need not read them back: the items of a
//! short one, the end of a large one.

use std::collections::VecDeque;
use std::sync::Arc;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::SessionId;
use baton_conversation::turns::Stream;

use crate::indexer::fresh::Held;

/// Limit of bytes kept, over all sessions.
const KEPT_BYTES: usize = 4 * 1024 * 1024;
/// Limit of bytes kept of one session: for a longer one, reading it back is cheap compared with processing it.
const ONE_BYTES: usize = 1024 * 1024;
/// Limit of sessions: more than anyone works in at once.
const KEPT: usize = 64;
/// Size of an end besides its texts.
const END_BYTES: usize = 1024;

/// What is kept of a conversation.
#[derive(Debug)]
pub(super) enum Kept {
    /// All of its items, and their weight.
    Items(Arc<Vec<Item>>, usize),
    End(Box<End>),
}

/// The end of a conversation: what makes units of the items that follow.
#[derive(Debug)]
pub(super) struct End {
    pub(super) stream: Stream,
    pub(super) withdrawn: Withdrawn,
}

impl Kept {
    fn weight(&self) -> usize {
        match self {
            Self::Items(_, weight) => *weight,
            Self::End(end) => END_BYTES + end.stream.weight() + end.withdrawn.weight(),
        }
    }
}

/// See the module; the last used are last.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<(SessionId, ContentHash, Kept)>);

impl Recent {
    /// All items of a conversation whose new ones are in `fresh`; `None` if it has to be read.
    pub(super) fn items(
        &mut self,
        session: &SessionId,
        manifest: &ContentHash,
        fresh: Option<Held>,
    ) -> Option<Arc<Vec<Item>>> {
        match fresh {
            Some(Held { after: None, items, .. }) => Some(Arc::new(items)),
            Some(Held { after: Some(after), items, .. }) => match self.take(session, &after)? {
                Kept::Items(mut all, _) => {
                    Arc::make_mut(&mut all).extend(items);
                    Some(all)
                }
                Kept::End(_) => None,
            },
            None => match self.take(session, manifest)? {
                Kept::Items(all, _) => Some(all),
                end @ Kept::End(_) => {
                    self.0.push_back((session.clone(), *manifest, end));
                    None
                }
            },
        }
    }

    /// True if it keeps something of this conversation.
    pub(super) fn holds(&self, session: &SessionId, manifest: &ContentHash) -> bool {
        self.0.iter().any(|(id, of, _)| id == session && of == manifest)
    }

    /// Takes out the end of a conversation.
    pub(super) fn end(&mut self, session: &SessionId, manifest: &ContentHash) -> Option<Box<End>> {
        match self.take(session, manifest)? {
            Kept::End(end) => Some(end),
            Kept::Items(..) => None,
        }
    }

    fn take(&mut self, session: &SessionId, manifest: &ContentHash) -> Option<Kept> {
        let index = self.0.iter().position(|(id, of, _)| id == session && of == manifest)?;
        self.0.remove(index).map(|(.., kept)| kept)
    }

    /// Keeps what the session's next conversation continues, in place of the longest unused. Returns the sessions that
    /// made room; the session itself if there is too much of it.
    pub(super) fn put(&mut self, session: SessionId, manifest: ContentHash, kept: Kept) -> Vec<SessionId> {
        self.remove(&session);
        if kept.weight() > ONE_BYTES {
            return vec![session];
        }
        self.0.push_back((session, manifest, kept));
        let mut gone = Vec::new();
        while self.0.len() > KEPT || self.0.iter().map(|(.., kept)| kept.weight()).sum::<usize>() > KEPT_BYTES {
            gone.extend(self.0.pop_front().map(|(session, ..)| session));
        }
        gone
    }

    pub(super) fn remove(&mut self, session: &SessionId) {
        self.0.retain(|(id, ..)| id != session);
    }

    /// Drops all items. The ends are small.
    pub(super) fn let_go(&mut self) {
        self.0.retain(|(.., kept)| matches!(kept, Kept::End(_)));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::Body;

    use super::*;

    fn id(number: usize) -> SessionId {
        SessionId::new(&format!("s-{number}")).unwrap()
    }

    fn items(count: u64) -> Vec<Item> {
        let body = Body::Reply { text: "x".to_owned() };
        let item = |line| Item { line, at: None, uuid: None, message: None, sidechain: false, body: body.clone() };
        (1..=count).map(item).collect()
    }

    #[test]
    fn items_go_on_with_those_that_follow_the_same_conversation() {
        let (mut recent, one) = (Recent::default(), id(1));
        let [a, b, c] = [1, 2, 3].map(|name| ContentHash([name; 32]));
        let held = |after, count| Some(Held { after, items: items(count), weight: 1 });
        let all = recent.items(&one, &a, held(None, 2)).unwrap();
        assert_eq!(all.len(), 2);
        recent.put(one.clone(), a, Kept::Items(all, 2));
        assert!(recent.items(&id(2), &b, held(Some(a), 1)).is_none(), "of another session");
        let all = recent.items(&one, &b, held(Some(a), 1)).unwrap();
        assert_eq!(all.len(), 3);
        recent.put(one.clone(), b, Kept::Items(all, 3));
        assert!(recent.items(&one, &c, held(Some(a), 1)).is_none(), "something between is missing");
        assert_eq!(recent.items(&one, &b, None).map(|all| all.len()), Some(3), "as it is");
    }

    #[test]
    fn the_last_used_are_kept_within_bounds() {
        let (mut recent, name) = (Recent::default(), ContentHash([1; 32]));
        let kept = |weight| Kept::Items(Arc::default(), weight);
        assert_eq!(recent.put(id(0), name, kept(ONE_BYTES + 1)), [id(0)]);
        let most = KEPT_BYTES / ONE_BYTES;
        for number in 1..=most {
            assert!(recent.put(id(number), name, kept(ONE_BYTES)).is_empty());
        }
        assert_eq!(recent.put(id(99), name, kept(1)), [id(1)]);
        let end = || Kept::End(Box::new(End { stream: Stream::default(), withdrawn: Withdrawn::default() }));
        recent.put(id(100), name, end());
        recent.let_go();
        assert!(recent.take(&id(99), &name).is_none() && recent.end(&id(100), &name).is_some());
        let gone: usize = (0..=KEPT).map(|number| recent.put(id(number), name, end()).len()).sum();
        assert_eq!(gone, 1);
    }
}
