//! Who may not read: browsers without the address, and every other site in the browser that has it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use crate::browser::{Browser, first_address, with_browser};
use crate::world::{World, id};

/// A word of the only session.
const WORD: &str = "walruses";

fn world() -> World {
    let world = World::new();
    world.transcript("-work-shop", &id(1)).prompt("count the walruses").reply("There are two.");
    world.search(WORD);
    world
}

#[test]
fn an_address_opens_the_pages_once() {
    let world = world();
    with_browser(&world, async |browser| {
        let address = first_address(&world);
        let refused = async |what: &str| {
            let text = browser.text().await;
            assert!(text.contains("This address is not open to you"), "{what}: {text}");
        };
        browser.client.delete_all_cookies().await.unwrap();
        browser.open("/sessions").await;
        refused("without the cookie").await;
        browser.open("/enter").await;
        refused("without a token").await;
        browser.open("/enter?token=0123456789abcdef0123456789abcdef").await;
        refused("with a wrong token").await;
        browser.enter(&address).await;
        let shown = browser.client.current_url().await.unwrap();
        assert!(shown.query().is_none() && shown.path() == "/", "the token is gone from {shown}");
        browser.open("/sessions").await;
        assert!(browser.text().await.contains(WORD));
        browser.client.delete_all_cookies().await.unwrap();
        browser.enter(&address).await;
        refused("with a token used before").await;
    });
}

/// Answers every request with this page, on a free port, for as long as the test runs.
fn serve(page: String) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The browser may open connections that it does not use.
            let page = page.clone();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                if lines.any(|line| line.is_ok_and(|line| line.is_empty())) {
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n", page.len());
                    let _ = write!(&stream, "{head}Connection: close\r\n\r\n{page}");
                }
            });
        }
    });
    port
}

/// Tries everything that a page may try with another site, and says what came of it.
const TRIES: &str = r#"<!DOCTYPE html><title>stranger</title><script>
const site = "SITE";
const came = (element, at) => new Promise((done) => {
  element.onload = () => done("loaded"); element.onerror = () => done("refused");
  Object.assign(element, at); document.documentElement.append(element);
});
const read = (mode) => fetch(site + "/sessions", { mode, credentials: "include" }).then(
  (answer) => answer.text()).then((text) => text ? "read " + text : "refused", () => "refused");
(async () => {
  const results = {
    cors: await read("cors"), "no-cors": await read("no-cors"),
    image: await came(document.createElement("img"), { src: site + "/icon.svg" }),
    script: await came(document.createElement("script"), { src: site + "/page.js" }),
    style: await came(document.createElement("link"), { rel: "stylesheet", href: site + "/page.css" }),
    post: await fetch(site + "/sessions", { method: "POST", mode: "no-cors", credentials: "include" }).then(
      (answer) => answer.status ? "answered" : "refused", () => "refused"),
    stream: await new Promise((done) => {
      const stream = new EventSource(site + "/live", { withCredentials: true });
      stream.onopen = () => done("open"); stream.onerror = () => { stream.close(); done("refused"); };
    }),
  };
  const frame = document.createElement("iframe");
  await came(frame, { src: site + "/sessions" });
  try { results.frame = frame.contentDocument.body.innerText; } catch { results.frame = "refused"; }
  window.results = results;
})();
</script><iframe name=inner></iframe>
<form id=get action="SITE/sessions" target=inner></form><form id=post action="SITE/sessions" method=post target=inner></form>
<a id=link href="SITE/sessions">link</a>"#;

/// Lets a page at this host, on a port of its own, try to read the pages in the browser that may.
async fn is_refused(browser: &Browser<'_>, host: &str) {
    let port = serve(TRIES.replace("SITE", &browser.site));
    let stranger = format!("http://{host}:{port}/");
    browser.client.goto(&stranger).await.unwrap();
    browser.until("the results", "window.results !== undefined").await;
    let results = browser.run("return results").await;
    for (what, result) in results.as_object().unwrap() {
        // A frame that was refused shows the browser's own page, which nobody may read either.
        assert_eq!(result, "refused", "{host}: {what}");
    }
    for form in ["get", "post"] {
        browser.run(&format!("document.getElementById('{form}').submit()")).await;
        browser.client.clone().enter_frame(0).await.unwrap();
        browser.until("an answer", "document.readyState === 'complete'").await;
        assert!(!browser.text().await.contains(WORD), "{host}: {form}");
        browser.client.clone().enter_parent_frame().await.unwrap();
    }
    browser.click("#link").await;
    browser.until("the answer to a link", "location.port !== '' && document.title !== 'stranger'").await;
    assert!(!browser.text().await.contains(WORD), "{host}: a link\n{}", browser.text().await);
    // The person still may.
    browser.open("/sessions").await;
    assert!(browser.text().await.contains(WORD));
}

#[test]
fn other_sites_read_nothing() {
    let world = world();
    with_browser(&world, async |browser| {
        is_refused(browser, "127.0.0.1").await;
        is_refused(browser, "localhost").await;
        is_refused(browser, "other.localhost").await;
    });
}

#[test]
fn another_port_of_the_same_host_reads_nothing() {
    let world = world();
    with_browser(&world, async |browser| {
        let address = url::Url::parse(&browser.site).unwrap();
        is_refused(browser, address.host_str().unwrap()).await;
    });
}
