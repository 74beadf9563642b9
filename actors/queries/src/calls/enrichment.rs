//! State of enrichment, for `status` and for the answer to a close.

use std::time::Duration;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::GaveUp;
use baton_protocol::answer;
use baton_redaction::redact;

use baton_config::endpoint::KeySource;
use baton_tracking::enricher::{Enricher, Shown};
use baton_views::catalog::Catalog;

/// Longest wait for the file of the key.
const LOOK: Duration = Duration::from_millis(300);

/// `1 call`, `3 calls`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Converts billionths of a US dollar to dollars.
pub(super) fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// The current state and its problem, without a call to the endpoint.
pub(super) async fn enrichment(catalog: &Catalog, enricher: &Enricher) -> (answer::Enrichment, Vec<answer::Problem>) {
    let shown = enricher.state();
    let settings = catalog.settings.now();
    let counted = answer::Enrichment {
        enriched: shown.enriched,
        given_up: shown.given_up,
        unknown_calls: shown.unknown_calls,
        spent_today_usd: dollars(shown.spent_today_nanos),
        ..answer::Enrichment::default()
    };
    let Some(llm) = settings.llm.clone() else { return (counted, Vec::new()) };
    let looking = baton_base::task::spawn_blocking(move || Enricher::configuration_problem(&settings));
    let obstacle = tokio::time::timeout(LOOK, looking).await.ok().and_then(Result::ok).flatten();
    let (problem, next_step) = obstacle.or_else(|| shown.problem.clone()).unzip();
    let state = match () {
        () if shown.under_way > 0 => "working",
        () if shown.owed == 0 && problem.is_none() => "ready",
        () => "waiting",
    };
    let state = answer::Enrichment {
        state: state.to_owned(),
        model: Some(redact(&llm.endpoint.model).into_owned()),
        base_url: Some(llm.endpoint.base_url.to_string()),
        api_key: llm.endpoint.key.as_ref().map(KeySource::name),
        owed: shown.owed,
        under_way: shown.under_way,
        over_budget: shown.over_budget,
        daily_budget_usd: llm.daily_budget_usd,
        session_budget_usd: llm.session_budget_usd,
        problem,
        next_step,
        ..counted
    };
    let crowded = llm.answer_room_warning().map(|(what, fix)| answer::Problem { what, fix });
    let problems = problems(&state, &shown, &catalog.table.now()).into_iter().chain(crowded).collect();
    (state, problems)
}

/// The problems that `status` lists.
fn problems(enrichment: &answer::Enrichment, shown: &Shown, table: &SessionTable) -> Vec<answer::Problem> {
    let mut problems = Vec::new();
    let mut tell = |what: String, fix: String| problems.push(answer::Problem { what, fix });
    if let Some(what) = &enrichment.problem {
        tell(format!("no session is enriched: {what}"), enrichment.next_step.clone().unwrap_or_default());
    }
    let waits = |count: u64| if count == 1 { "1 session waits".to_owned() } else { format!("{count} sessions wait") };
    if shown.over_session > 0 {
        let what = format!("{} to be enriched: that may cost more than a session may", waits(shown.over_session));
        let fix = "raise llm.session_budget_usd, or leave it so: `baton enrich SESSION` tells what is needed";
        tell(what, fix.to_owned());
    }
    let of_day = shown.over_budget - shown.over_session.min(shown.over_budget);
    if of_day > 0 {
        let what = format!("{} to be enriched until a budget allows it", waits(of_day));
        let fix = "raise llm.daily_budget_usd, or wait for another day (UTC); `baton costs` tells what was spent";
        tell(what, fix.to_owned());
    }
    if shown.rejected > 0 {
        let said = shown.rejected_why.clone();
        let (what, fix) = said.unwrap_or_else(|| {
            (
                "its request was not accepted".to_owned(),
                "`baton enrich SESSION` tells what the endpoint says".to_owned(),
            )
        });
        tell(format!("{} to be enriched: {what}", waits(shown.rejected)), fix);
    }
    let fix = |id: &SessionId, why: &GaveUp| format!("{}; then `baton enrich {}`", why.next_step(), table.short_id(id));
    let named = |count: u64, id: &SessionId| match count {
        1 => format!("session {}", table.short_id(id)),
        _ => format!("{count} sessions, {} among them", table.short_id(id)),
    };
    if let Some((id, why)) = &shown.given_up_first {
        tell(format!("no model has made anything of {} ({why})", named(shown.given_up, id)), fix(id, why));
    }
    if let Some((id, why)) = &shown.kept_first {
        let what = format!(
            "a model was asked again about {} in vain ({why}); what was made before stays, without what was not sent",
            named(shown.kept, id)
        );
        tell(what, fix(id, why));
    }
    problems
}

/// The suffix of a close's message: `; a model enriches it …`.
pub(super) fn close_suffix(catalog: &Catalog, enricher: &Enricher, id: &SessionId) -> String {
    let settings = catalog.settings.now();
    if settings.llm.is_none() {
        return "; enrichment is off".to_owned();
    }
    let table = catalog.table.now();
    let Some(row) = table.get(id) else { return String::new() };
    match row.state.enrichment() {
        _ if row.state.enriched_by().is_some() => "; its episode is enriched".to_owned(),
        Some(known) if known.owed.is_some() => match enricher.is_over_budget(id) {
            true => "; enrichment waits until the budget allows it".to_owned(),
            false => "; enrichment is pending".to_owned(),
        },
        Some(known) => match known.given_up {
            Some((_, why)) => format!("; enrichment was given up ({why}), `baton enrich {id}` tries again"),
            None => String::new(),
        },
        None => String::new(),
    }
}
