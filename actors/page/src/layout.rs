//! Shared by all pages: the frame, links, and the format of times, amounts and names.

use axum::response::Html;
use baton_conversation::printable::plain;
use baton_conversation::record::Timestamp;
use baton_protocol::{Agent, Zone};
use maud::{DOCTYPE, Markup, html};

/// The style sheet, served at [`STYLE_PATH`].
pub(crate) const STYLE: &str = include_str!("layout/page.css");
/// The script, served at [`SCRIPT_PATH`].
pub(crate) const SCRIPT: &str = include_str!("layout/page.js");
/// The icon, served at [`ICON_PATH`].
pub(crate) const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M3 13 13 3" stroke="#c07a28" stroke-width="4" stroke-linecap="round"/></svg>"##;
pub(crate) const ICON_PATH: &str = "/icon.svg";
pub(crate) const STYLE_PATH: &str = "/page.css";
pub(crate) const SCRIPT_PATH: &str = "/page.js";

/// The pages in the navigation: path and name.
const PAGES: &[(&str, &str)] = &[
    ("/", "Today"),
    ("/sessions", "Sessions"),
    ("/projects", "Projects"),
    ("/graph", "Graph"),
    ("/workflows", "Workflows"),
    ("/costs", "Costs"),
    ("/replay", "Replay"),
    ("/health", "Health"),
];

/// Longest query in the title of a page, in characters.
const TITLE_CHARS: usize = 80;

/// A whole page. `path` is that of the page in the navigation to which it belongs.
pub(crate) fn page(path: &str, title: &str, body: &Markup) -> Html<String> {
    let title: String = title.chars().take(TITLE_CHARS).collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title))
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    a.brand href="/" { "Baton" }
                    nav aria-label="Pages" {
                        @for (target, name) in PAGES {
                            a href=(target) aria-current=[(*target == path).then_some("page")] { (name) }
                        }
                    }
                    form.find action="/sessions" role="search" {
                        input #find type="search" name="q" placeholder="Search sessions  ( / )" aria-label="Search sessions"
                            autocomplete="off" spellcheck="false";
                    }
                }
                main #content tabindex="-1" { (body) }
                p #lost role="status" hidden { "Baton no longer answers. Run " code { "baton ui" } " to open these pages again." }
            }
        }
    };
    Html(markup.into_string())
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Baton" }
            link rel="icon" href=(ICON_PATH);
            link rel="stylesheet" href=(STYLE_PATH);
            script src=(SCRIPT_PATH) defer {}
        }
    }
}

/// The page for browsers without the cookie. It loads nothing, because every request would be refused.
pub(crate) fn locked_page() -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Baton" }
            }
            body {
                h1 { "This address is not open to you" }
                p { "An address works once and for a minute, in one browser. Run " code { "baton ui" } " for a new one." }
            }
        }
    };
    Html(markup.into_string())
}

/// The page of a failed call.
pub(crate) fn failure_page(message: &str) -> Html<String> {
    page(
        "",
        "Not shown",
        &html! {
            h1 { "This cannot be shown" }
            p.problem { (message) }
            p { a href="/sessions" { "All sessions" } }
        },
    )
}

/// Writes times in a person's zone.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) zone: Zone,
    pub(crate) now: Timestamp,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Clock {
    /// A time given in RFC 3339, in the person's zone: `10:05` today, `yesterday 10:05`, else with its day.
    pub(crate) fn time(self, at: Option<&str>) -> Markup {
        let Some(text) = at.filter(|text| Timestamp::parse(text).is_some()) else { return html! {} };
        html! { time datetime=(text) title=(text) { (self.text(text)) } }
    }

    /// A time as [`Clock::time`] shows it; empty if it is none.
    pub(crate) fn text(self, at: &str) -> String {
        let Some(time) = Timestamp::parse(at) else { return String::new() };
        let (day, clock) = self.day_and_time(time);
        if day == self.day_and_time(self.now).0 {
            clock
        } else if day == self.day_and_time(self.now.plus_ms(-DAY_MS)).0 {
            format!("yesterday {clock}")
        } else {
            format!("{day} {clock}")
        }
    }

    /// From one time to another: each with its day, unless both are on one.
    pub(crate) fn span(self, from: Option<&str>, to: Option<&str>) -> Markup {
        let time = |at: Option<&str>| at.and_then(Timestamp::parse).map(|at| self.day_and_time(at));
        let (Some((day, from)), Some((last, to))) = (time(from), time(to)) else { return html! {} };
        html! { (day) " " (from) " to " @if last != day { (last) " " } (to) }
    }

    /// The day of a time on the person's clock.
    pub(crate) fn day(self, time: Timestamp) -> String {
        self.day_and_time(time).0
    }

    /// Day and time of day on the person's clock: `2026-03-14`, `10:05`.
    fn day_and_time(self, time: Timestamp) -> (String, String) {
        let text = Timestamp(self.zone.wall(time.0)).to_string();
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
        (part(0..10), part(11..16))
    }
}

