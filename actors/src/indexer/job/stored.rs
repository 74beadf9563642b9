//! A job whose transcript is gone: what is stored of it stays, under the filter that made it. Made anew, it is redacted by
//! today's rules, and a transcript that comes back is continued where it was left.

use baton_events::conversation::Item;
use baton_events::hash::ContentHash;
use baton_events::redact::json::redact_json;
use baton_events::schema::item;
use baton_events::session::{Complete, EpisodeRef, FailureWhy, Stored, episode_uuid};
use baton_events::transcript::Sink;

use super::{Prepared, Stop, not_stored};
use crate::chunks::ChunkStore;
use crate::indexer::JobRequest;
use crate::indexer::gathered::Gathered;

/// What becomes of a job whose transcript is gone. `None`: nothing is stored of this generation, or not all that was read, so
/// that it is missing.
pub(super) fn of_gone(request: &JobRequest, chunks: &ChunkStore) -> Option<Result<Prepared, Stop>> {
    let prior = request.prior.as_ref().filter(|prior| prior.generation == request.job.generation)?;
    match request.anew {
        true => Some(anew(request, prior, chunks)),
        false if prior.to >= request.job.to => Some(Ok(unchanged(request, prior))),
        false => None,
    }
}

fn unchanged(request: &JobRequest, prior: &EpisodeRef) -> Prepared {
    Prepared { complete: complete(request, prior, prior.hash, None), written: None }
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
    let unreadable = |error: String| Stop::Failed(FailureWhy::StoredUnreadable, error);
    let manifest = chunks.manifest(&request.session, &prior.manifest).map_err(|error| unreadable(error.to_string()))?;
    let mut gathered = Gathered::new(chunks, &request.session, None);
    for chunk in &manifest.chunks {
        let lines = chunks.chunk(&request.session, chunk).map_err(|error| unreadable(error.to_string()))?;
        redacted(&lines, |item| gathered.item(item)).map_err(unreadable)?;
    }
    let (hash, items) = (gathered.hash().map_err(not_stored)?, gathered.count());
    let written = gathered.written(manifest.header).map_err(not_stored)?;
    if written.manifest == prior.manifest {
        return Ok(unchanged(request, prior));
    }
    let stored = Stored { episode: episode_uuid(&request.session, &hash), manifest: written.manifest, items };
    Ok(Prepared { complete: complete(request, prior, hash, Some(stored)), written: Some(written) })
}

/// Gives the items of a stored chunk, redacted by today's rules.
fn redacted(lines: &[u8], mut take: impl FnMut(Item)) -> Result<(), String> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).try_for_each(|line| {
        let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let redacted = redact_json(text);
        take(item::decode(redacted.as_deref().unwrap_or(text).as_bytes()).map_err(|error| error.to_string())?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use baton_events::conversation::{Body, Meta};

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
        redacted(&stored, |item| items.push(item)).unwrap();
        assert_eq!(items[0], item("main"));
        let Body::Meta(Meta::Branch(branch)) = &items[1].body else { panic!("{items:?}") };
        assert!(branch.contains("[redacted") && !branch.contains(secret), "{branch}");
        assert!(redacted(b"{\"no\":\"item\"}\n", |_| ()).is_err());
    }
}
