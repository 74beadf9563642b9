//! Prices of models: US dollars per million tokens, by the model's name.
//!
//! Costs are estimates and shown as such: no transcript records a plan, a discount, a batch or a long-context
//! surcharge. The built-in table has the published prices of November 2026; other prices can be configured.

use serde::{Deserialize, Serialize};

use baton_conversation::usage::ModelUsage;

/// Highest price that is accepted; no model costs more per million tokens.
pub const MAX_USD: f64 = 100_000.0;
/// Price of a cache read relative to input, unless given.
const CACHE_READ: f64 = 0.1;
/// Price of a five-minute cache write relative to input, unless given.
const CACHE_WRITE: f64 = 1.25;
/// Price of a one-hour cache write relative to input, unless given.
const CACHE_WRITE_1H: f64 = 2.0;

/// Tokens of a call, as the endpoint reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTokens {
    /// Tokens read by the model, cached ones included.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Input tokens that came from the cache.
    pub cached: u64,
}

/// US dollars per million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input that was not cached.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache for five minutes.
    pub cache_write: f64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: f64,
}

/// Prices by patterns of model names; configured ones take precedence over built-in ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    configured: Vec<(String, Price)>,
}

/// The built-in prices: pattern, input, output, cache read.
///
/// Patterns are open at both ends, because many names have a prefix (`anthropic/`, `us.anthropic.`) and a date behind.
const BUILT_IN: &[(&str, f64, f64, f64)] = &[
    ("*claude-fable-5*", 10.0, 50.0, 1.0),
    ("*claude-opus-5-5*", 4.0, 20.0, 0.2),
    ("*claude-opus-5*", 5.0, 25.0, 0.5),
    ("*claude-opus-4-5*", 5.0, 25.0, 0.5),
    ("*claude-opus-4-6*", 5.0, 25.0, 0.5),
    ("*claude-opus-4-7*", 5.0, 25.0, 0.5),
    ("*claude-opus-4-8*", 5.0, 25.0, 0.5),
    ("*claude-opus-4*", 15.0, 75.0, 1.5),
    ("*claude-3-opus*", 15.0, 75.0, 1.5),
    ("*claude-sonnet-5*", 2.0, 10.0, 0.2),
    ("*claude-sonnet-4*", 3.0, 15.0, 0.3),
    ("*claude-3-7-sonnet*", 3.0, 15.0, 0.3),
    ("*claude-3-5-sonnet*", 3.0, 15.0, 0.3),
    ("*claude-haiku-5-5*", 0.1, 0.5, 0.01),
    ("*claude-haiku-4-5*", 1.0, 5.0, 0.1),
    ("*claude-3-5-haiku*", 0.8, 4.0, 0.08),
    ("*claude-3-haiku*", 0.25, 1.25, 0.03),
    ("*gpt-5.4-mini*", 0.75, 4.5, 0.075),
    ("*gpt-5.4*", 2.5, 15.0, 0.25),
    ("*gpt-5.3-codex*", 1.75, 14.0, 0.175),
    ("*gpt-5.2*", 1.75, 14.0, 0.175),
    ("*gpt-5.1-codex-mini*", 0.25, 2.0, 0.025),
    ("*gpt-5.1*", 1.25, 10.0, 0.125),
    ("*gpt-5-mini*", 0.25, 2.0, 0.025),
    ("*gpt-5-nano*", 0.05, 0.4, 0.005),
    ("*gpt-5-*", 1.25, 10.0, 0.125),
    ("*gpt-5", 1.25, 10.0, 0.125),
    ("*gpt-4.1-mini*", 0.4, 1.6, 0.1),
    ("*gpt-4.1-nano*", 0.1, 0.4, 0.025),
    ("*gpt-4.1*", 2.0, 8.0, 0.5),
    ("*gpt-4o-mini*", 0.15, 0.6, 0.075),
    ("*gpt-4o*", 2.5, 10.0, 1.25),
    ("*codex-mini-latest*", 1.5, 6.0, 0.375),
    ("*o4-mini*", 1.1, 4.4, 0.275),
    ("o3", 2.0, 8.0, 0.5),
];

impl Price {
    /// A price with the usual cache factors: a tenth of input for a read, one and a quarter for a five-minute write,
    /// twice for a one-hour write.
    pub fn new(input: f64, output: f64) -> Self {
        Self {
            input,
            output,
            cache_read: input * CACHE_READ,
            cache_write: input * CACHE_WRITE,
            cache_write_1h: input * CACHE_WRITE_1H,
        }
    }

    /// Cost of these tokens in US dollars, rounded to a millionth.
    pub fn cost(&self, usage: &ModelUsage) -> f64 {
        let for_five_minutes = usage.cache_creation.saturating_sub(usage.cache_creation_1h);
        let millionths = usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + for_five_minutes as f64 * self.cache_write
            + usage.cache_creation_1h.min(usage.cache_creation) as f64 * self.cache_write_1h;
        // One dollar per million tokens is a millionth of a dollar per token.
        millionths.round() / 1e6
    }
}

