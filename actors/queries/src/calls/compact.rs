//! `compact`: frees disk space that is not needed.

use std::sync::Arc;

use baton_protocol::{answer, code};

use super::QueryError;
use super::transcript_scan::with_kinds_of_progress;
use super::verify::{CancelOnDrop, WorkProgress};
use crate::client::{ClientRef, failure};
use baton_journal::CompactError;
use baton_upkeep::compaction::{Compaction, Error};

pub(crate) async fn compact(compaction: Compaction, client: &ClientRef) -> Result<answer::Compact, QueryError> {
    let under = Arc::new(WorkProgress::default());
    let given_up_with = CancelOnDrop(under.clone());
    under.report("looking through conversations", 0, 0);
    let working = under.clone();
    let work = compaction.compact(move |done, total| working.report("rewriting the index", done, total));
    let compacted = with_kinds_of_progress(client, || under.progress(), work).await;
    drop(given_up_with);
    compacted?.map_err(|error| {
        let code = match error {
            Error::Index(CompactError::UnderWay) => code::TOO_MUCH,
            _ => code::INTERNAL,
        };
        failure(code, error.to_string()).into()
    })
}
