//! Messages about signals of hooks that no daemon has read.

use super::counted;

/// The message that `count` signals were lost. The possible reasons are counted together.
pub(crate) fn lost_signals(count: u64) -> String {
    let were = if count == 1 { "1 signal of a hook was".to_owned() } else { format!("{count} signals of hooks were") };
    format!("{were} lost: the agent named no session in time, or the spool had no room")
}

/// The message that `count` files of the spool could not be read.
pub(crate) fn unreadable_signals(count: u64) -> String {
    format!("{} of the spool could not be read", counted(count, "file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_told_with_its_reasons() {
        let why = "lost: the agent named no session in time, or the spool had no room";
        assert_eq!(
            (lost_signals(1), lost_signals(2)),
            (format!("1 signal of a hook was {why}"), format!("2 signals of hooks were {why}"))
        );
        assert_eq!(unreadable_signals(1), "1 file of the spool could not be read");
    }
}
