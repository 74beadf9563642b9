//! Irregular forms of English words, which no stemmer reduces to their base: `bought` is a form of `buy`, `children` of
//! `child`.
//!
//! Forms only, no synonyms. A form that is mostly another word is left out: `bound`, `ground`, `lives`.

/// Forms with their bases, sorted by form for binary search (a test checks the order).
const FORMS: &[(&str, &str)] = &[
    ("analyses", "analysis"),
    ("arisen", "arise"),
    ("arose", "arise"),
    ("ate", "eat"),
    ("awoke", "awake"),
    ("awoken", "awake"),
    ("beaten", "beat"),
    ("became", "become"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bent", "bend"),
    ("bit", "bite"),
    ("bitten", "bite"),
    ("bled", "bleed"),
    ("blew", "blow"),
    ("blown", "blow"),
    ("borne", "bear"),
    ("bought", "buy"),
    ("bred", "breed"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("burnt", "burn"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("clung", "cling"),
    ("crept", "creep"),
    ("criteria", "criterion"),
    ("dealt", "deal"),
    ("drank", "drink"),
    ("drawn", "draw"),
    ("dreamt", "dream"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("drunk", "drink"),
    ("dug", "dig"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("fed", "feed"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("fled", "flee"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("forbade", "forbid"),
    ("forbidden", "forbid"),
    ("forgave", "forgive"),
    ("forgiven", "forgive"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("gave", "give"),
    ("geese", "goose"),
    ("given", "give"),
    ("goes", "go"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("hung", "hang"),
    ("indices", "index"),
    ("kept", "keep"),
    ("knelt", "kneel"),
    ("knew", "know"),
    ("knives", "knife"),
    ("known", "know"),
    ("leapt", "leap"),
    ("learnt", "learn"),
    ("led", "lead"),
    ("left", "leave"),
    ("lent", "lend"),
    ("lost", "lose"),
    ("made", "make"),
    ("matrices", "matrix"),
    ("meant", "mean"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("overwritten", "overwrite"),
    ("overwrote", "overwrite"),
    ("paid", "pay"),
    ("people", "person"),
    ("proven", "prove"),
    ("ran", "run"),
    ("rang", "ring"),
    ("rewritten", "rewrite"),
    ("rewrote", "rewrite"),
    ("ridden", "ride"),
    ("risen", "rise"),
    ("rode", "ride"),
    ("rung", "ring"),
    ("said", "say"),
    ("sang", "sing"),
    ("sank", "sink"),
    ("sat", "sit"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("shaken", "shake"),
    ("shelves", "shelf"),
    ("shone", "shine"),
    ("shook", "shake"),
    ("shown", "show"),
    ("shrank", "shrink"),
    ("shrunk", "shrink"),
    ("slept", "sleep"),
    ("slid", "slide"),
    ("sold", "sell"),
    ("sought", "seek"),
    ("spelt", "spell"),
    ("spent", "spend"),
    ("spilt", "spill"),
    ("spoilt", "spoil"),
    ("spoken", "speak"),
    ("spun", "spin"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("stood", "stand"),
    ("struck", "strike"),
    ("stuck", "stick"),
    ("stung", "sting"),
    ("sung", "sing"),
    ("sunk", "sink"),
    ("swam", "swim"),
    ("swept", "sweep"),
    ("swore", "swear"),
    ("sworn", "swear"),
    ("swum", "swim"),
    ("swung", "swing"),
    ("taken", "take"),
    ("taught", "teach"),
    ("teeth", "tooth"),
    ("thought", "think"),
    ("thoughts", "think"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("tore", "tear"),
    ("torn", "tear"),
    ("understood", "understand"),
    ("undid", "undo"),
    ("undone", "undo"),
    ("vertices", "vertex"),
    ("went", "go"),
    ("withdrawn", "withdraw"),
    ("withdrew", "withdraw"),
    ("wives", "wife"),
    ("woke", "wake"),
    ("woken", "wake"),
    ("women", "woman"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("wove", "weave"),
    ("woven", "weave"),
    ("written", "write"),
    ("wrote", "write"),
];

/// The base of a lower-cased word if it is an irregular form.
pub(super) fn base(word: &str) -> Option<&'static str> {
    FORMS.binary_search_by_key(&word, |(form, _)| form).ok().map(|at| FORMS[at].1)
}

/// The irregular forms that begin with a lower-cased text.
pub(super) fn beginning(start: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let from = FORMS.partition_point(|(form, _)| *form < start);
    FORMS[from..].iter().map(|(form, _)| *form).take_while(move |form| form.starts_with(start))
}

#[cfg(test)]
mod tests {
    use baton_ask::stopwords;

    use super::*;

    #[test]
    fn forms_are_in_order_and_lead_to_words_that_are_looked_for() {
        assert!(FORMS.is_sorted_by(|a, b| a.0 < b.0), "each once, in order");
        for (form, base) in FORMS {
            assert!(super::base(base).is_none(), "{form}: {base} is itself a form");
            assert!(!stopwords::is_stop(form) && !stopwords::is_stop(base), "{form} of {base} is a stop word");
        }
    }

    #[test]
    fn a_form_has_its_base() {
        let check = |word, expected| assert_eq!(base(word), expected, "{word}");
        check("bought", Some("buy"));
        check("women", Some("woman"));
        check("buy", None);
        check("buys", None);
        check("bound", None);
        check("", None);
    }
}
