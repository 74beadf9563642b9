//! A headless Chromium of a test's own.

use std::future::Future;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::world::{self, DEADLINE, World, list, text, wait};

/// Interval for asking a page again.
const LOOK: Duration = Duration::from_millis(50);

/// A browser that has opened the pages of a world. Everything it started ends with it, also after a panic.
pub(crate) struct Browser<'a> {
    pub(crate) client: Client,
    /// `http://<random>.localhost:<port>`.
    pub(crate) site: String,
    _processes: Processes<'a>,
}

/// Ends the driver and every process of the browser.
struct Processes<'a> {
    world: &'a World,
    driver: Child,
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = wait(|| {
            let mut left = self.world.processes();
            left.retain(|process| process.shown().contains("chrom"));
            left.iter().for_each(world::Process::kill);
            left.is_empty()
        });
    }
}

/// A command that fantoccini has no method for.
#[derive(Debug)]
struct Extension(&'static str, Value);

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.0))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.1.to_string()))
    }
}

/// The program of this name in `PATH`.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names
        .iter()
        .find_map(|name| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// Runs a test with a browser that shows the pages of this world; reports that it does not run where there is none.
pub(crate) fn with_browser(world: &World, test: impl AsyncFnOnce(&Browser<'_>)) {
    let chromium = program(&["chromium", "chromium-browser", "google-chrome"]);
    let (Some(chromium), Some(driver)) = (chromium, program(&["chromedriver"])) else {
        return world::skipped("there is no chromium with chromedriver");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let browser = Browser::start(world, &chromium, &driver).await;
        browser.enter(&first_address(world)).await;
        test(&browser).await;
        browser.client.clone().close().await.unwrap();
    });
}

/// An address that opens the pages once.
pub(crate) fn first_address(world: &World) -> String {
    text(&world.json(&["ui"])["url"])
}

/// Starts a driver and returns the port it listens on.
///
/// A driver takes a free port of IPv4 and ends if another program has that number on IPv6, so it is started anew then.
fn start_driver<'a>(world: &'a World, driver: &Path, log: &Path) -> (Processes<'a>, String) {
    let to_log = format!("--log-path={}", log.display());
    for _ in 0..10 {
        let mut command = world.program(driver.to_str().unwrap(), &["--port=0", "--verbose", &to_log]);
        let driver = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut processes = Processes { world, driver };
        let mut lines = BufReader::new(processes.driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, port) = line.split_once("started successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let Some(port) = port else { continue };
        // It goes on to write.
        std::thread::spawn(move || lines.for_each(drop));
        return (processes, port);
    }
    panic!("no driver listens\n{}", std::fs::read_to_string(log).unwrap_or_default());
}

impl<'a> Browser<'a> {
    async fn start(world: &'a World, chromium: &Path, driver: &Path) -> Self {
        let log = world.path("chromedriver.log");
        let (processes, port) = start_driver(world, driver, &log);
        let mut arguments = vec![
            "--headless=new".to_owned(),
            format!("--user-data-dir={}", world.path("chromium").display()),
            "--window-size=1280,900".to_owned(),
        ];
        arguments.extend(
            [
                "force-prefers-reduced-motion",
                "no-first-run",
                "disable-background-networking",
                "disable-component-update",
                "disable-dev-shm-usage",
            ]
            .map(|name| format!("--{name}")),
        );
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox".to_owned());
        }
        let wanted = json!({
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let Value::Object(wanted) = wanted else { unreachable!() };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(wanted).connect(&format!("http://127.0.0.1:{port}")).await;
        let client = client.unwrap_or_else(|error| {
            panic!("{error}\n{}", std::fs::read_to_string(&log).unwrap_or_default());
        });
        let address = url::Url::parse(&first_address(world)).unwrap();
        let site = address.origin().ascii_serialization();
        Self { client, site, _processes: processes }
    }

    /// Opens a first address, and forgets what the page it leads to has said.
    pub(crate) async fn enter(&self, address: &str) {
        self.client.goto(address).await.unwrap();
        self.problems().await;
    }

    /// Opens a page of the site.
    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.site)).await.unwrap();
    }

    /// Runs a script in the page: the body of a function.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a script until it returns what is wanted, or until the deadline. Returns what it returned last.
    pub(crate) async fn last_of(&self, script: &str, wanted: &Value) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            // The page may be leaving while it is asked.
            let last = self.client.execute(script, Vec::new()).await.unwrap_or_default();
            if last == *wanted || Instant::now() >= end {
                return last;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until an expression is true in the page.
    pub(crate) async fn until(&self, what: &str, expression: &str) {
        let last = self.last_of(&format!("return {expression}"), &Value::Bool(true)).await;
        assert!(last == true, "{what} did not come, but {last}\n{}", self.text().await);
    }

    /// The text that the page shows.
    pub(crate) async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// The number of elements that a selector finds.
    pub(crate) async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.unwrap().len()
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    /// What the console has been told since the last call: errors, warnings, refusals by the content security policy.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let log = self.extension("se/log", json!({"type": "browser"})).await.unwrap();
        let told = list(&log).into_iter().filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        told.map(|entry| text(&entry["message"])).collect()
    }

    /// A command of the developer tools' protocol.
    pub(crate) async fn tools(&self, command: &str, params: Value) -> Value {
        self.extension("goog/cdp/execute", json!({"cmd": command, "params": params})).await.unwrap()
    }

    fn extension(&self, path: &'static str, body: Value) -> impl Future<Output = Result<Value, CmdError>> {
        self.client.issue_cmd(Extension(path, body))
    }

    /// Makes the page this wide, with light or dark colours.
    pub(crate) async fn look(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tools("Emulation.setDeviceMetricsOverride", size).await;
        let colours = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tools("Emulation.setEmulatedMedia", colours).await;
    }
}
