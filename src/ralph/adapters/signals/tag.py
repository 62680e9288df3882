"""A claim by a tag in the assistant's own words."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.loop.claims import Claim, Signal, any_tag_claims, first_tag_claims
from ralph.engine.ports import Judging


class TagProbe:
    """``first``: the first tag decides (001), otherwise any matching one (000, 002).

    A stage's own promise goes before the profile's. A session that was ended, or that failed, is not taken at its word.
    """

    def __init__(self, name: str, expected: str, *, first: bool) -> None:
        self._name = name
        self._expected = expected
        self._claims = first_tag_claims if first else any_tag_claims

    async def look(self, judging: Judging) -> Sequence[Signal]:
        if not judging.report.is_orderly:
            return ()
        expected = judging.assignment.promise or self._expected
        if self._claims(judging.report.tags, self._name, expected):
            return (Signal(Claim.DONE, f"tag {self._name}"),)
        return ()


class RejectProbe:
    """``<reject>reason</reject>``: a reviewer, tester or qa sends the work back; ``but`` has nobody to send it to."""

    def __init__(self, *, but: str = "") -> None:
        self._but = but

    async def look(self, judging: Judging) -> Sequence[Signal]:
        if not judging.report.is_orderly or (self._but and judging.assignment.role == self._but):
            return ()
        return tuple(
            Signal(Claim.REJECTED, "tag reject", tag.content)
            for tag in judging.report.tags
            if tag.name == "reject"
        )
