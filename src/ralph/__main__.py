"""``ralph`` and ``python -m ralph``. Prints the version before importing anything else."""

from __future__ import annotations

import os
import sys

from ralph import __version__


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-v"]):
        code = 0
        try:
            print(f"ralph {__version__}", flush=True)
        except OSError:
            code = 4
        # An ordinary exit would try again to write it, and takes longer than all of this: there is nothing to take down.
        os._exit(code)
    import gc

    gc.disable()  # loading modules makes no garbage; a run enables it again
    try:
        from ralph.interfaces.cli.main import main as cli

        code = cli(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    if "temporalio" in sys.modules:
        _leave_at_once(code)
    sys.exit(code)


def _leave_at_once(code: int) -> None:
    """The threads of Temporal's library may call an interpreter that is being taken down, which aborts the process."""
    import atexit
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _leave_here() -> None:
    """``python -m`` looks for modules in the current directory first, which may be anyone's."""
    package = __file__.rpartition("/")[0].rpartition("/")[0]
    if not sys.flags.safe_path and sys.path[0] != package:
        del sys.path[0]


if __name__ == "__main__":
    _leave_here()
    try:
        main()
    finally:
        # Else a Ctrl-C that ended an `exec`, and was dealt with, would end us by SIGINT now, whatever the exit code.
        exec("")  # noqa: S102
