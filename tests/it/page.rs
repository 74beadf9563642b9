//! `baton ui`: the pages, over HTTP as a browser asks for them, and who may read them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::demo::processes_of;
use crate::world::{World, id, wait};

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// A first address, taken apart.
pub(crate) struct Address {
    host: String,
    port: u16,
    path: String,
}

/// An answer: status, head in lower case, body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Address {
    pub(crate) fn new(world: &World) -> Self {
        Self::parse(&world.json(&["ui"]))
    }

    fn parse(asked: &Value) -> Self {
        assert_eq!(asked["valid_seconds"], 60);
        let rest = asked["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let (name, port) = host.split_once(':').unwrap();
        let (random, local) = name.split_once('.').unwrap();
        assert!(local == "localhost" && random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        Self { host: host.to_owned(), port: port.parse().unwrap(), path: format!("/{path}") }
    }

    /// Sends a request with these header lines and returns the answer.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(ANSWER)).unwrap();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "{method} {path} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n").unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Uses the address as a browser does, and returns the cookie.
    pub(crate) fn enter(&self) -> String {
        let entered = self.send("GET", &self.path, &[("Host", &self.host)]);
        assert_eq!(entered.status, 303, "{}", entered.body);
        assert!(entered.head.contains("\r\nlocation: /\r\n"), "{}", entered.head);
        let cookie = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let (value, attributes) = cookie.split_once(';').unwrap();
        assert_eq!(attributes.trim(), "path=/; httponly; samesite=strict");
        value.to_owned()
    }

    pub(crate) fn get(&self, path: &str, cookie: &str) -> Answer {
        let answer = self.send("GET", path, &[("Host", &self.host), ("Cookie", cookie)]);
        for header in [
            "content-security-policy: default-src 'none'; ",
            "frame-ancestors 'none'",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(answer.head.contains(header), "{path}: {header} in {}", answer.head);
        }
        answer
    }
}

#[test]
fn an_address_works_once_and_only_for_the_browser_that_used_it() {
    let world = World::new();
    world.transcript("-work-shop", &id(1)).prompt("rotate the refresh token").reply("Done.");
    let address = Address::new(&world);
    let cookie = address.enter();
    assert_eq!(address.send("GET", &address.path, &[("Host", &address.host)]).status, 403, "used twice");
    let wrong = format!("{}0", &address.path[..address.path.len() - 1]);
    assert_eq!(address.send("GET", &wrong, &[("Host", &address.host)]).status, 403, "a wrong token");
    assert_eq!(address.send("GET", "/enter", &[("Host", &address.host)]).status, 403, "no token");

    let host = ("Host", address.host.as_str());
    let own = ("Cookie", cookie.as_str());
    assert_eq!(address.send("GET", "/health", &[host, own]).status, 200);
    let other_host = format!("localhost:{}", address.port);
    let origin = format!("http://{}", address.host);
    let other_port = format!("http://{}", address.host.replace(&format!(":{}", address.port), ":1"));
    let refused: [(&str, &[(&str, &str)]); 9] = [
        ("no cookie", &[host]),
        ("a wrong cookie", &[host, ("Cookie", "baton=0")]),
        ("no host", &[own]),
        ("another name of this machine", &[("Host", &other_host), own]),
        ("two hosts", &[host, ("Host", &other_host), own]),
        ("another origin", &[host, own, ("Origin", "http://example.com")]),
        ("another port of the same host", &[host, own, ("Origin", &other_port)]),
        ("another site", &[host, own, ("Sec-Fetch-Site", "cross-site")]),
        ("another port, as browsers tell it", &[host, own, ("Sec-Fetch-Site", "same-site")]),
    ];
    for (what, headers) in refused {
        let answer = address.send("GET", "/health", headers);
        assert!(matches!(answer.status, 400 | 403), "{what}: {}", answer.status);
        assert!(!answer.body.contains("Health"), "{what}");
    }
    for allowed in [[("Origin", origin.as_str())], [("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")]] {
        assert_eq!(address.send("GET", "/health", &[&[host, own][..], &allowed].concat()).status, 200, "{allowed:?}");
    }
    for method in ["POST", "PUT", "DELETE"] {
        let answer = address.send(method, "/health", &[host, own, ("Content-Length", "0")]);
        assert_eq!(answer.status, 405, "{method}: the pages only read");
    }
    // Both addresses belong to one server, and each works for the browser that used it.
    let second = Address::new(&world);
    assert_eq!(second.host, address.host);
    assert_eq!(second.get("/health", &second.enter()).status, 200);
}

#[test]
fn the_cookie_is_void_when_the_daemon_has_ended() {
    let world = World::new();
    let address = Address::new(&world);
    let cookie = address.enter();
    world.ok(&["stop"]);
    assert!(TcpStream::connect(("127.0.0.1", address.port)).is_err(), "nothing answers there any more");
    let next = Address::new(&world);
    assert_ne!(next.host, address.host);
    assert_eq!(next.send("GET", "/health", &[("Host", &next.host), ("Cookie", &cookie)]).status, 403);
}

#[test]
fn the_pages_show_what_the_commands_tell() {
    let world = World::new();
    let hostile = "find <script>alert(1)</script> in the walrus";
    world.transcript("-work-shop", &id(1)).prompt(hostile).reply("We chose the lighthouse because it is <b>tall</b>.");
    world.close(&id(1));
    let address = Address::new(&world);
    let cookie = address.enter();
    let page = |path: &str| {
        let answer = address.get(path, &cookie);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(!answer.body.contains("<script>alert") && !answer.body.contains("<b>tall"), "{path}: escaped");
        answer.body
    };
    assert!(page("/sessions").contains(&format!("/session/{}", id(1))));
    let found = page("/sessions?q=walrus");
    assert!(found.contains("<mark>walrus</mark>") && found.contains("&lt;script&gt;"), "{found}");
    let session = page(&format!("/session/{}", id(1)));
    assert!(session.contains("We chose the lighthouse because it is &lt;b&gt;tall"), "{session}");
    assert!(session.contains("Why it ended") && session.contains("events"), "{session}");
    let at_line = page(&format!("/session/{}?line=2", id(1)));
    assert!(at_line.contains("hit\" id=\"line-2\""), "{at_line}");
    assert!(page("/health").contains("The daemon works."));
    let replay = page("/replay?at=1");
    assert!(replay.contains("Event 1: ") && replay.contains("Sessions as of this position"), "{replay}");
    assert!(page("/replay").contains("<output") && page("/replay?at=&session=").contains("<output"));
    for path in ["/replay?at=nonsense", "/costs?days=-1"] {
        let answer = address.get(path, &cookie);
        assert!(answer.status == 400 && answer.body.contains("has to be a number"), "{path}: {}", answer.body);
    }
    assert!(session.contains("cd /srv/-work-shop &amp;&amp; claude --resume"), "{session}");
    // What a form cannot find or understand is said beside it.
    let beside = page("/sessions?project=-work");
    assert!(beside.contains("these begin so: /srv/-work-shop") && beside.contains("<form"), "{beside}");
    let unnamed = address.get("/project?name=-work", &cookie);
    let is_linked = unnamed.body.contains("href=\"/project?name=%2Fsrv%2F-work-shop\"");
    let is_said = unnamed.body.contains("these begin so: /srv/-work-shop");
    assert!(unnamed.status == 404 && is_said && is_linked, "{}", unnamed.body);
    for path in ["/sessions?since=soon", "/sessions?q=walrus&since=soon", "/costs?until=soon"] {
        let beside = page(path);
        assert!(beside.contains("is not a date") && beside.contains("<form"), "{path}: {beside}");
    }
    let this_week = page("/sessions?q=walrus&since=last%20week");
    assert!(this_week.contains("<mark>walrus</mark>"), "{this_week}");
    assert!(page("/sessions?q=walrus&since=last%20month&until=last%20week").contains("Nothing was found."));
    assert!(page("/workflows").contains("Workflows"));
    let costs = page("/costs?by=model&days=7&agent=claude-code");
    assert!(costs.contains("No model was called.") && costs.contains("Your agents, at list prices"), "{costs}");
    let missing = address.get("/session/ffffffff", &cookie);
    assert!(missing.status == 404 && missing.body.contains("This cannot be shown"), "{}", missing.body);
    assert_eq!(address.get("/nowhere", &cookie).status, 404);
    assert!(address.get("/page.css", &cookie).head.contains("content-type: text/css"));
}

#[test]
fn the_line_that_is_linked_is_marked_itself_and_its_fold_is_open() {
    let world = World::new();
    let mut transcript = world.transcript("-work-shop", &id(1));
    transcript.prompt("count the okapi").reply("I look.");
    transcript.call("c1", "Bash", serde_json::json!({ "command": "wc -l okapi" })).result("c1", "42 okapi", false);
    transcript.reply("There are 42.");
    world.close(&id(1));
    let address = Address::new(&world);
    let cookie = address.enter();
    let at = |line: u32| address.get(&format!("/session/{}?line={line}", id(1)), &cookie).body;
    let folded = at(1);
    assert!(folded.contains("hit\" id=\"line-1\"") && !folded.contains("<details class=\"tool\" open"), "{folded}");
    let result = at(4);
    let (_, marked) = result.split_once("<div class=\"hit\">").unwrap_or_else(|| panic!("{result}"));
    assert!(marked.starts_with("<details class=\"tool\" open>") && marked.contains("Bash wc -l okapi: ok"), "{result}");
}

#[test]
fn the_pages_of_the_examples_are_there_until_their_command_ends() {
    let world = World::new();
    let mut command = world.spawn(&["--examples", "ui", "--json"]);
    let mut line = String::new();
    BufReader::new(command.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = Address::parse(&serde_json::from_str(&line).unwrap());
    let sessions = address.get("/sessions", &address.enter());
    assert!(sessions.body.contains("ledger-api"), "{}", sessions.body);
    command.kill().unwrap();
    command.wait().unwrap();
    assert!(wait(|| processes_of(&world).is_empty()), "its daemon ends with it");
    assert!(!world.home().exists(), "nothing of the user's home was touched");
}
