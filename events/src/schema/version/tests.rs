use super::*;

#[derive(Serialize, Deserialize)]
struct ThingV1 {
    size: u32,
}
#[derive(Serialize, Deserialize)]
struct ThingV2 {
    bytes: u64,
}
#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct ThingV3 {
    bytes: u64,
    sealed: bool,
}
impl Shape for ThingV1 {
    const KIND: &'static str = "thing";
    const V: u32 = 1;
    type Older = Oldest;
}
impl From<Oldest> for ThingV1 {
    fn from(never: Oldest) -> Self {
        match never {}
    }
}
impl Shape for ThingV2 {
    const KIND: &'static str = "thing";
    const V: u32 = 2;
    type Older = ThingV1;
}
impl From<ThingV1> for ThingV2 {
    fn from(old: ThingV1) -> Self {
        Self { bytes: u64::from(old.size) * 1024 }
    }
}
impl Shape for ThingV3 {
    const KIND: &'static str = "thing";
    const V: u32 = 3;
    type Older = ThingV2;
}
impl From<ThingV2> for ThingV3 {
    fn from(old: ThingV2) -> Self {
        Self { bytes: old.bytes, sealed: false }
    }
}

#[test]
fn older_shapes_are_lifted_step_by_step() {
    let lifted: ThingV3 = read(1, r#"{"size":2}"#).unwrap();
    assert_eq!(lifted, ThingV3 { bytes: 2048, sealed: false });
    assert_eq!(read::<ThingV3>(3, r#"{"bytes":1,"sealed":true}"#).unwrap().bytes, 1);
    assert!(matches!(read::<ThingV3>(4, "{}"), Err(Error::NewerVersion { found: 4, known: 3, .. })));
    assert!(matches!(read::<ThingV3>(0, "{}"), Err(Error::Malformed { .. })));
    assert!(matches!(read::<ThingV3>(2, r#"{"size":2}"#), Err(Error::Malformed { v: 2, .. })));
}
