//! How enrichment stands: for `status`, and in a word for whoever closes a session.

use std::sync::Arc;
use std::time::Duration;

use baton_events::protocol::answer;
use baton_events::record::SessionId;
use baton_events::redact::redact;

use crate::enricher::Enricher;
use crate::gateway::Services;
use crate::llm::KeySource;

/// How long the file of a key may keep the answer waiting.
const LOOK: Duration = Duration::from_millis(300);

/// `1 call`, `3 calls`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// US dollars, of thousandths of a millionth of one.
pub(super) fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Without a word to the endpoint: what is known by now.
pub(super) async fn enrichment(services: &Arc<Services>) -> answer::Enrichment {
    let shown = services.enricher.shown();
    let settings = services.settings.now();
    let counted = answer::Enrichment {
        enriched: shown.enriched,
        given_up: shown.given_up,
        unknown_calls: shown.unknown_calls,
        spent_today_usd: dollars(shown.spent_today_nanos),
        ..answer::Enrichment::default()
    };
    let Some(llm) = settings.llm.clone() else { return counted };
    let looking = tokio::task::spawn_blocking(move || Enricher::obstacle(&settings));
    let obstacle = tokio::time::timeout(LOOK, looking).await.ok().and_then(Result::ok).flatten();
    let (problem, next_step) = obstacle.or_else(|| shown.problem.clone()).unzip();
    let state = match () {
        () if shown.under_way > 0 => "working",
        () if shown.owed == 0 && problem.is_none() => "ready",
        () => "waiting",
    };
    answer::Enrichment {
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
    }
}

/// What `status` lists of it among what is wrong.
pub(super) fn problems(enrichment: &answer::Enrichment) -> Vec<answer::Problem> {
    let mut problems = Vec::new();
    if let Some(what) = &enrichment.problem {
        let what = format!("no session is enriched: {what}");
        problems.push(answer::Problem { what, fix: enrichment.next_step.clone().unwrap_or_default() });
    }
    if enrichment.over_budget > 0 {
        problems.push(answer::Problem {
            what: match enrichment.over_budget {
                1 => "1 session waits to be enriched until a budget allows it".to_owned(),
                count => format!("{count} sessions wait to be enriched until a budget allows it"),
            },
            fix: "raise llm.daily_budget_usd or llm.session_budget_usd, or wait for another day; `baton costs` tells what was \
                  spent"
                .to_owned(),
        });
    }
    problems
}

/// What the message of a close says of it: `; a model enriches it …`.
pub(super) fn of_closed(services: &Services, id: &SessionId) -> String {
    let settings = services.settings.now();
    if settings.llm.is_none() {
        return "; enrichment is off".to_owned();
    }
    let table = services.table.now();
    let Some(row) = table.get(id) else { return String::new() };
    match row.state.enrichment() {
        _ if row.state.enriched_by().is_some() => "; its episode is enriched".to_owned(),
        Some(known) if known.owed.is_some() => match services.enricher.over_budget(id) {
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
