"""Keeps the folder of a long run small, beside its loop: removes what is beyond `limits.keepIterations`, compresses streams."""

from __future__ import annotations

import functools
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import beneath
from ralph.adapters.storage.run_links import forget_link
from ralph.domain.loop.events import IterationStarted, LoopEvent, RunEnded

if TYPE_CHECKING:  # a run of a few iterations needs none of it
    from concurrent.futures import Future, ThreadPoolExecutor

FIRST = 4
"""Judged iterations before which there is nothing to do: some are always left as they are."""
AT_LEAST = 8
"""Iterations between two looks at the folder."""
SHARE = 64
"""A look costs as much as there are files: one file in so many is looked at again per iteration, however many there are."""


@functools.cache
def _thread() -> ThreadPoolExecutor:
    """One for all runs of this process: what is done in it has no hurry."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "ralph-old-files")


class OldFiles:
    """A listener: each iteration that begins says that those before it were judged. Never fails: a disk that is full, say,
    is told by whoever must write to it."""

    def __init__(self, run_folder: Path, state_folder: Path, *, keep: int | None) -> None:
        self._folder, self._top, self._keep = run_folder, state_folder, keep
        self._judged = self._seen_to = 0
        self._next = FIRST if keep is None else min(FIRST, keep + 1)
        self._look: Future[None] | None = None
        self._is_over = threading.Event()

    def __call__(self, event: LoopEvent, at: float) -> None:
        if isinstance(event, RunEnded):
            self._judged = event.iterations
        elif isinstance(event, IterationStarted):
            self._judged = event.iteration - 1
            if self._judged >= self._next and (self._look is None or self._look.done()):
                self._look = _thread().submit(self._tidy, self._judged)

    def finish(self) -> None:
        """The run is over: what is to be removed is removed now; what is being compressed stays as it was."""
        self._is_over.set()
        if self._look is not None and not self._look.cancel():  # else others of this process come first
            self._look.exception()  # waits: it is about to end
        if self._keep is not None and self._judged > self._keep:
            from ralph.domain.loop.old_files import plan_upkeep

            with suppress(OSError):
                self._remove(plan_upkeep(self._names(), judged=self._judged, keep=self._keep).removed)

    # --- in the thread ---

    def _tidy(self, judged: int) -> None:
        from ralph.adapters.storage.streams import compress
        from ralph.domain.loop.old_files import AS_THEY_ARE, plan_upkeep

        with suppress(OSError):
            names = self._names()
            self._next = judged + max(AT_LEAST, len(names) // SHARE)
            planned = plan_upkeep(names, judged=judged, keep=self._keep, seen_to=self._seen_to)
            self._remove(planned.removed)
            if not self._seen_to:
                self._forget_unfinished(names)
            for name in planned.compressed:
                if self._is_over.is_set():
                    return
                with suppress(OSError):  # one that an agent took away, or put a link in the place of
                    compress(self._folder / name, self._top, is_wanted=lambda: not self._is_over.is_set())
            self._seen_to = judged - AS_THEY_ARE

    def _names(self) -> list[str]:
        return beneath.list_names(self._folder, self._top)

    def _remove(self, names: tuple[str, ...]) -> None:
        for name in names:
            with suppress(OSError):
                beneath.remove(self._folder / name, self._top)
                forget_link(self._top / name, of=self._folder)

    def _forget_unfinished(self, names: list[str]) -> None:
        """What an earlier process of this run was killed over."""
        from ralph.adapters.storage.streams import UNFINISHED

        for name in names:
            if name.startswith(".") and name.endswith(UNFINISHED):
                with suppress(OSError):
                    beneath.remove(self._folder / name, self._top)
