//! The real NATS server, on a free port of the loopback.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often its file of ports is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// A server and its folder; dropping it ends the server.
pub struct NatsServer {
    program: PathBuf,
    folder: PathBuf,
    process: Option<Child>,
    ports: serde_json::Value,
}

impl NatsServer {
    /// Starts a server that keeps everything below a folder, with more lines of configuration. `None` if there is no
    /// such program on this machine.
    ///
    /// # Errors
    ///
    /// If it does not begin.
    pub fn start(folder: &Path, more: &str) -> io::Result<Option<Self>> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Where Debian puts it is not in everyone's path.
        let places = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
        let program = places.map(|place| place.join("nats-server")).find(|program| program.is_file());
        let Some(program) = program else { return Ok(None) };
        std::fs::create_dir_all(folder)?;
        let mut server = Self { program, folder: folder.to_owned(), process: None, ports: serde_json::Value::Null };
        let configuration = format!("jetstream {{ store_dir: {:?} }}\n{more}\n", server.store());
        std::fs::write(folder.join("server.conf"), configuration)?;
        server.begin()?;
        Ok(Some(server))
    }

    /// Starts it again, on the port that it had.
    ///
    /// # Errors
    ///
    /// If it does not begin.
    pub fn begin(&mut self) -> io::Result<()> {
        let port = self.port("nats").map_or_else(|| "-1".to_owned(), |port| port.to_string());
        let mut command = Command::new(&self.program);
        command.args(["-a", "127.0.0.1", "-p", &port, "-c"]).arg(self.folder.join("server.conf"));
        command.arg("--ports_file_dir").arg(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        let process = command.stderr(std::fs::File::create(self.folder.join("server.log"))?).spawn()?;
        let ports = self.folder.join(format!("nats-server_{}.ports", process.id()));
        let process = self.process.insert(process);
        let until = Instant::now() + PATIENCE;
        loop {
            let read = std::fs::read(&ports).ok().and_then(|ports| serde_json::from_slice(&ports).ok());
            if let Some(ports) = read {
                self.ports = ports;
                return Ok(());
            }
            if process.try_wait()?.is_some() || Instant::now() > until {
                return Err(io::Error::other(format!("nats-server does not begin: {}", self.log())));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills it.
    pub fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Its process, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Its address for clients.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port("nats").unwrap_or_default())
    }

    /// The port of a service: `nats` or `cluster`.
    pub fn port(&self, service: &str) -> Option<u16> {
        self.ports[service][0].as_str()?.rsplit_once(':')?.1.parse().ok()
    }

    /// Where its streams lie.
    pub fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.end();
    }
}
