"""What an unaccepted run left, told from what the user changed since."""

from __future__ import annotations

import pytest

from ralph.domain.proof.tree import Entry, Tree
from ralph.domain.proof.unaccepted_changes import (
    LISTED,
    PATCH_CHARS,
    SHOWN,
    UnacceptedChanges,
    tell_agent,
    unaccepted_changes,
)

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
    yes, no = (lambda _: True), (lambda _: False)
    found = unaccepted_changes(*trees, decides=yes, is_allowed=no, is_closed=is_closed)
    kept = unaccepted_changes(*trees, decides=yes, is_allowed=yes, is_closed=is_closed)

    assert kept == UnacceptedChanges((), (), found.left)
    assert found.left == (("tests/a.py",) if left else ())
    assert found.unknown == (("tests/a.py",) if unknown and not is_closed else ())
    assert unaccepted_changes(*trees, decides=no, is_allowed=no, is_closed=False) == UnacceptedChanges(())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (UnacceptedChanges(()), []),
        (UnacceptedChanges(("a", "b")), ["run 7 changed a, b and was not accepted", "To undo the changes: `git apply x`", "`ralph resume 7`"]),
        (UnacceptedChanges((), ("c",)), ["c changed during or since run 7, which was not accepted"]),
        (UnacceptedChanges((), (), ("d",)), ["run 7 changed d and was not accepted: kept, as you allow"]),
        (UnacceptedChanges(("a",), ("c",)), ["run 7 changed a and", "; c changed during or since run 7"]),
        (UnacceptedChanges(tuple(map(str, range(SHOWN + 2)))), [f"{SHOWN - 1} and 2 more and was not accepted"]),
    ],
)  # fmt: skip
def test_the_user_is_told_which_files_and_what_to_do(changes: UnacceptedChanges, said: list[str]) -> None:
    warning = changes.warning("7", "git apply x")

    assert bool(warning) is bool(said)
    assert all(part in warning for part in said)


def test_the_agent_is_told_of_some_files_and_of_the_beginning_of_a_long_patch() -> None:
    paths = [f"tests/test_{number}.py" for number in range(LISTED + 2)]
    told = tell_agent("7", paths, undo="git apply x", patch="+" * 100_000)

    assert "- tests/test_0.py\n" in told
    assert "… and 2 more" in told
    assert "`git apply x`" in told
    assert len(told) < 2 * PATCH_CHARS
