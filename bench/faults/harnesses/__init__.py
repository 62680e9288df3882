"""One file per harness; ``HARNESSES`` and ``REFERENCES`` are the registry."""

from __future__ import annotations

from collections.abc import Mapping

from bench.faults.harness import Harness
from bench.faults.harnesses.bernstein import Bernstein
from bench.faults.harnesses.careful import Careful
from bench.faults.harnesses.claude_code import Goal, Plugin
from bench.faults.harnesses.frankbria import Frankbria
from bench.faults.harnesses.naive import Naive
from bench.faults.harnesses.ralph import Ralph
from bench.faults.harnesses.ralph_loop import RalphLoop
from bench.faults.harnesses.ralph_orchestrator import RalphOrchestrator
from bench.faults.harnesses.ralph_tui import RalphTui
from bench.faults.harnesses.ralphy import Ralphy
from bench.faults.harnesses.snarktank import Snarktank

HARNESSES: Mapping[str, Harness] = {
    harness.name: harness
    for harness in (
        Ralph(),
        Ralphy(),
        RalphTui(),
        RalphLoop(),
        RalphOrchestrator(),
        Snarktank(),
        Frankbria(),
        Bernstein(),
        Goal(),
        Plugin(),
    )
}
REFERENCES: Mapping[str, Harness] = {harness.name: harness for harness in (Naive(), Careful())}
"""What shows that the judge can say FAILS, and holds."""
