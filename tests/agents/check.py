"""What must hold of Baton's account of a session that was driven."""
import script

# The names of the checks, in the order of the table.
CHECKS = ["session", "lines", "prompts", "replies", "failing", "passing", "edit", "call cut", "answer cut", "title", "usage", "close", "handoff"]


class Failed(Exception):
    """How what Baton says differs from what happened."""


class Skipped(Exception):
    """Why there is nothing to compare."""


def expect(holds, difference):
    if not holds:
        raise Failed(difference)


class Account:
    """What Baton says of the only session of a run, read once."""

    def __init__(self, run):
        self.run = run
        self.sessions = self.read_sessions()
        self.id = self.sessions[0]["session_id"] if self.sessions else None
        # Closing indexes it: before that there are no messages to show.
        self.closed = self.ask("close", self.id) if self.id else {}
        self.messages = self.ask("show", self.id, "--messages").get("messages", []) if self.id else []
        self.plain = run.baton("show", self.id, "--messages") if self.id else ""
        self.shown = self.ask("show", self.id) if self.id else {}
        self.episode = self.shown.get("episode") or {}
        self.handoff = self.ask("handoff")

    def read_sessions(self):
        return self.run.baton("sessions", "--json").get("sessions", [])

    def ask(self, *arguments):
        return self.run.baton(*arguments, "--json")

    def parts(self, kind):
        return [part for message in self.messages for part in message["parts"] if part["kind"] == kind]

    def calls(self, word):
        """The calls whose input mentions the word."""
        tools = [part["tool"] for part in self.parts("tool")]
        return [tool for tool in tools if word in str(tool.get("input")) or word in str(tool.get("result"))]

    def check_session(self):
        found = [(session["session_id"], session.get("agent")) for session in self.sessions]
        expect([agent for _, agent in found] == [self.run.agent.name], f"expected one of {self.run.agent.name}, got {found}")

    def check_lines(self):
        """Every line of the transcript is of a known kind."""
        bad = {key: self.shown.get(key) for key in ("unknown_types", "malformed_lines", "oversize_lines")}
        expect(not any(bad.values()), f"{bad}")

    def check_prompts(self):
        """What was typed, verbatim and nothing else; what was interrupted only if the agent has stored it."""
        wanted = script.PROMPTS[:2] + [prompt for prompt in script.PROMPTS[2:] if self.is_stored(prompt)]
        got = [part["text"] for part in self.parts("prompt")]
        expect(got == wanted, f"typed {wanted}\n  got {got}")
        self.in_plain(wanted)

    def check_replies(self):
        """What was answered, verbatim; of the last answer at most what came before the interrupt."""
        wanted = script.replies(self.run.project)
        got = [part["text"] for part in self.parts("text")]
        rest = got[len(wanted) :]
        expect(got[: len(wanted)] == wanted, f"answered {wanted}\n  got {got}")
        expect(all(script.SLOW.startswith(text.strip()) for text in rest), f"after the last answer: {rest}")
        self.in_plain(wanted)

    def in_plain(self, texts):
        """The texts are in what `baton show --messages` prints for people too, line by line."""
        lost = [line for text in texts for line in text.splitlines() if line.strip() not in self.plain]
        expect(not lost, f"not in the text of --messages: {lost}")

    def shell(self, at, outcome, code):
        calls = self.calls(script.CHECK)
        got = [(call["outcome"], call.get("exit_code")) for call in calls]
        expect(len(got) == 2, f"expected two calls of {script.CHECK!r}, got {calls}")
        expect(got[at][0] == outcome and got[at][1] in code, f"got {got[at]}: {calls[at]}")

    def check_failing(self):
        self.shell(0, "failed", [script.CODE])
        listed = [error["text"] for error in self.episode.get("errors", [])]
        expect(any(script.CHECK in text for text in listed), f"not among the errors of the episode: {listed}")

    def check_passing(self):
        self.shell(1, "ok", [0, None])

    def check_edit(self):
        files = {file["path"]: file for file in self.episode.get("files_modified", [])}
        wanted = {f"{self.run.project}/store.py", f"{self.run.project}/NOTES.md"}
        # What the long command has touched may be told or not.
        got = {path for path in files if not path.endswith(script.BEGUN)}
        expect(got == wanted, f"changed {sorted(wanted)}\n  got {list(files.values())}")
        calls = [call for call in self.calls("store.py") if script.NEW.split("\n")[0] in str(call.get("input"))]
        expect([call["outcome"] for call in calls] == ["ok"], f"the call that edits: {calls}")

    def check_answer_cut(self):
        """What was typed is kept and open, and the half of the answer is kept if the agent keeps it."""
        prompt, half = script.PROMPTS[3], script.SLOW[:50]
        if not self.is_stored(prompt):
            raise Skipped("the agent has not stored the prompt")
        expect(prompt in [part["text"] for part in self.parts("prompt")], "the prompt is stored, but not told")
        texts = [part["text"] for part in self.parts("text")]
        expect(not self.is_stored(half) or any(half in text for text in texts), f"the half answer is stored, but not told: {texts}")
        listed = [item["text"] for item in self.episode.get("unresolved", [])]
        expect(any(prompt in text for text in listed), f"what was asked last is not open: {listed}")

    def check_call_cut(self):
        """A command that was interrupted is told so."""
        if not self.is_stored(script.LONG.split(" && ")[1]):
            raise Skipped("the agent has not stored the call")
        calls = self.calls(script.BEGUN)
        expect([call["outcome"] for call in calls] == ["interrupted"], f"expected one that is interrupted, got {calls}")

    def check_title(self):
        """It says what the session is about, which is in the first sentence that was typed."""
        title = self.episode.get("title") or ""
        expect("writers" in title, f"{title!r}")

    def check_usage(self):
        """The tokens that the model has counted; the answer that was cut and requests for titles may add some."""
        total = (self.shown.get("usage") or {}).get("total") or {}
        answered = script.TOKENS * script.ANSWERS
        expect(total.get("output_tokens", 0) >= answered, f"{answered} tokens were answered, got {total}")

    def check_close(self):
        expect(self.closed.get("status") == "success" and self.closed.get("episode_uuid"), f"{self.closed}")

    def check_handoff(self):
        expect(self.handoff.get("session_id") == self.id, f"{self.handoff}")
        told = " ".join(str(self.handoff.get("text")).split())
        lost = [text for text in ("store.py", script.DECISION, script.NEXT, script.CHECK) if text not in told]
        expect(not lost, f"it does not tell {lost}: {self.handoff.get('text')}")

    def is_stored(self, text):
        """Whether the agent's own files contain the text, which has nothing to escape; Baton's are elsewhere."""
        for path in self.run.home.rglob("*"):
            if path.is_file() and path.suffix in (".jsonl", ".json", ".db", ".db-wal") and text.encode() in path.read_bytes():
                return True
        return False


def all_checks(run):
    """Each check with `ok`, `FAILED` or `skipped`, and why."""
    account, outcomes = run.account(run), {}
    for name in CHECKS:
        try:
            getattr(account, f"check_{name.replace(' ', '_')}")()
            outcomes[name] = ("ok", "")
        except Failed as difference:
            outcomes[name] = ("FAILED", str(difference))
        except Skipped as reason:
            outcomes[name] = ("skipped", str(reason))
    return outcomes
