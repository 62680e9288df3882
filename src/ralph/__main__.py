"""``ralph`` and ``python -m ralph``. The version is answered before anything else is imported."""

from __future__ import annotations

import sys

from ralph import __version__


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-v"]):
        print(f"ralph {__version__}")
        return
    from ralph.interfaces.cli.main import main as cli

    sys.exit(cli(sys.argv[1:]))


if __name__ == "__main__":
    main()
