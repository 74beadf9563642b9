//! What open tabs do while sessions go on and the daemon comes and goes.

use fantoccini::Locator;
use serde_json::json;

use crate::browser::{first_address, with_browser};
use crate::world::{World, id};

#[test]
fn a_page_shows_what_is_written_meanwhile() {
    let world = World::new();
    let mut transcript = world.transcript("-work-shop", &id(1));
    transcript.prompt("count the walruses").reply("There are two.");
    transcript.call("t1", "Bash", json!({"command": "count walruses"}));
    world.search("walruses");
    with_browser(&world, async |browser| {
        browser.open(&format!("/session/{}", id(1))).await;
        let call = "document.querySelector('details.tool summary').innerText";
        browser.until("the call", &format!("{call}.includes('no result')")).await;
        browser.run("window.same = true").await;
        browser.until("the event stream", "source !== null && source.readyState === 1").await;
        transcript.result("t1", "two", false);
        transcript.prompt("and the lighthouses?").reply("Only one lighthouse is left.");
        // The account of the session above the conversation is renewed by itself, and may be first.
        let said = "[...document.querySelectorAll('.message.assistant')].map((message) => message.innerText)";
        browser.until("the reply", &format!("{said}.some((text) => text.includes('Only one lighthouse'))")).await;
        assert_eq!(browser.run("return window.same").await, true, "without loading the page again");
        let copies = browser.run("return document.querySelectorAll('.message.assistant').length").await;
        assert_eq!(copies, 3, "each message once: {}", browser.text().await);
        browser.until("the call's result", &format!("{call}.includes('ok')")).await;

        browser.open("/sessions").await;
        browser.run("window.same = true").await;
        browser.until("the event stream", "source !== null && source.readyState === 1").await;
        world.transcript("-work-shop", &id(2)).prompt("feed the pelican").reply("Fed.");
        world.search("pelican");
        browser.until("the new session", "document.body.innerText.includes('eed the pelican')").await;
        assert_eq!(browser.run("return window.same").await, true, "without loading the page again");
        assert_eq!(browser.problems().await, [""; 0]);
    });
}

#[test]
fn a_hidden_tab_closes_its_stream_and_a_second_tab_needs_no_second_address() {
    let world = World::new();
    world.transcript("-work-shop", &id(1)).prompt("count the walruses").reply("There are two.");
    world.search("walruses");
    with_browser(&world, async |browser| {
        browser.open("/sessions").await;
        browser.until("the event stream", "source !== null && source.readyState === 1").await;
        browser.run("window.first = source").await;
        let (one, two) = (browser.client.window().await.unwrap(), browser.client.new_window(true).await.unwrap());
        browser.client.switch_to_window(two.handle).await.unwrap();
        browser.open("/health").await;
        browser.until("the second tab's stream", "source !== null && source.readyState === 1").await;
        browser.client.switch_to_window(one).await.unwrap();
        // Where the tabs of a browser without a screen are all visible, the tab is told that it is hidden.
        let hide = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
            document.dispatchEvent(new Event('visibilitychange'));";
        browser.run(hide).await;
        browser.until("the end of the stream", "source === null && first.readyState === 2").await;
        world.transcript("-work-shop", &id(2)).prompt("feed the pelican").reply("Fed.");
        world.search("pelican");
        browser.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))").await;
        browser.until("what came meanwhile", "document.body.innerText.includes('eed the pelican')").await;
        browser.until("a stream again", "source !== null && source.readyState === 1").await;
    });
}

#[test]
fn a_tab_says_that_the_daemon_is_gone() {
    let world = World::new();
    world.transcript("-work-shop", &id(1)).prompt("count the walruses").reply("There are two.");
    world.search("walruses");
    with_browser(&world, async |browser| {
        browser.open("/sessions").await;
        browser.until("the event stream", "source !== null && source.readyState === 1").await;
        let lost = browser.client.find(Locator::Css("#lost")).await.unwrap();
        assert!(!lost.is_displayed().await.unwrap());
        world.stop();
        browser.until("the banner", "!document.getElementById('lost').hidden").await;
        assert!(lost.is_displayed().await.unwrap() && lost.text().await.unwrap().contains("baton ui"));
        // Another daemon has another name and other secrets.
        let again = first_address(&world);
        assert!(!again.starts_with(&browser.site), "{again}");
        browser.enter(&again).await;
        browser.run("location.assign('/sessions')").await;
        browser.until("the pages", "document.body.innerText.includes('ount the walruses')").await;
    });
}
