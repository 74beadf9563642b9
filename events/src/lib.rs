//! The core of Baton: what happened in a coding agent's session, and what it means.
//!
//! Pure, synchronous and deterministic: no I/O, no async, no clock, no randomness. Time, ids and bytes come in as
//! arguments; values go out. Everything that touches the world is below `actors/`.
//!
//! # Glossary
//!
//! | term | meaning |
//! |---|---|
//! | command | a request to change a session; may be refused ([`session::Command`]) |
//! | event | a fact; past tense; never edited ([`session::Event`]) |
//! | rejection | why a command was refused; travels in the reply ([`session::Rejection`]) |
//! | aggregate, state, phase | one session with its version; its state after all events; the named phase of the state machine |
//! | effect | work that the shell must do; idempotent, keyed by an effect id ([`session::Effect`]) |
//! | stream, sequence, position | one session's events; an event's number in its stream (from 1, gapless); its place in the whole journal |
//! | journal | the append-only log of events ("log" alone means tracing output, except in command names) |
//! | projection, checkpoint | a view folded from the journal; the position up to which it is folded |
//! | correlation, cause | the exchange of messages that a record belongs to; the command that directly caused it |
//! | record, line | one JSON object of a transcript; its line number, from 1 |
//! | item | one content block of a conversation, filtered and redacted: what is stored, hashed, digested |
//! | unit, turn | what a search finds: a prompt, a reply or a tool line ([`baton_conversation::turns`]) |
//! | episode, tier | the stored result of a session; `extractive` (by rules) or `enriched` (by a model) |
//! | mention, entity | an entity as one session has it; the group of its mentions (crate `baton-graph`) |
//! | assertion, fact | a fact as one session supports it; the group of its assertions |
//! | memo, words | what an agent told the memory directly, outside of any session; its text, stored outside of the log ([`memo`]) |
//! | correction, verdict | what a person corrects of a session; what they say of an entry ([`session::Correction`]) |
//! | generation | how many times a transcript file was started anew |
//! | vault, note, block | Markdown for people; one file of it; the part of a note that Baton writes (crate `baton-notes`) |

mod codec;
pub mod envelope;
pub mod home;
pub mod memo;
pub mod prices;
pub mod project;
pub mod projection;
pub mod replay;
mod row;
pub mod schema;
pub mod session;
