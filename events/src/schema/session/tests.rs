use super::*;

#[test]
fn what_no_version_wrote_is_named() {
    assert!(matches!(decode("teleported", 1, "{}"), Err(Error::UnknownType { kind }) if kind == "teleported"));
    for kind in KINDS {
        assert!(decode(kind, 99, "{}").is_err());
        assert!(decode(kind, 1, "[nonsense").is_err());
    }
    let wrong = r#"{"reason":"boredom","at":0,"by_self":false}"#;
    assert!(matches!(decode("ended", 1, wrong), Err(Error::Malformed { kind: "ended", .. })));
}
