//! Known names without conversation.
//!
//! Names that are neither here nor read elsewhere are counted as unknown. The lists are sorted by place, and searched
//! only for names that nothing else reads.

/// Types of records.
pub(super) const RECORDS: &[&[u8]] = &[
    b"agent-color",
    b"agent-name",
    b"agent-setting",
    // Parts of a request to the model: prompts and results repeated by hash.
    b"api-request",
    b"api-request-blob",
    b"api-request-shape",
    b"artifact-autoreact-ledger",
    b"artifact-comment-monitor",
    b"atis-latch",
    b"attribution-snapshot",
    b"bridge-session",
    b"content-replacement",
    b"cost-state",
    b"dev-mods",
    b"ended-by-model",
    b"file-history-delta",
    b"file-history-snapshot",
    b"frame-link",
    b"history-suppression",
    b"isolation-latch",
    b"marble-origami-commit",
    b"marble-origami-reset",
    b"marble-origami-snapshot",
    b"mode",
    b"observer-ref",
    b"permission-mode",
    b"pr-link",
    b"relocated",
    b"speculation-accept",
    b"tag",
    b"task-summary",
    b"tools-used",
    b"worktree-state",
    // From the journal of a workflow, which is not a transcript; only found in joined files.
    b"failed",
    b"launched",
    b"result",
    b"started",
];

/// Subtypes of `system` records. Old versions write some without any.
pub(super) const SYSTEM: &[&[u8]] = &[
    b"",
    b"agents_killed",
    b"api_error",
    b"bridge_status",
    b"informational",
    b"model_consent_fallback",
    b"model_refusal_fallback",
    b"model_refusal_no_fallback",
    b"scheduled_task_fire",
    b"stop_hook_summary",
    b"turn_duration",
];

/// Types of attachments, which the harness adds for the model.
pub(super) const ATTACHMENTS: &[&[u8]] = &[
    b"agent_listing_delta",
    b"auto_mode",
    b"command_permissions",
    b"compact_file_reference",
    b"date",
    b"date_change",
    b"deferred_tools_delta",
    b"deferred_tools_record",
    b"directory",
    b"edited_text_file",
    b"environment",
    b"file",
    b"hook_additional_context",
    b"hook_blocking_error",
    b"hook_cancelled",
    b"hook_non_blocking_error",
    b"hook_success",
    b"hook_system_message",
    b"instructions",
    b"invoked_skills",
    b"mcp_instructions_delta",
    b"model",
    b"nested_memory",
    b"plan_mode",
    b"plan_mode_exit",
    b"prompt_snapshot",
    b"read_truncation_notice",
    b"remote_session_change",
    b"session_context",
    b"silent_turn_reminder",
    b"skill_listing",
    b"structured_output",
    b"task_reminder",
    b"todo_reminder",
    b"total_tokens_reminder",
];

/// Types of `progress` records of a running tool; their content is repeated at its end.
pub(super) const PROGRESS: &[&[u8]] = &[
    b"agent_progress",
    b"bash_progress",
    b"hook_progress",
    b"mcp_progress",
    b"query_update",
    b"search_results_received",
    b"waiting_for_task",
];

/// Types of content blocks.
pub(super) const BLOCKS: &[&[u8]] = &[b"container_upload", b"document", b"fallback", b"image", b"tool_reference"];
