"""Compiles what is quicker in C, where there is a C compiler.

Without one, or with RALPH_PURE=1, the wheel is one of plain Python: ``secret_sieve.py`` searches for signs of secrets, and knows
fewer of them; ``watcher_main.py`` watches, whose forks cost ten times as much.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from sysconfig import get_platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("ralph/adapters/processes")
PROGRAMS = {
    "sign_search": [("-O3", "-shared", "-fPIC")],
    "watcher_main": [("-O2", "-s", "-static"), ("-O2", "-s")],
}
"""Compiler flags for each, in the order they are tried. Neither program uses Python, so one build serves all versions."""
LONGEST_SECONDS = 120


class CompiledParts(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._made = tempfile.TemporaryDirectory()
        for name in PROGRAMS:
            source = Path(self.root) / "src" / FOLDER / f"{name}.c"
            made = _compile(source, Path(self._made.name) / name, PROGRAMS[name])
            if version == "editable":  # it is looked for beside the sources
                _put(made, source.with_suffix(".elf"))
            elif made is not None:
                build_data["force_include"][str(made)] = str(FOLDER / f"{name}.elf")
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{get_platform().replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._made.cleanup()


def _compile(source: Path, made: Path, flags: list[tuple[str, ...]]) -> Path | None:
    """Only Linux loads it: see ``compiled_file.py``."""
    if sys.platform != "linux" or os.environ.get("RALPH_PURE", "0") not in ("", "0"):
        return None
    try:
        compiler = shlex.split(os.environ.get("CC", "cc"))
        for each in flags:
            command = [*compiler, "-std=gnu11", *each, "-o", made, source]
            ran = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LONGEST_SECONDS
            )
            if ran.returncode == 0 and made.exists():
                return made
    except (OSError, ValueError, subprocess.TimeoutExpired):
        pass
    return None


def _put(made: Path | None, place: Path) -> None:
    """Or remove an older one. A process that has loaded that keeps it; sources that cannot be written stay without one."""
    new = place.with_suffix(".new")
    with suppress(OSError):
        if made is None:
            place.unlink(missing_ok=True)
        else:
            new.write_bytes(made.read_bytes())
            new.replace(place)
