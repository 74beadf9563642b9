//! The one door to a model: an endpoint that speaks OpenAI's API, on this machine or elsewhere. Nothing here is used, and
//! nothing is connected to, unless somebody configures an endpoint.

mod endpoint;

pub use endpoint::{BaseUrl, Endpoint, KeyVariable};
