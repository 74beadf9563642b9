//! How a call without success ended, for agents that tell it in words only.

use crate::filter::result::Output;
use crate::item::Outcome;

/// Words of the results of calls that a person stopped.
const STOPPED: &[&str] = &[
    "cancelled by the user",
    "canceled by the user",
    "cancelled by user",
    "canceled by user",
    "interrupted by the user",
    "interrupted by user",
    "aborted by the user",
    "aborted by user",
    "manually interrupted",
];
/// Words of the results of calls that a person refused.
const REFUSED: &[&str] = &[
    "denied by the user",
    "denied by user",
    "user denied",
    "rejected by the user",
    "rejected by user",
    "user rejected",
    "declined by the user",
    "user declined",
    "not approved",
];
/// Bytes of a result that are searched for these words.
const LEAD_BYTES: usize = 200;

/// The outcome of a call that did not succeed. An exit code shows that it ran to its end.
pub(super) fn how_it_failed(output: &Output<'_>) -> Outcome {
    let lead = output.head(LEAD_BYTES).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lead.contains(word));
    match output.facts.exit_code {
        None if says(STOPPED) => Outcome::Interrupted,
        None if says(REFUSED) => Outcome::Denied,
        _ => Outcome::Failed,
    }
}
