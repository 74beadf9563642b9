//! A sample session, and edits of notes.

use uuid::Uuid;

use crate::facts::{About, Entity, File, Statement, Topic};
use crate::{Day, Layout, SessionFacts, Wanted, session};
use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::Label;
use baton_protocol::Zone;

pub(super) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(super) fn day(text: &str) -> Day {
    Day::parse(text).unwrap()
}

pub(super) fn layout() -> Layout {
    Layout::below("claude").unwrap()
}

pub(super) fn said(text: &str) -> Statement {
    Statement { text: text.to_owned(), resolution: None, at: Some(at("2026-03-14T09:30:00Z")), about: vec![1] }
}

fn entity(number: u128, label: Label, name: &str) -> Entity {
    let file = crate::name::safe_file_name(name);
    Entity {
        uuid: Uuid::from_u128(number),
        label,
        name: name.to_owned(),
        deed: "changed",
        file,
        is_subject: true,
        is_noted: true,
        earlier: Vec::new(),
    }
}

/// A session of `shop` with one of everything.
pub(super) fn facts() -> SessionFacts {
    let mended =
        Statement { resolution: Some("cargo test passed".to_owned()), ..said("cargo test: exit 101, 3 failed") };
    SessionFacts {
        about: About {
            session: SessionId::new("7acd37a8-2745-4b58-a8a9-46164b22ad9e").unwrap(),
            others: Vec::new(),
            episode: Some(Uuid::from_u128(9)),
            project: "shop".to_owned(),
            note: "2026-03-14-refresh-tokens".to_owned(),
            started: at("2026-03-14T09:26:53Z"),
            ended: Some(at("2026-03-14T10:05:00.250Z")),
            zone: Zone::UTC,
        },
        title: "Refresh tokens expire too early".to_owned(),
        goal: "Find out why refresh tokens expire too early".to_owned(),
        prompts: vec![said("fix the refresh token")],
        has_all_prompts: true,
        decisions: vec![said("Rotate tokens on every use because a stolen one must be told")],
        errors: vec![mended],
        files: vec![File { path: "src/auth.rs".to_owned(), added: 12, removed: 3, entity: Some(1) }],
        open: vec![said("the alert is not deployed")],
        next_steps: vec![said("deploy it")],
        patterns: vec![(Topic::FailedApproaches, said("a mutex per token was a dead end"))],
        preferences: vec![said("always run the tests")],
        references: vec![said("https://docs.rs/time")],
        entities: vec![entity(1, Label::Project, "shop"), entity(2, Label::File, "src/auth.rs")],
    }
}

/// The note of a session.
pub(super) fn wanted(facts: &SessionFacts) -> Wanted {
    session::wanted(facts, &layout(), day("2026-03-14"))
}
