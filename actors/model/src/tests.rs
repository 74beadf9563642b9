//! The client against an endpoint that misbehaves in every known way.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::*;
use baton_config::endpoint::{BaseUrl, Endpoint, KeySource};
use baton_endpoint::{CHAT, EMBEDDINGS, FakeEndpoint, Fault, words};

/// Longer than any request here takes.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(150);

fn client(base_url: &str, dimensions: Option<usize>) -> Client {
    let base_url = BaseUrl::new(base_url).unwrap();
    let endpoint = Endpoint { base_url, model: "m".to_owned(), key: None };
    Client::new(&endpoint, dimensions).unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("text of number {number} about wombats")).collect()
}

/// Lets the breaker's pause pass.
async fn wait_ready(client: &Client) {
    tokio::time::pause();
    client.wait_until_ready().await;
    tokio::time::resume();
}

#[tokio::test]
async fn each_text_gets_its_vector_whatever_the_answer_looks_like() {
    let server = FakeEndpoint::start().unwrap();
    for (fault, dimensions) in [
        (None, None),
        (None, Some(16)),
        (Some(Fault::Reversed), None),
        (Some(Fault::Bare), None),
        (Some(Fault::Slow(SHORT)), None),
    ] {
        let is_bare = fault == Some(Fault::Bare);
        server.script(EMBEDDINGS, fault);
        let client = client(&server.base_url(), dimensions);
        let embedded = client.embed(&texts(3), LONG).await.unwrap();
        let length = dimensions.unwrap_or(words::DIMENSIONS);
        let expected: Vec<Vec<f32>> = texts(3).iter().map(|text| words::vector(text, length)).collect();
        assert_eq!(embedded.vectors, expected);
        let told = (embedded.tokens, embedded.model.as_deref());
        assert_eq!(told, if is_bare { (None, None) } else { (Some(18), Some("m")) });
        assert_eq!(client.current_pause(), None);
    }
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == EMBEDDINGS && request.authorization.is_none()));
    assert_eq!((requests.len(), server.texts().len()), (5, 15));
    let client = client(&server.base_url(), None);
    assert_eq!(client.embed(&[], LONG).await.unwrap().vectors.len(), 0);
    assert_eq!(server.requests().len(), 5, "no texts, no request");
    for _ in 0..20 {
        client.embed(&texts(1), LONG).await.unwrap();
    }
    assert_eq!(server.connections(), 6, "a connection is used again");
}

#[tokio::test]
async fn every_fault_is_told_by_one_request_in_time() {
    let server = FakeEndpoint::start().unwrap();
    let answer = |status, body: &str| Fault::Answer { status, retry_after: None, body: body.to_owned() };
    let asked = |seconds: &str| Fault::Answer {
        status: 429,
        retry_after: Some(seconds.to_owned()),
        body: "slow down".to_owned(),
    };
    let limited = |seconds| Kind::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
    for (fault, kind, is_of_request, said) in [
        (Fault::Hang, Kind::TimedOut, false, "no answer within"),
        (Fault::Endless, Kind::TimedOut, false, "no answer within"),
        (Fault::Reset, Kind::Unreachable, false, "the connection broke"),
        (Fault::Torn, Kind::Unreachable, false, "the connection broke"),
        (Fault::status(401, "no such key"), Kind::Unauthorised, false, "401 (Unauthorized): no such key"),
        (asked("3600"), limited(900), false, "slow down"),
        (asked("7"), limited(7), false, "slow down"),
        (asked("Wed, 21 Oct 2026 07:28:00 GMT"), Kind::RateLimited { retry_after: None }, false, "slow down"),
        (answer(429, "plain text"), Kind::RateLimited { retry_after: None }, false, "plain text"),
        (
            answer(429, "{\"error\":{\"code\":400,\"message\":7}}"),
            Kind::RateLimited { retry_after: None },
            false,
            "429",
        ),
        (Fault::status(500, "boom"), Kind::ServerError, false, "boom"),
        (answer(302, ""), Kind::Redirected, false, "302 (Found)"),
        (answer(404, "<html>"), Kind::NotThere, false, "404 (Not Found)"),
        (Fault::status(400, "maximum context length"), Kind::TooLarge, true, "maximum context"),
        (answer(200, ""), Kind::NotUnderstood, false, "not JSON"),
        (answer(200, "<html>it works</html>"), Kind::Page, false, "an HTML page"),
        (answer(200, "{}"), Kind::WrongShape, false, "0 vectors for 3 texts"),
        (answer(200, "{\"error\":{\"message\":\"busy\"}}"), Kind::Refused, true, "busy"),
        (Fault::Garbage(10_000_000), Kind::TooLong, false, "longer than 851968 bytes"),
        (Fault::Dimensions(16), Kind::WrongShape, false, "16 dimensions instead of 64"),
        (Fault::Count(2), Kind::WrongShape, false, "2 vectors for 3 texts"),
        (Fault::Null, Kind::Unusable, true, "3 of 3 texts"),
        (Fault::Zeros, Kind::Unusable, true, "3 of 3 texts"),
        (Fault::NaN, Kind::NotUnderstood, false, "not JSON"),
        (Fault::EchoTexts, Kind::Refused, true, "400 (Bad Request)"),
    ] {
        let client = client(&server.base_url(), (fault != Fault::Garbage(10_000_000)).then_some(64));
        let before = server.requests().len();
        server.script(EMBEDDINGS, [fault.clone()]);
        let begun = Instant::now();
        let within = if kind == Kind::TimedOut { SHORT } else { LONG };
        let failure = client.embed(&texts(3), within).await.unwrap_err();
        assert!(begun.elapsed() < LONG / 2, "{fault:?} took {:?}", begun.elapsed());
        assert_eq!((failure.kind(), failure.is_of_request()), (kind, is_of_request), "{fault:?}: {failure}");
        assert!(failure.describe().contains(said), "{fault:?}: {failure}");
        assert!(!failure.describe().contains("wombats") && failure.describe().len() < 300, "{fault:?}: {failure}");
        assert_eq!(server.requests().len(), before + 1, "{fault:?}: one request and no more");
        // A pause is for the endpoint's failures, not for those of a request.
        let is_let_alone = client.current_pause().is_some_and(|down| down.again_in <= Duration::from_secs(900));
        assert_eq!(is_let_alone, !is_of_request && kind != Kind::TimedOut, "{fault:?}: {:?}", client.current_pause());
    }
}

