//! State of the vectors for `status`: model, progress, problem.

use baton_protocol::answer;
use baton_redaction::redact;

use baton_config::configuration::Configuration;
use baton_config::settings::Settings;
use baton_tracking::embedding::Embedder;

/// Uses what is known, without a call to the endpoint.
pub(super) fn vectors(settings: &Settings, configuration: &Configuration, embedder: &Embedder) -> answer::Vectors {
    let Some(embedding) = settings.embedding.clone() else {
        let lacking = configuration.embedding_warning();
        return answer::Vectors {
            next_step: lacking
                .as_ref()
                .map(|_| "mend memory.embedding in config.json; it is taken in at once".to_owned()),
            problem: lacking.map(|remark| remark.to_string()),
            ..answer::Vectors::default()
        };
    };
    let endpoint = embedding.endpoint;
    let failure = endpoint.key.as_ref().and_then(baton_model::key_problem);
    let progress = embedder.progress();
    let problem = failure.map(|failure| (failure.describe(), failure.next_step().to_owned()));
    let (problem, next_step) = problem.or_else(|| progress.problem.clone()).unzip();
    answer::Vectors {
        state: if problem.is_some() { "waiting" } else { progress.state() }.to_owned(),
        model: Some(redact(&endpoint.model).into_owned()),
        base_url: Some(endpoint.base_url.to_string()),
        api_key_env: endpoint.key.map(|key| key.name()),
        done: progress.done,
        pending: progress.pending,
        problem,
        next_step,
    }
}
