//! What an answer says about a question's vector.

use baton_ask::query;
use baton_conversation::record::Timestamp;
use tempfile::TempDir;

use super::*;
use baton_config::endpoint::{BaseUrl, Endpoint};
use baton_endpoint::{EMBEDDINGS, FakeEndpoint, Fault, words};

/// An embedder with vectors for these texts.
fn made(endpoint: &FakeEndpoint, texts: &[&str]) -> (TempDir, Embedder) {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Embedder::new(folder.path());
    let base_url = BaseUrl::new(&endpoint.base_url()).unwrap();
    let endpoint = Endpoint { base_url, model: "made".to_owned(), key: None };
    let in_use = embedder.select_model(Some(&Embedding { endpoint, dimensions: None })).unwrap().unwrap();
    let vectors: Vec<_> = texts.iter().map(|text| (key(text), words::vector(text, words::DIMENSIONS))).collect();
    assert!(in_use.table.add(&vectors, 0).unwrap());
    (folder, embedder)
}

async fn ask(embedder: &Embedder, text: &str) -> (bool, String) {
    let meant = embedder.question_vector(&query::parse(text, Timestamp(0))).await;
    (meant.meaning.is_some(), meant.told.unwrap_or_default())
}

#[tokio::test]
async fn a_question_has_a_vector_or_says_why_not() {
    let endpoint = FakeEndpoint::start().unwrap();
    let (_folder, embedder) = made(&endpoint, &["the car"]);
    let check = async |text: &str, expected: (bool, &str)| {
        let (is_there, told) = ask(&embedder, text).await;
        assert!(is_there == expected.0 && told.starts_with(expected.1), "{text}: {is_there} {told}");
    };
    check("repair the vehicle", (true, "used")).await;
    check("repair the vehicle", (true, "used")).await;
    assert_eq!(endpoint.requests().len(), 1, "the second was remembered");
    check("… !", (false, "")).await;
    check(&format!("car sk-ant-api03-{}", "x9Y8z7W6v5U4".repeat(4)), (false, "off: the question contains a secret"))
        .await;
    embedder.lock_progress().pending = 7;
    check("repair the vehicle", (true, "behind: 7 pending")).await;
    embedder.lock_progress().pending = 0;
    assert_eq!(endpoint.texts(), ["repair the vehicle"]);
    endpoint.script(EMBEDDINGS, [Fault::Dimensions(9)]);
    check("another question", (false, "down: ")).await;
    endpoint.script(EMBEDDINGS, [Fault::status(500, "broken")]);
    check("one more question", (false, "down: ")).await;
    check("what comes while it is let alone", (false, "down: ")).await;
    check("repair the vehicle", (true, "used")).await;
}

#[tokio::test]
async fn where_none_are_configured_nothing_is_there_and_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Embedder::new(&folder.path().join("vectors"));
    assert!(embedder.select_model(None).unwrap().is_none());
    assert_eq!(ask(&embedder, "car").await, (false, String::new()));
    assert!(embedder.progress() == Progress::default() && !folder.path().join("vectors").exists());
}

#[tokio::test]
async fn before_there_is_any_vector_nobody_is_asked() {
    let endpoint = FakeEndpoint::start().unwrap();
    let (_folder, embedder) = made(&endpoint, &[]);
    embedder.lock_progress().pending = 3;
    assert_eq!(ask(&embedder, "car").await, (false, "behind: 3 pending".to_owned()));
    assert_eq!(endpoint.connections(), 0);
}

#[test]
fn how_far_it_is_has_a_name() {
    let check = |pending, is_known, problem: bool, expected| {
        let problem = problem.then(|| (String::new(), String::new()));
        assert_eq!(Progress { pending, is_known, problem, ..Progress::default() }.state(), expected);
    };
    check(0, false, false, "filling");
    check(3, true, false, "filling");
    check(0, true, false, "ready");
    check(3, true, true, "waiting");
    check(0, false, true, "waiting");
}
