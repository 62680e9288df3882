"""Notices when something in a folder comes or goes: inotify on Linux, polling elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
from pathlib import Path
from typing import Any, Self

_CREATE, _DELETE, _MOVED_FROM, _MOVED_TO = 0x100, 0x200, 0x40, 0x80
_EVENTS = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO


class FolderWatch:
    """Use as a context manager inside a running event loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self._news = asyncio.Event()

    async def changed(self, *, within: float) -> None:
        """Returns when something changed, or after ``within`` seconds: a network file system sends no events."""
        # Not wait_for: in 3.11 it swallows a cancellation that arrives together with an event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._news.wait()
        self._news.clear()

    def __enter__(self) -> Self:
        self._descriptor = _start_watching(self._folder)
        if self._descriptor is not None:
            asyncio.get_running_loop().add_reader(self._descriptor, self._heard, self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _heard(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, 64 * 1024)
        self._news.set()


def _start_watching(folder: Path) -> int | None:
    """None where the system has no inotify, or no more watches to give."""
    library = _library()
    if library is None:
        return None
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    if library.inotify_add_watch(descriptor, os.fsencode(folder), _EVENTS) < 0:
        os.close(descriptor)
        return None
    return descriptor


@functools.cache
def _library() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        library.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
        library.inotify_init1.argtypes = [ctypes.c_int]
    except (OSError, AttributeError):
        return None
    return library
