//! The common part of searches for entities and for facts.

use std::slice;

use baton_graph::{Label, Relation};
use baton_protocol::{Failure, NodesParams, answer};

use super::{QueryError, internal};
use crate::client::ClientRef;
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::related_sessions::facts::FactLookup;
use crate::{graph, lazy, page, resolve};
use baton_memory::{Error, GraphQuery, Page, Sieve, Window};
use baton_views::conversation::Conversations;
use std::sync::Arc;

/// Filters besides the words.
#[derive(Clone, Debug, Default)]
pub(super) struct Criteria {
    /// Entities with these labels; empty: all.
    pub(super) labels: Vec<Label>,
    /// Facts with these relations or names; both empty: all.
    pub(super) relations: Vec<Relation>,
    pub(super) names: Vec<String>,
    /// Time when the facts became valid.
    pub(super) valid: Window,
    /// Time when they became invalid.
    pub(super) invalid: Window,
}

impl Criteria {
    /// The times as texts that a cursor is bound to.
    fn times(&self) -> Vec<String> {
        let ends = [self.valid.after, self.valid.before, self.invalid.after, self.invalid.before];
        ends.iter().map(|end| end.map(|at| at.to_string()).unwrap_or_default()).collect()
    }
}

/// One page of results.
pub(super) struct ResultPage<T> {
    /// Best first.
    pub(super) entries: Vec<T>,
    /// Freshness of the page.
    pub(super) freshness: answer::Freshness,
    /// Cursor of the next page, if there is one.
    pub(super) next_cursor: Option<String>,
}

/// Searches for entities and facts.
pub(crate) struct GraphSearch<'a> {
    pub(crate) memory: FreshMemory<'a>,
    pub(crate) conversations: &'a Arc<Conversations>,
    pub(crate) client: &'a ClientRef,
}

impl GraphSearch<'_> {
    /// Runs the lazy step, then `look`, and converts each result with `tell`. `method` binds cursors to the kind of query.
    pub(super) async fn search<F: Send + 'static, T: serde::Serialize + Send + 'static>(
        self,
        method: &'static str,
        asked: NodesParams,
        wanted: Criteria,
        look: fn(&FactLookup, &GraphQuery<'_>) -> Result<Page<F>, Error>,
        tell: fn(F) -> T,
    ) -> Result<ResultPage<T>, QueryError> {
        let center = graph::parse_center(asked.center.as_deref())?;
        let times = wanted.times();
        let texts: [&[String]; 5] =
            [slice::from_ref(&asked.query), &asked.groups, &asked.labels, asked.center.as_slice(), &times];
        let question = page::Question::new(method, &texts);
        let (offset, limit) = (question.offset(asked.cursor.as_deref())?, page::entries(asked.limit));
        let asking = resolve::asking_session(&self.memory.catalog().table.now(), &asked.caller, &asked.query);
        let known = resolve::only_group(self.memory.catalog(), &asked.groups);
        let ask = lazy::Request { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
        let FreshSearcher { searcher, freshness } = self.memory.searcher(self.client, ask).await?;
        let (query, lookup) = (asked.query, FactLookup::new(self.conversations, searcher));
        let groups = resolve::groups(&lookup.table, &lookup.settings, &asked.groups)?;
        let searching = baton_base::task::spawn_blocking(move || {
            let exclude = |id: &str| graph::is_hidden(&lookup.table, &lookup.settings, &groups, id);
            let broke = |error| internal("the search failed", error);
            if let Some(center) = center
                && !lookup.searcher.has_node(center, &exclude).map_err(broke)?
            {
                return Err(graph::no_center(center));
            }
            let Criteria { labels, relations, names, valid, invalid } = &wanted;
            let sieve = Sieve { relations, names, valid: *valid, invalid: *invalid };
            let asked = GraphQuery { text: &query, exclude: &exclude, labels, sieve, center, limit, offset };
            let page = look(&lookup, &asked).map_err(broke)?;
            Ok::<_, Failure>((page.found.into_iter().map(tell).collect::<Vec<_>>(), page.more))
        });
        let (mut entries, more) = searching.await.map_err(|error| internal("the search broke", error))??;
        if let (Some(cursor), true) = (&asked.cursor, entries.is_empty()) {
            return Err(page::cursor_past_end(cursor).into());
        }
        let more = page::truncate_to_page(&mut entries) || more;
        let next_cursor = (more && !entries.is_empty()).then(|| question.cursor_after(offset + entries.len()));
        Ok(ResultPage { entries, freshness, next_cursor })
    }
}
