//! Single facts (add, get, delete), and the entities of single episodes.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::memo::{Source, Words};
use baton_protocol::{AddTripletParams, EpisodeEntitiesParams, Failure, UuidParams, answer, code};
use baton_redaction::redact;
use uuid::Uuid;

use super::forget::Wiper;
use super::memory::{group_of, not_recorded, parse_uuid, session_of, wait_findable, wipe_and_wait};
use super::{QueryError, cause, internal};
use crate::client::failure;
use crate::lazy::memory_unavailable;
use crate::related_sessions::facts::FactLookup;
use crate::{SESSIONS_NAMED, graph, page};
use baton_base::clock::Clock;
use baton_memory::{Fact, Searcher};
use baton_memos::{Done, Memos, NewMemo};
use baton_tracking::indexer;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;

/// Most nodes, and most edges, in one answer.
const MOST: usize = 100;

/// Adds, shows and deletes facts.
pub(crate) struct Edges<'a> {
    pub(crate) conversations: &'a Arc<Conversations>,
    pub(crate) indexer: &'a indexer::Handle,
    pub(crate) memos: &'a Memos,
}

impl Edges<'_> {
    /// Adds a fact. It is durable when this returns, and the next search finds it.
    pub(crate) async fn add(
        &self,
        asked: AddTripletParams,
        clock: &dyn Clock,
    ) -> Result<answer::AddTriplet, QueryError> {
        let words = Words::triplet(&asked.source_node_name, &asked.edge_name, &asked.fact, &asked.target_node_name);
        let words = words.map_err(|unfit| failure(code::INVALID_PARAMS, unfit.to_string()))?;
        let group = group_of(self.conversations.catalog(), asked.group_id.as_deref(), &asked.caller).await?;
        let stated = baton_graph::memo(&words, Source::Triplet, &group, clock.now());
        let Some(assertion) = stated.assertions.first().cloned() else {
            return Err(failure(code::INVALID_PARAMS, "the names contain no text that can be stored").into());
        };
        let wanted = NewMemo { uuid: None, source: Source::Triplet, group, reference_time: None, words };
        let cause = cause(asked.command_id.as_deref());
        // Stating a deleted fact again restores it. The restoration comes first, so that a crash in between loses nothing
        // acknowledged.
        let lifted =
            self.memos.restore_fact(assertion.uuid, cause.clone()).await.map_err(|error| not_recorded(&error))?;
        let kept = self.memos.record(wanted, cause).await.map_err(|error| not_recorded(&error))?;
        let after = wait_findable(self.indexer, kept.position.max(lifted)).await.unwrap_or_default();
        let done = if kept.done == Done::Unchanged { "was there already" } else { "added" };
        let found = self.query(move |searcher, conversations| {
            let hidden = conversations.catalog().hidden_now();
            let fact = searcher.fact(assertion.uuid, &hidden)?;
            let nodes = [assertion.source, assertion.target]
                .into_iter()
                .filter_map(|end| searcher.node(end, &hidden).transpose());
            Ok((fact, nodes.collect::<Result<Vec<_>, _>>()?))
        });
        let (fact, nodes) = found.await?;
        let ignored = match asked.ignored.as_slice() {
            [] => String::new(),
            names => format!("; ignored: {}", names.join(", ")),
        };
        Ok(answer::AddTriplet {
            message: format!("Triplet {done}{after}{ignored}"),
            episode_uuid: kept.uuid.to_string(),
            nodes: nodes.into_iter().map(graph::node).collect(),
            edges: fact.into_iter().map(edge).collect(),
            ignored: asked.ignored,
        })
    }

    /// Returns one fact.
    pub(crate) async fn get(&self, asked: UuidParams) -> Result<answer::Fact, QueryError> {
        let uuid = parse_uuid(&asked.uuid)?;
        let fact = self
            .query(move |searcher, conversations| FactLookup::new(conversations, searcher.clone()).fact(uuid))
            .await?;
        fact.map(graph::fact).ok_or_else(|| unknown(uuid).into())
    }

    /// Deletes a fact, and the triplets that state only this fact.
    pub(crate) async fn delete(&self, asked: UuidParams, wiper: &Wiper) -> Result<answer::Deleted, QueryError> {
        let uuid = parse_uuid(&asked.uuid)?;
        let cause = cause(asked.command_id.as_deref());
        let by = self
            .query(move |searcher, conversations| searcher.supporters(uuid, &conversations.catalog().hidden_now()))
            .await?;
        let is_deleted = self.conversations.catalog().table.now().home().state.deleted_facts.contains(&uuid);
        if !is_deleted {
            let fact = self
                .query(move |searcher, conversations| FactLookup::new(conversations, searcher.clone()).fact(uuid))
                .await?;
            if fact.is_none() {
                return Err(unknown(uuid).into());
            }
        }
        let mut notes = Vec::new();
        let mut after = String::new();
        // A fact without supporters is derived from the current sessions.
        let mut lasting = by.is_empty() || by.iter().any(|id| memo::uuid_of_key(id.as_str()).is_none());
        for memo in by.iter().filter_map(|id| memo::uuid_of_key(id.as_str())) {
            let source = self.conversations.catalog().table.now().memo(memo).map(|(_, memo)| memo.source);
            match source {
                Some(Source::Triplet) => {
                    let deleted = self.memos.delete(memo, cause.clone()).await.map_err(|error| not_recorded(&error))?;
                    after = wipe_and_wait(wiper, memo, deleted.position).await.unwrap_or_default();
                }
                Some(_) => {
                    lasting = true;
                    notes.push(memo.to_string());
                }
                None => {}
            }
        }
        // The last step: until it is recorded, a repeated call still finds the supporters.
        self.memos.delete_fact(uuid, cause).await.map_err(|error| not_recorded(&error))?;
        let still = match notes.as_slice() {
            [] => String::new(),
            notes => format!(
                ". What supports it stays: of notes delete_episode deletes all, {}",
                notes[..notes.len().min(SESSIONS_NAMED)].join(", ")
            ),
        };
        // A triplet is deleted with its words.
        let back = match lasting {
            true => format!(", and a person's `baton forget --undo {uuid}` has it found again"),
            false => String::new(),
        };
        Ok(answer::Deleted {
            message: format!(
                "Entity edge with UUID {uuid} deleted successfully; add_triplet adds it again{back}{after}{still}"
            ),
        })
    }

    /// Returns the entities and facts that these episodes support.
    pub(crate) async fn episode_entities(
        &self,
        asked: EpisodeEntitiesParams,
    ) -> Result<answer::EpisodeEntities, QueryError> {
        let mut owners: Vec<SessionId> = Vec::new();
        for text in &asked.episode_uuids {
            let uuid = parse_uuid(text)?;
            owners.push(owner(self.conversations.catalog(), uuid)?);
        }
        let found = self.query(move |searcher, conversations| {
            let (hidden, lookup) =
                (conversations.catalog().hidden_now(), FactLookup::new(conversations, searcher.clone()));
            let mut found = searcher.graph_of_sessions(&owners, &hidden, MOST)?;
            for owner in &owners {
                found.facts.extend(lookup.facts_of_session(owner, &hidden)?);
            }
            found.facts.sort_by_key(|fact| fact.uuid);
            found.facts.dedup_by_key(|fact| fact.uuid);
            found.facts.sort_by_key(|fact| std::cmp::Reverse(fact.valid_at));
            found.more |= found.facts.len() > MOST;
            found.facts.truncate(MOST);
            Ok(found)
        });
        let found = found.await?;
        let mut nodes: Vec<answer::Node> = found.nodes.into_iter().map(graph::node).collect();
        let mut edges: Vec<answer::Edge> = found.facts.into_iter().map(edge).collect();
        let cut = page::truncate_to_page(&mut nodes) | page::truncate_to_page(&mut edges);
        let message = match nodes.is_empty() && edges.is_empty() {
            true => "No entities found".to_owned(),
            false => format!("Found {} nodes and {} edges", nodes.len(), edges.len()),
        };
        Ok(answer::EpisodeEntities { message, nodes, edges, truncated: found.more || cut })
    }

    /// Queries the memory in its present state, without deleted entries.
    async fn query<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Searcher, &Arc<Conversations>) -> Result<T, baton_memory::Error> + Send + 'static,
    ) -> Result<T, QueryError> {
        let searcher = self.indexer.searcher().map_err(|_| memory_unavailable(self.indexer))?;
        let searcher = searcher.without_facts(self.conversations.catalog().table.now().deleted_facts());
        let conversations = self.conversations.clone();
        let searching = baton_base::task::spawn_blocking(move || ask(&searcher, &conversations));
        let found = searching.await.map_err(|error| internal("the search broke", error))?;
        Ok(found.map_err(|error| internal("the search failed", redact(&error.to_string())))?)
    }
}

