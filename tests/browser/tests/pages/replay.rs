//! Replay: the page about the home's log, and the file that `baton replay --html` writes.

use serde_json::json;

use crate::browser::with_browser;
use crate::world::{World, id};

fn world() -> World {
    let world = World::new();
    for number in 1..=3 {
        world.transcript("-work-shop", &id(number)).prompt(&format!("walrus {number}")).reply("Done.");
    }
    world.search("walrus");
    world.close(&id(2));
    world
}

#[test]
fn a_slider_leads_through_the_log() {
    let world = world();
    with_browser(&world, async |browser| {
        browser.open("/replay?at=1").await;
        assert!(browser.text().await.contains("Event 1:"), "{}", browser.text().await);
        browser.click("nav[aria-label=Positions] a").await;
        browser.until("the next event", "document.body.innerText.includes('Event 2:')").await;
        let slide = "const slider = document.getElementById('at'); slider.value = 5;
            slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change'));";
        browser.run(slide).await;
        browser.until("the fifth event", "document.body.innerText.includes('Event 5:')").await;
        assert_eq!(browser.count("tr.changed").await, 1, "the session of the event is marked");
        browser.client.back().await.unwrap();
        browser.until("the second event", "document.body.innerText.includes('Event 2:')").await;
        assert_eq!(browser.problems().await, [""; 0]);
    });
}

#[test]
fn a_file_shows_the_log_offline() {
    let world = world();
    let (export, page) = (world.path("log.jsonl"), world.path("log.html"));
    let (export, page) = (export.to_str().unwrap(), page.to_str().unwrap());
    world.ok(&["log", "export", "-o", export]);
    world.ok(&["replay", export, "--html", page]);
    let again = world.run(&["replay", export, "--html", page]);
    assert!(again.code != 0 && again.err.contains("--force"), "{}", again.err);
    world.ok(&["replay", export, "--html", page, "--force"]);
    let written = std::fs::read_to_string(page).unwrap();
    assert!(!written.contains("walrus") && !written.contains("Done."), "no conversation is in it");
    let with_text = world.path("said.html");
    world.ok(&["replay", export, "--html", with_text.to_str().unwrap(), "--with-text"]);
    world.stop();
    with_browser(&world, async |browser| {
        browser.client.goto(&format!("file://{page}")).await.unwrap();
        browser.problems().await;
        browser.client.refresh().await.unwrap();
        browser.until("the last event", "events.length > 10 && at === events.length - 1").await;
        assert!(browser.text().await.contains("3 sessions"), "{}", browser.text().await);
        browser.click("#first").await;
        browser.until("the first event", "at === 0 && location.hash === '#1'").await;
        browser.run("slider.value = 4; slider.dispatchEvent(new Event('input'))").await;
        assert_eq!(browser.run("return events[at].position").await, 5);
        browser.click("#change").await;
        let fits = "const [a, b] = [events[4], events[at]]; return a.stream === b.stream && b.before !== b.after";
        assert_eq!(browser.run(fits).await, json!(true));
        assert_eq!(browser.problems().await, [""; 0], "nothing was refused or failed");
        browser.client.goto(&format!("file://{}", with_text.display())).await.unwrap();
        let said = "events.length > 10 && document.getElementById('said').innerText.includes('walrus')";
        browser.until("what was said", said).await;
        assert_eq!(browser.problems().await, [""; 0], "nothing was refused or failed");
    });
}
