"""What an unaccepted run left, told from what the user changed since."""

from __future__ import annotations

import pytest

from ralph.domain.proof.tree import Entry, Tree
from ralph.domain.proof.unaccepted_changes import SHOWN, UnacceptedChanges, unaccepted_changes

BEFORE, RUNS, USERS = "before", "by the run", "by the user"


def tree_of(content: str | None) -> Tree:
    return Tree({} if content is None else {"tests/a.py": Entry("100644", content)})


@pytest.mark.parametrize(
    ("before", "last", "now", "left", "unknown"),
    [
        (BEFORE, BEFORE, BEFORE, False, False),
        (BEFORE, RUNS, RUNS, True, False),
        (BEFORE, None, None, True, False),
        (None, RUNS, RUNS, True, False),
        (BEFORE, RUNS, BEFORE, False, False),
        (BEFORE, RUNS, USERS, False, True),
        (BEFORE, BEFORE, USERS, False, True),
        (BEFORE, RUNS, None, False, True),
    ],
    ids=[
        "nothing changed", "changed by the run", "deleted by the run", "made by the run", "undone since",
        "changed by both", "changed since", "deleted since",
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_closed", [True, False])
def test_what_is_still_as_the_run_left_it_is_not_the_users(
    before: str | None, last: str | None, now: str | None, left: bool, unknown: bool, is_closed: bool
) -> None:
    trees = tree_of(now), tree_of(before), tree_of(last)
    found = unaccepted_changes(*trees, decides=lambda _: True, is_closed=is_closed)

    assert found.left == (("tests/a.py",) if left else ())
    assert found.unknown == (("tests/a.py",) if unknown and not is_closed else ())
    assert unaccepted_changes(*trees, decides=lambda _: False, is_closed=False) == UnacceptedChanges(())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (UnacceptedChanges(()), []),
        (UnacceptedChanges(("a", "b")), ["run 7 changed a, b and was not accepted", "ralph resume 7"]),
        (UnacceptedChanges((), ("c",)), ["c changed during or since run 7, which was not accepted"]),
        (UnacceptedChanges(("a",), ("c",)), ["run 7 changed a and", "; c changed during or since run 7"]),
        (UnacceptedChanges(tuple(map(str, range(SHOWN + 2)))), [f"{SHOWN - 1} and 2 more and was not accepted"]),
    ],
)  # fmt: skip
def test_the_user_is_told_which_files_and_what_to_do(changes: UnacceptedChanges, said: list[str]) -> None:
    warning = changes.warning("7")

    assert bool(warning) is bool(said)
    assert all(part in warning for part in said)
