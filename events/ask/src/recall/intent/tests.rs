use super::*;

/// 2026-11-20T10:00:00Z, a Friday.
const NOW: Timestamp = Timestamp(1_795_168_800_000);

fn projects() -> Vec<String> {
    ["ledger-api", "harbor-ui", "shop", "ledger-api-client"].map(str::to_owned).to_vec()
}

fn asked(text: &str) -> Intent {
    read(text, &Context { projects: &projects(), now: NOW, zone: Zone::UTC })
}

#[test]
fn kinds_are_known_by_plain_words() {
    let check = |text: &str, kinds: &str, about: &str| {
        let asked = asked(text);
        let names: Vec<&str> = asked.kinds.iter().map(|kind| kind.as_str()).collect();
        assert_eq!((names.join(" ").as_str(), asked.subject().as_str()), (kinds, about), "{text}");
    };
    check("what were we working on last time?", "latest", "");
    check("What did we do in the last session", "latest", "");
    check("where did I leave off with the parser", "latest", "parser");
    check("why did we choose sled", "decisions", "sled");
    check("Why was SQLite chosen over sled?", "decisions", "sqlite sled");
    check("what did we decide about retries", "decisions", "retries");
    check("how did we solve this error before", "solved", "");
    check("how did we solve this error last time", "solved", "");
    check("how did we fix error E0382", "solved", "e0382");
    check("which approach failed", "failed", "");
    check("which tests failed", "failed", "tests");
    check("what didn't work for the cache", "failed", "cache");
    check("what have we already tried for the flaky upload", "failed", "flaky upload");
    check("what does the user prefer", "preferences", "");
    check("user preferences for tests", "preferences", "tests");
    check("what's the user's style", "preferences", "");
    check("which files belong to this work", "files", "");
    check("which files were changed for the login", "files", "login");
    check("which files belong to the webhooks work", "files", "webhooks");
    check("what is still open", "open", "");
    check("what's left to do on billing", "open", "billing");
    check("any TODOs?", "open", "");
    check("what must still be tested with the winch", "open", "winch");
    check("what is still to check on billing", "open", "billing");
    check("next steps", "open", "");
    for question in [
        "was ist noch offen",
        "Was steht noch aus?",
        "qu'est-ce qui reste ?",
        "que reste-t-il à faire",
        "¿Qué queda pendiente?",
        "que queda pendiente",
        "o que falta fazer?",
        "Что осталось сделать?",
        "还有什么没做",
        "まだ残っていますか",
    ] {
        check(question, "open", "");
    }
    check("was ist beim Export noch offen", "open", "export");
    check("Warum kamen manche Einträge doppelt vor, und was wurde dagegen getan?", "decisions", "einträge doppelt");
    check("Pourquoi l'index est-il si lent ?", "decisions", "index lent");
    check("为什么用缓存", "decisions", "缓存");
    for question in [
        "wo haben wir aufgehört?",
        "où en étions-nous ?",
        "onde paramos",
        "где мы остановились",
        "どこまで進みましたか",
    ] {
        check(question, "latest", "");
    }
    check("was haben wir zu Skills entschieden", "decisions", "skills");
    check("как мы исправили duplicate key", "solved", "duplicate key");
    check("skills について何を決めましたか", "decisions", "skills");
    check("Como foi resolvido o erro MIME?", "solved", "erro mime");
    check("По какой причине убрали dialog?", "decisions", "убрали dialog");
    check("remediation 还需要做什么？", "open", "remediation");
    check("what else needs doing?", "open", "");
    check("what fixed the MIME error?", "solved", "mime");
    check("what made us drop the dialog", "decisions", "drop dialog");
    // Words that only look like signs.
    check("refresh token race", "", "refresh token race");
    check("open the database", "", "open database");
    check("how to do pagination", "", "pagination");
    check("the todo app", "", "todo app");
    check("pending order state machine", "", "pending order state machine");
    check("remaining stock", "", "remaining stock");
    check("choice field in the form", "", "choice field form");
    check("reason code of the order", "", "reason code order");
    check("unresolved import in main.rs", "", "unresolved import main rs");
    check("authentication failed for user postgres", "", "authentication failed user postgres");
    // The subject is kept.
    check("why did the user session time change", "decisions", "user session time change");
    check("fix the file list", "", "fix file list");
    check("", "", "");
}