/// The id under which the memory stores an episode.
fn owner(catalog: &Catalog, uuid: Uuid) -> Result<SessionId, Failure> {
    let (table, settings) = catalog.now();
    let owner = match table.memo(uuid) {
        Some(_) => Some(memo::key(uuid)),
        None => session_of(&table, uuid).filter(|id| table.get(id).is_some_and(|row| !table.is_deleted(row))),
    };
    let owner = owner.filter(|id| !graph::is_hidden(&table, &settings, &[], id.as_str()));
    owner.ok_or_else(|| {
        let message =
            format!("no episode {uuid} is known; get_episodes lists what there is, a replaced one has another uuid");
        failure(code::NOT_FOUND, message)
    })
}

fn unknown(uuid: Uuid) -> Failure {
    failure(code::NOT_FOUND, format!("no fact {uuid} is known; search_memory_facts finds facts"))
}

fn edge(fact: Fact) -> answer::Edge {
    let answer::Fact {
        uuid,
        group_id,
        source_node_uuid,
        target_node_uuid,
        created_at,
        name,
        fact,
        valid_at,
        invalid_at,
        ..
    } = graph::fact(fact);
    answer::Edge { uuid, name, fact, source_node_uuid, target_node_uuid, group_id, created_at, valid_at, invalid_at }
}
