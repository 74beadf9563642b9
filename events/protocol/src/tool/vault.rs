//! Tools about the vault.

use super::{Effect, Kind, Tool, argument};
use crate::method;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        method: method::VAULT_STATUS,
        name: "vault_status",
        aliases: &[],
        title: "Vault status",
        description: "Whether sessions become notes in an Obsidian vault, where it is, how many there are, what is waiting and \
                      what people have changed.",
        effect: Effect::Reads,
        listed: false,
        context: &[],
        arguments: &[],
    },
    Tool {
        method: method::VAULT_READ,
        name: "vault_read",
        aliases: &[],
        title: "Read a note",
        description: "One note of the vault, as Markdown; vault_status says where they are.",
        effect: Effect::Reads,
        listed: false,
        context: &[],
        arguments: &[argument("path", Kind::Needed, "The note's path, such as `projects/web/entities/Cache.md`.")],
    },
];
