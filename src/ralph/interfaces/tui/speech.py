"""What a screen says to its user beside its views: whoever wrote the words, they are harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.domain.text.safe_text import clean_line

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from ralph.errors import RalphError


def say(face: App[None] | Screen[None], text: str) -> None:
    face.notify("\n".join(map(clean_line, text.split("\n"))), markup=False)


def complain(face: App[None] | Screen[None], error: RalphError) -> None:
    hint = f"\n{clean_line(error.hint)}" if error.hint else ""
    face.notify(f"{clean_line(error.message)}{hint}", severity="error", markup=False)
