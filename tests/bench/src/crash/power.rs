//! Power cuts. The daemon's home is on a file system inside a file. At any instant that file is what a disk would
//! contain after losing power: data not yet synced is only in the system's memory. A copy of the file is mounted, its
//! journal is replayed, and the result is checked against every answer given before that instant.
//!
//! A copy takes a while, and one with blocks of several instants is a state that no disk ever had. So the daemon is
//! stopped meanwhile, and the copy is compared with the file: if they are equal, the copy is of one instant. System
//! calls of the daemon are completed before it stops; the journal's own test covers cuts in the middle of a sync.
//!
//! Mounting requires root. The mounts are in a namespace of this process and vanish with it, however it ends.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;

use super::daemon::Daemon;
use super::home_check;
use super::trial::Trial;

use crate::corpus::random::Random;
use crate::workspace::Workspace;
use crate::{Error, Outcome, Table, io_error};

/// Size of the file system: room for a home, and fast to copy.
const IMAGE_BYTES: u64 = 96 * 1024 * 1024;
/// Cuts of one home before another one is begun.
const CUTS_OF_A_HOME: u32 = 25;
/// Longest pause between two cuts.
const PAUSE: Duration = Duration::from_millis(200);
/// Attempts to copy the file without a change in between.
const COPIES: u32 = 200;
/// Environment variable set when the program runs again in its own namespace.
const INSIDE: &str = "BATON_BENCH_INSIDE";

/// The result of power cuts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cuts {
    /// How this was tried.
    pub how: &'static str,
    /// The file system.
    pub file_system: &'static str,
    /// Number of cuts.
    pub instants: u64,
    /// Requests in flight at the cuts.
    pub requests_in_flight: u64,
    /// Acknowledged commands and answers.
    pub acknowledged: u64,
    /// Number of checks of an acknowledged answer against what a cut has left.
    pub held_against_the_log: u64,
    /// Conversations read completely, in all checks.
    pub conversations_read: u64,
    /// Cuts after which a daemon was started on what was left.
    pub daemons_started: u64,
}

/// Runs this program again in a mount namespace of its own, if that is possible and not yet the case. Returns only if
/// not.
pub fn enter_own_namespace() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        let Ok(program) = std::env::current_exe() else { return };
        let may = Command::new("unshare").args(["--mount", "true"]).output().is_ok_and(|ran| ran.status.success());
        if may && std::env::var_os(INSIDE).is_none() {
            let arguments = std::env::args_os().skip(1);
            // `exec` keeps the process; if it returns, it failed.
            let _ = Command::new("unshare").arg("--mount").arg(program).args(arguments).env(INSIDE, "1").exec();
        }
    }
}

/// Cuts the power `cuts` times.
pub(super) fn cut_power(
    workspace: &Workspace,
    seed: u64,
    cuts: u32,
    losses: &mut Vec<String>,
    kept: &mut Vec<PathBuf>,
    progress: &impl Fn(&str),
) -> Result<Outcome<Cuts>, Error> {
    if std::env::var_os(INSIDE).is_none() {
        return Ok(Outcome::skipped("Not tried: this takes root, and Linux, to mount a file system."));
    }
    let mut done = Cuts {
        how: "The daemon works under the same load in an ext4 file system in a file. At random instants it is held still \
              and the file copied as it stands, without what was not synced; the copy is mounted (its journal is replayed) and held \
              against every answer given before.",
        file_system: "ext4",
        ..Cuts::default()
    };
    let mut number = 0;
    while done.instants < u64::from(cuts) && losses.is_empty() {
        let root = workspace.path().join(format!("disk{number}"));
        let most = CUTS_OF_A_HOME.min(cuts - u32::try_from(done.instants).unwrap_or(cuts));
        let disk = match Disk::format(&root)? {
            Ok(disk) => disk,
            Err(why) => return Ok(Outcome::skipped(format!("Not tried: {why}"))),
        };
        let found = cut_one_home(&disk, number, seed, most, &mut done, progress)?;
        if !found.is_empty() {
            losses.extend(found.into_iter().map(|loss| format!("disk{number}, {loss}")));
            let image = std::env::temp_dir().join(format!("baton-crash-{seed}-{}.img", std::process::id()));
            fs::copy(disk.copy(), &image).map_err(io_error("copy", &image))?;
            kept.push(image);
        }
        number += 1;
    }
    Ok(Outcome::Measured(done))
}

