"""A small shop as the engine records it: tasks, a plan, an earlier run and one under way."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Self

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.run_files import RunRequest, save_request
from ralph.adapters.storage.task_history import verification_statement
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.agent.events import (
    Reasoning,
    Text,
    TodoChanged,
    TodoItem,
    TodoStatus,
    ToolEnded,
    ToolStarted,
    Usage,
)
from ralph.domain.loop.asks import Ask
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    RunStarted,
    Steered,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.history import VerificationRecord
from ralph.domain.tasks.task import Task, TaskStatus, cancel, count_iteration

NOW = 1_790_000_000.0
"""The moment at which every test looks at the screen."""
RUN = "20260921-132000-ab12"
EARLIER = "20260921-090000-77c0"
SPEC = TaskCompletionSpec(
    "The cart's totals are right for every currency.",
    ["rounds half to even", "keeps three decimals for TND", "an empty cart costs 0"],
    {
        "coder": CompletionCriteria(
            "CODED", "the unit tests pass", "external", {"command": "make test"}, max_iterations=7
        ),
        "qa": CompletionCriteria(
            verification_config={"stages": [{"name": "all tests", "config": {"command": "make test"}}]}
        ),
    },
)


class Record:
    """A run of which the test is the owner: it is under way as long as the test is."""

    def __init__(self, root: Path, name: str = RUN, *, began: float = NOW - 754) -> None:
        self.root = root
        self.folder = root / ".ralph"
        self.name = name
        self.at = began
        self.spend = Spend()
        self.iteration = 0
        self.database = open_state_database(self.folder)
        self._journal = SqliteJournal(self.folder, self.database, name, owner=this_process(), now=began)
        request = RunRequest("basic", {}, str(root), settings={"limits": {"maxCost": 5.0}})
        save_request(self._journal.run_folder, request)
        self._journal.begin(
            profile="basic",
            agent="claude",
            root=Path("/home/user/shop"),
            options={"maximumIterations": 10, "prompt": "Fix the tests."},
        )
        self.write(
            RunStarted(
                name,
                "basic",
                "claude",
                "/home/user/shop",
                10,
                notes=("claude runs with --dangerously-skip-permissions",),
                sandbox=("bwrap: the workspace is writable, the rest of the disk is not",),
                commands=("make test (guardrail of .ralph/settings.json)", "git commit (scm.tasks)"),
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
        self.database.close()

    def write(self, *events: LoopEvent, after: float = 0.0) -> None:
        self.at += after
        for event in events:
            self._journal.append(event, at=self.at)
        self._journal.commit(LoopState(iteration=self.iteration, spend=self.spend))

    def say(self, *texts: str) -> None:
        self.write(*(AgentActed((Text(text),)) for text in texts))

    def begin(self, number: int) -> None:
        self.write(
            IterationStarted(number, 1, 10, "prompt", prompt="Fix the failing tests.", prompt_chars=22),
            AgentStarted("claude -p --output-format=stream-json", 4242),
        )

    def judge(self, number: int, *, verdict: Verdict, cost: float, seconds: float) -> None:
        """What follows a session: checks, claims, the decision."""
        spend = Spend(cost, Usage(int(cost * 40_000), 3_000, int(cost * 600_000), 0), seconds)
        proven = verdict is Verdict.PASSED
        self.spend += spend
        self.iteration = number
        last = (
            ()
            if proven
            else ("E   assert Decimal('2.675') == Decimal('2.68')", "1 failed, 41 passed in 1.92s")
        )
        self.write(
            AgentEnded("exited", 0, seconds - 4, spend, tools=6, tool_errors=1),
            CheckStarted("unit tests", "make test"),
            CheckEnded(
                CheckResult(
                    "unit tests",
                    verdict,
                    command="make test",
                    exit_code=0 if proven else 1,
                    seconds=3.1,
                    last_lines=last,
                    reason="" if proven else "exit code 1",
                )
            ),
            CheckEnded(CheckResult("lint", Verdict.PASSED, command="make lint", exit_code=0, seconds=0.8)),
            ClaimsSought(("done: tag response",)),
            IterationEnded(
                number,
                1,
                "accept" if proven else "continue",
                "claimed, and every check passed" if proven else "unit tests failed",
                True,
                proven,
                spend,
                seconds,
                "9f3e77c0ab12",
            ),
            after=seconds,
        )

    def end(self) -> None:
        self.write(
            RunEnded(
                Outcome.COMPLETED,
                "claimed by tag response, 2 checks passed",
                self.iteration,
                self.spend,
                60.0,
            )
        )

    def wait(self, until: float, reason: str) -> None:
        self.write(PauseBegan(reason, until))

    def heard(self) -> list[Ask]:
        return list(Controls(self.database, self.folder / "ralph.db", self.name).hear(at=NOW))

    def steering(self) -> list[str]:
        controls = Controls(self.database, self.folder / "ralph.db", self.name)
        return list(controls.steering(at=NOW, iteration=99))


def work_on(record: Record) -> None:
    """Two iterations that were judged, and one under way."""
    record.begin(1)
    record.write(
        AgentActed((Text("I will read the cart first."), ToolStarted("t1", "Read", "src/shop/cart.py"))),
        AgentActed(
            (ToolEnded("t1", "Read", "def total(items):\n    return sum(items)\n", lines=58, chars=1900),)
        ),
    )
    record.judge(1, verdict=Verdict.FAILED, cost=0.31, seconds=212)
    record.begin(2)
    record.say("Rounding was half up; I changed it to half even.")
    record.judge(2, verdict=Verdict.FAILED, cost=0.11, seconds=96)
    record.write(Steered("Leave the parser alone; currencies are in src/shop/money.py."))
    record.begin(3)
    record.write(
        AgentActed(
            (Reasoning("Three decimals: the dinar has millimes, so the exponent is not always two."),)
        ),
        AgentActed(
            (
                TodoChanged(
                    (
                        TodoItem("Reproduce the rounding error", TodoStatus.DONE),
                        TodoItem("Take the exponent from the currency", TodoStatus.ACTIVE),
                        TodoItem("Cover TND and JPY with tests", TodoStatus.PENDING),
                    )
                ),
                ToolStarted("t2", "Bash", "make test"),
            )
        ),
        AgentActed(
            (
                ToolEnded(
                    "t2",
                    "Bash",
                    "tests/test_money.py F\nE   assert 1.23 == 1.234\n",
                    is_error=True,
                    lines=31,
                    chars=900,
                ),
                Text("## The exponent\nIt is fixed at two. I will take it from the currency's entry:\n"),
                Text("every currency has one in `src/shop/money.py`."),
                ToolStarted("t3", "Edit", "src/shop/money.py"),
            )
        ),
        after=20,
    )


def earlier_run(root: Path) -> None:
    """One that is over."""
    with Record(root, EARLIER, began=NOW - 16_000) as record:
        record.begin(1)
        record.say("Everything is in place.")
        record.judge(1, verdict=Verdict.PASSED, cost=0.42, seconds=131)
        record.end()


def add_tasks(database: sqlite3.Connection) -> None:
    store = TaskStore(database, me=this_process(), started_of=started_of)
    store.add(
        [
            Task(id="T-1", title="Totals are right for every currency", completion_spec=SPEC, priority=1),
            Task(id="T-2", title="Receipts by mail", dependencies=("T-1",), priority=2),
            Task(id="T-3", title="Vouchers that expire at midnight of the buyer's time zone", priority=3),
            Task(id="T-4", title="Search in names and tags", priority=4),
            Task(id="T-5", title="A cart survives logging out", priority=5),
            Task(id="T-6", title="Old import", priority=6),
        ],
        at=NOW - 5_000,
    )
    for _ in range(3):
        store.change("T-1", lambda task: count_iteration(task, "coder"), at=NOW - 900)
    store.change("T-3", lambda task: count_iteration(task, "reviewer"), at=NOW - 800)
    store.change("T-5", _done, at=NOW - 700)
    store.change("T-6", cancel, at=NOW - 600)
    for number, (verified, reason) in enumerate(
        ((False, "1 failed, 41 passed"), (False, "no promise found"))
    ):
        record = VerificationRecord(
            task_id="T-1",
            role="coder",
            iteration=number + 1,
            method="external",
            promise_found=not number,
            verified=verified,
            reason=reason,
            at=NOW - 880 + number,
            run_id=RUN,
        )
        database.execute(*verification_statement(record))


def _done(task: Task) -> Task:
    from dataclasses import replace

    return replace(task, status=TaskStatus.DONE, iterations={"coder": 2, "reviewer": 1})


def write_plan(root: Path) -> None:
    stories = [
        _story("US-001", "Log in with a passkey", 1, passes=True, review="approved", rounds=1),
        _story("US-002", "Reset the password by mail", 2, review="changes_requested", rounds=2),
        _story("US-003", "See all sessions and end them", 3, review="needs_review"),
        _story("US-004", "Delete the account", 4),
    ]
    (root / "ralph").mkdir(exist_ok=True)
    document = {"project": "Accounts", "branchName": "ralph/accounts", "userStories": stories}
    (root / "ralph" / "tasks.json").write_text(json.dumps(document))


def _story(
    name: str, title: str, priority: int, *, passes: bool = False, review: str | None = None, rounds: int = 0
) -> dict[str, object]:
    return {
        "id": name,
        "title": title,
        "priority": priority,
        "description": f"As a user I want to {title[0].lower()}{title[1:]}.",
        "acceptanceCriteria": ["works in every browser", "is told by mail"],
        "passes": passes,
        "reviewStatus": review,
        "reviewCount": rounds,
        "reviewFeedback": "The link works twice; it must not." if review == "changes_requested" else "",
    }
