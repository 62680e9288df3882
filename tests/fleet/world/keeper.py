"""Keeps a shared server until nobody uses it: ``python -m tests.fleet.world.keeper SHARED FOLDER PORT``."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

from .server import Server


def main(shared: Path, folder: Path, port: int) -> None:
    server = Server(folder=folder, port=port)
    server.launch()
    try:
        with (shared / "users").open("w") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            (shared / "keeper.json").unlink(missing_ok=True)
    finally:
        server.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