#[tokio::test]
async fn while_it_is_left_alone_nothing_is_sent_and_nobody_waits() {
    let server = FakeEndpoint::start().unwrap();
    let client = client(&server.base_url(), None);
    server.script(EMBEDDINGS, (0..4).map(|_| Fault::status(500, "boom")));
    for failures in 1..=4 {
        assert_eq!(client.embed(&texts(1), LONG).await.unwrap_err().kind(), Kind::ServerError);
        let failure = client.clone().embed(&texts(1), LONG).await.unwrap_err();
        assert_eq!(failure.kind(), Kind::Paused, "a clone knows it too");
        assert!(failure.describe().contains("boom; it is tried again in"), "{failure}");
        assert_eq!(server.requests().len(), failures);
        wait_ready(&client).await;
    }
    client.embed(&texts(1), LONG).await.unwrap();
    assert_eq!(client.current_pause(), None);
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_found_when_it_comes() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let client = client(&format!("http://localhost:{port}/v1"), None);
    let failure = client.embed(&texts(1), LONG).await.unwrap_err();
    assert!(failure.kind() == Kind::Unreachable && failure.describe().contains("refused"), "{failure}");
    let server = FakeEndpoint::listen(port).unwrap();
    wait_ready(&client).await;
    client.embed(&texts(1), LONG).await.unwrap();
    drop(server);
    assert_eq!(client.embed(&texts(1), LONG).await.unwrap_err().kind(), Kind::Unreachable);
}

#[tokio::test]
async fn a_probe_that_nobody_waits_for_any_longer_makes_room_for_the_next() {
    let server = FakeEndpoint::start().unwrap();
    let client = client(&server.base_url(), None);
    server.script(EMBEDDINGS, [Fault::status(500, "boom"), Fault::Hang]);
    client.embed(&texts(1), LONG).await.unwrap_err();
    wait_ready(&client).await;
    assert!(tokio::time::timeout(SHORT, client.embed(&texts(1), LONG)).await.is_err());
    client.embed(&texts(1), LONG).await.unwrap();
}

#[tokio::test]
async fn little_patience_three_times_in_a_row_is_enough() {
    let server = FakeEndpoint::start().unwrap();
    let client = client(&server.base_url(), None);
    server.always(EMBEDDINGS, Some(Fault::Hang));
    for is_down in [false, false, true] {
        let failure = client.embed(&texts(1), Duration::from_millis(20)).await.unwrap_err();
        assert_eq!((failure.kind(), client.current_pause().is_some()), (Kind::TimedOut, is_down));
    }
    server.always(EMBEDDINGS, None);
    wait_ready(&client).await;
    client.embed(&texts(1), LONG).await.unwrap();
}