/// Formats nanodollars as US dollars with six decimals, rounded; a cost above 0 never reads as 0.
pub fn usd(nanos: u64) -> String {
    let millionths = if nanos == 0 { 0 } else { (nanos.saturating_add(500) / 1_000).max(1) };
    format!("{}.{:06} USD", millionths / 1_000_000, millionths % 1_000_000)
}

/// Converts US dollars to nanodollars; 0 for a negative amount or NaN.
pub fn nanos(usd: f64) -> u64 {
    // Float casts saturate, and NaN becomes 0.
    (usd * 1e9).round() as u64
}

impl Price {
    /// Cost of a call with these tokens, in nanodollars.
    pub fn nanos(&self, tokens: &CallTokens) -> u64 {
        let cached = tokens.cached.min(tokens.input);
        let usage = tokens.input - cached;
        // One dollar per million tokens is a thousand nanodollars per token.
        let nanos = usage as f64 * self.input + cached as f64 * self.cache_read + tokens.output as f64 * self.output;
        (nanos * 1e3).round() as u64
    }
}

impl Prices {
    /// Puts these prices before the built-in ones. A pattern is a model's name in which `*` stands for any characters.
    pub fn new(configured: Vec<(String, Price)>) -> Self {
        Self { configured }
    }

    /// Price of a model: that of the longest configured pattern that matches its name, else of the longest built-in
    /// one. `None` if no pattern matches.
    pub fn price(&self, model: &str) -> Option<Price> {
        let fitting = self.configured.iter().filter(|(pattern, _)| fits(pattern, model));
        let longest = fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, price)| *price);
        longest.or_else(|| {
            let fitting = BUILT_IN.iter().filter(|(pattern, ..)| fits(pattern, model));
            let (_, input, output, cache_read) = fitting.max_by_key(|(pattern, ..)| pattern.len())?;
            Some(Price { cache_read: *cache_read, ..Price::new(*input, *output) })
        })
    }
}

/// True if the name matches the pattern, in which `*` stands for any characters. Each piece is searched for once, so
/// the time is linear except where a piece repeats itself.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_a_name() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("gpt", "gpt", true),
            ("gpt", "gpt-5", false),
            ("gpt*", "gpt-5", true),
            ("*", "", true),
            ("*5", "gpt-5", true),
            ("*5", "gpt-5.2", false),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**", "x", true),
            ("é*é", "éé", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_configured_price_wins_and_the_longest_pattern() {
        let price = |input| Price::new(input, input * 5.0);
        let prices = Prices::new(vec![("*".into(), price(7.0)), ("my-*".into(), price(8.0))]);
        for (prices, model, input) in [
            (&Prices::default(), "claude-opus-4-20250514", Some(15.0)),
            (&Prices::default(), "claude-opus-4-5-20251101", Some(5.0)),
            (&Prices::default(), "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some(3.0)),
            (&Prices::default(), "claude-opus-5-5", Some(4.0)),
            (&Prices::default(), "gpt-5", Some(1.25)),
            (&Prices::default(), "gpt-5-codex", Some(1.25)),
            (&Prices::default(), "gpt-5.2-codex", Some(1.75)),
            (&Prices::default(), "gpt-5.9", None),
            (&Prices::default(), "", None),
            (&prices, "claude-opus-4-5-20251101", Some(7.0)),
            (&prices, "my-model", Some(8.0)),
        ] {
            assert_eq!(prices.price(model).map(|price| price.input), input, "{model}");
        }
    }

    #[test]
    fn a_call_is_told_to_a_millionth_of_a_dollar() {
        let price = Price { cache_read: 0.1, ..Price::new(0.4, 1.6) };
        for (input, cached, output, nanos, text) in [
            (0, 0, 0, 0, "0.000000 USD"),
            (1, 0, 0, 400, "0.000001 USD"),
            (1_000_000, 0, 0, 400_000_000, "0.400000 USD"),
            (1_000_000, 500_000, 1_000, 251_600_000, "0.251600 USD"),
            (10, 99, 0, 1_000, "0.000001 USD"),
            (5_000_000, 0, 1_000_000, 3_600_000_000, "3.600000 USD"),
        ] {
            let cost = price.nanos(&CallTokens { input, output, cached });
            assert_eq!((cost, usd(cost).as_str()), (nanos, text), "{input} {cached} {output}");
        }
        assert_eq!(price.nanos(&CallTokens { input: u64::MAX, output: u64::MAX, cached: 0 }), u64::MAX);
        assert_eq!((nanos(0.5), nanos(-1.0), nanos(f64::NAN)), (500_000_000, 0, 0));
    }

    #[test]
    fn what_the_cache_holds_for_an_hour_costs_more() {
        let usage = |cache_creation, cache_creation_1h| ModelUsage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 10_000_000,
            cache_creation,
            cache_creation_1h,
            ..ModelUsage::default()
        };
        let price = Price::new(3.0, 15.0);
        for (usage, usd) in [
            (usage(0, 0), 7.5),
            (usage(1_000_000, 0), 11.25),
            (usage(1_000_000, 1_000_000), 13.5),
            (usage(1_000_000, 9_000_000), 13.5),
            (ModelUsage::default(), 0.0),
        ] {
            assert_eq!(price.cost(&usage), usd, "{usage:?}");
        }
    }
}
