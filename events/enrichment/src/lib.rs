//! Requests to a model about a session, the checks of its answer, and the costs.
//!
//! The conversation is sent as data between marks that no transcript can forge; each line begins with the number of its
//! transcript line. The answer is not trusted: it is parsed against a schema, bounded and redacted, and every claim
//! whose lines are not in the transcript is dropped and counted. The same conversation gives the same requests, so a
//! stored answer is never requested again.

pub mod answer;
pub mod budget;
pub mod division;
mod episode_merge;
mod fence;
pub mod form;
mod graph;
pub mod ledger;
pub mod lines;
pub mod order;
mod parser;
mod rendering;
pub mod request;
mod shortening;
pub mod stored;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Claim, Complaint, Entity, Fact, Failed, Finish, Lost};
pub use budget::{Afford, Budget, afford};
pub use division::Limits;
pub use graph::with_model;
pub use ledger::{By, Costs, Spent};
pub use lines::Lines;
pub use order::{Candidate, order};
pub use parser::check;
pub use request::{Plan, Remaining, Request, plan, plan_of};
