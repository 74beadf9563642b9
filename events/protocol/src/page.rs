//! Arguments of `page`.

use serde::{Deserialize, Serialize};

use super::Caller;

/// Arguments of `page`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageParams {
    /// The caller.
    pub caller: Caller,
}