#[test]
fn projects_that_are_named_are_no_words_of_the_question() {
    let check = |text: &str, named: &str, about: &str, search: &str| {
        let asked = asked(text);
        let names = match &asked.named {
            Named::None => String::new(),
            Named::Here => "here".to_owned(),
            Named::Called { names, .. } => names.join(" "),
        };
        let told = (names.as_str(), asked.subject(), asked.search.as_str());
        assert_eq!(told, (named, about.to_owned(), search), "{text}");
    };
    check("what is still open in ledger-api", "ledger-api", "", "what is still open in ledger-api");
    check("what's still open in the ledger-api repo?", "ledger-api", "", "what's still open in the ledger-api repo?");
    check("which approach failed for harbor-ui's worker", "harbor-ui", "worker", "worker");
    check("why did ledger-api choose keyset pagination?", "ledger-api", "keyset pagination", "keyset pagination?");
    check("what does the user prefer in harbor ui", "harbor-ui", "", "what does the user prefer in harbor ui");
    check("what is open in shop", "shop", "", "what is open in shop");
    check("what is still open for the shop project", "shop", "", "what is still open for the shop project");
    check("what is still open in this project", "here", "", "what is still open in this project");
    check("what is still open here?", "here", "", "what is still open here?");
    check("how did we fix E0382 in our repo", "here", "e0382", "E0382");
    check("webhooks in ledger-api", "ledger-api", "webhooks", "webhooks");
    // A name alone is a search word, and so is a part of another name.
    check("harbor-ui still sends ?page", "", "harbor ui sends page", "harbor-ui sends ?page");
    check("why does src/shop/cart.rs lock", "", "src shop cart rs lock", "src/shop/cart.rs lock");
    check("why did the shop window break", "", "shop window break", "shop window break");
    check("why did ledger-api-client retry", "ledger-api-client", "retry", "retry");
    check("why did my-ledger-api-x retry", "", "ledger api x retry", "my-ledger-api-x retry");
}

#[test]
fn what_stands_where_a_project_would_is_told() {
    for (text, place) in [
        ("what is still open in tidetables", Some("tidetables")),
        ("what were we working on last time in the nosuchproject repo?", Some("nosuchproject")),
        ("what is still open in my-shop-api since monday", Some("my-shop-api")),
        ("what did we do in October", None),
        ("what is still open in shop", None),
        ("what is still open", None),
        ("why is the index in memory", Some("memory")),
        ("how was it done in the end", None),
    ] {
        assert_eq!(asked(text).place.as_deref(), place, "{text}");
    }
}

