"""What shifts printed, as files of their run: records are packed with one for each shift, and the old ones never change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.domain.text.safe_text import clean
from ralph.patterns import pattern

MOST_BYTES = 2_000_000
_NAME = pattern(r"console_(\d{1,9})\.log")


def keep_console(run_folder: Path, turn: int, lines: Sequence[str], *, top: Path) -> None:
    """For want of it nothing fails."""
    with suppress(OSError):
        text = "".join(f"{line}\n" for line in lines)
        beneath.write_atomic(run_folder / f"console_{turn}.log", text, top)


def kept_consoles(runs: Path, *, top: Path, after: int = -1) -> list[tuple[int, list[str]]]:
    """What shifts printed, line by line, in their order. ``runs``: the folder of all runs of a record. ``after``: only those
    that came after this one."""
    folders = [runs / name for name in _names(runs, top)]
    files = [folder / name for folder in folders for name in _names(folder, top)]
    turns = sorted((int(found[1]), file) for file in files if (found := _NAME.fullmatch(file.name)))
    return [(turn, _lines(file, top)) for turn, file in turns if turn > after]


def _lines(file: Path, top: Path) -> list[str]:
    text = beneath.read_whole(file, MOST_BYTES, top) or b""
    return clean(text.decode(errors="replace")).splitlines()


def _names(folder: Path, top: Path) -> list[str]:
    try:
        return beneath.list_names(folder, top)
    except OSError:  # a file, or a link
        return []
