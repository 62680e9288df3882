"""An internal error: one line for the user, the rest in a file that can be attached to an issue."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback

from ralph import __version__


def report_crash(error: Exception) -> None:
    report = "\n".join(
        (
            f"ralph {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"arguments: {sys.argv[1:]}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )
    print(f"ralph: internal error: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="ralph-crash-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.write(report)
    except OSError:
        print(report, file=sys.stderr)
    else:
        print(f"  This is a bug in ralph. Please report it with {file.name}", file=sys.stderr)
