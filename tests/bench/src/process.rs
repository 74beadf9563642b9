//! What the system says of a process. Where it says nothing, there is no figure.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use super::table::megabytes;

/// Ticks of `/proc/<pid>/stat` in a second: the same for all programs on Linux, whatever the kernel's own.
const TICKS: f64 = 100.0;

/// Why there are no such figures elsewhere.
pub(super) const ONLY_LINUX: &str = "Not measured: only Linux tells this of a process, in /proc.";

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Most that was ever resident.
    pub peak_bytes: u64,
    /// Resident, mapped files included: the index's pages are shared with the page cache.
    pub resident_bytes: u64,
    /// Resident and its own: what would be free without it.
    pub own_bytes: u64,
}

impl Memory {
    pub(super) fn text(&self) -> String {
        format!("{} resident, {} of it its own", megabytes(self.resident_bytes), megabytes(self.own_bytes))
    }
}

/// Processor time of a process until now, in seconds: its own and the system's on its behalf, all threads.
pub(super) fn cpu_seconds(pid: u32) -> Option<f64> {
    cpu_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Processor time of all that this process has started and waited for, in seconds.
pub(super) fn children_cpu_seconds() -> Option<f64> {
    ticks_at(13, &fs::read_to_string("/proc/self/stat").ok()?)
}

fn cpu_of(stat: &str) -> Option<f64> {
    ticks_at(11, stat)
}

/// The sum of a field, counted from behind the name, and the one after it.
fn ticks_at(field: usize, stat: &str) -> Option<f64> {
    // The name, in brackets, may itself hold brackets and spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(field);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) as f64 / TICKS)
}

/// Processor time of a process over many calls: what a busy machine does not lengthen.
pub(super) struct CpuPerCall {
    pid: u32,
    before: Option<f64>,
}

impl CpuPerCall {
    pub(super) fn begin(pid: u32) -> Self {
        Self { pid, before: cpu_seconds(pid) }
    }

    /// Milliseconds for one of so many calls.
    pub(super) fn end(self, calls: usize) -> Option<f64> {
        Some((cpu_seconds(self.pid)? - self.before?) * 1000.0 / calls.max(1) as f64)
    }
}

/// Bytes in memory.
pub(super) fn memory(pid: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let bytes = |name| number_of(&status, name).map(|kib| kib * 1024);
    Some(Memory { peak_bytes: bytes("VmHWM:")?, resident_bytes: bytes("VmRSS:")?, own_bytes: bytes("RssAnon:")? })
}

/// Lets the peak of a process begin anew, where the system can.
pub(super) fn forget_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// What a process has done until now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Deeds {
    pub(super) cpu_seconds: f64,
    /// How often a thread gave up its processor or had it taken: threads of one name together.
    pub(super) switches: BTreeMap<String, u64>,
    /// Calls of `write` and its kin.
    pub(super) write_calls: u64,
    /// Bytes that went, or will go, to the disk.
    pub(super) written_bytes: u64,
}

pub(super) fn deeds(pid: u32) -> Option<Deeds> {
    let mut switches = BTreeMap::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end meanwhile.
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let name = status.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or_default().trim();
        let of = |kind| number_of(&status, kind).unwrap_or(0);
        *switches.entry(name.to_owned()).or_default() +=
            of("voluntary_ctxt_switches:") + of("nonvoluntary_ctxt_switches:");
    }
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    Some(Deeds {
        cpu_seconds: cpu_seconds(pid)?,
        switches,
        write_calls: number_of(&io, "syscw:")?,
        written_bytes: number_of(&io, "write_bytes:")?,
    })
}

/// Bytes that this process has taken from files until now, whether or not a disk had to be asked.
pub(super) fn read_bytes() -> Option<u64> {
    number_of(&fs::read_to_string("/proc/self/io").ok()?, "rchar:")
}

fn number_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_understood() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 500 0 0 0 150 50 0 0 20 0 9 0 1 2 3";
        assert_eq!((cpu_of(stat), ticks_at(13, stat)), (Some(2.0), Some(0.0)));
        for garbled in ["", "42 (a", "42 (a) S 1 2"] {
            assert_eq!(cpu_of(garbled), None, "{garbled:?}");
        }
        let status = "Name:\tbaton\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nvoluntary_ctxt_switches:\t7\n";
        assert_eq!((number_of(status, "VmHWM:"), number_of(status, "VmRSS:")), (Some(2048), Some(1024)));
        assert_eq!(number_of(status, "voluntary_ctxt_switches:"), Some(7));
        assert_eq!(number_of(status, "VmPeak:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_done_something() {
        let pid = std::process::id();
        let before = deeds(pid).unwrap();
        assert!(!before.switches.is_empty());
        let memory = memory(pid).unwrap();
        assert!(memory.own_bytes > 0 && memory.resident_bytes >= memory.own_bytes);
        assert_eq!(deeds(u32::MAX), None);
    }
}
