//! Fetches a small public file, such as the announcement of a newer version. Sends nothing but the request itself: no key,
//! no cookie, no id.

use std::time::Duration;

use baton_config::endpoint::BaseUrl;
use reqwest::redirect::Policy;

use super::failure::{Failure, Kind};
use super::transport::{broken, client};

/// Most addresses that lead to the file.
const REDIRECTS: usize = 5;

/// Fetches `base_url` with `ending` appended: at most `bytes_max` bytes, within `deadline`. Redirects are followed, but never
/// from an encrypted address to another one that is not.
///
/// # Errors
///
/// If it cannot be reached, does not answer in time, answers with an error, or is longer.
pub async fn fetch(base_url: &BaseUrl, ending: &str, bytes_max: usize, deadline: Duration) -> Result<Vec<u8>, Failure> {
    let is_encrypted = base_url.is_encrypted();
    let redirects = Policy::custom(move |attempt| match attempt.url().scheme() {
        _ if attempt.previous().len() > REDIRECTS => attempt.error("it leads from one address to the next"),
        "http" if is_encrypted => attempt.error("it leads to an address without encryption"),
        // Without encryption no certificates are at hand.
        "https" if !is_encrypted => attempt.error("it leads to an encrypted address: name that one"),
        _ => attempt.follow(),
    });
    let http = client(base_url, redirects)?;
    let address = format!("{}{ending}", base_url.as_str());
    let fetching = async {
        let mut response = http.get(&address).send().await.map_err(|error| broken(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(Failure::new(Kind::NotUnderstood, format!("{address} answers {status}")));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| broken(&error))? {
            if body.len() + part.len() > bytes_max {
                return Err(Failure::new(Kind::TooLong, format!("{address} is longer than {bytes_max} bytes")));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    };
    let late =
        |_| Failure::new(Kind::NotUnderstood, format!("{address} does not answer within {} s", deadline.as_secs()));
    tokio::time::timeout(deadline, fetching).await.map_err(late)?
}
