//! What the pages draw: each without an error, with a title and one heading, whatever the transcripts contain.

use std::path::Path;

use fantoccini::Locator;

use crate::browser::{Browser, with_browser};
use crate::world::{World, copy, id, text};

/// The example sessions of the checkout.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../replay-fixtures/transcripts/claude/projects");
/// Sessions that the test with many of them generates; another number can be given in `BATON_BROWSER_SESSIONS`.
const MANY: u32 = 300;
/// The narrowest screen on which nothing may stick out.
const NARROW: u32 = 320;

/// A world with the example sessions.
pub(crate) fn examples() -> World {
    let world = World::new();
    copy(Path::new(EXAMPLES), &world.projects());
    world
}

/// The addresses of the pages about these sessions.
pub(crate) fn addresses(world: &World) -> Vec<String> {
    let sessions = world.sessions();
    assert!(!sessions.is_empty(), "no sessions in {EXAMPLES}");
    let project: String = url::form_urlencoded::byte_serialize(text(&sessions[0]["project"]).as_bytes()).collect();
    let sessions = sessions.iter().map(|session| format!("/session/{}", text(&session["session_id"])));
    let pages = [
        "/",
        "/sessions",
        "/sessions?q=refresh+token",
        "/sessions?q=nothing-has-this-word",
        "/workflows",
        "/costs",
        "/health",
        "/replay",
        "/replay?at=3",
        "/projects",
        "/graph",
        "/graph?about=tokens",
        "/file?path=src/auth.rs",
        "/file",
    ];
    pages.map(str::to_owned).into_iter().chain([format!("/project?name={project}")]).chain(sessions).collect()
}

/// Opens a page and checks what is true of every page.
async fn sound(browser: &Browser<'_>, path: &str) {
    browser.open(path).await;
    let title = browser.client.title().await.unwrap();
    let (name, end) = title.rsplit_once(" · ").unwrap_or_else(|| panic!("{path}: {title:?}"));
    assert!(!name.is_empty() && end == "Baton", "{path}: {title:?}");
    let headings = browser.client.find_all(Locator::Css("h1")).await.unwrap();
    assert_eq!(headings.len(), 1, "{path}: one heading");
    assert!(!headings[0].text().await.unwrap().is_empty(), "{path}: an empty heading");
    let doubled = "const ids = [...document.querySelectorAll('[id]')].map((part) => part.id);
        return ids.filter((id, index) => ids.indexOf(id) !== index);";
    assert_eq!(browser.run(doubled).await, serde_json::json!([]), "{path}: two elements with one id");
    assert_eq!(browser.problems().await, [""; 0], "{path}: said in the console");
}

#[test]
fn the_pages_about_the_examples_are_sound() {
    let world = examples();
    world.search("token");
    with_browser(&world, async |browser| {
        for path in addresses(&world) {
            sound(browser, &path).await;
        }
        browser.look(NARROW, 640, "light").await;
        for path in addresses(&world) {
            browser.open(&path).await;
            let out = "const sticks = (part) => part.getBoundingClientRect().right > innerWidth && !part.closest('.scroll, .skip');
                if (document.documentElement.scrollWidth <= innerWidth) return [];
                return [...document.querySelectorAll('body *')].filter((part) => sticks(part) && ![...part.children].some(sticks))
                    .map((part) => `${part.getBoundingClientRect().right}: ${part.outerHTML.slice(0, 200)}`);";
            // A page that was just opened may still be laid out for the screen before.
            let (last, none) = (browser.last_of(out, &serde_json::json!([])).await, serde_json::json!([]));
            assert_eq!(last, none, "{path} is wider than the screen");
        }
    });
}

