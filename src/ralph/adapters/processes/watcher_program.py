"""What a watcher runs: ``watcher_main.c`` where it was compiled, else ``watcher_main.py``. Both do the same."""

from __future__ import annotations

import contextlib
import functools
import marshal
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ralph.adapters.processes import watcher_main
from ralph.adapters.processes.compiled_file import read_compiled
from ralph.adapters.processes.nameless_file import nameless_copy
from ralph.adapters.processes.process_table import LINUX
from ralph.values import dataclass

COMPILED = Path(watcher_main.__file__).with_suffix(".elf")
FORMAT = b"ralph watcher, format 2\0"
"""Whatever was built from other sources may understand other messages."""

# What Python may need to start. Nothing else: the watcher must not carry the run's mark.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")

# It makes no garbage, and a collection would copy what its forks share.
_PROGRAM = """import gc, marshal, sys
gc.disable()
with open(int(sys.argv[2]), "rb") as code:
    exec(marshal.load(code))
main(set(sys.argv[3:]))"""

_OURS = "/proc/self/exe"


@dataclass(frozen=True, slots=True)
class WatcherProgram:
    """``code`` is kept: every later watcher of this process is what the first one was, whatever an agent has made of the files
    meanwhile. Checks rely on it for how a command ended.

    ``runs_it`` is the program that runs the code; None: the code is a program itself. ``words`` come before the code's descriptor.
    """

    code: bytes
    runs_it: str | None
    words: tuple[str, ...]

    def start(self, run_ids: Sequence[str], channel: int) -> subprocess.Popen[bytes]:
        """Raises OSError."""
        code = nameless_copy("ralph watcher", self.code, is_program=self.runs_it is None)
        try:
            return subprocess.Popen(
                [*self.words, str(code), *run_ids],
                executable=f"/proc/self/fd/{code}" if self.runs_it is None else self.runs_it,
                stdin=channel,
                pass_fds=(code,),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,
            )
        finally:
            os.close(code)


@functools.cache
def watcher_programs() -> tuple[WatcherProgram, ...]:
    """In this order: a system may refuse to run a program that is no file of its own."""
    compiled = compiled_watcher()
    return (compiled, python_watcher()) if compiled is not None else (python_watcher(),)


def compiled_watcher(file: Path = COMPILED) -> WatcherProgram | None:
    """None: this installation has none, or that of another version."""
    code = read_compiled(file)
    if code is None or FORMAT not in code:
        return None
    return WatcherProgram(code, None, (os.fspath(file),))  # named only for whoever lists processes


def python_watcher() -> WatcherProgram:
    loader: Any = watcher_main.__loader__
    code = marshal.dumps(loader.get_code(watcher_main.__name__))
    file, name = _python()
    return WatcherProgram(code, file, (name, "-I", "-S", "-c", _PROGRAM, watcher_main.__file__))


def _python() -> tuple[str, str]:
    """That which runs us, whatever becomes of the file of that name, and the name by which it finds its library; without its
    virtual environment: a watcher needs none."""
    with contextlib.suppress(OSError):
        if LINUX and Path(_OURS).samefile(sys.executable):  # else we are a part of another program
            return _OURS, os.path.realpath(sys.executable)
    return sys.executable, sys.executable
