#!/usr/bin/env python3
"""Drives real agents against a scripted model and checks that Baton has understood what they have written.

    cargo build && tests/agents/run.py [--agents claude,codex] [--keep]

It needs npm, and Python for Aider, and installs the agents' newest versions below a temporary folder. Each agent has a home, a project and a
Baton of its own there, and an environment of nothing but what the run sets; the model is a server on the loopback, so
that no account is needed. A session is a prompt with a failing and a passing shell call and an edit, a resume with a
second prompt, and interrupts in the middle of a third prompt's command and of a fourth's answer. What Baton says of it
is then compared with what was typed and answered. Exit code: 0 if every check holds, 1 if one fails, 2 if nothing could
be run.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aider
import check
import script
from agents import AGENTS
from model import Model

ROOT = Path(__file__).resolve().parents[2]
# The oldest node that all of the newest agents accept, and the one that is installed where there is none.
NODE, NEW_NODE = 22, "node@24"
# Seconds that an agent has for a prompt, and after an interrupt.
PROMPT, INTERRUPT = 180, 15
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def npm(folder, package):
    """Installs a package into a folder, with the caller's settings of npm, unless it is there."""
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--loglevel=error", package]
        done = subprocess.run(command, cwd=folder, env=with_node(folder.parent), capture_output=True, text=True, timeout=900, check=False)
        if done.returncode:
            raise Undriven(f"npm install {package} failed: {last_line(done.stderr)}")


def with_node(installs):
    """The caller's environment, with the newer node first if one was installed."""
    node = installs / "node/node_modules/node/bin"
    return {**os.environ, "PATH": f"{node}:{os.environ.get('PATH', SYSTEM)}"}


def install_node(installs):
    """Makes sure of a node that is new enough: with an older one npm quietly installs an old agent."""
    found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip().lstrip("v")
    if not found or int(found.split(".")[0]) < NODE:
        npm(installs / "node", NEW_NODE)


def last_line(text):
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


class Undriven(Exception):
    """Why an agent cannot be driven here."""


