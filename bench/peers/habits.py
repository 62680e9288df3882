"""What a contender does beside looping, tried with one session: does it log, does it mask, does it clear up."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.child import CannotMeasure
from bench.faults.stage import Stage
from bench.peers.plays import Place, complaint
from bench.project import SECRETS
from bench.stream_data import write_saying

MARKER = "The walrus counted nineteen umbrellas"
ENDING = "and one of them was green"
FILLER = "It rained for the rest of the day. " * 200
SECRET = SECRETS["ANTHROPIC_API_KEY"]
SCREEN = "the screen"


class Habits(NamedTuple):
    log: str
    """Which files have what the agent said."""
    masks: str
    """Whether a secret of the environment stays out of them, and off the screen."""
    clears: str
    """What becomes of a process that the agent leaves."""


def write_habits(path: Path) -> None:
    write_saying(path, f"{MARKER}, and the key is {SECRET}. {FILLER} {ENDING}.")


def try_habits(place: Place, stream: Path) -> Habits:
    """The agent says a sentence and the key in its environment, and leaves a process behind."""
    try:
        played, stage = place.play_lingering(stream)
    except (CannotMeasure, OSError, subprocess.SubprocessError) as error:
        return Habits(*[f"could not be tried: {error}"] * 3)
    if not played.began:
        return Habits(*[f"could not be tried: {complaint(played.output)}"] * 3)
    begun, ended, clear = (list(_places(stage, words)) for words in (MARKER, ENDING, SECRET))
    masks = f"no: in the clear {_where(clear)}" if clear else "yes"
    return Habits(
        log=_log(begun, ended),
        masks=masks if begun else "keeps and shows nothing of it",
        clears="leaves it running" if played.left else "ends it",
    )


def _log(begun: Sequence[str], ended: Sequence[str]) -> str:
    """How much of what was said is in files."""
    whole, some = ([where for where in places if where != SCREEN] for places in (ended, begun))
    if whole:
        return _where(whole)
    return f"no more than a beginning, {_where(some)}" if some else "none"


def _where(places: Sequence[str]) -> str:
    return " and ".join("on the screen" if where == SCREEN else f"in {where}" for where in places)


def _places(stage: Stage, words: str) -> Iterator[str]:
    """Where the harness has put these words: its screen, then folders, or files at the top of the project."""
    if words in (stage.here / "output").read_text(errors="replace"):
        yield SCREEN
    found = []
    for root in (stage.root, stage.home.resolve()):
        for file in sorted(root.rglob("*")):
            within = file.relative_to(root).parts
            if within[0] != ".git" and file.is_file() and words.encode() in file.read_bytes():
                found.append(f"`{within[0]}{'/' if len(within) > 1 else ''}`")
    yield from dict.fromkeys(found)