#[test]
fn a_time_that_is_named_bounds_the_question() {
    let day = |text: &str| crate::query::parse_moment(text, NOW).unwrap();
    let check = |text: &str, kinds: &str, about: &str, span: Option<(&str, &str)>| {
        let asked = asked(text);
        let names: Vec<&str> = asked.kinds.iter().map(|kind| kind.as_str()).collect();
        let bound = |text: &str| Some(text).filter(|text| !text.is_empty()).map(day);
        let expected = span.map(|(after, before)| Span { after: bound(after), before: bound(before) });
        assert_eq!((names.join(" ").as_str(), asked.subject().as_str()), (kinds, about), "{text}");
        assert_eq!(asked.span, expected, "{text}");
    };
    check("what did we work on yesterday", "latest", "", Some(("2026-11-19", "2026-11-20")));
    check("what did we do last week?", "latest", "", Some(("2026-11-09", "2026-11-16")));
    check("what happened this week in shop", "latest", "", Some(("2026-11-16", "2026-11-23")));
    check("what did we do on Monday", "latest", "", Some(("2026-11-16", "2026-11-17")));
    check("what did we decide about retries in October", "decisions", "retries", Some(("2026-10", "2026-11")));
    check("which approach failed since 2026-11-02", "failed", "", Some(("2026-11-02", "")));
    check("what is still open from last month", "open", "", Some(("2026-10", "2026-11")));
    check("which files were changed today", "files", "", Some(("2026-11-20", "2026-11-21")));
    check("what was done before 2026-03-14", "latest", "", Some(("", "2026-03-14")));
    check("¿Qué hice la semana pasada?", "latest", "", Some(("2026-11-09", "2026-11-16")));
    check("was haben wir gestern gemacht", "latest", "", Some(("2026-11-19", "2026-11-20")));
    check("昨天我们做了什么", "latest", "", Some(("2026-11-19", "2026-11-20")));
    check("what did we do 3 days ago", "latest", "", Some(("2026-11-17", "2026-11-18")));
    let half = Some(("2026-10-01", "2026-10-16"));
    check("what was done between 2026-10-01 and 2026-10-15", "latest", "", half);
    check("what was done from 2026-10-01 to 2026-10-15 in shop", "latest", "", half);
    check("decisions between october 1 and october 15", "decisions", "", half);
    check("what did we do between September and October", "latest", "", Some(("2026-09", "2026-11")));
    check("what did we do before october", "latest", "", Some(("", "2026-10")));
    for written in ["18 November", "Nov 18", "november 18th", "the 18th of November", "18 november 2026"] {
        let question = format!("what did we do on {written}");
        check(&question, "latest", "", Some(("2026-11-18", "2026-11-19")));
    }
    check("what did we do on December 24", "latest", "", Some(("2025-12-24", "2025-12-25")));
    check("what may 5 users do", "", "may 5 users", None);
    // The reason for a state, and plain statements, are not asked of a time, which is no word of the subject either.
    check("why is the test red since yesterday", "decisions", "test red", None);
    check("dates.test.ts is red since yesterday", "", "dates test ts red", None);
    let said = "After the hint had been checked in on 18 November, which file was left?";
    let of_the_day = Some(Span { after: Some(day("2026-11-18")), before: Some(day("2026-11-19")) });
    assert_eq!((asked(said).mentioned, asked(said).span), (of_the_day, None));
    assert!(asked(said).search.contains("18 November"), "{}", asked(said).search);
    check("what may we delete", "", "may delete", None);
}

#[test]
fn words_fit_in_any_form() {
    let tokio = asked("why did we choose tokio for the migrations");
    assert!(is_same_stem("retries", "retry") && is_same_stem("retry", "retries") && !is_same_stem("ties", "tie"));
    for (text, expected) in [
        ("we chose Tokio for the migration", 1.0),
        ("tokio it is", 0.5),
        ("migrating now", 0.5),
        ("nothing", 0.0),
        ("tok", 0.0),
    ] {
        assert_eq!(tokio.fit_of(text), expected, "{text}");
    }
    assert_eq!(asked("what is still open").fit_of("anything"), 1.0);
    assert_eq!(asked("データベース移行").fit_of("昨日、データベース移行を始めた"), 1.0);
}

#[test]
fn words_that_only_ask_are_plain() {
    for (word, plain) in [("which", true), ("please", true), ("yourselves", true), ("refresh", false), ("", false)] {
        assert_eq!(is_plain(word), plain, "{word}");
    }
}

#[test]
fn days_are_those_of_the_asker() {
    // 20:00 on 19 November in Los Angeles.
    let now = Timestamp::parse("2026-11-20T04:00:00Z").unwrap();
    let zone = Zone::parse("PST8PDT,M3.2.0,M11.1.0").unwrap();
    let check = |text: &str, after: &str, before: &str| {
        let span = read(text, &Context { projects: &[], now, zone }).span.unwrap();
        let written = |at: Option<Timestamp>| at.unwrap().to_string();
        let expected = (format!("{after}:00:00.000Z"), format!("{before}:00:00.000Z"));
        assert_eq!((written(span.after), written(span.before)), expected, "{text}");
    };
    check("what did we work on today", "2026-11-19T08", "2026-11-20T08");
    check("what did we work on yesterday", "2026-11-18T08", "2026-11-19T08");
    check("what did we work on this month", "2026-11-01T07", "2026-12-01T08");
}

