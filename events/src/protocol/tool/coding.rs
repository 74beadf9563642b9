//! Tools that answer what agents ask of a memory of coding: what was tried, and how it went.

use super::Tool;

pub(super) const TOOLS: &[Tool] = &[];