#[tokio::test]
async fn the_key_goes_to_the_endpoint_and_nowhere_else() {
    let server = FakeEndpoint::start().unwrap();
    // Any variable that is set will do.
    let key = std::env::var("PATH").unwrap();
    let endpoint = |variable: &str| Endpoint {
        base_url: BaseUrl::new(&server.base_url()).unwrap(),
        model: "m".to_owned(),
        key: Some(KeySource::variable(variable)),
    };
    let client = Client::new(&endpoint("PATH"), None).unwrap();
    client.embed(&texts(1), LONG).await.unwrap();
    assert_eq!(server.requests()[0].authorization, Some(format!("Bearer {key}")));
    for (fault, kind) in [
        (Fault::EchoKey, Kind::Unauthorised),
        (Fault::EchoKeyBehindSuccess, Kind::Unauthorised),
        (Fault::status(400, &format!("bad header {key}")), Kind::Refused),
    ] {
        server.script(EMBEDDINGS, [fault]);
        let failure = client.embed(&texts(1), LONG).await.unwrap_err();
        let told = format!("{failure} {failure:?} {client:?} {:?}", client.current_pause());
        assert!(!told.contains(&key) && told.contains("[redacted:key]"), "{told}");
        assert_eq!(failure.kind(), kind, "{told}");
        wait_ready(&client).await;
    }
    server.script(CHAT, [Fault::EchoKeyBehindSuccess]);
    let failure = client.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap_err();
    assert!(!failure.describe().contains(&key) && failure.describe().contains("[redacted:key]"), "{failure}");
    wait_ready(&client).await;
    let without = Client::new(&endpoint("BATON_NO_SUCH_KEY"), None).unwrap();
    let failure = without.embed(&texts(1), LONG).await.unwrap_err();
    assert_eq!(failure.kind(), Kind::NoKey);
    assert!(failure.describe().contains("BATON_NO_SUCH_KEY is not set"), "{failure}");
    assert_eq!(server.requests().len(), 5, "nothing is sent without it");
}

#[tokio::test]
async fn an_encrypted_address_is_never_spoken_to_in_the_clear() {
    let server = FakeEndpoint::start().unwrap();
    let address = server.base_url().replace("http://", "https://");
    let base_url = BaseUrl::new(&address).unwrap();
    let client = Client::new(&Endpoint { base_url, model: "m".to_owned(), key: None }, None);
    // On a machine without certificates creating the client already fails.
    let failure = match client {
        Ok(client) => client.embed(&texts(1), LONG).await.unwrap_err(),
        Err(failure) => failure,
    };
    assert_eq!(failure.kind(), Kind::Unreachable, "{failure}");
    assert!(server.requests().is_empty());
}

fn chat_request(text: &str) -> ChatRequest {
    let message = |role, text: &str| Message { role, text: text.to_owned() };
    let messages = vec![message(Role::System, "tell it in a word"), message(Role::User, text)];
    ChatRequest { messages, format: None, max_tokens: 100 }
}

#[tokio::test]
async fn a_model_is_heard_however_its_answer_comes() {
    let server = FakeEndpoint::start().unwrap();
    server.says(|request| format!("heard {} texts", request.texts.len()));
    let client = client(&server.base_url(), None);
    for fault in [
        None,
        Some(Fault::Bare),
        Some(Fault::Slow(SHORT)),
        Some(Fault::Trickle(Duration::from_millis(5))),
        Some(Fault::Fenced),
    ] {
        let (is_bare, is_fenced) = (fault == Some(Fault::Bare), fault == Some(Fault::Fenced));
        server.script(CHAT, fault);
        let reply = client.chat(&chat_request("of wombats"), LONG, WhenPaused::Fails).await.unwrap();
        let text = if is_fenced { "```json\nheard 2 texts\n```" } else { "heard 2 texts" };
        assert_eq!((reply.text.as_str(), reply.refusal, reply.is_cut), (text, None, false));
        assert_eq!(reply.model.is_none(), is_bare);
        assert_eq!(reply.tokens.input.is_none(), is_bare);
    }
    server.script(CHAT, [Fault::Cut, Fault::Declines("I would rather not".to_owned())]);
    let cut = client.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap();
    assert_eq!((cut.text.as_str(), cut.is_cut), ("heard ", true));
    let declined = client.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap();
    assert_eq!(declined.refusal.as_deref(), Some("I would rather not"));
    assert_eq!(client.current_pause(), None, "it has answered");
}

