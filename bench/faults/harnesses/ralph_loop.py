"""ralph-loop, from PyPI (MIT)."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Judgement, Promise
from bench.faults.harness import Harness, install_pip
from bench.faults.stage import Stage

VERIFICATIONS = 3


class RalphLoop(Harness):
    name = "ralph-loop"
    version = "0.6.0"
    about = "PyPI ralph-loop, MIT"
    settings = (
        "PROMPT.md with goal and criteria, the check among them; --agents claude; hangs: --timeout 5. "
        "'Done' is confirmed by further sessions of the same agent; it has no setting for a command that must pass."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.LIES: "README: 'When Claude says \"done\", Ralph doesn't just trust it. It verifies 3 times with fresh eyes.'",
        Promise.HANGS: "--timeout: per rotation",
        Promise.LIMITS: "--about: exit 4, 'All agents exhausted, wait for rate limits to reset'",
        Promise.OVERFLOW: "README: fresh sessions, so that context stays clean",
        Promise.RESUME: "run --continue: 'Resume a previously interrupted run'",
    }
    mark = "printf 'DONE\\n' > .ralph/status"
    unplan = "printf '# Goal\\nNothing is left to do.\\n' > PROMPT.md"
    claim = "DONE"
    reviews = VERIFICATIONS

    def install(self) -> None:
        self.programs = install_pip("ralph-loop", self.version)

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        subprocess.run(
            [self.programs / "ralph", "init"],
            cwd=stage.root,
            env=stage.environment(),
            check=True,
            capture_output=True,
            timeout=60,
        )
        criteria = "".join(f"- [ ] answer() in {name} returns 42\n" for name in stage.tasks(act))
        goal = "# Goal\nMake every answer() in work*.py say 42.\n\n# Success Criteria\n"
        (stage.root / "PROMPT.md").write_text(
            f"{goal}{criteria}- [ ] `{act.check}` passes\n- [ ] no test is changed\n"
        )

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        most = iterations if act.judgement is Judgement.COUNTS else iterations + VERIFICATIONS
        timeout = "5" if act.promise is Promise.HANGS else "60"
        return [
            str(self.programs / "ralph"),
            "run",
            "--max",
            str(most),
            "--agents",
            "claude",
            "--timeout",
            timeout,
            "--no-color",
        ]

    def again(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [str(self.programs / "ralph"), "run", "--continue"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0 (goal completed and verified)" if code == 0 else ""
