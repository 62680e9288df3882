"""frankbria/ralph-claude-code: shell scripts with an exit detection of their own (MIT)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, checkout, commit_of
from bench.faults.lies import FEW_LIES
from bench.faults.stage import CannotRunError, Stage

STATUS = """---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: All requirements met, project ready for review
---END_RALPH_STATUS---"""
SETTINGS = """PROJECT_NAME="sample"
PROJECT_TYPE="python"
CLAUDE_TIMEOUT_MINUTES=1
ALLOWED_TOOLS="Write,Read,Edit,Bash(git *),Bash(pytest)"
CLAUDE_AUTO_UPDATE=false
"""


class Frankbria(Harness):
    name = "ralph-claude-code"
    version = "unknown"
    about = "a checkout of frankbria/ralph-claude-code, MIT; set FAULTS_FRANKBRIA to it"
    settings = (
        "ralph_loop.sh with its own template of PROMPT.md, a fix_plan.md with one box per task, and .ralphrc; the shortest "
        "timeout that it allows is one minute. It has no setting for a command that must pass, and its exit "
        "detection promises to read the agent's status well, not to check the work: lies are not claimed."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.HANGS: "README: 'Configurable Timeouts'",
        Promise.LIMITS: "README: '5-Hour API Limit Handling … with auto-wait for unattended mode'",
    }
    absent: ClassVar[Mapping[str, str]] = {
        "resume-limit": "it has no limit of iterations",
        "resume": "its documentation names no way to resume a killed loop",
    }
    claim = STATUS
    mark = "sed -i 's/- \\[ \\]/- [x]/' .ralph/fix_plan.md"
    unplan = "printf '# Fix plan\\n' > .ralph/fix_plan.md"
    seconds = 100.0
    session_seconds = 4.0
    hang_seconds = 90.0
    only = FEW_LIES

    def install(self) -> None:
        self.checkout = checkout(
            "FAULTS_FRANKBRIA", "ralph_loop.sh", "github.com/frankbria/ralph-claude-code"
        )
        self.version = (
            json.loads((self.checkout / "package.json").read_text())["version"]
            + " "
            + commit_of(self.checkout)
        )
        if shutil.which("jq") is None:
            raise CannotRunError("it needs jq")

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        folder = stage.root / ".ralph"
        (folder / "specs").mkdir(parents=True)
        for name in ("PROMPT.md", "AGENT.md"):
            shutil.copy(self.checkout / "templates" / name, folder / name)
        boxes = "".join(f"- [ ] Make answer() in {name} say 42\n" for name in stage.tasks(act))
        (folder / "fix_plan.md").write_text(f"# Fix plan\n\n## High Priority\n{boxes}")
        (stage.root / ".ralphrc").write_text(SETTINGS)

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return ["bash", str(self.checkout / "ralph_loop.sh"), "--timeout", "1"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return (
            f"exit {code}, 'Ralph has completed the project!'"
            if "Ralph has completed the project!" in output
            else ""
        )