class Run:
    """One agent in a folder of its own."""

    turns, account, undriven = staticmethod(script.turns), check.Account, Undriven

    def __init__(self, key, folder, installs, baton):
        self.agent, self.folder, self.installs, self.baton_program = AGENTS[key], folder / key, installs / key, baton
        self.home, self.project = self.folder / "home", self.folder / "project"
        self.model = None

    def env(self):
        node = Path(shutil.which("node", path=with_node(self.installs.parent)["PATH"])).resolve().parent
        path = f"{self.program().parent}:{node}:{SYSTEM}"
        env = {"HOME": str(self.home), "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8", "TMPDIR": str(self.folder / "tmp")}
        return {**env, **{name: self.filled(value) for name, value in self.agent.env.items()}}

    def filled(self, text):
        base = self.model.base if self.model else ""
        return text.replace("{base}", base).replace("{project}", str(self.project))

    def install(self):
        npm(self.installs, f"{self.agent.package}@latest")

    def program(self):
        return self.installs / "node_modules/.bin" / self.agent.program

    def prepare(self):
        self.install()
        for folder in (self.home, self.project, self.folder / "tmp"):
            folder.mkdir(parents=True)
        self.model = Model(self.turns(self.project))
        for path, text in self.agent.files.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(self.filled(text))
        for name, text in script.FILES.items():
            (self.project / name).write_text(text)
        git = {"PATH": SYSTEM, "HOME": str(self.home)}
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.project, env=git, check=False)

    def version(self):
        manifest = self.installs / "node_modules" / self.agent.package / "package.json"
        return json.loads(manifest.read_text()).get("version", "?") if manifest.is_file() else "-"

    def start(self, arguments, prompt, number):
        command = [str(self.program()), *arguments]
        typed = self.folder / f"prompt-{number}.txt"
        typed.write_text(prompt if self.agent.by_stdin else "")
        with (self.folder / f"agent-{number}.log").open("w") as log, typed.open() as stdin:
            command += [] if self.agent.by_stdin else [prompt]
            return subprocess.Popen(command, cwd=self.project, env=self.env(), stdin=stdin, stdout=log, stderr=log, start_new_session=True)

    def drive(self):
        """The whole session: two prompts that are answered, and two that are interrupted."""
        began = int(time.time() // 60)
        for number, prompt in enumerate(script.PROMPTS, 1):
            if number > 2 and self.agent.by_minute:
                while int(time.time() // 60) == began:
                    time.sleep(1)
            process = self.start(self.agent.first if number == 1 else self.agent.again, prompt, number)
            said = self.folder / f"agent-{number}.log"
            if number > 2:
                self.interrupt(process, number, said)
                continue
            try:
                code = process.wait(PROMPT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = f"no end after {PROMPT} s"
            if code:
                raise Undriven(f"prompt {number} ended with {code}: {last_line(said.read_text())}")

    def interrupt(self, process, number, said):
        """Waits until the answer has stopped half way, or the long command runs, then interrupts as Ctrl-C does."""
        until = time.monotonic() + PROMPT
        is_reached = self.model.halted.is_set if number == 4 else (self.project / script.BEGUN).exists
        while not is_reached() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        if not is_reached():
            os.killpg(process.pid, signal.SIGKILL)
            raise Undriven(f"prompt {number} has not come far enough to be interrupted: {last_line(said.read_text())}")
        time.sleep(2)
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, how)
            try:
                process.wait(INTERRUPT)
                return
            except subprocess.TimeoutExpired:
                pass

    def baton(self, *arguments):
        """What a command of Baton prints: the JSON, or the text if it is none."""
        env = {"HOME": str(self.home), "BATON_HOME": str(self.folder / "baton"), "PATH": SYSTEM, "LANG": "C.UTF-8"}
        done = subprocess.run([str(self.baton_program), *arguments], cwd=self.project, env=env, capture_output=True, text=True, timeout=120, check=False)
        if "--json" not in arguments:
            return done.stdout
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"error": last_line(done.stderr)}

    def stop(self):
        if self.model:
            self.model.stop()
            self.baton("stop")


class AiderRun(aider.Driven, Run):
    account = aider.AiderAccount


def table(rows):
    """Prints rows of equal length, each column as wide as its widest cell."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def run(key, folder, installs, baton):
    """The version of an agent and what its checks have found."""
    one = (AiderRun if key == "aider" else Run)(key, folder, installs, baton)
    try:
        one.prepare()
        one.drive()
        outcomes = check.all_checks(one)
    except Undriven as reason:
        outcomes = {name: ("skipped", str(reason)) for name in check.CHECKS}
    finally:
        one.stop()
    problems = one.model.problems if one.model else []
    return one.version(), outcomes, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default=",".join(AGENTS), help="which ones, with commas between them [default: %(default)s]")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, and print its path")
    parser.add_argument("--baton", type=Path, default=ROOT / "target/debug/baton", help="the program to check [default: %(default)s]")
    parser.add_argument("--installs", type=Path, help="install the agents here and keep them, instead of in the temporary folder")
    chosen = parser.parse_args()
    keys = chosen.agents.split(",")
    if unknown := [key for key in keys if key not in AGENTS]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(AGENTS)}")
    if not chosen.baton.is_file() or not shutil.which("npm"):
        parser.error(f"{chosen.baton} is not there: cargo build" if shutil.which("npm") else "npm is not on the path")
    folder = Path(tempfile.mkdtemp(prefix="baton-agents-"))
    installs = (chosen.installs or folder / "installs").absolute()
    try:
        install_node(installs)
        results = {}
        for key in keys:
            print(f"{key} …", file=sys.stderr, flush=True)
            results[key] = run(key, folder, installs, chosen.baton.resolve())
    except Undriven as reason:
        parser.error(str(reason))
    finally:
        if chosen.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    table([["agent", "version", *check.CHECKS]] + [
        [key, version, *(outcomes[name][0] for name in check.CHECKS)] for key, (version, outcomes, _) in results.items()])
    for key, (_, outcomes, problems) in results.items():
        for outcome, reason in dict.fromkeys(outcomes.values()):
            if outcome != "ok":
                names = [name for name in check.CHECKS if outcomes[name] == (outcome, reason)]
                what = "all" if names == check.CHECKS else ", ".join(names)
                print(f"\n{key}: {what} {outcome}: {reason}")
        for problem in problems:
            print(f"\n{key}: the model could not play: {problem}")
    return any(outcome == "FAILED" for _, outcomes, _ in results.values() for outcome, _ in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
