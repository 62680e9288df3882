"""What past stages teach."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.history import StageRecord
from ralph.domain.tasks.roles import CompletionDefaults, Role
from ralph.domain.tasks.statistics import ENOUGH, figures, suggest_limit, suggestions


def stages(used: Sequence[int], *, accepted: bool = True, role: str = "coder") -> list[StageRecord]:
    return [
        StageRecord(task_id="T", role=role, method="external", accepted=accepted, iterations=number, at=0.0)
        for number in used
    ]


def test_too_few_stages_say_nothing() -> None:
    assert suggest_limit(stages([1] * (ENOUGH - 1)), present=15) == (
        15,
        f"{ENOUGH - 1} of {ENOUGH} stages needed to tell",
    )


def test_the_limit_is_what_nine_of_ten_needed_and_half_as_much_to_spare() -> None:
    limit, reason = suggest_limit(stages([1, 1, 2, 2, 2, 3, 3, 3, 4, 12]), present=15)
    assert (limit, reason) == (6, "nine of ten needed at most 4")


def test_stages_that_ran_out_raise_the_limit() -> None:
    records = [*stages([2] * 8), *stages([10, 10], accepted=False)]
    assert suggest_limit(records, present=10) == (15, "2 of 10 ran out of iterations")


def test_stages_that_were_rejected_early_do_not_raise_it() -> None:
    records = [*stages([2] * 6), *stages([1] * 4, accepted=False)]
    assert suggest_limit(records, present=10)[0] == 3


def test_where_nothing_was_accepted_the_limit_stays() -> None:
    assert suggest_limit(stages([1] * 6, accepted=False), present=7)[0] == 7


@given(st.lists(st.integers(1, 15), min_size=ENOUGH))
def test_a_suggestion_would_have_been_enough_for_nearly_all(used: list[int]) -> None:
    limit, _ = suggest_limit(stages(used), present=15)
    assert sum(number <= limit for number in used) >= 0.9 * len(used)
    assert limit >= 2


def test_suggestions_come_in_the_order_of_the_roles() -> None:
    records = [*stages([1], role="qa"), *stages([1], role="coder"), *stages([1], role="security")]
    found = suggestions(records)
    assert [one.role for one in found] == ["coder", "qa", "security"]
    assert [one.present for one in found] == [15, 5, 10]
    rows = CompletionDefaults(roles={"coder": Role(max_iterations=3)})
    assert suggestions(stages([1]), rows)[0].present == 3


def test_first_pass_is_accepted_at_the_first_iteration() -> None:
    records = [*stages([1, 1, 2]), *stages([1], accepted=False)]
    (found,) = figures(records)
    assert (found.role, found.method, found.first_pass) == ("coder", "external", 0.5)
