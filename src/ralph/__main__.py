"""``ralph`` and ``python -m ralph``. Prints the version before importing anything else."""

from __future__ import annotations

import sys

from ralph import __version__


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-v"]):
        try:
            print(f"ralph {__version__}", flush=True)
        except OSError:
            import os

            os._exit(4)  # an ordinary exit would try to write it again, and complain with another code
        return
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
    import os
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
    main()
