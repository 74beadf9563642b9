//! What was said and done about a failure.

use super::*;

#[test]
fn an_account_quotes_what_was_said_and_done() {
    let asked = FixQuery::read("Error: pathspec 'dist' did not match any file [3ms]");
    let read = |script: Script, lines: &[u64]| {
        let mut reader = AccountReader::new(&asked, lines.iter().copied());
        script.0.iter().for_each(|item| reader.push(item));
        reader.finish()
    };
    let pasted = || Script::default().prompt("it says:\nError: pathspec 'dist' did not match any file [812ms]\nhelp");
    let mended = |script: Script| {
        let looked = script.reply("Let me look.").ok("git status").read("a.ts");
        looked.reply("The pathspec is gone.").edit("a.ts").ok("make").reply("Done.").prompt("thanks").edit("b.ts")
    };
    let (share, account) = read(mended(pasted()), &[]).unwrap();
    assert_eq!((share, account.role.as_str(), account.line), (1.0, "prompt", 1));
    assert_eq!(account.said.map(|said| said.text), Some("The pathspec is gone.".to_owned()));
    assert_eq!((&account.files[..], &account.commands[..]), (&["a.ts".to_owned()][..], &[][..]));
    assert_eq!(account.edits, ["a.ts: let crane = 1;"]);
    // The line came again: what was changed before did not help.
    let again = pasted().edit("c.ts").say(pasted().0.remove(0).body);
    let (_, account) = read(mended(again), &[]).unwrap();
    assert_eq!((account.times, &account.tried[..], account.files.len()), (2, &["c.ts".to_owned()][..], 1));
    // A commit that names it is no occurrence, whatever git prints of it.
    let kept = Script::default()
        .fails("npx playwright test", "Error: pathspec 'dist' did not match any file")
        .edit("a.ts")
        .ok("npx playwright test")
        .ok("git add -A && git commit -m \"Error: pathspec 'dist' did not match any file\"");
    let (_, account) = read(kept, &[]).unwrap();
    assert_eq!((account.times, account.tried.len(), &account.files[..]), (1, 0, &["a.ts".to_owned()][..]));
    // Its words in a file that is read are no failure; those in an output of which one line is kept are known by line.
    let script = || Script::default().read("pathspec 'dist' did not match any file").ok("make");
    assert_eq!(read(script(), &[2]), None);
    assert_eq!(read(script(), &[4]).map(|(_, account)| (account.role, account.line)), Some(("output".to_owned(), 4)));
    // What the program did in the end ends the account: later edits are about something else.
    let asked = FixQuery::read("The following paths are ignored: dist/assets");
    let script = Script::default()
        .fails("git add dist/assets", "The following paths are ignored: dist/assets")
        .reply("They are tracked.")
        .ok("git add -f dist/assets")
        .reply("One heron is left.")
        .edit("heron.ts");
    let mut reader = AccountReader::new(&asked, []);
    script.0.iter().for_each(|item| reader.push(item));
    let (_, account) = reader.finish().unwrap();
    assert_eq!((account.files.len(), account.said.map(|said| said.text)), (0, Some("They are tracked.".to_owned())));
    assert_eq!(account.commands, ["git add -f dist/assets"]);
    // What only looks is answered by what showed the same file.
    let asked = FixQuery::read("cat: illegal option -- A");
    let script = Script::default()
        .fails("cat -A src/heron.ts", "cat: illegal option -- A")
        .ok("cat src/pelican.ts")
        .ok("cat -vet src/heron.ts")
        .ok("cat -A src/other.ts")
        .reply("All is done.");
    let mut reader = AccountReader::new(&asked, []);
    script.0.iter().for_each(|item| reader.push(item));
    assert_eq!(reader.finish().unwrap().1.commands, ["cat -vet src/heron.ts"]);
    // A summary has the words: what was done next is told, and the failure itself comes before it.
    let asked = FixQuery::read("error: cannot call heron_of in a guard");
    let summary =
        || Script::default().say(Body::Summary { text: "Left:\n- `cannot call heron_of in a guard`".to_owned() });
    let read = |script: Script, line: u64| {
        let mut reader = AccountReader::new(&asked, [line]);
        script.0.iter().for_each(|item| reader.push(item));
        reader.finish().map(|(share, account)| (share, account.role, account.text, account.files))
    };
    let told = read(summary().reply("I take it out first.").edit("heron.ex"), 1);
    let line = "- `cannot call heron_of in a guard`".to_owned();
    assert_eq!(told, Some((1.0, "summary".to_owned(), line, vec!["heron.ex".to_owned()])));
    assert_eq!(read(summary().edit("heron.ex"), 9), None);
    let failed = Script::default().fails("mix compile", "error: cannot call heron_of in a guard");
    let line = failed.0.len() as u64;
    let told = read(failed.say(summary().0.remove(0).body), line + 1);
    assert_eq!(told.map(|(_, role, ..)| role), Some("output".to_owned()));
}