/// An amount of US dollars, in cents or with four decimals below 10 cents.
pub(crate) fn usd(amount: f64) -> String {
    if amount > 0.0 && amount < 0.1 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

/// A number with separators between groups of three digits.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A number of bytes.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1_000_000 { format!("{} KB", bytes.div_ceil(1_000)) } else { format!("{:.1} MB", bytes as f64 / 1e6) }
}

/// A span of time in its largest two units: `2 h 5 min`.
pub(crate) fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// The last part of a directory's path, with the whole path where a pointer rests.
pub(crate) fn directory(path: Option<&str>) -> Markup {
    let Some(path) = path else { return html! {} };
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().filter(|name| !name.is_empty());
    html! { span.project title=(plain(path)) { (plain(name.unwrap_or(path))) } }
}

/// Lines added and removed; nothing if neither is known.
pub(crate) fn changed_lines(added: u32, removed: u32) -> Markup {
    html! { @if (added, removed) != (0, 0) {
        span.good { "+" (number(added.into())) } " " span.bad { "−" (number(removed.into())) }
    } }
}

/// An agent, by its name on the wire.
pub(crate) fn agent(name: Option<&str>) -> Markup {
    html! { @if let Some(name) = name { span.agent { (Agent::title_of(name)) } } }
}

/// The state of a session, unless it is the usual one: ended and indexed.
pub(crate) fn state(state: &str, is_open: bool) -> Markup {
    html! {
        @match (state, is_open) {
            ("indexed", false) => {},
            ("indexed" | "active", true) => span.state.active { "running" },
            _ => span.state .(state) { (state) },
        }
    }
}

/// The address of a page with query parameters.
pub(crate) fn address(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    for (index, (name, value)) in parameters.iter().enumerate() {
        address.push(if index == 0 { '?' } else { '&' });
        address.push_str(name);
        address.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
                _ => address.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_persons_clock() {
        let now = Timestamp::parse("2026-03-14T23:30:00Z").unwrap();
        let clock = Clock { zone: Zone::parse("CET-1").unwrap(), now };
        for (at, shown) in [
            ("2026-03-14T23:05:00Z", "00:05"),
            ("2026-03-14T10:05:00Z", "yesterday 11:05"),
            ("2026-03-12T10:05:00Z", "2026-03-12 11:05"),
        ] {
            let markup = clock.time(Some(at)).into_string();
            assert!(markup.contains(&format!(">{shown}<")), "{markup}");
        }
        assert_eq!(clock.time(Some("soon")).into_string() + &clock.time(None).into_string(), "");
    }

    #[test]
    fn numbers_are_grouped() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1\u{202f}000"), (1_234_567, "1\u{202f}234\u{202f}567")] {
            assert_eq!(number(count), text);
        }
    }

    #[test]
    fn an_address_holds_any_text() {
        assert_eq!(address("/file", &[("path", "a b/ü&?.rs"), ("n", "1")]), "/file?path=a%20b%2F%C3%BC%26%3F.rs&n=1");
    }

    #[test]
    fn hostile_text_is_only_text() {
        let body = html! { p { (plain("<script>\u{202e}\u{1b}[2J\nnext")) } (directory(Some("/a/<b>"))) };
        let page = page("/", "</title><script>", &body).0;
        assert!(page.contains("&lt;script&gt;\u{fffd}\u{fffd}[2J\nnext"), "{page}");
        assert!(page.contains("&lt;/title&gt;") && page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    }
}
