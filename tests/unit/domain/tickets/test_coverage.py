"""Which tickets a run may work on: sandbox and tokens were decided before they came."""

from __future__ import annotations

import pytest

from ralph.domain.tickets.coverage import Imports, covers
from ralph.domain.tickets.known import KnownTicket

FILE = KnownTicket(source="TODO.md", key="a", task_id="T-1", is_shared=False)
TRACKER = KnownTicket(source="github:o/r", key="1", task_id="T-2")


@pytest.mark.parametrize(
    ("imports", "covered"),
    [
        (Imports.NONE, (False, False)),
        (Imports.FILES, (True, False)),
        (Imports.TRACKERS, (True, True)),
    ],
)
def test_a_run_covers_what_it_was_prepared_for_and_nothing_more(
    imports: Imports, covered: tuple[bool, bool]
) -> None:
    assert (covers(imports, FILE), covers(imports, TRACKER)) == covered
