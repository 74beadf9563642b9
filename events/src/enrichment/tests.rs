//! Requests and answers, by tables.
