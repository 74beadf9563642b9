//! The pages of `baton ui` in a real browser: what a person sees, and what other sites cannot.
//!
//! Each test has a world of its own and a headless Chromium with a profile of its own, driven by a chromedriver of its own.
//! Where either is missing the tests report that they did not run.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod browser;
mod drawn;
mod live;
mod pictures;
mod replay;
mod strangers;
#[allow(dead_code, reason = "shared with the tests of the whole program, which use more of it")]
#[path = "../../../it/transcript.rs"]
mod transcript;
#[allow(dead_code, reason = "shared with the tests of the whole program, which use more of it")]
#[path = "../../../it/world.rs"]
mod world;
