use super::*;

use proptest::prelude::*;

fn fields(raw: &str) -> (Vec<(String, String)>, Option<usize>) {
    let Found::Object(mut fields) = first_object(raw.as_bytes()) else {
        return (Vec::new(), None);
    };
    let mut all = Vec::new();
    for (key, value) in fields.by_ref() {
        let shown = match value {
            Value::Text(text) => text.decode().into_owned(),
            Value::Object(raw) | Value::Array(raw) => String::from_utf8_lossy(&raw).into_owned(),
            Value::Number(raw) => String::from_utf8_lossy(raw).into_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Null => "null".to_owned(),
        };
        all.push((key.decode().into_owned(), shown));
    }
    (all, fields.end())
}

fn check(raw: &str, expected: &[(&str, &str)], whole: bool) {
    let (found, end) = fields(raw);
    let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(found, expected, "{raw}");
    assert_eq!(end.is_some(), whole, "{raw}");
}

#[test]
fn fields_are_found_without_validating_what_is_skipped() {
    check("{}", &[], true);
    check(" { \"a\" : 1 , \"b\":\"x\\\"y\" }", &[("a", "1"), ("b", "x\"y")], true);
    check("{\"a\":{\"b\":[1,{\"c\":\"}]\"}]},\"d\":null}", &[("a", "{\"b\":[1,{\"c\":\"}]\"}]}"), ("d", "null")], true);
    check("{\"a\":\"\\\\\",\"b\":true}", &[("a", "\\"), ("b", "true")], true);
    check("{\"a\":1", &[("a", "1")], false);
    check("{\"a\":\"torn", &[], false);
    check("{\"a\":[1,2", &[], false);
    check("{\"a\" 1}", &[], false);
    check("{\"a\":1 \"b\":2}", &[("a", "1")], false);
    check("{a:1}", &[], false);
    let bomb = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(fields(&bomb).1, Some(bomb.len()));
}

#[test]
fn what_is_no_text_is_replaced() {
    let decoded = |raw: &[u8]| Text::new(raw).decode().into_owned();
    assert_eq!(decoded(b"plain"), "plain");
    assert_eq!(decoded(b"a\\n\\t\\u00e9\\ud83d\\ude00/\\/"), "a\n\té😀//");
    assert_eq!(decoded(b"a\\ud83dz \\ude00 \\ud83d\\ud83d\\ude00"), "a\u{fffd}z \u{fffd} \u{fffd}😀");
    assert_eq!(decoded(b"\\ud83d"), "\u{fffd}");
    assert_eq!(decoded(b"\\u12"), "\u{fffd}12");
    assert_eq!(decoded(b"a\xffb"), "a\u{fffd}b");
    assert_eq!(decoded(b"a\0b\\u0000c"), "abc");
    assert_eq!(decoded(b"C:\\q"), "C:\\q");
    assert!(Text::new(b" \\n\\t\\r").is_blank() && !Text::new(b"\\u0041").is_blank());
    assert_eq!(Text::new("aé\\u00e9\\nz".as_bytes()).head(2).decode(), "aé");
    assert_eq!(Text::new("aé\\u00e9\\nz".as_bytes()).head(4).decode(), "aéé");
    for (bytes, end) in [(99, "a\\nb\nc"), (9, "a\\nb\nc"), (7, "c"), (4, "c"), (3, ""), (2, ""), (0, "")] {
        assert_eq!(Text::new(br"a\\nb\nc").tail(bytes).decode(), end, "{bytes}");
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(|text| text.replace('\0', "").into()),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::btree_map("[a-z\\\\\"]{0,6}", inner, 0..6)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

fn rebuilt(value: Value<'_>) -> serde_json::Value {
    match value {
        Value::Text(text) => text.decode().into_owned().into(),
        Value::Object(_) => {
            let fields = value.fields().map(|(key, value)| (key.decode().into_owned(), rebuilt(value)));
            fields.collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(_) => value.elements().map(rebuilt).collect::<Vec<_>>().into(),
        Value::Number(raw) => serde_json::from_slice(raw).unwrap(),
        Value::Bool(value) => value.into(),
        Value::Null => serde_json::Value::Null,
    }
}

/// Everything found in an object, recursively.
fn shown(found: Found<'_>) -> String {
    fn deep(value: Value<'_>) -> String {
        match value {
            Value::Object(raw) => {
                let fields = value.fields().map(|(key, value)| format!("{}={}", key.decode(), deep(value)));
                format!("{}{:?}", String::from_utf8_lossy(&raw), fields.collect::<Vec<_>>())
            }
            Value::Array(raw) => {
                format!("{}{:?}", String::from_utf8_lossy(&raw), value.elements().map(deep).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        }
    }
    let Found::Object(mut fields) = found else { return String::new() };
    let all: Vec<_> = fields.by_ref().map(|(key, value)| format!("{}={}", key.decode(), deep(value))).collect();
    format!("{all:?} {:?}", fields.end())
}

#[test]
fn one_index_serves_object_after_object_also_such_as_have_too_much_in_them() {
    let mut index = Index::default();
    let many = format!("{{\"a\":[{}1],\"b\":{{\"c\":2}}}}", "[],".repeat(300_000));
    for raw in ["{\"a\":{\"b\":[\"c\"]}}", &many, "{\"a\":[", "no", "", "{\"d\":[{\"e\":{}}]}x"] {
        assert_eq!(shown(index.first_object(raw.as_bytes())), shown(first_object(raw.as_bytes())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_strict_parser_accepts_means_the_same_here(value in json(), pretty in any::<bool>()) {
        let object = serde_json::json!({ "v": value });
        let raw = if pretty { serde_json::to_vec_pretty(&object) } else { serde_json::to_vec(&object) }.unwrap();
        prop_assert_eq!(rebuilt(Value::Object(Raw::from(&raw))), object);
    }

    #[test]
    fn an_index_changes_nothing_but_the_time_it_takes(value in json(), cut in any::<prop::sample::Index>(), pad in 0..3_usize) {
        let whole = serde_json::to_vec(&serde_json::json!({ "v": value, "w": [value, {}] })).unwrap();
        let raw = [&b"  "[..pad.min(2)], &whole[..whole.len() - cut.index(whole.len()) * usize::from(pad == 2)]].concat();
        prop_assert_eq!(shown(Index::default().first_object(&raw)), shown(first_object(&raw)));
    }

    #[test]
    fn brackets_and_quotes_in_any_order_are_indexed_as_they_are_read(raw in "[{}\\[\\]\",:\\\\1a ]{0,60}") {
        let raw = format!("{{\"a\":{raw}");
        prop_assert_eq!(shown(Index::default().first_object(raw.as_bytes())), shown(first_object(raw.as_bytes())));
    }

    #[test]
    fn any_bytes_are_taken(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Found::Object(mut fields) = first_object(&raw) {
            for (key, value) in fields.by_ref() {
                let _ = (key.decode(), value.elements().count());
            }
            prop_assert!(fields.end().is_none_or(|end| end <= raw.len()));
        }
    }
}
