//! The content of a session: prompts, each followed by a few to dozens of steps, until its size is reached.

use std::fmt::Write;

use super::plan::Plan;
use super::project::{Project, SourceFile};
use super::random::Random;
use super::text::Speaker;
use super::transcript::Transcript;
use super::vocabulary::{RARE, Vocabulary};

/// Writes one transcript.
pub(super) fn write<'a>(plan: &'a Plan, seed: u64, project: &'a Project, vocabulary: &Vocabulary) -> Transcript<'a> {
    let mut random = Random::for_part(seed, 1_000_000 + plan.number);
    let speaker = Speaker { vocabulary, project };
    let nickname = format!(
        "{}-{}-{}",
        vocabulary.uncommon_word(&mut random),
        vocabulary.uncommon_word(&mut random),
        vocabulary.uncommon_word(&mut random)
    );
    let mut title = String::new();
    speaker.sentences(&mut random, 30, &mut title);
    let title = title.split("\\n").next().unwrap_or_default().trim_end_matches('.').to_owned();
    let mut session = Session { speaker, plan, out: Transcript::new(plan, &project.directory, random, nickname) };
    let mut turn = 0;
    while session.out.text.len() < plan.bytes || turn == 0 {
        session.turn(turn, &title);
        turn += 1;
    }
    session.out
}

struct Session<'a, 'b> {
    speaker: Speaker<'b>,
    plan: &'a Plan,
    out: Transcript<'a>,
}

impl Session<'_, '_> {
    /// Writes one prompt and everything that follows from it.
    fn turn(&mut self, turn: usize, title: &str) {
        let (project, random) = (self.speaker.project, &mut self.out.random);
        let mut prompt = String::new();
        let dense = self.plan.dense;
        let length = random.skewed(if dense { 200 } else { 30 }, 3000);
        self.speaker.sentences(random, length, &mut prompt);
        if turn == 0 && self.plan.says_rare {
            let _ = write!(prompt, " The release is called {RARE}.");
        }
        let files: Vec<String> = (0..random.between(0, 6)).map(|_| project.file(random).path.clone()).collect();
        if self.plan.version.is_new {
            if !dense && random.percent(60) {
                let reminder = self.sentences(900);
                self.out.attachment("task_reminder", &reminder);
            }
        } else if !dense {
            self.out.snapshot(&files);
        }
        self.out.prompt(&prompt);
        for agent in self.plan.spawns.iter().filter(|_| turn == 0) {
            self.subagent(agent);
        }
        let random = &mut self.out.random;
        let steps = if dense { usize::from(random.percent(4)) } else { random.skewed(2, 60) };
        for _ in 0..steps {
            if self.out.text.len() >= self.plan.bytes {
                break;
            }
            self.step();
        }
        self.wait(2000, 9000);
        self.out.next_message();
        let mut reply = String::new();
        let random = &mut self.out.random;
        if random.percent(25) {
            self.speaker.decision(random, &mut reply);
            reply.push_str("\\n\\n");
        }
        let length = if dense { random.between(1500, 8000) } else { random.skewed(120, 2600) };
        self.speaker.sentences(random, length, &mut reply);
        self.out.say(&reply);
        if !dense {
            self.out.end_turn(title, &prompt);
        }
        // People read, think and have lunch.
        self.wait(8000, 3_000_000);
    }

    /// Writes one message of the agent, possibly with thinking and text, its tool calls and their results.
    fn step(&mut self) {
        self.wait(1200, 22_000);
        self.out.next_message();
        let random = &mut self.out.random;
        if self.plan.version.is_new && random.percent(20) {
            let length = random.skewed(300, 12_000);
            let context = self.sentences(length);
            self.out.attachment("hook_additional_context", &context);
        }
        let random = &mut self.out.random;
        if random.percent(45) {
            let signature = random.skewed(300, 12_000);
            let thought = if self.plan.version.is_new { 0 } else { random.skewed(60, 1800) };
            let thought = if thought == 0 { String::new() } else { self.sentences(thought) };
            self.out.thinking(&thought, signature);
        }
        if self.out.random.percent(40) {
            let length = self.out.random.skewed(40, 1200);
            let words = self.sentences(length);
            self.out.say(&words);
        }
        match self.out.random.below(100) {
            0..32 => self.read(),
            32..64 => self.run(),
            64..82 => self.edit(),
            82..87 => self.create(),
            87..95 => self.grep(),
            _ => self.todo(),
        }
    }