fn cut_one_home(
    disk: &Disk,
    number: usize,
    seed: u64,
    cuts: u32,
    done: &mut Cuts,
    progress: &impl Fn(&str),
) -> Result<Vec<String>, Error> {
    // Other sessions and moments than those of the homes that are killed.
    let mut random = Random::for_part(seed, 1_000_000 + number as u64);
    let mut trial = Trial::new(1000 + number, seed, &disk.root, disk.mounted.join("baton"))?;
    let mut daemon = match Daemon::start(&trial.shared.environment)? {
        Ok(daemon) => daemon,
        Err(what) => return Ok(vec![what]),
    };
    let environment = trial.shared.environment.clone();
    let losses = trial.under_load(|shared| {
        for cut in 1..=cuts {
            std::thread::sleep(Duration::from_micros(random.below(PAUSE.as_micros() as usize) as u64));
            daemon.set_stopped(true);
            // Everything acknowledged so far; what was written but not answered may or may not be there.
            let promises = shared.promises().clone().without_tracking();
            done.requests_in_flight += shared.in_flight.load(Ordering::SeqCst);
            let copied = disk.take_copy();
            daemon.set_stopped(false);
            copied?;
            let held = disk.with_copy(|root| {
                let home = root.join("baton");
                let mut held =
                    home_check::check_home(&home, &disk.root.join("look"), &promises, None, random.percent(50))?;
                // The daemon's own recovery, on what the cut has left.
                if held.losses.is_empty() && cut.is_multiple_of(5) {
                    done.daemons_started += 1;
                    let environment = environment.with_home(home);
                    match Daemon::start(&environment)? {
                        Ok(mut daemon) => daemon.kill(),
                        Err(what) => held.losses.push(what),
                    }
                }
                Ok(held)
            })?;
            done.instants += 1;
            done.held_against_the_log += promises.answers();
            done.conversations_read += held.conversations;
            let mut losses = held.losses;
            losses.extend(shared.take_wrong_answers());
            if !losses.is_empty() {
                return Ok(losses.into_iter().map(|loss| format!("cut {cut}: {loss}")).collect());
            }
            if done.instants.is_multiple_of(10) {
                progress(&format!("cut the power {} times", done.instants));
            }
        }
        Ok(Vec::new())
    })?;
    daemon.kill();
    done.acknowledged += trial.shared.promises().answers();
    Ok(losses)
}

/// A mounted file system in a file.
struct Disk {
    root: PathBuf,
    mounted: PathBuf,
}

impl Disk {
    /// Makes and mounts one below a new folder. The inner `Err` says why that is not possible.
    fn format(root: &Path) -> Result<Result<Self, String>, Error> {
        let disk = Self { root: root.to_owned(), mounted: root.join("mounted") };
        for folder in [&disk.mounted, &disk.copy_mount_point()] {
            fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        }
        let image = disk.image();
        let file = fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES));
        file.map_err(io_error("create", &image))?;
        let made = run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))
            .and_then(|()| run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&disk.mounted)));
        Ok(made.map(|()| disk))
    }

    fn image(&self) -> PathBuf {
        self.root.join("image")
    }

    /// The state after the cut.
    fn copy(&self) -> PathBuf {
        self.root.join("cut")
    }

    fn copy_mount_point(&self) -> PathBuf {
        self.root.join("left")
    }

    /// Copies the file system as of one instant.
    fn take_copy(&self) -> Result<(), Error> {
        let (image, copy) = (self.image(), self.copy());
        for _ in 0..COPIES {
            fs::copy(&image, &copy).map_err(io_error("copy", &image))?;
            if images_are_equal(&image, &copy).map_err(io_error("compare", &image))? {
                return Ok(());
            }
        }
        Err(Error::NothingMeasured("the file system never stands still".to_owned()))
    }

    /// Mounts the state after the cut while `look` runs.
    fn with_copy<T>(&self, look: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
        let left = self.copy_mount_point();
        let failed = |what| Error::NothingMeasured(format!("what the power cut has left: {what}"));
        run(Command::new("mount").args(["-o", "loop"]).arg(self.copy()).arg(&left)).map_err(failed)?;
        let looked = look(&left);
        run(Command::new("umount").arg(&left)).map_err(failed)?;
        looked
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, because a killed daemon may take a moment to release its files.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.mounted));
    }
}

/// True if two images are equal.
fn images_are_equal(one: &Path, other: &Path) -> std::io::Result<bool> {
    const STEP: usize = 1024 * 1024;
    let (mut one, mut other) = (fs::File::open(one)?, fs::File::open(other)?);
    let (mut here, mut there) = (vec![0; STEP], vec![0; STEP]);
    for _ in 0..IMAGE_BYTES / STEP as u64 {
        one.read_exact(&mut here)?;
        other.read_exact(&mut there)?;
        if here != there {
            return Ok(false);
        }
    }
    Ok(true)
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr).trim())),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

impl Cuts {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Power cuts", self.how);
        table.row("instants", format!("{} on {}", self.instants, self.file_system));
        table.row("  requests in flight", self.requests_in_flight.to_string());
        table.row("acknowledged", self.acknowledged.to_string());
        table.row("held against what was left", format!("{} answers", self.held_against_the_log));
        table.row("conversations read", self.conversations_read.to_string());
        table.row("daemons started on it", self.daemons_started.to_string());
        table
    }
}
