"""What tickets are told: nothing before acceptance, the proof afterwards, and a label that is free when nobody works on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.delivery.receipt import BEGIN, END, Proof, Receipt
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move
from ralph.domain.tickets.told import Landing, Told, asked_for, linking_text, told_about

RECEIPT = Receipt(
    commit="c" * 40, claim="every role has accepted it", proofs=(Proof("make test"),), sessions=2
)
HERE = Landing(target="main", is_merged=True)
PULL = Landing(target="main", pull="https://forge.test/pull/7")
MERGED = Landing(target="main", pull="https://forge.test/pull/7", is_merged=True)


TICKET = KnownTicket(source="github:o/r", key="1", task_id="T-1", shown="#1")
FILE = KnownTicket(source="TODO.md", key="a", task_id="T-1", shown="a", is_shared=False)


def told(
    status: TaskStatus,
    landing: Landing = HERE,
    *,
    known: KnownTicket = TICKET,
    close: str = "delivered",
    receipt: Receipt = RECEIPT,
    is_edited: bool = False,
) -> Told:
    task = Task(id="T-1", title="Do it", status=status)
    return told_about(task, known, receipt, landing, close=close, is_edited=is_edited)


@pytest.mark.parametrize("status", [TaskStatus.OPEN, TaskStatus.FAILED])
@pytest.mark.parametrize("landing", [Landing(), HERE, PULL, MERGED])
@pytest.mark.parametrize("close", ["delivered", "always", "never"])
def test_nothing_is_told_of_work_that_was_not_accepted(
    status: TaskStatus, landing: Landing, close: str
) -> None:
    assert told(status, landing, close=close) == Told()


@pytest.mark.parametrize(
    ("landing", "close", "move"),
    [
        (HERE, "delivered", Move.FINISH),
        (HERE, "always", Move.CLOSE),
        (HERE, "never", Move.FINISH),
        (MERGED, "delivered", Move.CLOSE),
        (MERGED, "always", Move.CLOSE),
        (MERGED, "never", Move.FINISH),
    ],
)
def test_done_work_is_finished_and_closed_as_the_settings_say(
    landing: Landing, close: str, move: Move
) -> None:
    assert told(TaskStatus.DONE, landing, close=close).move is move


@pytest.mark.parametrize(
    ("status", "landing", "sentence"),
    [
        (
            TaskStatus.DONE,
            HERE,
            "ralph: done. The work is merged into `main` on the machine that ralph ran on; it was not pushed.",
        ),
        (TaskStatus.DONE, MERGED, "ralph: done. https://forge.test/pull/7 is merged into `main`."),
        (
            TaskStatus.ACCEPTED,
            PULL,
            "ralph: the work is accepted and proven. Its pull request into `main` is https://forge.test/pull/7.",
        ),
        (
            TaskStatus.DONE,
            Landing(is_merged=True),
            "ralph: done. The work is merged on the machine that ralph ran on; it was not pushed.",
        ),
    ],
)
def test_the_first_line_says_how_it_stands_and_the_proof_follows(
    status: TaskStatus, landing: Landing, sentence: str
) -> None:
    text = told(status, landing).text
    first, _, rest = text.partition("\n\n")
    assert first == sentence
    assert rest.startswith(BEGIN)
    assert rest.endswith(END)
    assert "make test  →  exit code 0" in rest
    assert "c" * 12 in rest


def test_accepted_work_without_a_pull_request_is_not_there_yet() -> None:
    assert told(TaskStatus.ACCEPTED, Landing(target="main")) == Told()


def test_a_pull_request_that_can_be_merged_moves_nothing() -> None:
    assert told(TaskStatus.ACCEPTED, PULL).move is None


def test_cancelled_work_frees_the_ticket_without_a_word() -> None:
    assert told(TaskStatus.CANCELLED) == Told(move=Move.FREE)


@pytest.mark.parametrize(
    ("status", "text", "move"),
    [
        (TaskStatus.OPEN, "ralph: the work was ready, but is worked on again.", None),
        (TaskStatus.FAILED, "ralph: the work was ready, but its task has failed since.", None),
        (TaskStatus.CANCELLED, "ralph: the work was ready, but its task was cancelled since.", Move.FREE),
    ],
)
@pytest.mark.parametrize("landing", [HERE, PULL])
def test_what_was_said_and_is_not_true_any_more_is_taken_back(
    status: TaskStatus, text: str, move: Move | None, landing: Landing
) -> None:
    said = told(status, landing, known=replace(TICKET, is_said=True))
    assert said == Told(text, move)
    assert not said.is_good, "and is taken back once"


def test_another_commit_is_another_word() -> None:
    other = replace(RECEIPT, commit="d" * 40)
    assert told(TaskStatus.ACCEPTED, PULL).digest != told(TaskStatus.ACCEPTED, PULL, receipt=other).digest


# --- edited meanwhile, or nothing to change ---

UNCHANGED = Landing(target="main", is_merged=True, is_unchanged=True)


@pytest.mark.parametrize("close", ["delivered", "always", "never"])
@pytest.mark.parametrize(
    ("landing", "is_edited", "why"),
    [
        (MERGED, True, "it was edited meanwhile"),
        (HERE, True, "it was edited meanwhile"),
        (UNCHANGED, False, "nothing was changed for it"),
    ],
)
def test_a_ticket_that_asks_for_something_else_now_is_a_person_s_to_close(
    close: str, landing: Landing, is_edited: bool, why: str
) -> None:
    said = told(TaskStatus.DONE, landing, close=close, is_edited=is_edited)
    assert said.move is Move.FINISH
    assert said.words == f"told #1 that it is done; look at it, because {why}"
    assert said.is_concern
    assert ("The ticket was edited after the work had begun." in said.text) == is_edited


def test_work_without_any_change_does_not_say_that_it_is_merged() -> None:
    said = told(TaskStatus.DONE, UNCHANGED)
    assert said.text.startswith("ralph: every role accepted this without any change.")


@pytest.mark.parametrize(
    ("landing", "is_edited", "move", "words"),
    [
        (HERE, False, Move.FINISH, "ticked a of TODO.md"),
        (
            HERE,
            True,
            None,
            "a of TODO.md is not ticked, because its words were changed meanwhile: look at it",
        ),
        (
            UNCHANGED,
            False,
            None,
            "a of TODO.md is not ticked, because nothing was changed for it: look at it",
        ),
    ],
)
def test_a_box_is_ticked_only_for_what_was_proven_in_its_words(
    landing: Landing, is_edited: bool, move: Move | None, words: str
) -> None:
    said = told(TaskStatus.DONE, landing, known=FILE, close="always", is_edited=is_edited)
    assert (said.text, said.move, said.words, said.is_concern) == ("", move, words, move is None)


def test_proof_that_there_was_none_is_said() -> None:
    assert "No command was run" in told(TaskStatus.DONE, receipt=Receipt(commit="c" * 40)).text


# --- what was told already ---

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=()) | st.just("\ud800"), max_size=30)
TOLD = st.builds(Told, TEXTS, st.sampled_from([None, *Move]))


@given(TOLD, TOLD)
def test_the_print_differs_exactly_if_anything_else_is_told(one: Told, other: Told) -> None:
    if "\ud800" not in one.text + other.text:
        assert (one.digest == other.digest) == ((one.text, one.move) == (other.text, other.move))
    assert one.digest == Told(one.text, one.move).digest


# --- links and questions ---


@pytest.mark.parametrize(
    ("known", "closes", "text"),
    [
        (
            KnownTicket(source="github:o/r", key="1", task_id="T", url="https://x.test/1"),
            True,
            "Closes https://x.test/1",
        ),
        (
            KnownTicket(source="github:o/r", key="1", task_id="T", url="https://x.test/1"),
            False,
            "For https://x.test/1",
        ),
        (KnownTicket(source="TODO.md", key="a", task_id="T", shown="a"), False, "For a of TODO.md"),
    ],
)
def test_a_pull_request_names_its_ticket(known: KnownTicket, closes: bool, text: str) -> None:
    assert linking_text(known, closes=closes) == text


def test_what_is_asked_says_that_nothing_was_begun() -> None:
    assert asked_for("it has no title") == "ralph did not begin to work on this ticket: it has no title."
