"""Pictures of the screens, compared piece by piece with those in tests/data/tui: text, place, colour, weight.

``PICTURES=write`` writes them again; look at them first.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.sample import Record
from tests.tui.seen import LARGE, SMALL, Viewer, picture_of, pieces_of, play, rows_of

PICTURES = Path(__file__).parent.parent / "data" / "tui"

SCENES = {
    "stream-small": (SMALL, False, [], "● Edit"),
    "stream-large": (LARGE, False, [], "The agent's to-do list"),
    "board-small": (SMALL, False, ["2"], "Coder 3"),
    "stories-light": (SMALL, True, ["2", "b"], "To do 1"),
    "iterations-light": (LARGE, True, ["5"], "● under way"),
    "task-large": (LARGE, False, ["2", "enter"], "What each role must show"),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_screen_looks_as_it_did(shop: Record, scene: str) -> None:
    size, light, keys, sight = SCENES[scene]
    pictures: list[str] = []

    async def story(viewer: Viewer) -> None:
        await viewer.sees("iteration 3/10")
        for key in keys:
            await viewer.press(key)
            await viewer.settle()
        await viewer.sees(sight)
        await viewer.settle()
        pictures.append(picture_of(viewer.app))

    play(shop.root, story, size=size, light=light)
    (picture,) = pictures
    path = PICTURES / f"{scene}.svg"
    if os.environ.get("PICTURES") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture)
    expected = path.read_text()
    assert rows_of(picture) == rows_of(expected)
    assert pieces_of(picture) == pieces_of(expected)
