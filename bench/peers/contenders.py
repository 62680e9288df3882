"""Who is compared: the harnesses of the fault matrix that install by themselves, set to do nothing but loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.child import CannotMeasure
from bench.faults.harness import Harness
from bench.faults.harnesses import HARNESSES
from bench.faults.stage import Stage
from bench.peers.bare import Bare


@dataclass(frozen=True, kw_only=True)
class Contender:
    """``record`` and ``guardrail`` were looked up in the code of this version; whatever else the page says of it is tried."""

    harness: Harness
    many: int
    """Iterations beyond the first that are measured together: as many as take a second or so."""
    record: str
    """What of an iteration survives a power cut."""
    guardrail: str
    """Whether it can run a command that must pass."""
    tune: Callable[[Stage], None] = lambda stage: None
    """Turns off what it would do beside looping: pauses, commits, checks."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """By what is measured."""
    reads: bool = True
    """Whether it reads what the agent prints."""

    @property
    def name(self) -> str:
        return self.harness.name


def _set_ralph(stage: Stage) -> None:
    (stage.root / ".ralph" / "settings.json").write_text(json.dumps({"agent": {"command": "claude"}}))


def _set_ralph_tui(stage: Stage) -> None:
    # A project without the version is upgraded first, which asks the network for skills.
    _edit(
        stage.root / ".ralph-tui" / "config.toml",
        "autoCommit = true",
        'configVersion = "2.1"\nautoCommit = false\niterationDelay = 0',
    )


def _set_ralph_orchestrator(stage: Stage) -> None:
    _edit(stage.root / "ralph.yml", "checkpoint_interval: 1", "checkpoint_interval: 1000")


def _edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    if before not in text:
        message = f"{file.name} has no longer a line '{before}': bench/peers/contenders.py must follow"
        raise CannotMeasure(message)
    file.write_text(text.replace(before, after))


RALPH = "ralph"
BARE = Bare.name

COPIES = "asks for text and copies lines, so it parses no event"

CONTENDERS: Mapping[str, Contender] = {
    contender.name: contender
    for contender in (
        Contender(
            harness=HARNESSES[RALPH],
            many=100,
            record="all of it, in SQLite, synced",
            guardrail="yes",
            tune=_set_ralph,
        ),
        Contender(
            harness=HARNESSES["ralphy"],
            many=100,
            record="a ticked box in PRD.md, not synced",
            guardrail="no: it names the command in the prompt",
        ),
        Contender(
            harness=HARNESSES["ralph-tui"],
            many=40,
            record="a count in session.json, synced",
            guardrail="no: it names criteria in the prompt",
            tune=_set_ralph_tui,
        ),
        Contender(
            harness=HARNESSES["ralph-loop"],
            many=10,
            record="state.json and a log, not synced",
            guardrail="no: its command line passes none to the loop",
            remarks={
                "exec": "waits 0.2 s for systemd-inhibit, where there is one",
                **dict.fromkeys(("events", "results", "line"), COPIES),
            },
        ),
        Contender(
            harness=HARNESSES["ralph-orchestrator"],
            many=5,
            record="nothing until it ends; then metrics, not synced",
            guardrail="no",
            tune=_set_ralph_orchestrator,
            remarks={"iteration": "sleeps 2 s after each, which it has no setting for"},
        ),
        Contender(
            harness=Bare(),
            many=100,
            record="nothing",
            guardrail="no",
            reads=False,
        ),
    )
}
