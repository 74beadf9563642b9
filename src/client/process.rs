//! The daemon's lock and process: who holds the one, and when the other has ended.

use std::time::{Duration, Instant};

use baton_base::lock;

use crate::environment::Environment;

/// Deadline for a daemon to stop.
pub(super) const STOP: Duration = Duration::from_secs(30);
/// Interval between two checks for a process's exit.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// Returns true if a daemon other than `pid` holds the home's lock: another command started one while `pid` was
/// stopping.
pub(super) fn lock_is_of_another(environment: &Environment, pid: u32) -> bool {
    lock::holder_pid(&environment.home).is_some_and(|holder| holder != pid)
}

pub(super) fn wait_for_process(pid: u32, within: Duration) -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, test_kill_process};
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return true };
        wait(within, || test_kill_process(pid).is_err() || is_zombie(pid.as_raw_nonzero().get()))
    }
    #[cfg(not(unix))]
    {
        let _ = (pid, within);
        true
    }
}

/// Returns true if a process has exited but was not reaped by its parent. In containers there may be no parent that
/// reaps.
#[cfg(unix)]
fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

pub(super) fn wait(within: Duration, mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + within;
    while !done() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}
