"""What sessions are told besides their task."""

from __future__ import annotations

import asyncio

import pytest

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.state import LoopState
from ralph.engine.prompts.advisers import NoteAdviser


@pytest.mark.parametrize("role", ["coder", "reviewer", "qa"])
def test_every_role_is_told_what_became_known_as_it_is_now(role: str) -> None:
    """Also in the middle of a run: the note is asked for before each session."""
    notes = [""]

    async def scenario() -> list[list[str]]:
        adviser = NoteAdviser(lambda: notes[-1])
        assignment = Assignment(key="T-1", objective="Do it", role=role)
        told = []
        for note in ("", "The ticket was edited.", "The ticket was edited again."):
            notes.append(note)
            told.append([one.text for one in await adviser.advise(LoopState(), assignment)])
        return told

    assert asyncio.run(scenario()) == [[], ["The ticket was edited."], ["The ticket was edited again."]]
