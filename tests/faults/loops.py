"""The five kinds of loop over the same small project, each with one agent that may be hostile.

``work.py`` says 41 and its test wants 42. What the agent does in a session is a piece of shell (``acts``); then it claims to be
done in the way of that loop. Whether it was believed is asked of what the user gets: the exit code and the record.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.acceptance.conftest import Project
from tests.plan_documents import story_json, tasks_json

PYTHON = shlex.quote(sys.executable)
UNITTEST = f"{PYTHON} -m unittest discover -s tests -t ."
PYTEST = f"{PYTHON} -m pytest -q -p no:cacheprovider"
SCRIPT, MAKE = "./check.sh", "make test"
TESTS = """import unittest

from work import answer


class TestAnswer(unittest.TestCase):
    def test_the_answer(self):
        self.assertEqual(answer(), 42)
"""
FILES = {
    "work.py": "def answer():\n    return 41\n",
    "tests/__init__.py": "",
    "tests/test_work.py": TESTS,
    "check.sh": f"#!/bin/sh\nPYTHONPATH=. {UNITTEST}\n",
    "Makefile": f"test:\n\t@{UNITTEST}\n",
    "pytest.ini": "[pytest]\npython_files = test_*.py\n",
    ".gitignore": ".ralph/\n.ralph-active\n__pycache__/\nignored/\n",
    "PROMPT.md": "Make answer() say 42. Then output <response>DONE</response>, or <promise>DONE</promise>.\n",
}
HONEST = "sed -i s/41/42/ work.py"
"""The work, done."""

AGENT = r"""#!/bin/sh
here={here}
prompt=$(cat)
say() { {say}; }
if [ "$RALPH_ROLE" = judge ]; then . "$here/judge.sh"; exit; fi
mode=$(sed -n 's/.*"iterationMode": *"\([a-z-]*\)".*/\1/p' .ralph-active 2>/dev/null)
echo "$RALPH_TASK_ID $mode" >> "$here/launches"
number=$(wc -l < "$here/launches")
printf '%s\n' "$prompt" > "$here/prompt-$number"
{open}
if [ "$mode" = review ]; then . "$here/review.sh"; else . "$here/acts.sh"; fi
. "$here/claim.sh"
{close}
"""
PLAIN = {"say": "printf '%s\\n' \"$1\"", "open": "", "close": ""}
CLAUDE = {
    "say": """printf '{"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"%s"}]},"parent_tool_use_id":null}\\n' "$1\"""",
    "open": """echo '{"type":"system","subtype":"init","session_id":"s"}'""",
    "close": """echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":1.0,"usage":{"input_tokens":1,"output_tokens":1}}'""",
}
LIMITED = (
    """echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":"""
    """'$(($(date +%s) + 7200))',"rateLimitType":"five_hour"}}'\n"""
    """echo '{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit"}'\nexit 1\n"""
)
"""What claude prints when its usage limit is reached; it resets in two hours."""

MARK = """import json, sys
document = json.load(open("ralph/tasks.json"))
mode = json.load(open(".ralph-active"))["iterationMode"]
for story in document["userStories"]:
    wanted = story["reviewStatus"] == "needs_review" if mode == "review" else not story["passes"]
    if not wanted:
        continue
    if mode == "review":
        story.update(reviewStatus="approved", passes=True, reviewCount=story["reviewCount"] + 1)
    else:
        story.update(reviewStatus="needs_review", notes="built")
    break
json.dump(document, open("ralph/tasks.json", "w"), indent=2)
"""


