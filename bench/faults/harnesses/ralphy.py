"""ralphy-cli, from npm (MIT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, install_npm
from bench.faults.stage import Stage

CONFIG = """project:
  name: sample
  language: Python
commands:
  test: "{check}"
  lint: ""
rules:
  - "Run the test command and fix the code until it passes."
boundaries:
  never_touch:
    - "tests/**"
    - "Makefile"
    - "check.sh"
    - "pytest.ini"
"""


class Ralphy(Harness):
    name = "ralphy"
    version = "4.7.2"
    about = "npm ralphy-cli, MIT"
    settings = (
        "Task list in PRD.md; .ralphy/config.yaml with commands.test, a rule to run it, and boundaries.never_touch for "
        "tests and runners: these go into the prompt. Tests are not skipped. Sequential; three retries, as by default, --retry-delay 1."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.LIMITS: "README: 'Retryable rate-limit or quota errors are detected and deferred for later retry'",
    }
    absent: ClassVar[Mapping[str, str]] = {
        "resume-limit": "--max-iterations counts tasks, and nothing in its documentation says that it outlives a start",
    }
    claim = "Task completed."
    mark = "sed -i 's/- \\[ \\]/- [x]/' PRD.md"
    unplan = "printf '# Tasks\\n' > PRD.md"
    loosen = "printf 'project:\\n  name: sample\\n' > .ralphy/config.yaml"
    is_per_task = True

    def install(self) -> None:
        self.programs = install_npm("ralphy-cli", self.version)

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        (stage.root / ".ralphy").mkdir()
        (stage.root / ".ralphy" / "config.yaml").write_text(
            CONFIG.replace("{check}", act.check.replace('"', '\\"'))
        )
        lines = [f"- [ ] Make answer() in {name} say 42\n" for name in stage.tasks(act)]
        (stage.root / "PRD.md").write_text("# Tasks\n\n" + "".join(lines))

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        program = str(self.programs / "ralphy")
        return [program, "--prd", "PRD.md", "--max-iterations", str(iterations), "--retry-delay", "1"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0, 'All tasks completed!'" if code == 0 and "All tasks completed!" in output else ""