#[test]
fn many_sessions_are_read_page_by_page_and_back() {
    let world = World::new();
    let count = std::env::var("BATON_BROWSER_SESSIONS").map_or(MANY, |count| count.parse().unwrap());
    for number in 1..=count {
        let mut transcript = world.transcript("-work-shop", &id(number)).minutes_ago(i64::from(number) + 5);
        transcript.prompt(&format!("the walrus number {number}")).reply("Done.");
    }
    assert_eq!(world.search("walrus")["hits"].as_array().map(Vec::is_empty), Some(false));
    with_browser(&world, async |browser| {
        sound(browser, "/sessions").await;
        let mut pages = vec![browser.client.current_url().await.unwrap()];
        let mut seen = browser.count("ul.rows a.title").await;
        while browser.count("a[rel=next]").await > 0 {
            browser.click("a[rel=next]").await;
            pages.push(browser.client.current_url().await.unwrap());
            seen += browser.count("ul.rows a.title").await;
        }
        assert_eq!(seen, count as usize, "on {} pages", pages.len());
        assert_eq!(browser.problems().await, [""; 0]);
        // The browser itself remembers no more than some.
        for page in pages.iter().rev().skip(1).take(20) {
            browser.client.back().await.unwrap();
            browser.until("the page before", &format!("location.href === '{page}'")).await;
            assert!(browser.count("ul.rows a.title").await > 0, "{page}");
        }
        browser.client.forward().await.unwrap();
        browser.until("the page after", "location.search.includes('cursor=')").await;
        sound(browser, "/sessions?q=walrus").await;
    });
}

#[test]
fn texts_of_a_transcript_are_only_texts() {
    let world = World::new();
    let hostile = [
        "<script>document.title = 'taken'</script>",
        "</title><img src=x onerror=\"document.title='taken'\">",
        "\u{202e}reversed\u{1b}[2J & \"quoted\" 'single' <b>bold</b>",
        "javascript:document.title='taken'",
        "</script><svg onload=document.title='taken'>",
    ];
    for (number, hostile) in (1..).zip(hostile) {
        let mut transcript = world.transcript("-work-shop", &id(number)).in_directory(&format!("/srv/{hostile}"));
        transcript.prompt(hostile).reply(hostile);
        transcript.call("c1", "Bash", serde_json::json!({"command": hostile, hostile: hostile}));
        transcript.result("c1", hostile, true).reply(hostile);
    }
    world.search("document");
    with_browser(&world, async |browser| {
        for path in addresses(&world).into_iter().chain(["/sessions?q=%3Cscript%3Edocument".to_owned()]) {
            sound(browser, &path).await;
            assert!(!browser.client.title().await.unwrap().starts_with("taken"), "{path}");
            assert_eq!(browser.count("main script, main img, svg[onload], [href^='javascript']").await, 0, "{path}");
            let bold =
                browser.run("return [...document.querySelectorAll('b')].some((b) => b.textContent === 'bold')").await;
            assert_eq!(bold, false, "{path}");
        }
        browser.open(&format!("/session/{}", id(1))).await;
        assert!(browser.text().await.contains(hostile[0]), "it is shown as it was written");
    });
}

#[test]
fn a_link_to_a_line_leads_there() {
    let world = World::new();
    let mut transcript = world.transcript("-work-shop", &id(1));
    for number in 0..300 {
        transcript
            .prompt(&format!("question {number}"))
            .reply(&format!("answer {number}\n\n{}", "and more\n".repeat(8)));
    }
    world.search("question");
    with_browser(&world, async |browser| {
        browser.open(&format!("/session/{}?line=300", id(1))).await;
        assert_eq!(browser.count(".hit").await, 1);
        let visible = "(() => { const box = document.querySelector('#line-300.hit').getBoundingClientRect();
            return box.top >= 0 && box.bottom <= innerHeight; })()";
        browser.until("the line in view", visible).await;
        // To the start and to the end, window by window.
        let up = "(scrollTo(0, 0), document.getElementById('line-1') !== null)";
        browser.until("the first line", up).await;
        let down = "(scrollTo(0, document.documentElement.scrollHeight), document.getElementById('line-600') !== null)";
        browser.until("the last line", down).await;
        let few = "document.querySelectorAll('.message').length <= 400";
        browser.until("a page without the messages that are far away", few).await;
        browser.click("#line-600 .who a").await;
        browser.until("the address of the last line", "location.search === '?line=600'").await;
        browser.client.back().await.unwrap();
        browser.until("the line before", "location.search === '?line=300'").await;
        browser.client.forward().await.unwrap();
        browser.until("the line after", "location.search === '?line=600'").await;
        assert_eq!(browser.problems().await, [""; 0]);
    });
}
