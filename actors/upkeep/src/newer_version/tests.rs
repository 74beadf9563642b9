//! A server on this machine that answers as told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::*;

/// Files that `minisign` has signed, by one key and by another. The secret keys are gone.
const SIGNED: &str = include_str!("signed.json");

#[derive(Deserialize)]
struct Shelf {
    key: String,
    signed: Vec<Signed>,
}

#[derive(Clone, Deserialize)]
struct Signed {
    file: String,
    by: String,
    comment: String,
    signature: String,
}

impl Shelf {
    fn open() -> Self {
        serde_json::from_str(SIGNED).unwrap()
    }

    /// What the key has signed as an announcement and contains this.
    fn with(&self, part: &str) -> Signed {
        let is_it = |one: &&Signed| one.by == "key" && one.comment.starts_with(FILE) && one.file.contains(part);
        self.signed.iter().find(is_it).unwrap_or_else(|| panic!("{part} is not signed")).clone()
    }

    fn key(&self) -> Option<String> {
        Some(self.key.clone())
    }
}

/// Serves these files until the process ends; any other is not there. An answer is the whole of what is sent.
fn serve(files: &[(&str, Vec<u8>)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = head.next().and_then(Result::ok).unwrap_or_default();
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let sent: Vec<String> = head.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            // Nothing is sent but what any request has.
            let known = ["accept:", "host:", "user-agent:"];
            let strange = sent.iter().find(|line| !known.iter().any(|name| line.to_lowercase().starts_with(name)));
            let answer = match (files.get(&path), strange) {
                (_, Some(strange)) => format!("HTTP/1.1 400 {strange}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
                (Some(answer), None) => answer.clone(),
                (None, None) => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
            };
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}/latest.json")
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

async fn asked(url: &str, key: Option<String>) -> Result<answer::Update, String> {
    let settings = Settings { check: false, url: BaseUrl::new(url).ok(), key };
    check_version(&settings, "1.2.0").await.map_err(|error| error.to_string())
}

/// Asks a server with this announcement and signature.
async fn asked_of(shelf: &Shelf, file: Vec<u8>, signature: Vec<u8>) -> Result<answer::Update, String> {
    asked(&serve(&[("/latest.json", file), ("/latest.json.minisig", signature)]), shelf.key()).await
}

#[tokio::test]
async fn a_signed_announcement_is_compared_with_this_version() {
    let shelf = Shelf::open();
    for (version, newer) in
        [("1.2.0", false), ("1.2.1", true), ("2.0.0-rc.1", true), ("1.1.9", false), ("1.2.0-rc.1", false)]
    {
        let Signed { file, signature, .. } = shelf.with(&format!("\"{version}\""));
        let found = asked_of(&shelf, ok(file.as_bytes()), ok(signature.as_bytes())).await.unwrap();
        assert_eq!((found.newest.as_str(), found.newer, found.version.as_str()), (version, newer, "1.2.0"));
        assert_eq!(found.notes, Some(format!("https://example.com/{version}")));
    }
}

#[tokio::test]
async fn what_is_not_signed_by_the_key_is_not_believed() {
    let shelf = Shelf::open();
    let Signed { file, signature: right, .. } = shelf.with("9.0.0");
    let of = |is_it: fn(&Signed) -> bool| shelf.signed.iter().find(|one| is_it(one)).unwrap().signature.clone();
    for (signature, why) in [
        (of(|one| one.by == "other"), "signature is not right"),
        (of(|one| !one.comment.starts_with(FILE)), "signs another file"),
        (shelf.with("1.2.1").signature, "signature is not right"),
        (right.replace("2026", "2027"), "signature is not right"),
        ("no signature".to_owned(), "signature is not right"),
        (String::new(), "signature is not right"),
    ] {
        let said = asked_of(&shelf, ok(file.as_bytes()), ok(signature.as_bytes())).await.unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    let said = asked_of(&shelf, ok(file.as_bytes()), ok(&[0xff; 100])).await.unwrap_err();
    assert!(said.contains("signature is not right"), "{said}");
    let unsigned = serve(&[("/latest.json", ok(file.as_bytes()))]);
    assert!(asked(&unsigned, shelf.key()).await.unwrap_err().contains("404"));
    assert!(
        asked(&unsigned, Some("RWsomething".to_owned())).await.unwrap_err().contains("update.key is not a minisign")
    );
}

#[tokio::test]
async fn a_server_that_misbehaves_gets_a_sentence() {
    let shelf = Shelf::open();
    let Signed { file: good, signature, .. } = shelf.with("9.0.0");
    let (good, right) = (ok(good.as_bytes()), ok(signature.as_bytes()));
    let page = shelf.with("<html>");
    let strange = shelf.with(r#""new""#);
    // More than it announces, or without an end.
    let endless = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec(), vec![b' '; 10 * BYTES_MAX]].concat();
    for (file, signature, why) in [
        (ok(&vec![b' '; BYTES_MAX + 1]), right.clone(), "longer than 16384 bytes"),
        (endless, right.clone(), "longer than 16384 bytes"),
        (good.clone(), ok(&vec![b'x'; SIGNATURE_BYTES_MAX + 1]), "longer than 4096 bytes"),
        (ok(page.file.as_bytes()), ok(page.signature.as_bytes()), "not understood"),
        (ok(strange.file.as_bytes()), ok(strange.signature.as_bytes()), "not understood"),
        (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n".to_vec(), right.clone(), "answers 500"),
        (redirect("/latest.json"), right.clone(), "could not be asked"),
        (redirect("https://127.0.0.1:1/"), right.clone(), "could not be asked"),
        (b"nothing of HTTP".to_vec(), right.clone(), "could not be asked"),
    ] {
        let said = asked_of(&shelf, file, signature).await.unwrap_err();
        assert!(said.contains(why), "{why}: {said}");
    }
    // A redirect that leads to the file is followed.
    let url = serve(&[("/latest.json", redirect("/there")), ("/there", good), ("/latest.json.minisig", right)]);
    assert!(asked(&url, shelf.key()).await.unwrap().newer);
    // Notes that are no plain address are not shown.
    for notes in ["http://example.com", "u001b", "javascript:1", "xxxx"] {
        let Signed { file, signature, .. } = shelf.with(notes);
        assert_eq!(
            asked_of(&shelf, ok(file.as_bytes()), ok(signature.as_bytes())).await.unwrap().notes,
            None,
            "{notes}"
        );
    }
}

#[tokio::test]
async fn without_an_address_or_a_key_nothing_is_asked() {
    if URL.is_none() {
        let settings = Settings { key: Some("RW".to_owned()), ..Settings::default() };
        assert!(matches!(check_version(&settings, "1.2.0").await, Err(Error::NoAddress)));
    }
    if KEY.is_none() {
        assert!(asked("http://127.0.0.1:1/latest.json", None).await.unwrap_err().contains("set update.key"));
    }
}