#[tokio::test]
async fn every_fault_of_a_talk_is_told_with_whether_it_may_cost() {
    let server = FakeEndpoint::start().unwrap();
    let answer = |status, body: &str| Fault::Answer { status, retry_after: None, body: body.to_owned() };
    let asked = Fault::Answer { status: 429, retry_after: Some("3600".to_owned()), body: "slow down".to_owned() };
    let limited = Kind::RateLimited { retry_after: Some(Duration::from_secs(900)) };
    for (fault, kind, may_cost, said) in [
        (Fault::Hang, Kind::TimedOut, true, "no answer within"),
        (Fault::Trickle(Duration::from_secs(1)), Kind::TimedOut, true, "no answer within"),
        (Fault::Reset, Kind::Unreachable, true, "the connection broke"),
        (Fault::Torn, Kind::Unreachable, true, "the connection broke"),
        (Fault::status(401, "no such key"), Kind::Unauthorised, false, "no such key"),
        (asked, limited, false, "slow down"),
        (answer(429, "plain text"), Kind::RateLimited { retry_after: None }, false, "plain text"),
        (answer(400, "{\"error\":{\"code\":400,\"message\":\"no\"}}"), Kind::Refused, false, "400"),
        (Fault::status(500, "boom"), Kind::ServerError, false, "boom"),
        (Fault::status(400, "maximum context length"), Kind::TooLarge, false, "maximum context"),
        (Fault::Garbage(10_000_000), Kind::TooLong, true, "longer than"),
        (answer(200, "[]"), Kind::NotUnderstood, true, "not a JSON object"),
        (answer(200, "<html>log in</html>"), Kind::Page, false, "an HTML page"),
        (answer(200, "{\"choices\":\"none\"}"), Kind::NotUnderstood, true, "no message of a model"),
        (answer(200, "{\"choices\":[]}"), Kind::NoMessage, true, "no message of a model"),
        (Fault::EchoTexts, Kind::Refused, false, "400 (Bad Request)"),
        (answer(200, "{\"error\":{\"code\":503,\"message\":\"busy\"}}"), Kind::ServerError, false, "busy"),
        (
            answer(200, "{\"error\":{\"code\":\"429\",\"message\":\"busy\"}}"),
            Kind::RateLimited { retry_after: None },
            false,
            "busy",
        ),
    ] {
        let client = client(&server.base_url(), None);
        let before = server.requests().len();
        server.script(CHAT, [fault.clone()]);
        let within = if kind == Kind::TimedOut { SHORT } else { LONG };
        let failure = client
            .chat(&chat_request("all about the wombats of the north"), within, WhenPaused::Fails)
            .await
            .unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_cost()), (kind, may_cost), "{fault:?}: {failure}");
        assert!(failure.describe().contains(said) && !failure.describe().contains("wombats"), "{fault:?}: {failure}");
        assert_eq!(server.requests().len(), before + 1, "{fault:?}: one request and no more");
    }
    let gone = client("http://127.0.0.1:9/v1", None);
    let failure = gone.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap_err();
    assert!(failure.kind() == Kind::Unreachable && !failure.may_have_cost(), "{failure}");
}

#[tokio::test]
async fn who_wants_to_know_now_is_not_held_up_by_former_failures() {
    let server = FakeEndpoint::start().unwrap();
    let client = client(&server.base_url(), None);
    server.script(CHAT, [Fault::status(401, "no"), Fault::status(401, "no")]);
    client.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap_err();
    assert_eq!(client.chat(&chat_request("a"), LONG, WhenPaused::Fails).await.unwrap_err().kind(), Kind::Paused);
    assert_eq!(
        client.chat(&chat_request("a"), LONG, WhenPaused::AsksAnyway).await.unwrap_err().kind(),
        Kind::Unauthorised
    );
    assert!(client.current_pause().is_some());
    client.chat(&chat_request("a"), LONG, WhenPaused::AsksAnyway).await.unwrap();
    assert_eq!(client.current_pause(), None, "what is known now is newer");
}

#[tokio::test]
async fn an_endpoint_that_takes_no_form_of_an_answer_is_asked_without() {
    let server = FakeEndpoint::start().unwrap();
    let client = client(&server.base_url(), None);
    let request = ChatRequest { format: Some(serde_json::json!({"type": "json_schema"})), ..chat_request("a") };
    server.script(CHAT, [Fault::status(400, "'response_format.type' must be 'json_object' or 'text'")]);
    for requests in [2, 3] {
        client.chat(&request, LONG, WhenPaused::Fails).await.unwrap();
        assert_eq!(server.requests().len(), requests);
    }
    let has_form: Vec<bool> =
        server.requests().iter().map(|request| request.body.contains("response_format")).collect();
    assert_eq!(has_form, [true, false, false]);
    assert_eq!(client.current_pause(), None);
}
