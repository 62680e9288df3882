"""Planning, executing and verifying exclude each other in one workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ralph.adapters.storage.claims import Claims
from ralph.domain.holder import Claim, Mode
from ralph.errors import WorkspaceBusy


@dataclass(frozen=True, slots=True)
class ModeCheck:
    """Whether a mode may start; if not, which mode is in the way and who holds it."""

    allowed: bool
    blocked_by: Mode | None = None
    holder: Claim | None = None


class ModeRegistry:
    """The modes of one workspace. ``inherited`` is the run this process was started by: it goes on under its mode."""

    def __init__(
        self, claims: Claims, workspace: str, *, now: Callable[[], float], inherited: str = ""
    ) -> None:
        self._claims = claims
        self._workspace = workspace
        self._now = now
        self._inherited = inherited

    def can_start(self, mode: Mode) -> ModeCheck:
        """A look, not a promise: only ``start`` decides. The same mode is in its own way, too."""
        holder = self._claims.holder(self._workspace)
        if holder is None or self._claims.covers(holder, self._inherited):
            return ModeCheck(allowed=True)
        return ModeCheck(allowed=False, blocked_by=holder.mode, holder=holder)

    def start(self, mode: Mode, details: Mapping[str, object] | None = None) -> bool:
        try:
            self._claims.take(
                self._workspace, mode, now=self._now(), details=details, inherited=self._inherited
            )
        except WorkspaceBusy:
            return False
        return True

    def is_mine(self, mode: Mode) -> bool:
        """This very process holds the workspace in this mode."""
        holder = self._claims.holder(self._workspace)
        return holder is not None and holder.mode is mode and self._claims.is_mine(holder)

    def end(self, mode: Mode) -> bool:
        """Only what this process itself started."""
        return self._claims.release(self._workspace, mode)
