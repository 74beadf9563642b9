//! Behaviour of a whole system, with one part of it broken on purpose.

mod purge;
mod redacting;
mod vault;
