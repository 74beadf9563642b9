//! Power cuts: the daemon's home lies in a file system in a file; the file as it stands at an instant is what a disk would
//! hold that lost its power then: what was written and not synced is in the system's memory only. A copy of it is mounted,
//! its journal is replayed, and what lies there is held against every answer that was given before the instant.
//!
//! A copy takes a while, and one whose blocks are of several instants is what no disk ever held. So the daemon is held still
//! meanwhile, and the copy is compared with the file: where nothing has changed, it is of one instant. What the daemon has
//! asked the system for is done before it stands still; a cut in the middle of a sync is what the test of the journal has.
//!
//! Mounting takes root. The mounts are in a namespace of this process's own: they go with it, however it ends.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;

use super::daemon::Daemon;
use super::held;
use super::trial::Trial;
use crate::corpus::random::Random;
use crate::workspace::Workspace;
use crate::{Error, Outcome, Table, io_error};

/// Size of the file system: room for what a home takes, and soon copied.
const IMAGE_BYTES: u64 = 96 * 1024 * 1024;
/// Cuts of one home, before another is begun.
const CUTS_OF_A_HOME: u32 = 25;
/// Pause between two cuts, at most.
const PAUSE: Duration = Duration::from_millis(200);
/// How often the file is copied again because it has changed meanwhile.
const COPIES: u32 = 200;
/// Said to the process itself when it begins anew in a namespace of its own.
const INSIDE: &str = "BATON_BENCH_INSIDE";

/// What came of power cuts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cuts {
    /// How this was tried.
    pub how: &'static str,
    /// The file system.
    pub file_system: &'static str,
    /// Instants at which the power was cut.
    pub instants: u64,
    /// Requests that were in flight at those.
    pub requests_in_flight: u64,
    /// Acknowledged commands and answers.
    pub acknowledged: u64,
    /// Those, each as often as it was held against what a cut has left.
    pub held_against_the_log: u64,
    /// Conversations read to their last line, in all looks.
    pub conversations_read: u64,
    /// Instants after which a daemon was started on what was left.
    pub daemons_started: u64,
}

/// Begins this program anew in a namespace of mounts of its own, if that can be had and it is not in one. Returns only if
/// it cannot.
pub fn in_own_namespace() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        let Ok(program) = std::env::current_exe() else { return };
        let may = Command::new("unshare").args(["--mount", "true"]).output().is_ok_and(|ran| ran.status.success());
        if may && std::env::var_os(INSIDE).is_none() {
            let arguments = std::env::args_os().skip(1);
            // What follows is the same process; an error means that it is still this program.
            let _ = Command::new("unshare").arg("--mount").arg(program).args(arguments).env(INSIDE, "1").exec();
        }
    }
}

/// Cuts the power so often.
pub(super) fn cut(
    workspace: &Workspace,
    seed: u64,
    cuts: u32,
    losses: &mut Vec<String>,
    kept: &mut Vec<PathBuf>,
    tell: &impl Fn(&str),
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
        let found = of_one_home(&disk, number, seed, most, &mut done, tell)?;
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

fn of_one_home(
    disk: &Disk,
    number: usize,
    seed: u64,
    cuts: u32,
    done: &mut Cuts,
    tell: &impl Fn(&str),
) -> Result<Vec<String>, Error> {
    // Other sessions and moments than the homes that are killed have.
    let mut random = Random::of_part(seed, 1_000_000 + number as u64);
    let mut trial = Trial::new(1000 + number, seed, &disk.root, disk.mounted.join("baton"))?;
    let mut daemon = match Daemon::start(&trial.shared.environment)? {
        Ok(daemon) => daemon,
        Err(what) => return Ok(vec![what]),
    };
    let claude = trial.shared.environment.claude_config_dir.clone();
    let losses = trial.under_load(|shared| {
        for cut in 1..=cuts {
            std::thread::sleep(Duration::from_micros(random.below(PAUSE.as_micros() as usize) as u64));
            daemon.hold(true);
            // Whatever was acknowledged by now; what was written and not answered may be there or not.
            let promises = shared.promises().clone().at_least();
            done.requests_in_flight += shared.in_flight.load(Ordering::SeqCst);
            let copied = disk.take_copy();
            daemon.hold(false);
            copied?;
            let held = disk.with_copy(|root| {
                let home = root.join("baton");
                let mut held = held::hold(&home, &disk.root.join("look"), &promises, None, random.percent(50))?;
                // The daemon's own way back, on what the cut has left.
                if held.losses.is_empty() && cut.is_multiple_of(5) {
                    done.daemons_started += 1;
                    let environment = baton::environment::Environment::apart(home, claude.clone());
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
            losses.extend(shared.wrong());
            if !losses.is_empty() {
                return Ok(losses.into_iter().map(|loss| format!("cut {cut}: {loss}")).collect());
            }
            if done.instants.is_multiple_of(10) {
                tell(&format!("cut the power {} times", done.instants));
            }
        }
        Ok(Vec::new())
    })?;
    daemon.kill();
    done.acknowledged += trial.shared.promises().answers();
    Ok(losses)
}

/// A file system in a file, mounted.
struct Disk {
    root: PathBuf,
    mounted: PathBuf,
}

impl Disk {
    /// Makes and mounts one below a new folder. The inner `Err` says why that cannot be had.
    fn format(root: &Path) -> Result<Result<Self, String>, Error> {
        let disk = Self { root: root.to_owned(), mounted: root.join("mounted") };
        for folder in [&disk.mounted, &disk.left()] {
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

    /// What the cut has left.
    fn copy(&self) -> PathBuf {
        self.root.join("cut")
    }

    fn left(&self) -> PathBuf {
        self.root.join("left")
    }

    /// Copies the file system as it is at one instant.
    fn take_copy(&self) -> Result<(), Error> {
        let (image, copy) = (self.image(), self.copy());
        for _ in 0..COPIES {
            fs::copy(&image, &copy).map_err(io_error("copy", &image))?;
            if equal(&image, &copy).map_err(io_error("compare", &image))? {
                return Ok(());
            }
        }
        Err(Error::Untrue("the file system never stands still".to_owned()))
    }

    /// Mounts what the cut has left while something is done with it.
    fn with_copy<T>(&self, look: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
        let left = self.left();
        let failed = |what| Error::Untrue(format!("what the power cut has left: {what}"));
        run(Command::new("mount").args(["-o", "loop"]).arg(self.copy()).arg(&left)).map_err(failed)?;
        let looked = look(&left);
        run(Command::new("umount").arg(&left)).map_err(failed)?;
        looked
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a daemon that was killed may take a moment to let go.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.mounted));
    }
}

/// Whether two files of the same size say the same.
fn equal(one: &Path, other: &Path) -> std::io::Result<bool> {
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
