use std::sync::mpsc;
use std::time::Instant;

use baton_protocol::answer::{Message, MessagePart, Messages, Row, ToolUse};
use crossterm::event::KeyCode;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::super::app::Event;
use super::super::conversation::Conversation;
use super::super::fetch::Fetch;
use super::super::found::{Entry, Page, Place};
use super::super::terminal::Happened;
use super::*;
use crate::environment::Environment;
use crate::print::Marks;

/// A browser that asks nobody, with a list.
fn app(entries: Vec<Entry>) -> App {
    let environment = Environment::isolated("/nowhere".into(), "/nowhere".into());
    let mut app = App::new(&environment, None, "web lock", mpsc::channel().0);
    app.theme = Theme { has_colours: true };
    app.list.wanted.query = "web lock".to_owned();
    app.list.ask_anew(Instant::now());
    app.list.take(1, 0, false, Page { entries, ..Page::default() });
    app
}

fn entry(number: u32, title: &str) -> Entry {
    let row = Row {
        session_id: format!("{number:08}"),
        title: Some(title.to_owned()),
        project: Some("/srv/projects/harbor-ui".to_owned()),
        agent: Some("codex".to_owned()),
        last_activity: Some("odd".to_owned()),
        message_count: 12,
        state: "indexed".to_owned(),
        end: Some("explicit".to_owned()),
        ..Row::default()
    };
    let text = "the browser grants web locks".to_owned();
    Entry { row, places: vec![Place { line: Some(7), role: "assistant".to_owned(), text }] }
}

fn drawn(app: &mut App, columns: u16, rows: u16) -> Vec<String> {
    let mut screen = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    screen
        .draw(|frame| {
            super::draw(app, frame.buffer_mut());
        })
        .unwrap();
    let cells = screen.backend().buffer().content().chunks(usize::from(columns));
    cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()).collect()
}

#[test]
fn the_list_stands_beside_or_above_the_preview_and_alone_if_there_is_no_room() {
    let mut app = app(vec![entry(1, "Locks for the web"), entry(2, "Another")]);
    let wide = drawn(&mut app, 100, 10);
    assert!(wide[0].starts_with("> web lock") && wide[0].ends_with("2 sessions"), "{wide:#?}");
    assert!(wide[1].starts_with("○ Locks for the web") && wide[1].contains(" │ Locks for the web"), "{wide:#?}");
    assert!(wide[2].starts_with("  harbor-ui · 12 msgs · Codex"), "{wide:#?}");
    assert!(wide[4].ends_with("│ - assistant 7: the browser grants web locks"), "{wide:#?}");
    let high = drawn(&mut app, 60, 20);
    assert!(high[1].starts_with("○ Locks") && high[3].starts_with("○ Another"), "{high:#?}");
    let rule = high.iter().position(|line| line.starts_with("────")).unwrap();
    assert!(high[rule + 1].starts_with("Locks for the web"), "{high:#?}");
    let low = drawn(&mut app, 60, 8);
    assert!(low[3].starts_with("○ Another") && !low.iter().any(|line| line.contains("────")), "{low:#?}");
    for (columns, rows) in [(1, 1), (10, 4), (11, 5), (30, 5), (60, 14), (250, 70)] {
        drawn(&mut app, columns, rows);
    }
}

#[test]
fn a_long_query_shows_its_end_and_a_long_title_its_beginning() {
    let mut app = app(vec![entry(1, &"日本語の題".repeat(30))]);
    app.list.query.insert(&" and more".repeat(30));
    let lines = drawn(&mut app, 60, 20);
    assert!(lines[0].contains("and more") && lines[0].ends_with("1 session"), "{lines:#?}");
    assert!(lines[1].starts_with("○ 日") && lines[1].contains('…'), "{lines:#?}");
}

#[test]
fn a_conversation_folds_its_tools_and_stays_where_it_is_when_it_grows() {
    let said = |line: u64, role: &str, kind: &str| Message {
        role: role.to_owned(),
        line,
        parts: vec![MessagePart {
            kind: kind.to_owned(),
            line,
            text: Some(format!("said {line}")),
            ..MessagePart::default()
        }],
        ..Message::default()
    };
    let tool = |name: &str, outcome: &str| MessagePart {
        kind: "tool".to_owned(),
        tool: Some(ToolUse { name: name.to_owned(), outcome: Some(outcome.to_owned()), ..ToolUse::default() }),
        ..MessagePart::default()
    };
    let mut second = said(2, "assistant", "text");
    second.parts.extend([tool("Bash", "ok"), tool("Read", "failed"), tool("Bash", "ok")]);
    let page = |messages: Vec<Message>, next| Messages { total: 40, messages, next, ..Messages::default() };
    let mut app = app(Vec::new());
    let names = ("1".to_owned(), "A title".to_owned());
    let mut open = Conversation::new(1, names, None, Marks::default(), app.theme);
    assert_eq!(open.wanted_fetch(), None, "nobody knows how much there is room for");
    app.stack.push(Screen::Conversation(Box::new(open)));
    drawn(&mut app, 60, 10);
    let Some(Screen::Conversation(open)) = app.stack.last_mut() else { panic!("it is open") };
    assert_eq!(open.wanted_fetch(), Some(Fetch::From(0)));
    open.take(Fetch::From(0), Ok(page(vec![said(1, "user", "prompt"), second], Some(3))));
    assert_eq!(open.wanted_fetch(), Some(Fetch::From(3)));
    let more = (3..40).map(|line| said(line, "user", "prompt")).collect();
    let lines = drawn(&mut app, 60, 12);
    assert!(lines[0].starts_with("A title") && lines[0].ends_with("line 1, 40 steps"), "{lines:#?}");
    assert!(lines.contains(&"  ▸ 3 tool calls: Bash 2, Read 1; 1 failed".to_owned()), "{lines:#?}");
    let Some(Screen::Conversation(open)) = app.stack.last_mut() else { panic!("it is open") };
    open.take(Fetch::From(3), Ok(page(more, None)));
    assert_eq!(drawn(&mut app, 60, 12)[1..8], lines[1..8], "what is read stays where it is");
    app.take(Event::Happened(Happened::Input(crossterm::event::Event::Key(KeyCode::Char('t').into()))));
    let lines = drawn(&mut app, 60, 12);
    assert!(lines.contains(&"  ▾ Read: failed".to_owned()), "{lines:#?}");
    // What is looked for is on the screen as soon as it is drawn.
    for key in "/said 30\n".chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        app.take(Event::Happened(Happened::Input(crossterm::event::Event::Key(code.into()))));
    }
    let lines = drawn(&mut app, 60, 12);
    assert!(lines.iter().any(|line| line.contains("said 30")), "{lines:#?}");
}
