"""Ids that become names of folders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.supervision.task_folder import MAX_ID_CHARS, id_from, problem_with_id, rejected_name


@pytest.mark.parametrize("name", ["task-001", "search", "a.b", "größe", "_x", "a@b+c"])
def test_a_plain_name_is_an_id(name: str) -> None:
    assert problem_with_id(name, what="task") is None


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "a\\b", "/etc", "..", ".", ".hidden", "-x", "a b", "a\nb", "a\0b", "x" * (MAX_ID_CHARS + 1)],
)
def test_what_could_lead_out_of_the_folder_or_is_no_name_is_refused(name: str) -> None:
    assert problem_with_id(name, what="task")


@given(st.text(max_size=150))
def test_an_id_can_be_made_of_any_folder_name(name: str) -> None:
    assert problem_with_id(id_from(name, otherwise="project"), what="project") is None


def test_a_rejected_done_gets_the_next_free_number() -> None:
    assert rejected_name(set()) == "DONE.rejected-1"
    assert rejected_name({"DONE.rejected-1", "DONE.rejected-2"}) == "DONE.rejected-3"
