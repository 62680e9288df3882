"""Compiles the quick search for signs of secrets, where there is a C compiler.

Without one, or with RALPH_PURE=1, the wheel is one of plain Python, and ralph searches with ``secret_sieve.py``, which knows fewer signs.
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

SOURCE = "src/ralph/adapters/processes/sign_search.c"
LIBRARY = "ralph/adapters/processes/sign_search.elf"
FLAGS = ("-O3", "-shared", "-fPIC")


class CompiledSearch(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._made = tempfile.TemporaryDirectory()
        made = _compile(Path(self.root) / SOURCE, Path(self._made.name) / "library")
        if version == "editable":  # it is looked for beside the sources
            _put(made, Path(self.root) / "src" / LIBRARY)
        elif made is not None:
            build_data["force_include"][str(made)] = LIBRARY
            build_data["pure_python"] = False
            # It knows nothing of Python, so one serves all versions.
            build_data["tag"] = f"py3-none-{get_platform().replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._made.cleanup()


def _compile(source: Path, library: Path) -> Path | None:
    """Only Linux loads it: see ``sign_search.py``."""
    if sys.platform != "linux" or os.environ.get("RALPH_PURE", "0") not in ("", "0"):
        return None
    try:
        compiler = shlex.split(os.environ.get("CC", "cc"))
        ran = subprocess.run([*compiler, *FLAGS, "-o", library, source], capture_output=True, check=False)
    except (OSError, ValueError):
        return None
    return library if ran.returncode == 0 and library.exists() else None


def _put(made: Path | None, library: Path) -> None:
    """Or remove an older one. A process that has loaded that keeps it; sources that cannot be written stay without one."""
    new = library.with_suffix(".new")
    with suppress(OSError):
        if made is None:
            library.unlink(missing_ok=True)
        else:
            new.write_bytes(made.read_bytes())
            new.replace(library)
