//! `compact`: frees disk space that is not needed.

use std::sync::Arc;

use baton_protocol::{answer, code};

use super::QueryError;
use super::looking::told_of;
use super::verify::{GivenUpWith, Under};
use crate::Services;
use crate::client::{Out, failure};
use crate::compaction;
use crate::compaction::Error;
use baton_journal::CompactError;

pub(crate) async fn compact(services: &Arc<Services>, out: &Out) -> Result<answer::Compact, QueryError> {
    let under = Arc::new(Under::default());
    let given_up_with = GivenUpWith(under.clone());
    under.way("looking through conversations", 0, 0);
    let working = under.clone();
    let work = compaction::compact(services, move |done, total| working.way("rewriting the index", done, total));
    let compacted = told_of(services, out, || under.progress(), work).await;
    drop(given_up_with);
    compacted?.map_err(|error| {
        let code = match error {
            Error::Index(CompactError::UnderWay) => code::TOO_MUCH,
            _ => code::INTERNAL,
        };
        failure(code, error.to_string()).into()
    })
}
