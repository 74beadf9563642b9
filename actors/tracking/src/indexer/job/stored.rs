//! A job whose transcript is gone: the stored conversation stays, under the filter that made it. A rebuild redacts it
//! again by the current rules. A transcript that comes back is continued where it was left.

use std::collections::BTreeMap;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::{Body, Item};
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{Sink, subject};
use baton_events::schema::item;
use baton_events::session::{Complete, EpisodeRef, FailureReason, Stored, episode_uuid};
use baton_redaction::json::redact_json;
use baton_redaction::redact_owned;

use super::{Prepared, Stop};
use crate::indexer::JobRequest;
use crate::indexer::conversation_builder::{ConversationBuilder, Written};
use baton_store::chunks;
use baton_store::chunks::ChunkStore;

/// Ends a job whose transcript is gone. Returns `None` if nothing of this generation, or not all that was read, is
/// stored.
pub(super) fn finish_without_transcript(
    request: &JobRequest,
    prior: Option<&EpisodeRef>,
    chunks: &ChunkStore,
) -> Option<Result<Prepared, Stop>> {
    let prior = prior.filter(|prior| prior.generation == request.job.generation)?;
    match request.anew {
        true => Some(anew(request, prior, chunks)),
        false if prior.to >= request.job.to => Some(Ok(unchanged(request, prior))),
        false => None,
    }
}

fn unchanged(request: &JobRequest, prior: &EpisodeRef) -> Prepared {
    prepared(request, complete(request, prior, prior.hash, None), None)
}

fn prepared(request: &JobRequest, complete: Complete, written: Option<Written>) -> Prepared {
    Prepared { session: request.session.clone(), complete, written }
}

fn complete(request: &JobRequest, prior: &EpisodeRef, hash: ContentHash, stored: Option<Stored>) -> Complete {
    Complete {
        effect: request.job.effect,
        generation: prior.generation,
        to: prior.to,
        hash,
        filter_version: prior.filter_version,
        stored,
    }
}

fn anew(request: &JobRequest, prior: &EpisodeRef, chunks: &ChunkStore) -> Result<Prepared, Stop> {
    let Redacted { hash, stored, written } =
        redact_stored(chunks, &request.session, prior).map_err(|failed| match failed {
            Failed::NotStored(reason) => Stop::Failed(FailureReason::NotStored, reason),
            Failed::Lasting(reason) | Failed::Refused(reason) => Stop::Failed(FailureReason::StoredUnreadable, reason),
        })?;
    if written.manifest == prior.manifest {
        return Ok(unchanged(request, prior));
    }
    Ok(prepared(request, complete(request, prior, hash, Some(stored)), Some(written)))
}

/// A stored conversation redacted again, written but not durable yet.
pub(in crate::indexer) struct Redacted {
    pub(in crate::indexer) hash: ContentHash,
    pub(in crate::indexer) stored: Stored,
    pub(in crate::indexer) written: Written,
}

/// Why a stored conversation could not be redacted again, with a description.
pub(in crate::indexer) enum Failed {
    /// It is missing, damaged, or of a newer version.
    Lasting(String),
    /// The disk failed to read it, which may be temporary.
    Refused(String),
    /// The result could not be written.
    NotStored(String),
}

impl Failed {
    fn reading(error: &chunks::Error) -> Self {
        match error {
            chunks::Error::Io { .. } => Self::Refused(error.to_string()),
            _ => Self::Lasting(error.to_string()),
        }
    }
}

