"""``--watch``: the same table again and again, redrawn on a terminal; in a pipe, whenever it has changed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

EVERY = 1.0


def watch(read: Callable[[], T], render: Callable[[T], str], *, redraws: bool = True) -> None:
    """Until Ctrl-C. ``redraws``: it is for people, and may be drawn over on a terminal."""
    import gc

    gc.enable()
    screen = redraws and sys.stdout.isatty()
    shown: object = None
    try:
        while True:
            seen = read()
            if screen:
                # Each line is cleared as it is overwritten: erasing the screen first would flicker.
                lines = _at_most_a_screen(render(seen).split("\n"))
                sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            elif seen != shown:
                shown = seen
                print(render(seen))
            sys.stdout.flush()
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return


def _at_most_a_screen(lines: list[str]) -> list[str]:
    height = os.get_terminal_size(sys.stdout.fileno()).lines
    return lines[: max(1, height - 1)]
