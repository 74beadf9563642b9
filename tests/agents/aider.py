"""How Aider is driven, and what must hold of Baton's account of it.

It is a Python package. It calls no tools: the model edits by blocks in its answer, and a person runs commands beside it.
It keeps every start as a session of its own in a file of the project, without the output or outcome of a command.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

import script
from check import Account, expect

# Seconds until an interrupt, and until the end.
PROMPT, END = 180, 60
# The newest Python that its dependencies have wheels for.
PYTHON = "python3.12"
BLOCK = "{name}\n```python\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```"
SAID = [
    "I write the store down, and let a writer wait.\n\n" + BLOCK.format(name="store.py", old="", new=script.STORE.replace(script.OLD, script.NEW))
    + f"\n\nDecision: {script.DECISION}\n\nNext step: {script.NEXT}",
    "NOTES.md says it: **five seconds**.\n\n" + BLOCK.format(name="NOTES.md", old="", new=script.NOTE),
    script.SLOW,
    "There is no other writer.",
]
# The prompts in the order in which they are typed: the last one after a start anew.
TYPED = [script.PROMPTS[at] for at in (0, 1, 3, 2)]


def turns(_project):
    return [(prompt, [{"say": said, "halt": said is script.SLOW}]) for prompt, said in zip(TYPED, SAID)]


class Driven:
    """What differs from other agents; it is mixed into a run."""

    turns = staticmethod(turns)

    def install(self):
        python = shutil.which(PYTHON) or sys.executable
        for command in ([python, "-m", "venv", "venv"], ["venv/bin/pip", "install", "-q", self.agent.package]):
            if not self.program().exists():
                self.installs.mkdir(parents=True, exist_ok=True)
                done = subprocess.run(command, cwd=self.installs, capture_output=True, text=True, timeout=900, check=False)
                if done.returncode:
                    raise self.undriven(f"{' '.join(command)} failed: {done.stderr.strip()}")

    def program(self):
        return self.installs / "venv/bin" / self.agent.program

    def version(self):
        command = [self.installs / "venv/bin/pip", "show", self.agent.package]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return next((line.split()[1] for line in shown.splitlines() if line.startswith("Version: ")), "-")

    def drive(self):
        """A session with two prompts and an interrupted command and answer, and one that goes on from it."""
        braced = [f"{{\n{prompt}\n}}\n" for prompt in TYPED]
        command = f"/run {script.CHECK}\n"
        process = self.open(self.agent.first, 1)
        self.type(process, [command, braced[0], command, braced[1], f"/run {script.LONG}\n"])
        self.interrupt_when(process, (self.project / script.BEGUN).exists)
        self.type(process, [braced[2]])
        self.interrupt_when(process, self.model.halted.is_set)
        self.end(process)
        process = self.open(self.agent.again, 2)
        self.type(process, [braced[3]])
        self.end(process)
        # Baton reads the histories of the projects that it is told.
        self.baton("install", "aider", "--project", str(self.project), "--yes")

    def open(self, arguments, number):
        with (self.folder / f"agent-{number}.log").open("w") as log:
            return subprocess.Popen([self.program(), *arguments], cwd=self.project, env=self.env(), text=True, stdin=subprocess.PIPE,
                                    stdout=log, stderr=log, start_new_session=True)

    @staticmethod
    def type(process, lines):
        process.stdin.write("".join(lines))
        process.stdin.flush()

    def interrupt_when(self, process, is_reached):
        limit = time.monotonic() + PROMPT
        while not is_reached() and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.1)
        if not is_reached():
            self.kill(process)
            raise self.undriven("it has not come far enough to be interrupted")
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)

    def end(self, process):
        process.stdin.close()
        try:
            process.wait(END)
        except subprocess.TimeoutExpired:
            self.kill(process)
            raise self.undriven(f"it has not ended after {END} s") from None

    @staticmethod
    def kill(process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class AiderAccount(Account):
    """The checks where another session, or none of a result, is to be told."""

    def read_sessions(self):
        # Those of one file have its time; the one that goes on has one prompt.
        return sorted(super().read_sessions(), key=lambda session: -session["message_count"])

    def check_session(self):
        found = [(session["agent"], session["directory"]) for session in self.sessions]
        expect(found == [("aider", str(self.run.project))] * 2, f"expected two of aider, got {found}")
        more = self.ask("show", self.sessions[1]["session_id"], "--messages").get("messages", [])
        told = [part["text"] for message in more for part in message["parts"] if part["kind"] in ("prompt", "text")]
        expect(told == [TYPED[3], SAID[3]], f"in the session that goes on: {told}")

    def check_prompts(self):
        got = [part["text"] for part in self.parts("prompt")]
        expect(got == TYPED[:3], f"typed {TYPED[:3]}\n  got {got}")
        self.in_plain(got)

    def check_replies(self):
        got = [part["text"] for part in self.parts("text")]
        expect(got[:2] == SAID[:2] and SAID[2].startswith(got[2]) and len(got) == 3, f"answered {SAID[:3]}\n  got {got}")
        self.in_plain(SAID[:2])

    def shell(self, at, _outcome, _code):
        calls = self.calls(script.CHECK)
        expect(len(calls) == 2 and calls[at]["outcome"] is None, f"expected two calls without an outcome, got {calls}")

    def check_failing(self):
        self.shell(0, None, None)

    def check_edit(self):
        got = sorted(file["path"] for file in self.episode.get("files_modified", []))
        expect([path.rsplit("/", 1)[-1] for path in got] == ["NOTES.md", "store.py"], f"changed {got}")
        calls = [call for call in self.calls("store.py") if call["name"] == "edit"]
        expect([(call["outcome"], call.get("added")) for call in calls] == [("ok", 7)], f"the call that edits: {calls}")

    def check_answer_cut(self):
        listed = [item["text"] for item in self.episode.get("unresolved", [])]
        expect(any(TYPED[2] in text for text in listed), f"what was asked last is not open: {listed}")

    def check_call_cut(self):
        calls = self.calls(script.BEGUN)
        # Nothing tells an interrupt of a command from its end.
        expect([call["outcome"] for call in calls] == [None], f"expected one without an outcome, got {calls}")

    def check_usage(self):
        total = (self.shown.get("usage") or {}).get("total") or {}
        expect(total.get("output_tokens", 0) > 0, f"answers were counted, got {total}")

    def check_handoff(self):
        expect(self.handoff.get("session_id") in [session["session_id"] for session in self.sessions], f"{self.handoff}")
        told = " ".join(str(self.handoff.get("text")).split())
        lost = [text for text in ("store.py", script.DECISION) if text not in told]
        expect(not lost, f"it does not tell {lost}: {self.handoff.get('text')}")
