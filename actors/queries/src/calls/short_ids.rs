//! `short_ids`: the shortest forms of ids that are still unique.

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_protocol::{ShortIdsParams, answer};

use baton_events::projection::table::SessionTable;

pub(crate) fn short_ids(asked: ShortIdsParams, table: &SessionTable) -> answer::ShortIds {
    let short = |id: &str| match memo::uuid_of_key(id) {
        Some(uuid) => Some(table.short_memo_id(uuid)),
        None => SessionId::new(id).map(|id| table.short_id(&id).to_owned()),
    };
    let shortened = asked.ids.into_iter().filter_map(|id| Some((short(&id)?, id)));
    answer::ShortIds { short: shortened.map(|(short, id)| (id, short)).collect() }
}
