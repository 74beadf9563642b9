//! What a model is asked about a session, what is believed of its answer, and what it costs.
//!
//! The conversation goes to the model as data between marks that no transcript can forge, each physical line behind the
//! number of the transcript line that says it. What comes back is not trusted: it is read against a schema, bounded,
//! redacted, and every claim whose lines are not in the transcript is dropped and counted. The same conversation makes
//! the same requests, so an answer that is stored is never asked for again.

pub mod answer;
pub mod budget;
pub mod division;
mod fence;
pub mod form;
mod graph;
pub mod ledger;
pub mod lines;
pub mod order;
mod reading;
pub mod request;
mod retelling;
mod shorter;
pub mod stored;
mod telling;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Claim, Complaint, Entity, Fact, Failed, Finish, Lost};
pub use budget::{Afford, Budget, afford};
pub use division::Limits;
pub use graph::with_model;
pub use ledger::{By, Costs, Spent};
pub use lines::Lines;
pub use order::{Candidate, order};
pub use reading::check;
pub use request::{Left, Plan, Request, plan, plan_of};
