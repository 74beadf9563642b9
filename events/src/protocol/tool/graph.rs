//! Tools that look at single episodes, entities and facts, add to them and take them away.

use super::Tool;

pub(super) const TOOLS: &[Tool] = &[];
