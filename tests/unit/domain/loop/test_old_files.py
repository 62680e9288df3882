"""Which files of a run's earlier iterations are removed, which are compressed, and which nobody touches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.old_files import AS_THEY_ARE, iteration_of_stream, plain_name, plan_upkeep

KINDS = (
    "prompt_{0}.txt",
    "prompt_{0}_attempt2.txt",
    "prompt_{0}_commit.txt",
    "agent_{0}.ndjson",
    "agent_{0}.ndjson.gz",
    "agent_{0}.codex.ndjson",
    "agent_{0}_attempt2.ndjson",
    "agent_{0}.ndjson.stderr",
    "guardrail_{0}_make-test.log",
    "guardrail_{0}_canary_1.log",
)
OTHERS = (
    *("request.json", "receipt.json", "elapsed", "undo.patch", "untracked_before.json", "beginning.json"),
    *("setup_T-001.log", "merge_T-001_02.log", "network.log", "proof", "agent_1.ndjson", "prompt_.txt"),
    *(".agent_001.ndjson.gz.tmp", "guardrail_001", "agent_001x.ndjson", "agent_0001234567890.ndjson"),
)


def files_of(number: int) -> list[str]:
    return [kind.format(f"{number:03}") for kind in KINDS]


folders = st.lists(
    st.one_of(
        st.builds(
            lambda number, kind: kind.format(f"{number:03}"), st.integers(1, 2000), st.sampled_from(KINDS)
        ),
        st.sampled_from(OTHERS),
    ),
    unique=True,
    max_size=60,
)


def number_in(name: str) -> int:
    return int(name.split("_")[1].split(".")[0])


@given(folders, st.integers(0, 2000), st.one_of(st.none(), st.integers(1, 2000)), st.integers(0, 2000))
def test_the_newest_and_whatever_is_no_iterations_stay(
    names: list[str], judged: int, keep: int | None, seen_to: int
) -> None:
    planned = plan_upkeep(names, judged=judged, keep=keep, seen_to=seen_to)

    touched = {*planned.removed, *planned.compressed}
    assert touched <= {*names} - {*OTHERS}
    assert not {*planned.removed} & {*planned.compressed}
    assert all(number_in(name) < judged for name in touched), "the next prompt may name the newest one's logs"
    assert all(number_in(name) <= judged - (keep or judged) for name in planned.removed)
    assert all(seen_to < number_in(name) <= judged - AS_THEY_ARE for name in planned.compressed)
    assert all(name.startswith("agent_") and not name.endswith(".gz") for name in planned.compressed)
    assert "prompt_001.txt" not in planned.removed


@given(folders, st.integers(0, 2000), st.integers(1, 2000))
def test_what_is_beyond_the_limit_goes_and_a_second_look_finds_nothing_more(
    names: list[str], judged: int, keep: int
) -> None:
    planned = plan_upkeep(names, judged=judged, keep=keep)

    left = [name for name in names if name not in planned.removed]
    beyond = [name for name in left if name not in OTHERS and number_in(name) <= judged - keep]
    assert all(name.startswith("prompt_001") for name in beyond)
    assert plan_upkeep(left, judged=judged, keep=keep).removed == ()


def test_ten_iterations_of_which_four_are_kept() -> None:
    names = [name for number in range(1, 12) for name in files_of(number)]

    planned = plan_upkeep(names, judged=10, keep=4)

    assert {number_in(name) for name in planned.removed} == {*range(1, 7)}
    assert [*planned.compressed] == [
        name for name in files_of(7) if ".ndjson" in name and not name.endswith(".gz")
    ]


def test_without_a_limit_nothing_is_removed() -> None:
    names = [name for number in range(1, 12) for name in files_of(number)]

    planned = plan_upkeep(names, judged=10, keep=None)

    assert planned.removed == ()
    assert {number_in(name) for name in planned.compressed} == {*range(1, 8)}


@pytest.mark.parametrize(
    ("name", "plain", "iteration"),
    [
        ("agent_012.ndjson", "agent_012.ndjson", 12),
        ("agent_012.ndjson.gz", "agent_012.ndjson", 12),
        ("agent_1234_attempt2.codex.ndjson.gz", "agent_1234_attempt2.codex.ndjson", 1234),
        ("prompt_012.txt", "prompt_012.txt", None),
        ("kept.tar.gz", "kept.tar.gz", None),
        ("guardrail_001_x.log.gz", "guardrail_001_x.log.gz", None),
    ],
)
def test_a_stream_has_one_name(name: str, plain: str, iteration: int | None) -> None:
    assert plain_name(name) == plain
    assert iteration_of_stream(name) == iteration
