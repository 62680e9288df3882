from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def said_without_reader() -> Callable[[str], str]:
    """What a script that prints without end says on stderr after the reader of its stdout has left; it ends well."""

    def run(script: str) -> str:
        argv = [sys.executable, "-c", script]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.read(1)
            child.stdout.close()
            assert child.stderr is not None
            said = child.stderr.read()
            assert child.wait(timeout=60) == 0
        return said

    return run
