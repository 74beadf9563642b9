//! Other users of the machine, and homes that they can write to.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::Abused;
use crate::world::{World, skipped};

/// Variable with the path of the socket, for [`comes_in`].
const SOCKET: &str = "BATON_TEST_SOCKET";
/// A user who is not root.
const NOBODY: u32 = 65_534;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Run as another user by [`another_user_is_hung_up_on`].
#[test]
#[ignore = "run by another test, as another user"]
fn comes_in() {
    let socket = std::env::var_os(SOCKET).expect("a socket");
    let mut stream = UnixStream::connect(socket).unwrap();
    let _ = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert_eq!(answer, "", "not a word to a stranger");
}

#[test]
fn another_user_is_hung_up_on() {
    let abused = Abused::new();
    let (home, socket) = (abused.world.home(), abused.world.home().join("baton.sock"));
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(home).unwrap().permissions().mode() & 0o777, 0o700);
    if !rustix::process::geteuid().is_root() {
        return skipped("only root may become another user");
    }
    // Makes the socket reachable whatever the modes of the folders are.
    mode(&abused.world.path(""), 0o755);
    mode(home, 0o755);
    mode(&socket, 0o666);
    // Other users may not be able to read the build directory.
    let this = abused.world.path("stranger");
    std::fs::copy(std::env::current_exe().unwrap(), &this).unwrap();
    let stranger = |command: &mut Command| command.uid(NOBODY).gid(NOBODY).output();
    let mut came = None;
    // A process that another test was starting while the copy was written holds it open until it executes its program.
    let is_started = || {
        let arguments = ["--ignored", "--exact", "abuse::strangers::comes_in"];
        let ran = stranger(Command::new(&this).args(arguments).env(SOCKET, &socket));
        let is_busy = ran.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ExecutableFileBusy);
        came = Some(ran);
        !is_busy
    };
    assert!(crate::world::wait(is_started), "the copy of this program stays busy");
    let Some(Ok(came)) = came else { return skipped("no other user may run what is built here") };
    let told = String::from_utf8_lossy(&came.stdout).into_owned() + &String::from_utf8_lossy(&came.stderr);
    assert!(came.status.success() && told.contains("1 passed"), "{told}");
    assert!(abused.world.log().contains(&format!("peer has uid {NOBODY}")), "{}", abused.world.log());
    abused.check();
}

#[test]
fn a_home_that_others_can_write_to_is_refused_by_everybody_with_the_fix() {
    let world = World::new();
    world.transcript("-work-one", &crate::world::id(1)).prompt("the unmoved sloth");
    std::fs::create_dir(world.home()).unwrap();
    for exposed in [0o770, 0o702, 0o777] {
        mode(world.home(), exposed);
        for command in [&["status"][..], &["search", "sloth"], &["daemon", "--foreground"], &["log", "stats"]] {
            let ran = world.run(command);
            assert_eq!(ran.code, 1, "{exposed:o} {command:?}: {}", ran.out);
            let fix = format!("run: chmod go-w '{}'", world.home().display());
            assert!(
                ran.err.contains("can be written to by others") && ran.err.contains(&fix),
                "{command:?}: {}",
                ran.err
            );
        }
        assert_eq!(world.daemon(), None);
    }
    mode(world.home(), 0o700);
    assert_eq!(world.found("sloth"), [crate::world::id(1)]);
    // The same if the mode changes while a daemon runs: anybody could be answering there.
    mode(world.home(), 0o777);
    let ran = world.run(&["search", "sloth"]);
    assert!(ran.code == 1 && ran.err.contains("chmod go-w"), "{}", ran.err);
}

#[test]
fn a_socket_of_another_home_is_not_taken() {
    let (first, second) = (World::new(), World::new());
    let folder = first.path("sockets");
    std::fs::create_dir(&folder).unwrap();
    mode(&folder, 0o700);
    let socket = folder.join("baton.sock");
    for world in [&first, &second] {
        std::fs::create_dir(world.home()).unwrap();
        mode(world.home(), 0o700);
        let config = serde_json::json!({"hooks": {"socket_path": socket}});
        std::fs::write(world.home().join("config.json"), config.to_string()).unwrap();
    }
    first.ok(&["status"]);
    assert!(socket.exists() && !first.home().join("baton.sock").exists());
    let ran = second.run(&["daemon", "--foreground"]);
    assert!(ran.code == 1 && ran.err.contains("hooks.socket_path"), "{}", ran.err);
    assert_eq!(first.json(&["status"])["pid"], first.daemon().unwrap().as_raw_nonzero().get());
    // The socket of a dead daemon is replaced.
    first.kill();
    assert!(socket.exists(), "left behind");
    second.ok(&["status"]);
    second.stop();
    assert!(!socket.exists());
    // A file that is not a socket stays.
    std::fs::write(&socket, "a person's notes").unwrap();
    let ran = second.run(&["status"]);
    assert!(ran.code == 1 && ran.err.contains("move it away"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "a person's notes");
    // A folder that others can write to is refused.
    std::fs::remove_file(&socket).unwrap();
    mode(&folder, 0o755);
    let ran = second.run(&["status"]);
    assert!(ran.code == 1 && ran.err.contains("chmod 700"), "{}", ran.err);
    // For a shared folder, the message does not advise closing it to others.
    mode(&folder, 0o1777);
    let ran = second.run(&["status"]);
    let fix = "set hooks.socket_path to a path in a folder of your own";
    assert!(ran.code == 1 && ran.err.contains(fix), "{}", ran.err);
    assert!(!ran.err.contains("chmod") && !ran.err.contains("panicked"), "{}", ran.err);
    let doctor = second.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(fix) && !doctor.out.contains("chmod"), "{}", doctor.out);
}
