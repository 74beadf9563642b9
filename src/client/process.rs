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
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| says_zombie(&stat))
}

/// Reads `/proc/PID/stat`. Until the last thread has exited, the process keeps its files open and locked, although the
/// state, which is the first thread's, may say zombie already.
#[cfg(unix)]
fn says_zombie(stat: &str) -> bool {
    /// Fields from the state to the number of threads.
    const THREADS: usize = 17;
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.next() == Some("Z") && fields.nth(THREADS - 1) == Some("1")
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_exited_once_its_last_thread_has() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) Z (b) {state} 1 7 7 0 -1 4228364 9 0 0 0 1 2 0 0 20 0 {threads} 0 4711 0 0\n")
        };
        for (stat, expected) in [
            (stat("Z", 1), true),
            (stat("Z", 2), false),
            (stat("S", 1), false),
            (String::new(), false),
            ("7 (baton) Z".to_owned(), false),
        ] {
            assert_eq!(says_zombie(&stat), expected, "{stat}");
        }
        let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        assert!(!says_zombie(&own), "{own}");
    }
}