/// Redacts a stored conversation again.
pub(in crate::indexer) fn redact_stored(
    chunks: &ChunkStore,
    session: &SessionId,
    prior: &EpisodeRef,
) -> Result<Redacted, Failed> {
    let not_stored = |error: chunks::Error| Failed::NotStored(error.to_string());
    let manifest = chunks.manifest(session, &prior.manifest).map_err(|error| Failed::reading(&error))?;
    let mut builder = ConversationBuilder::new(chunks, session);
    let mut subjects = Subjects::default();
    for chunk in &manifest.chunks {
        let lines = chunks.chunk(session, chunk).map_err(|error| Failed::reading(&error))?;
        redacted(&lines, &mut subjects, |item| builder.item(item)).map_err(Failed::Lasting)?;
    }
    let (mut hash, items) = (builder.hash().map_err(not_stored)?, builder.append_state.count);
    if manifest.header.shortened {
        // The identity of an episode is that of the whole conversation.
        hash = prior.hash;
    }
    let written = builder.written(manifest.header).map_err(not_stored)?;
    let stored = Stored { episode: episode_uuid(session, &hash), manifest: written.manifest, items };
    Ok(Redacted { hash, stored, written })
}

/// For each redacted call without a result yet: how its result's text starts as stored, and how it starts now. The text
/// repeats an argument without the field name by which the argument was redacted.
type Subjects = BTreeMap<Box<str>, (String, String)>;

/// Passes the items of a stored chunk, redacted by the current rules, to `take`.
fn redacted(lines: &[u8], subjects: &mut Subjects, mut take: impl FnMut(Item)) -> Result<(), String> {
    let decoded = |text: &str| item::decode(text.as_bytes()).map_err(|error| error.to_string());
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).try_for_each(|line| {
        let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let clean = redact_json(text);
        let mut item = decoded(clean.as_deref().unwrap_or(text))?;
        match &mut item.body {
            Body::Call(call) if clean.is_some() && !call.id.is_empty() => {
                if let Body::Call(stored) = decoded(text)?.body {
                    subjects.insert(call.id.clone(), (subject(&stored), subject(call)));
                }
            }
            Body::Result(result) => {
                if let Some((stored, now)) = subjects.remove(&result.id)
                    && let Body::Result(whole) = decoded(text)?.body
                    && let Some(rest) = whole.text.strip_prefix(&stored)
                {
                    result.text = redact_owned(now + rest);
                }
            }
            _ => {}
        }
        take(item);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::{Call, Meta, Outcome, ToolResult};

    use super::*;

    #[test]
    fn what_is_stored_is_redacted_by_the_rules_of_today() {
        let secret = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";
        let item = |text: &str| Item {
            line: 1,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Meta(Meta::Branch(text.to_owned())),
        };
        let mut stored = Vec::new();
        for item in [item("main"), item(&format!("fix/{secret}"))] {
            item::encode(&item, &mut stored).unwrap();
        }
        let mut items = Vec::new();
        redacted(&stored, &mut Subjects::default(), |item| items.push(item)).unwrap();
        assert_eq!(items[0], item("main"));
        let Body::Meta(Meta::Branch(branch)) = &items[1].body else { panic!("{items:?}") };
        assert!(branch.contains("[redacted") && !branch.contains(secret), "{branch}");
        assert!(redacted(b"{\"no\":\"item\"}\n", &mut Subjects::default(), |_| ()).is_err());
    }

    #[test]
    fn a_result_names_no_argument_that_its_call_hides() {
        let item = |body: Body| Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body };
        let input = [("apiKey".to_owned(), "Zx81kLmn29Qp".into()), ("host".to_owned(), "db".into())];
        let call = Call {
            act: baton_conversation::item::Act::of_tool("connect"),
            id: "t1".into(),
            name: "connect".to_owned(),
            input: input.into(),
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        };
        let result = ToolResult {
            id: "t1".into(),
            name: Some("connect".to_owned()),
            outcome: Outcome::Ok,
            exit_code: None,
            text: "connect Zx81kLmn29Qp: 1 line".to_owned(),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        };
        let mut stored = Vec::new();
        for body in [Body::Call(call), Body::Result(result)] {
            item::encode(&item(body), &mut stored).unwrap();
        }
        let mut items = Vec::new();
        redacted(&stored, &mut Subjects::default(), |item| items.push(item)).unwrap();
        let Body::Result(result) = &items[1].body else { panic!("{items:?}") };
        assert_eq!(result.text, "connect [redacted:secret]: 1 line");
    }
}
