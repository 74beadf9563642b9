//! The keys, as `?` shows them.

/// A screen with its keys, each with what it does.
pub(super) const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "List",
        &[
            ("type", "search as you type; `baton help search` has the language"),
            ("Up Down, Ctrl-P Ctrl-N", "select; also PgUp PgDn, Ctrl-Home Ctrl-End, the wheel"),
            ("Enter", "open the conversation where it matches; also a click on the selected one"),
            ("Tab", "go to the preview and back"),
            ("F2 F3 F4, Ctrl-F", "filter by project, agent, time"),
            ("Ctrl-R", "go on with the session in its agent"),
            ("Ctrl-Y  Ctrl-T", "copy its id; copy its episode as text"),
            ("Ctrl-X", "why it is in its state"),
            ("Ctrl-B", "which sessions changed one of its files"),
            ("Ctrl-U  Ctrl-W", "delete what is typed; delete a word"),
            ("Esc", "clear filters and query, then leave; Ctrl-C leaves"),
        ],
    ),
    (
        "Conversation",
        &[
            ("Up Down, j k", "scroll; also PgUp PgDn, Space, d u, g G, the wheel"),
            ("/  n  N", "find a text; the next and the previous place"),
            ("]  [", "the next and the previous prompt; also Tab, Shift-Tab"),
            ("t", "fold or unfold all calls of tools; a click does one"),
            ("r", "go on with the session in its agent"),
            ("y  c", "copy the id; copy the message at the top"),
            ("e  b", "why it is in its state; who changed one of its files"),
            ("q, Esc", "back"),
        ],
    ),
    ("Everywhere", &[("?, F1", "this help"), ("Ctrl-L", "draw anew"), ("Ctrl-Z", "stop, until `fg`")]),
    (
        "On the command line",
        &[
            ("baton today", "what runs, what was finished, what is open"),
            ("baton costs", "what the tokens of your agents cost"),
            ("baton ui", "the same and more as pages in your browser"),
        ],
    ),
];
