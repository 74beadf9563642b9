//! Foundations of every other crate below `actors/`: durable files, bounded file-system looks, the clock, the home
//! lock, supervised tasks and all limits.

pub mod actor_address;
pub mod atomic_file;
pub mod bounded_fs;
pub mod clock;
pub mod condition;
pub mod durable;
pub mod io_remedy;
pub mod journal_health;
pub mod latest;
pub mod limits;
pub mod local_zone;
pub mod lock;
pub mod pinned_folder;
pub mod program;
pub mod project;
pub mod restart_budget;
pub mod shell;
pub mod supervised_task;
pub mod task;
pub mod throttle;
pub mod transcript_file;
pub mod transcript_root;
