//! Figures of a process, as far as the system reports them.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use super::table::megabytes;

/// Ticks per second in `/proc/<pid>/stat`: the same for all programs on Linux, whatever the kernel uses itself.
const TICKS: f64 = 100.0;

/// Why there are no such figures elsewhere.
pub(super) const ONLY_LINUX: &str = "Not measured: only Linux tells this of a process, in /proc.";

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Peak resident memory.
    pub peak_bytes: u64,
    /// Resident memory, including mapped files: the index's pages are shared with the page cache.
    pub resident_bytes: u64,
    /// Resident memory that only this process uses.
    pub own_bytes: u64,
}

impl Memory {
    pub(super) fn text(&self) -> String {
        format!("{} resident, {} of it its own", megabytes(self.resident_bytes), megabytes(self.own_bytes))
    }
}

/// Processor time of a process until now, user and system, all threads, in seconds.
pub(super) fn cpu_seconds(pid: u32) -> Option<f64> {
    cpu_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Processor time of all finished children of this process, in seconds.
pub(super) fn children_cpu_seconds() -> Option<f64> {
    seconds_at(13, &fs::read_to_string("/proc/self/stat").ok()?)
}

fn cpu_in_stat(stat: &str) -> Option<f64> {
    seconds_at(11, stat)
}

/// The sum of two adjacent fields, counted from after the name, in seconds.
fn seconds_at(field: usize, stat: &str) -> Option<f64> {
    // The name in parentheses may itself contain parentheses and spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(field);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) as f64 / TICKS)
}

/// Processor time of a process per call, which does not depend on how busy the machine is.
pub(super) struct CpuPerCall {
    pid: u32,
    before: Option<f64>,
}

impl CpuPerCall {
    pub(super) fn begin(pid: u32) -> Self {
        Self { pid, before: cpu_seconds(pid) }
    }

    /// Milliseconds per call.
    pub(super) fn end(self, calls: usize) -> Option<f64> {
        Some((cpu_seconds(self.pid)? - self.before?) * 1000.0 / calls.max(1) as f64)
    }
}

/// Memory of a process.
pub(super) fn memory(pid: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let bytes = |name| number_in_field(&status, name).map(|kib| kib * 1024);
    Some(Memory { peak_bytes: bytes("VmHWM:")?, resident_bytes: bytes("VmRSS:")?, own_bytes: bytes("RssAnon:")? })
}

/// Resets the peak of a process, where the system can.
pub(super) fn reset_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Activity of a process until now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Activity {
    pub(super) cpu_seconds: f64,
    /// Context switches, voluntary or not, by thread name.
    pub(super) switches: BTreeMap<String, u64>,
    /// Number of `write` calls and the like.
    pub(super) write_calls: u64,
    /// Bytes sent, or to be sent, to the disk.
    pub(super) written_bytes: u64,
}

pub(super) fn activity(pid: u32) -> Option<Activity> {
    let mut switches = BTreeMap::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // The thread may have ended meanwhile.
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let name = status.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or_default().trim();
        let of = |kind| number_in_field(&status, kind).unwrap_or(0);
        *switches.entry(name.to_owned()).or_default() +=
            of("voluntary_ctxt_switches:") + of("nonvoluntary_ctxt_switches:");
    }
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    Some(Activity {
        cpu_seconds: cpu_seconds(pid)?,
        switches,
        write_calls: number_in_field(&io, "syscw:")?,
        written_bytes: number_in_field(&io, "write_bytes:")?,
    })
}

/// Bytes that this process has read from files until now, cached or not.
pub(super) fn read_bytes() -> Option<u64> {
    number_in_field(&fs::read_to_string("/proc/self/io").ok()?, "rchar:")
}

fn number_in_field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_understood() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 500 0 0 0 150 50 0 0 20 0 9 0 1 2 3";
        assert_eq!((cpu_in_stat(stat), seconds_at(13, stat)), (Some(2.0), Some(0.0)));
        for garbled in ["", "42 (a", "42 (a) S 1 2"] {
            assert_eq!(cpu_in_stat(garbled), None, "{garbled:?}");
        }
        let status = "Name:\tbaton\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nvoluntary_ctxt_switches:\t7\n";
        assert_eq!((number_in_field(status, "VmHWM:"), number_in_field(status, "VmRSS:")), (Some(2048), Some(1024)));
        assert_eq!(number_in_field(status, "voluntary_ctxt_switches:"), Some(7));
        assert_eq!(number_in_field(status, "VmPeak:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_done_something() {
        let pid = std::process::id();
        let before = activity(pid).unwrap();
        assert!(!before.switches.is_empty());
        let memory = memory(pid).unwrap();
        assert!(memory.own_bytes > 0 && memory.resident_bytes >= memory.own_bytes);
        assert_eq!(activity(u32::MAX), None);
    }
}
