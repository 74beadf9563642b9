//! Checks the model that enriches episodes: whether one is configured, and where conversations are sent.

use baton_config::endpoint::BaseUrl;
use baton_protocol::answer::Enrichment;

use super::Finding;

/// `1 session waits for it`.
fn owed(count: u64) -> String {
    match count {
        0 => "no session waits for it".to_owned(),
        1 => "1 session waits for it".to_owned(),
        count => format!("{count} sessions wait for it"),
    }
}

/// Failures of the model are listed among the daemon's problems.
pub(super) fn check(enrichment: &Enrichment) -> Finding {
    let Enrichment { state, model: Some(model), base_url: Some(url), .. } = enrichment else {
        return Finding::ok("model", "off: episodes are made by rules, and nothing is sent anywhere");
    };
    let whose = enrichment.api_key.as_ref().map_or("without a key".to_owned(), |key| format!("with the key in {key}"));
    let spent = format!("${:.2} spent today", enrichment.spent_today_usd);
    let what = format!("{state}: {model} at {url}, {whose}; {}, {spent}", owed(enrichment.owed));
    match BaseUrl::new(url).ok().filter(|url| !url.is_local()) {
        Some(url) if !url.is_encrypted() => Finding::warn(
            "model",
            format!("{what}; conversations are sent there unencrypted"),
            "use https or an endpoint on this machine, or accept it in a network that you trust",
        ),
        _ => Finding::ok("model", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn who_reads_along_is_warned_of() {
        let told = |url: &str| {
            let (model, base_url) = (Some("m".to_owned()), Some(url.to_owned()));
            check(&Enrichment { state: "ready".to_owned(), model, base_url, ..Enrichment::default() })
        };
        assert!(check(&Enrichment::default()).what.starts_with("off"));
        for (url, health) in [
            ("http://127.0.0.1:1/v1", Health::Ok),
            ("https://api.openai.com/v1", Health::Ok),
            ("http://models.example.com/v1", Health::Warn),
        ] {
            assert_eq!(told(url).status, health, "{url}");
        }
    }
}