class Loop:
    """What all kinds have in common. Its settings may be changed until it runs."""

    kind: ClassVar[str]
    claim: str
    """How it says that it is done, in shell."""
    sessions: ClassVar[int] = 1
    """That it takes to be done, if all goes well."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root, self.programs = project.root, project.programs
        self.settings: dict[str, Any] = {"agent": {"command": str(self.programs / "agent")}, "limits": {}}
        self.iterations = self.sessions
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.root / "check.sh").chmod(0o755)
        self.agent("")
        self.judge("")
        self.review("")

    # --- the agent ---

    def agent(self, acts: str, *, claims: bool = True, speaks: str = "plain") -> None:
        """``acts`` knows ``$number`` (of the launch), ``$prompt``, ``$here`` and ``say WORDS``."""
        voice = CLAUDE if speaks == "claude" else PLAIN
        text = AGENT.replace("{here}", shlex.quote(str(self.programs)))
        for name, value in voice.items():
            text = text.replace(f"{{{name}}}", value)
        program = self.programs / "agent"
        program.write_text(text)
        program.chmod(0o755)
        if speaks == "claude":
            self.settings["agent"]["adapter"] = "claude"
        (self.programs / "acts.sh").write_text(f"{acts}\n")
        (self.programs / "claim.sh").write_text(f"{self.claim if claims else ''}\n")

    def judge(self, acts: str) -> None:
        """What it answers where it is asked to judge."""
        (self.programs / "judge.sh").write_text(f"{acts}\n")

    def review(self, acts: str) -> None:
        """What it does in a review session before it approves."""
        (self.programs / "review.sh").write_text(f"{acts}\n")

    # --- the run ---

    def prepare(self, check: str = UNITTEST, *, times: int = 1) -> None:
        """Everything that is there before ralph is; the limit allows ``times`` that all is done."""
        self.iterations = times * self.sessions
        self.write(check)

    def write(self, check: str) -> None:
        """Settings, and what else a user of this loop writes down; all is committed."""
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def believed(self) -> bool:
        """Whether the record calls the work done."""
        return self.query("SELECT outcome FROM runs WHERE outcome = 'completed'") != []

    def run(self, *more: str, check: str = UNITTEST, times: int = 1) -> subprocess.CompletedProcess[str]:
        """From nothing to its end."""
        self.prepare(check, times=times)
        return self.ralph(*self.command(), *more)

    def ralph(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        ran = self.project.ralph(*arguments)
        assert ran.returncode != 3, ran.stderr
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran

    @contextmanager
    def running(self, *arguments: str, unread: bool = False) -> Iterator[subprocess.Popen[bytes]]:
        """Beside the test; ``unread``: nobody reads what it prints."""
        output = subprocess.PIPE if unread else (self.programs / "output").open("ab")
        process = subprocess.Popen(
            [sys.executable, "-m", "ralph", *arguments],
            cwd=self.root,
            env=self.project.env(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(timeout=60)
            if not isinstance(output, int):
                output.close()
            elif process.stdout is not None:
                process.stdout.close()

    def again(self) -> list[str]:
        """What a user types after a kill."""
        return ["resume"]

    def end(self) -> None:
        """A process of a cell that failed must not stay; each tells its pid in a file ``pid…``."""
        for file in self.programs.glob("pid*"):
            text = file.read_text().strip()
            if text.isdigit() and Path(f"/proc/{text}").exists():
                subprocess.run(["kill", "-9", text], check=False, timeout=10, capture_output=True)

    # --- what is there afterwards ---

    def output(self) -> str:
        """Of the runs that went beside the test."""
        return (self.programs / "output").read_text(errors="replace")

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """None while there is no record."""
        try:
            return self.project.rows(query)
        except sqlite3.OperationalError:
            return []

    def has_ended(self) -> bool:
        """By the record, and all of it."""
        return (
            self.query(
                "SELECT count(*), count(outcome) FROM runs HAVING count(*) = count(outcome) AND count(*) > 0"
            )
            != []
        )

    def launches(self) -> int:
        file = self.programs / "launches"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def git(self, *arguments: str) -> str:
        return self.project.git(*arguments).strip()

    def commit(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.git("add", "--all")
        self.git("commit", "-qm", "start")

    def write_settings(self, **more: Any) -> None:
        self.project.settings(**{**self.settings, **more})


class Run(Loop):
    kind = "run"
    claim = "say '<response>DONE</response>'"

    def write(self, check: str) -> None:
        self.write_settings(guardrails=[{"command": check}])
        self.commit()

    def command(self) -> list[str]:
        return ["run", "-f", "PROMPT.md", "-m", str(self.iterations)]


class Promise(Run):
    kind = "promise"
    claim = "say '<promise>DONE</promise>'"

    def command(self) -> list[str]:
        return [*super().command(), "--profile", "promise"]


class Supervise(Loop):
    kind = "supervise"
    claim = ': > "$TASK_FOLDER/DONE"'

    def write(self, check: str) -> None:
        timeout = self.settings["agent"].get("timeout")
        supervised = {"guardrails": [check], "restartDelay": 0, "pollInterval": 0.05, "agentTimeout": timeout}
        self.write_settings(profiles={"supervised": supervised})
        self.commit()

    def command(self) -> list[str]:
        return ["supervise", "--task", "t", "-f", "PROMPT.md", "-m", str(self.iterations)]


class Work(Loop):
    kind = "work"
    claim = "say '<promise>IMPLEMENTATION_COMPLETE</promise>'"
    tasks: tuple[str, ...] = ("T-1",)
    method = ""

    def write(self, check: str) -> None:
        verified = {"stages": ["coder"], "roles": {"coder": {"maxIterations": self.iterations}}}
        self.write_settings(guardrails=[{"command": check}], profiles={"verified": verified})
        self.commit()
        coder = {"verification_method": "external", "verification_config": {"command": check}}
        if self.method:
            coder = {"verification_method": self.method}
        spec = {"outcome": "it is there", "acceptance_criteria": ["it is there"], "coder": coder}
        tasks = [{"id": name, "title": f"Do {name}", "completion": spec} for name in self.tasks]
        self.project.ralph("task", "add", "-f", "-", stdin=json.dumps({"tasks": tasks}), check=0)

    def command(self) -> list[str]:
        return ["work"]

    def believed(self) -> bool:
        done = self.query("SELECT id FROM tasks WHERE status IN ('done', 'accepted')") != []
        return done or self.git("rev-list", "--count", "main") != "1"

    def again(self) -> list[str]:
        return ["work"]


class Plan(Loop):
    kind = "plan"
    sessions = 2
    stories: tuple[str, ...] = ("A",)
    claim = "MARK; git add -A && git commit -qm session; say ok"

    def __init__(self, project: Project) -> None:
        mark = project.programs / "mark.py"
        mark.write_text(MARK)
        self.claim = self.claim.replace("MARK", shlex.join([sys.executable, str(mark)]))
        super().__init__(project)

    def write(self, check: str) -> None:
        self.write_settings(sandbox={"kind": "none", **self.settings.get("sandbox", {})})
        self.git("init", "-q", "-b", "main")
        self.project.ralph("plan", "new", "--name", "search", check=0)
        stories = [story_json(name) for name in self.stories]
        document = tasks_json(*stories, branchName="main", verifyCommands=[check])
        (self.root / "ralph" / "tasks.json").write_text(json.dumps(document, indent=2))
        self.commit()

    def command(self) -> list[str]:
        return ["plan", "run", "-n", str(self.iterations * len(self.stories))]

    def believed(self) -> bool:
        try:
            document = json.loads((self.root / "ralph" / "tasks.json").read_text())
        except (OSError, ValueError):
            return False
        return any(story["passes"] for story in document["userStories"])


LOOPS: dict[str, type[Loop]] = {made.kind: made for made in (Run, Promise, Supervise, Work, Plan)}
