"""A server of ours in a process of its own, so that what it costs is not measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serve(module: str, count: int) -> Iterator[str]:
    """Its address. ``module`` prints its port as its first line."""
    process = subprocess.Popen([sys.executable, "-m", module, str(count)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()
