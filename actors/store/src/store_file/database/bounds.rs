//! What a connection to an agent's database may do and cost.

use std::time::Duration;

use baton_conversation::transcript::DatabaseSchema;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::AuthAction;
use rusqlite::limits::Limit;

/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 1_000;
/// Longest value or row. Larger ones are not asked for, see [`DatabaseSchema::rows`].
const MAX_VALUE_BYTES: i32 = 64 * 1024 * 1024;
/// Functions in statements, and one that is the default of columns.
const FUNCTIONS: &[&str] =
    &["CURRENT_TIMESTAMP", "coalesce", "count", "instr", "max", "min", "octet_length", "substr", "unixepoch"];

/// Bounds what a connection may do and cost. SQLite gives up when `is_over` says so.
pub(super) fn configure(
    connection: &mut Connection,
    is_over: impl FnMut() -> bool + Send + 'static,
) -> rusqlite::Result<()> {
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(config, value)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.progress_handler(STEPS, Some(is_over))?;
    // A wait would count as time of the slice.
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(())
}

/// True if a statement may do this: select, and read a listed column of a listed table.
pub(super) fn is_listed(schema: &DatabaseSchema, action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Select => true,
        AuthAction::Function { function_name } => FUNCTIONS.contains(function_name),
        AuthAction::Read { table_name, column_name } => {
            let mut listed = schema.tables.iter().filter(|(table, _)| table == table_name);
            // No column at all if only the number of rows counts.
            listed.any(|(_, columns)| matches!(*column_name, "" | "ROWID") || columns.contains(column_name))
        }
        _ => false,
    }
}
