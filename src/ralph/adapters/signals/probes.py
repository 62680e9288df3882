"""Claims by a tag in the agent's own words, by its exit code, or by a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG

from ralph.adapters import beneath
from ralph.domain.loop.claims import Claim, Signal, any_tag_claims, first_tag_claims
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Judging
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class TagProbe:
    """``first``: only the first tag decides; otherwise any matching one does.

    A stage's own promise comes before the profile's. A session that was ended, or that failed, claims nothing.
    """

    name: str
    expected: str
    first: bool

    async def look(self, judging: Judging) -> Sequence[Signal]:
        if not judging.report.is_orderly:
            return ()
        claims = first_tag_claims if self.first else any_tag_claims
        is_claimed = claims(judging.report.tags, self.name, judging.assignment.promise or self.expected)
        return (Signal(Claim.DONE, f"tag {self.name}"),) if is_claimed else ()


@dataclass(frozen=True, slots=True)
class RejectProbe:
    """``<reject>reason</reject>``: a reviewer, tester or qa sends the work back. The role ``but`` cannot."""

    but: str = ""

    async def look(self, judging: Judging) -> Sequence[Signal]:
        if not judging.report.is_orderly or (self.but and judging.assignment.role == self.but):
            return ()
        rejections = (tag.content for tag in judging.report.tags if tag.name == "reject")
        return tuple(Signal(Claim.REJECTED, "tag reject", reason) for reason in rejections)


@dataclass(frozen=True, slots=True)
class ExitCodeProbe:
    """Only of a process that ended by itself."""

    code: int
    claim: Claim

    async def look(self, judging: Judging) -> Sequence[Signal]:
        report = judging.report
        is_claimed = report.ending is Ending.EXITED and report.exit_code == self.code
        return (Signal(self.claim, f"exit {self.code}"),) if is_claimed else ()


@dataclass(frozen=True, slots=True)
class MarkerFileProbe:
    """A file claims by its presence; its content is not read."""

    path: Path
    claim: Claim

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return (Signal(self.claim, f"file {self.path.name}"),) if self.is_there() else ()

    def is_there(self) -> bool:
        """A link does not count: where it leads is nobody's claim."""
        try:
            found = beneath.status(self.path)
        except OSError:
            return False
        return found is not None and S_ISREG(found.st_mode)
