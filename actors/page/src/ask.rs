//! Calls the methods that the commands call, in this process.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use baton_conversation::printable::plain;
use baton_protocol::{Failure, Progress, code};
use baton_queries::calls;
use baton_queries::client::{Client, QueryError};
use maud::{Markup, html};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::layout;
use crate::site::Site;

/// A call that failed; answered with a page that says why.
pub(crate) struct Failed(pub(crate) Failure);

impl Failed {
    /// A message to show beside a form if its input was not found or not understood; any other failure is returned.
    pub(crate) fn beside_form(self) -> Result<Markup, Self> {
        match self.0.code {
            code::NOT_FOUND | code::INVALID_PARAMS => Ok(html! { p.problem { (plain(&self.0.message)) "." } }),
            _ => Err(self),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self.0.code {
            code::NOT_FOUND => StatusCode::NOT_FOUND,
            code::INVALID_PARAMS | code::REFUSED => StatusCode::BAD_REQUEST,
            code::STOPPING => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (self.status(), layout::failure_page(&self.0.message)).into_response()
    }
}

/// The browser as a client. It reads no progress, and hyper drops the call when it disconnects.
struct Browser(watch::Receiver<bool>);

impl Client for Browser {
    fn progress(&self, _progress: &Progress) {}

    fn is_closed(&self) -> bool {
        false
    }

    fn stopping(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }

    fn hold_open(&self) -> bool {
        true
    }
}

impl Site {
    /// Calls a method as a command does, and keeps the server alive.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<T, Failed> {
        self.see();
        let broken =
            |error: &dyn std::fmt::Display| Failed(Failure { code: code::INTERNAL, message: error.to_string() });
        let params = serde_json::value::to_raw_value(params).map_err(|error| broken(&error))?;
        let client = Arc::new(Browser(self.parts.stop.subscribe()));
        match calls::call(method, Some(&params), &self.parts, &(client as _)).await {
            Ok(answer) => baton_protocol::read(answer.get()).map_err(|error| broken(&error)),
            Err(QueryError::Failure(failure)) => Err(Failed(failure)),
            Err(QueryError::ClientGone) => Err(broken(&"the browser has disconnected")),
        }
    }
}