    fn read(&mut self) {
        let (project, random) = (self.speaker.project, &mut self.out.random);
        let file = project.file(random);
        let from = if random.percent(70) { 0 } else { random.below(file.len()) };
        let count = random.between(10, 40) + random.skewed(0, 600);
        let path = absolute(project, file);
        let call = self.out.call("Read", &format!(r#"{{"file_path":"{path}"}}"#));
        self.wait(20, 400);
        let (mut content, mut copy) = (String::new(), String::new());
        file.write_numbered(from, count, &mut content);
        let _ = write!(copy, r#"{{"type":"text","file":{{"filePath":"{path}","content":""#);
        file.write(from, count, &mut copy);
        let _ = write!(copy, r#"","numLines":{count},"startLine":{},"totalLines":{}}}}}"#, from + 1, file.len());
        self.out.result(&call, &content, false, &copy);
    }

    fn run(&mut self) {
        let (speaker, random) = (self.speaker, &mut self.out.random);
        let failed = random.percent(12);
        let program = *random.pick(&[
            "cargo test",
            "cargo build",
            "npm run build",
            "git log --oneline",
            "rg -n",
            "pytest",
            "ls -la",
        ]);
        let (module, word) = (speaker.project.identifier(random), speaker.project.topic(random));
        let input =
            format!(r#"{{"command":"{program} {module} 2>&1 | tail -40","description":"Run {program} for {word}"}}"#);
        let length = random.skewed(60, 20_000);
        let mut output = String::new();
        speaker.output(random, length, failed, &mut output);
        let call = self.out.call("Bash", &input);
        if self.plan.version.has_progress {
            for seconds in 1..=self.out.random.between(0, 10) {
                self.wait(1000, 1000);
                let most = output.len() * seconds / 10;
                let end = (0..=most).rev().find(|end| output.is_char_boundary(*end)).unwrap_or(0);
                let so_far = output[..end].trim_end_matches('\\');
                self.out.progress(&call, so_far);
            }
        }
        self.wait(100, 30_000);
        if failed {
            let said = format!("Exit code 101\\n{output}");
            self.out.result(&call, &said, true, &format!("\"Error: {said}\""));
        } else {
            let copy = format!(
                r#"{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}"#
            );
            self.out.result(&call, &output, false, &copy);
        }
    }

    fn edit(&mut self) {
        let (project, random) = (self.speaker.project, &mut self.out.random);
        let file = project.file(random);
        let path = absolute(project, file);
        let (at, lines) = (random.below(file.len()), random.between(1, 9));
        let (mut old, mut new) = (String::new(), String::new());
        file.write(at, lines, &mut old);
        project.file(random).write(0, lines + random.below(6), &mut new);
        let input =
            format!(r#"{{"file_path":"{path}","old_string":"{old}","new_string":"{new}","replace_all":false}}"#);
        let call = self.out.call("Edit", &input);
        self.wait(30, 900);
        let mut content = format!("The file {path} has been updated successfully.");
        if !self.plan.version.is_new {
            content.push_str(" Here's the result of running `cat -n` on a snippet:\\n");
            file.write_numbered(at, 12, &mut content);
        }
        let mut copy = format!(r#"{{"filePath":"{path}","oldString":"{old}","newString":"{new}","originalFile":"#);
        if self.plan.version.has_original {
            copy.push('"');
            file.write(0, file.len(), &mut copy);
            copy.push('"');
        } else {
            copy.push_str("null");
        }
        let _ = write!(
            copy,
            r#","structuredPatch":[{{"oldStart":{at},"oldLines":{lines},"newStart":{at},"newLines":{lines},"lines":["#
        );
        let patch = old
            .split_terminator("\\n")
            .map(|line| ('-', line))
            .chain(new.split_terminator("\\n").map(|line| ('+', line)));
        for (index, (sign, line)) in patch.enumerate() {
            let _ = write!(copy, "{}\"{sign}{line}\"", if index > 0 { "," } else { "" });
        }
        copy.push_str(r#"]}],"userModified":false,"replaceAll":false}"#);
        self.out.result(&call, &content, false, &copy);
    }

    fn create(&mut self) {
        let (project, random) = (self.speaker.project, &mut self.out.random);
        let (file, from, count) = (project.file(random), random.below(40), random.between(10, 160));
        let path = format!("{}/src/{}/{}.rs", project.directory, project.topic(random), project.identifier(random));
        let mut content = String::new();
        file.write(from, count, &mut content);
        let call = self.out.call("Write", &format!(r#"{{"file_path":"{path}","content":"{content}"}}"#));
        self.wait(30, 400);
        let copy = format!(
            r#"{{"type":"create","filePath":"{path}","content":"{content}","structuredPatch":[],"originalFile":null}}"#
        );
        self.out.result(&call, &format!("File created successfully at: {path}"), false, &copy);
    }

    fn grep(&mut self) {
        let (project, random) = (self.speaker.project, &mut self.out.random);
        let pattern = project.identifier(random);
        let mut content = String::new();
        for _ in 0..random.skewed(1, 90) {
            let file = project.file(random);
            let _ = write!(content, "{}:{}:{}\\n", file.path, random.between(1, file.len()), file.line(random));
        }
        let call = self.out.call("Grep", &format!(r#"{{"pattern":"{pattern}","output_mode":"content","-n":true}}"#));
        self.wait(40, 300);
        let copy = format!(r#"{{"mode":"content","numFiles":0,"filenames":[],"content":"{content}","numLines":40}}"#);
        self.out.result(&call, &content, false, &copy);
    }

    fn todo(&mut self) {
        let mut todos = String::from("[");
        for (index, status) in ["completed", "in_progress", "pending"].into_iter().enumerate() {
            let item = self.sentences(40).replace("\\n", " ");
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(todos, r#"{comma}{{"content":"{item}","status":"{status}","activeForm":"{item}"}}"#);
        }
        todos.push(']');
        let call = self.out.call("TodoWrite", &format!(r#"{{"todos":{todos}}}"#));
        self.wait(10, 60);
        let said = "Todos have been modified successfully. Please proceed with the current tasks if applicable";
        self.out.result(&call, said, false, &format!(r#"{{"oldTodos":[],"newTodos":{todos}}}"#));
    }

    fn subagent(&mut self, agent: &str) {
        self.wait(1200, 9000);
        let (task, report) = (self.sentences(300), self.sentences(1200));
        let input = format!(r#"{{"description":"Look around","prompt":"{task}","subagent_type":"Explore"}}"#);
        let call = self.out.call("Task", &input);
        self.wait(30_000, 200_000);
        let copy = format!(
            r#"{{"status":"completed","prompt":"{task}","agentId":"{agent}","content":[{{"type":"text","text":"{report}"}}],"totalDurationMs":41000,"totalTokens":21000,"totalToolUseCount":9}}"#
        );
        self.out.result(&call, &format!("{report}\\n\\nagentId: {agent}"), false, &copy);
    }

    fn sentences(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 100);
        self.speaker.sentences(&mut self.out.random, bytes, &mut text);
        text
    }

    fn wait(&mut self, least_ms: usize, most_ms: usize) {
        let ms = self.out.random.skewed(least_ms, most_ms);
        self.out.pass(ms);
    }
}

fn absolute(project: &Project, file: &SourceFile) -> String {
    format!("{}/{}", project.directory, file.path)
}
