"""Finding what failed in the output of a command, whichever known runner wrote it."""

from __future__ import annotations

from ralph.domain.proof.failures.go import GO, GO_BUILD, GO_VERBOSE
from ralph.domain.proof.failures.javascript import JEST, NODE_SPEC, NODE_TAP, VITEST
from ralph.domain.proof.failures.python import PYTEST, UNITTEST
from ralph.domain.proof.failures.report import Failure, Report
from ralph.domain.proof.failures.rust import CARGO, RUSTC
from ralph.domain.text.excerpt import Keep, truncate
from ralph.patterns import pattern
from ralph.values import dataclass

REPORTS: tuple[Report, ...] = (
    PYTEST,
    UNITTEST,
    NODE_TAP,
    NODE_SPEC,
    JEST,
    VITEST,
    GO_VERBOSE,
    GO,
    GO_BUILD,
    CARGO,
    RUSTC,
)
"""The first one that finds something decides."""

SEARCHED = 2_000_000
"""Characters at the end of an output that are searched."""
REST = "[ralph] the rest of the output:"
_COLORS = pattern(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed, in an output without its colors."""

    lines: list[str]
    failures: list[Failure]

    def headlines(self, most: int) -> tuple[str, ...]:
        """For a screen: why the only one failed, or a line for each of several."""
        full = [one for one in self.failures if not one.is_summary]
        titles = [one.title for one in self.failures if one.is_summary] or [one.headline for one in full]
        if len(titles) == len(full) == 1:
            return (self.failures[0].title, *full[0].why)[:most]
        more = len(titles) - most
        return tuple(titles) if more <= 0 else (*titles[: most - 1], f"... and {more + 1} more")

    def excerpt(self, limit: int) -> str:
        """For the agent: the failures first, then both ends of what is left; the failures get three quarters."""
        first = "\n".join("\n".join(self.lines[one.start : one.end]) for one in self.failures)
        rest = "\n".join(self._rest()).strip("\n")
        told = truncate(first, max(limit - len(rest), limit * 3 // 4), Keep.HEAD)
        room = limit - len(told)
        return f"{told}\n\n{REST}\n{truncate(rest, room, Keep.BOTH)}" if rest and room > 0 else told

    def _rest(self) -> list[str]:
        told = {place for one in self.failures for place in range(one.start, one.end)}
        return [line for place, line in enumerate(self.lines) if place not in told]


def find_failures(output: str) -> Failed | None:
    """None: no known runner says that something failed."""
    lines = _COLORS.sub("", output[-SEARCHED:]).splitlines()
    for report in REPORTS:
        if failures := report.failures(lines):
            return Failed(lines, failures)
    return None
