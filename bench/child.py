"""Run a program to its end and measure it: wall time, CPU time with its children, peak memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

LONGEST = 60.0
"""Seconds after which a child is killed: a measurement that hangs has failed."""

T = TypeVar("T")

_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


class CannotMeasure(Exception):
    """What should be measured did not work."""


@dataclass(frozen=True, slots=True)
class Cost:
    wall: float
    cpu: float
    peak: int  # bytes


def cost_of(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    expected: Collection[int] = (0,),
    stdin: Path | int | None = None,
) -> Cost:
    """Run it and discard its output. ``stdin``: a file, or a descriptor."""
    source, is_ours = (os.devnull if stdin is None else stdin), not isinstance(stdin, int)
    with tempfile.TemporaryFile() as stderr, open(source, "rb", closefd=is_ours) as given:
        began = time.perf_counter()
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        guard = threading.Timer(LONGEST, process.kill)
        guard.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expected:
            stderr.seek(0)
            words = stderr.read()[-2000:].decode(errors="replace").strip()
            message = f"{' '.join(argv)[:200]} exited with {process.returncode}: {words}"
            raise CannotMeasure(message)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _PEAK_UNIT)


def own_peak() -> int:
    """Bytes. A child starts with our peak, so ours must stay below what we measure."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


def interleaved(measures: Mapping[str, Callable[[], T]], *, rounds: int) -> dict[str, list[T]]:
    """A B A B …, so that a busy moment hits all of them; after one round to warm up."""
    results: dict[str, list[T]] = {name: [] for name in measures}
    for number in range(rounds + 1):
        for name, measure in measures.items():
            result = measure()
            if number:
                results[name].append(result)
    return results