#[test]
fn what_a_text_has_of_a_subject_counts_by_weight() {
    let weigh = |words: &[&str]| {
        let weight = |word: &&str| match *word {
            "worker" => 1.0,
            "numbat" => 6.0,
            "directory" => 3.0,
            _ => 0.0,
        };
        Some(words.iter().map(weight).collect())
    };
    let check = |question: &str, text: &str, expected: f32, answers: bool| {
        let mut asked = read(question, &Context { projects: &[], now: Timestamp(0), zone: Zone::UTC });
        asked.weigh(weigh);
        assert!((asked.fit_of(text) - expected).abs() < 0.01, "{question}: {text}: {}", asked.fit_of(text));
        assert_eq!(asked.is_answered_by(text), answers, "{question}: {text}");
    };
    check("numbat worker", "the numbat waits", 0.857, true);
    check("numbat worker", "a worker waits", 0.143, false);
    // Words that were never said leave a question unanswered.
    check("numbat quokka bilby", "the numbat waits", 1.0, false);
    // `folder` was never said, but `directory` was.
    check("folder", "the directory is empty", 1.0, true);
    check("numbat folder", "the directory is empty", 0.2, false);
    check("numbat folder", "the numbat is in the directory", 1.0, false);
    check("numbat quokka", "the numbat waits", 1.0, false);
    check("why did we choose the numbat quokka", "the numbat waits", 1.0, false);
    check("why did we choose the numbat quokka bilby", "the numbat waits", 1.0, false);
}

#[test]
fn the_shorter_of_two_texts_with_the_same_words_is_more_relevant() {
    let asked = read("numbat worker", &Context { projects: &[], now: Timestamp(0), zone: Zone::UTC });
    let (short, long) = ("the numbat worker waits", format!("the numbat worker waits {}", "and so on ".repeat(300)));
    assert!(asked.relevance(short) > asked.relevance(&long) && asked.relevance(short) > asked.relevance("a worker"));
    assert_eq!(asked.relevance(""), 0.0);
}

#[test]
fn compound_names_have_parts() {
    let check = |text: &str, expected: &str| assert_eq!(super::name_parts(text).join(" "), expected, "{text}");
    check("craneIdRef, HTTPServer and PelicanJob", "crane id ref httpserver pelican job");
    check("crane ID API Crane", "");
    check("", "");
    let asked = asked("why is the crane kept in a ref");
    assert!(asked.relevance("`craneIdRef`") > asked.relevance("`craneidref`"));
}

#[test]
fn a_compound_is_one_word_if_its_parts_alone_say_less() {
    let asked = asked("what is still open about single sign-on");
    assert_eq!(asked.subject(), "single sign-on");
    let check = |text: &str, missing: &str| {
        assert_eq!(asked.missing(std::iter::once(text)).join(" "), missing, "{text}");
        assert_eq!(asked.coverage(text) > 0.9, missing.is_empty(), "{text}");
    };
    check("a single job signs the binaries, and is on", "sign-on");
    check("single sign-on is there", "");
    check("SingleSignOn: single signon", "");
    check("a single page on which you sign on", "");
    check("", "single sign-on");
    // Parts that say something are words of their own.
    assert_eq!(super::read_description("the keyset-pagination bug").subject(), "keyset pagination bug");
}

#[test]
fn a_synonym_covers_most_of_its_word() {
    let asked = asked("why is the broken dialog deleted");
    assert!(
        asked.coverage("the corrupted popup is removed") > 0.7 && asked.is_answered_by("the broken popup is removed")
    );
    assert_eq!(asked.missing(std::iter::once("a corrupted popup")).join(" "), "deleted");
}
