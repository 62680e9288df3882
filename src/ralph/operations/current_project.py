"""What a program that calls an operation works on: the project found from the current directory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from ralph.config.root import Root, find_root

RUN_VARIABLE = "RALPH_RUN_ID"

Report = Callable[[str], None]


def project(root: Path | None) -> Root:
    return find_root(Path.cwd(), root)


def inherited_run() -> str:
    """The run whose agent started this process; empty if none did."""
    return os.environ.get(RUN_VARIABLE, "")


def warn(message: str) -> None:
    """For callers who did not say whom to tell: a Python warning, which a program can filter or log."""
    warnings.warn(message, UserWarning, stacklevel=2)
