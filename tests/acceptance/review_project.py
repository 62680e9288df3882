"""A repository with a change to review, and a reviewer that answers as it is told."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .conftest import Project

BEFORE = "def total(prices):\n    return sum(prices)\n"
AFTER = "def total(prices):\n    result = 0\n    for price in prices[1:]:\n        result += price\n    return result\n"

REVIEWER = """
import json, os, re, subprocess, sys
prompt = sys.stdin.read()
tag = re.findall(r"(?m)^<(review-[0-9a-f]{8})>$", prompt)[-1]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "answers.json")) as file:
    answers = json.load(file)
number = 0
if len(answers) > 1:
    count = os.path.join(here, "count")
    number = int(open(count).read()) if os.path.exists(count) else 0
    open(count, "w").write(str(number + 1))
answer = answers[min(number, len(answers) - 1)]
def emit(**record): print(json.dumps(record), flush=True)
emit(type="system", subtype="init", session_id="fake", model="scripted")
for command in answer.get("run", ()):
    subprocess.run(["sh", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
said = answer["say"].replace("TAG", tag)
emit(type="assistant", message={"role": "assistant", "model": "scripted", "content": [{"type": "text", "text": said}]})
emit(type="result", subtype="success", is_error=False, result=said, total_cost_usd=0.01, num_turns=1,
     usage={"input_tokens": 10, "output_tokens": 5})
"""

FINDING: dict[str, Any] = {
    "severity": "high",
    "file": "shop.py",
    "line": 3,
    "endLine": 4,
    "title": "The first price is left out",
    "explanation": "prices[1:] begins with the second one.",
    "suggestion": "Iterate over prices.",
}


def answer(*findings: dict[str, Any], run: Sequence[str] = ()) -> dict[str, Any]:
    return {"say": f"<TAG>\n{json.dumps({'findings': list(findings)})}\n</TAG>", "run": list(run)}


def says(text: str) -> dict[str, Any]:
    return {"say": text}


class ReviewProject(Project):
    def reviewer(self, *answers: dict[str, Any]) -> None:
        """One answer per session; the last one again and again."""
        folder = self.programs / "reviewer"
        folder.mkdir(exist_ok=True)
        (folder / "reviewer.py").write_text(REVIEWER)
        (folder / "answers.json").write_text(json.dumps(answers))
        self.program("claude", f"exec {shlex.join([sys.executable, str(folder / 'reviewer.py')])}\n")

    def review(self, *arguments: str, check: int, sandbox: bool = False) -> Any:
        return self.ralph("review", *(() if sandbox else ("--no-sandbox",)), *arguments, check=check)

    def commit(self, files: dict[str, str], message: str) -> str:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD").strip()

    def state(self) -> dict[str, str]:
        """Everything of the user's: files, index, HEAD, refs, reflogs, configuration, worktrees."""
        files = {
            str(path.relative_to(self.root)): path.read_bytes().hex()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".ralph" not in path.parts and "objects" not in path.parts
        }
        files["refs"] = self.git("for-each-ref")
        files["objects"] = self.git("count-objects", "-v")
        return files


def begin(project: Project) -> ReviewProject:
    """main, and the branch ``feature`` that is one commit ahead and checked out."""
    made = ReviewProject(project.root, project.programs)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "owner")
    made.git("config", "user.email", "owner@example.invalid")
    (made.root / ".git/info/exclude").write_text(".ralph/\n")
    made.commit({"shop.py": BEFORE, "README.md": "# Shop\n"}, "Begin")
    made.git("checkout", "-q", "-b", "feature")
    made.commit({"shop.py": AFTER}, "Sum by hand")
    made.settings(agent={"command": str(Path(made.programs / "claude"))})
    return made
