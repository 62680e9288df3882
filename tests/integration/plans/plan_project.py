"""A plan in a real repository, and the real loop over it with an agent that plays a script."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.plan_documents import document_in, tasks_json

from ralph.adapters.beneath import write_atomic
from ralph.adapters.checks.commands import ShellCommands
from ralph.adapters.documents.plan_files import PlanFiles
from ralph.adapters.documents.plan_start import fresh_plan
from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.events import CheckEnded
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.plan.story import ReviewRules
from ralph.domain.proof.required_command import RequiredCommand
from ralph.engine.guardrail import Guardrail, GuardrailCheck
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.plans.audit import PlanAudit
from ralph.engine.plans.proofs import PlanProofs
from ralph.engine.plans.work import PlanAgent, PlanWork
from ralph.engine.ports import AgentRequest, Check
from ralph.engine.stop_token import StopToken
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal
from ralph.testing.scripted_agent import ScriptedAgent, Turn

Does = Callable[[AgentRequest], None]


@dataclass
class PlanProject:
    """``ralph/`` in a repository; ``run`` is what `ralph plan run` is made of."""

    root: Path
    aside: Path
    uses_git: bool = True
    events: list[Any] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    runs: int = 0
    stop: Callable[[], object] = lambda: None
    """Asks the run under way to stop."""
    states: list[LoopState] = field(default_factory=list)
    """What the last run saved."""

    @property
    def tasks(self) -> Path:
        return self.root / "ralph" / "tasks.json"

    def plan(self, *stories: dict[str, Any], **top: Any) -> None:
        folder = self.root / "ralph"
        folder.mkdir(exist_ok=True)
        for name, text in fresh_plan(project="demo", date="2030-01-01", name="search").items():
            (folder / name).write_text(text)
        self.tasks.write_text(json.dumps(tasks_json(*stories, **top), indent=2) + "\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "plan")

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True, timeout=90
        ).stdout

    def log(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()

    def status(self) -> str:
        return self.git("status", "--porcelain")

    def story(self, key: str = "A") -> Any:
        return document_in(self.tasks.read_text()).raw(key)

    def changes(
        self, key: str = "A", *, commit: bool = True, files: dict[str, str] | None = None, **fields: Any
    ) -> Turn:
        """A session that writes files and changes one story, and commits it all."""

        def does(request: AgentRequest) -> None:
            for name, content in (files or {}).items():
                path = self.root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            raw = json.loads(self.tasks.read_text())
            for story in raw["userStories"]:
                if story["id"] == key:
                    story.update(fields)
            self.tasks.write_text(json.dumps(raw, indent=2) + "\n")
            if commit:
                self.git("add", "-A")
                self.git("commit", "-qm", f"session on {key}", "--allow-empty")

        return Turn("ok", does=does)

    def parts(
        self,
        agent: ScriptedAgent,
        rules: ReviewRules,
        guardrails: tuple[str, ...] = (),
        layers: tuple[Check, ...] = (),
    ) -> tuple[LoopParts, PlanAudit]:
        runner = PosixProcessRunner(
            run_id="run-of-a-test", base_environment=os.environ, ladder=Ladder(interrupt=0.2, terminate=0.2)
        )
        control = StopToken()
        self.stop = control.request
        journal = MemoryJournal(folder=self.aside)
        self.states = journal.states
        self.aside.mkdir(exist_ok=True)
        files = PlanFiles(self.root, self.root / "ralph", write_atomic, self.aside, self.aside / "plan.json")
        repository = GitPlanRepository(self.root, runner, aside=self.aside) if self.uses_git else None
        audit = PlanAudit(files, rules, repository, run_id=f"run-{self.runs}")

        def make_check(command: str, slug: str) -> Check:
            return GuardrailCheck(
                Guardrail(RequiredCommand(command=command), slug), commands=ShellCommands(runner, self.root),
                journal=journal, root=self.root, shown_in=self.aside,
            )  # fmt: skip

        def publish(event: Any) -> None:
            self.events.append(event)
            journal.append(event, at=0.0)

        return LoopParts(
            agent=PlanAgent(agent, audit, Rules()),
            journal=journal,
            clock=FakeClock(),
            control=control,
            publish=publish,
            root=self.root,
            work=PlanWork(audit, files, rules, read_prompt=files.read_prompt, maximum=15),
            checks=[
                audit,
                PlanProofs(
                    audit.plan, files, rules, repository, make_check=make_check,
                    guardrails=[make_check(command, f"g{n}") for n, command in enumerate(guardrails)],
                    layers=layers,
                ),
            ],
            budget=Budget(iterations=15),
        ), audit  # fmt: skip

    def run(
        self,
        *turns: Turn,
        maximum: int = 15,
        guardrails: tuple[str, ...] = (),
        layers: tuple[Check, ...] = (),
        resume: LoopState | None = None,
        **rules: Any,
    ) -> RunResult:
        """``resume``: the run before goes on from here."""
        agent = ScriptedAgent(turns)
        self.prompts = agent.prompts
        self.runs += resume is None
        state = LoopState() if resume is None else resume.resumed(Spend(), seconds=0.0)

        async def go() -> RunResult:
            parts, _ = self.parts(agent, ReviewRules(**rules), guardrails, layers)
            return await run_loop(replace(parts, budget=Budget(iterations=maximum), state=state))

        return asyncio.run(go())

    @property
    def verdicts(self) -> list[str]:
        return [
            f"{event.result.name}: {event.result.verdict}"
            for event in self.events
            if isinstance(event, CheckEnded)
        ]
