"""What runs are called, and how decisions are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.views.changes import Changes, CommitLine, FileChange, combined
from ralph.domain.views.decisions import decision_words
from ralph.domain.views.iterations import IterationSummary
from ralph.domain.views.runs import LONGEST, label_of

EACH = IterationSummary(iteration=1, attempt=1, started_at=1.0, first_seq=1)
FAILING = (CheckResult("tests", Verdict.FAILED),)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"prompt": "\n  Fix the tests.\nThen stop.", "promptFile": None}, "Fix the tests."),
        ({"prompt": "Totals are rounded", "task": "T-1"}, "T-1 Totals are rounded"),
        ({"prompt": "", "task": "nightly", "command": ["sh", "-c", "./agent"]}, "nightly sh -c ./agent"),
        ({"prompt": None, "task": 7}, ""),
        ({}, ""),
    ],
)
def test_a_run_is_called_by_what_was_asked(options: dict[str, Any], told: str) -> None:
    assert str(label_of(options)) == told


def test_a_prompt_that_came_from_a_file_is_known_by_its_first_words() -> None:
    assert str(label_of({"prompt": None, "promptFile": "P.md"}, "\n# Fix the tests\n")) == "Fix the tests"
    assert str(label_of({"prompt": "Fix it"}, "Fix it, and more")) == "Fix it"


@given(st.dictionaries(st.sampled_from(["prompt", "task", "command"]), st.text() | st.lists(st.integers())))
def test_whatever_was_recorded_makes_one_bounded_line(options: dict[str, Any]) -> None:
    label = label_of(options)
    assert len(label.title) <= LONGEST
    assert len(label.title.splitlines()) <= 1


@pytest.mark.parametrize(
    ("each", "live", "words"),
    [
        (replace(EACH, decision="accept"), False, "accepted"),
        (replace(EACH, decision="continue"), True, "not done yet"),
        (replace(EACH, decision="stop"), False, "stopped"),
        (replace(EACH, decision="giveup"), False, "given up"),
        (replace(EACH, decision="giveup", claims=("rejected: tag reject",)), False, "sent back"),
        (replace(EACH, decision="of a later ralph"), False, "of a later ralph"),
        (EACH, True, "under way"),
        (EACH, False, "interrupted"),
        (replace(EACH, last_seq=9), True, "interrupted"),
    ],
)
def test_a_decision_is_told_in_words(each: IterationSummary, live: bool, words: str) -> None:
    assert decision_words(each, live=live) == words


@pytest.mark.parametrize(
    ("each", "denied"),
    [
        (replace(EACH, claimed=True, decision="continue", checks=FAILING), True),
        (replace(EACH, claimed=True, decision="accept"), False),  # the profile asks for no proof
        (
            replace(EACH, claimed=True, decision="stop"),
            False,
        ),  # the user stopped it before anything was checked
        (replace(EACH, claimed=True, decision="stop", checks=(CheckResult("t", Verdict.SKIPPED),)), False),
        (replace(EACH, claimed=False, decision="continue", checks=FAILING), False),
        (replace(EACH, claimed=True, checks=FAILING), False),  # not judged yet
    ],
)
def test_a_claim_is_denied_only_by_a_check_that_failed(each: IterationSummary, denied: bool) -> None:
    assert each.denied is denied


@pytest.mark.parametrize(
    ("role", "assignment", "step"),
    [("coder", "T-1/coder", "T-1/coder"), ("coder", "T-1", "coder T-1"), ("", "prompt", "")],
)
def test_a_step_names_its_role_once(role: str, assignment: str, step: str) -> None:
    assert replace(EACH, role=role, assignment=assignment).step == step


def test_the_changes_of_several_runs_are_one() -> None:
    one = Changes(files=(FileChange("a", 1, 2),), commits=(CommitLine("1", "one"),), patch="p1")
    two = Changes(files=(FileChange("a", 3, 0), FileChange("b.png", None, None)), patch="p2", is_cut=True)
    both = combined([one, Changes(note="nothing"), two])
    assert both.files == (FileChange("a", 4, 2), FileChange("b.png", None, None))
    assert (both.commits, both.patch, both.is_cut, both.note) == (one.commits, "p1\np2", True, "")
    assert combined([Changes(note="nothing was changed")]).note == "nothing was changed"
