"""Compiles the quick search for signs of secrets into the wheel, where there is a C compiler.

It is a speed-up only: without a compiler, or with RALPH_PURE=1, the wheel is one of plain Python, and ralph searches in Python.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCE = "src/ralph/adapters/processes/sign_search.c"
LIBRARY = "src/ralph/adapters/processes/sign_search.elf"
FLAGS = ("-O3", "-shared", "-fPIC")


class CompiledSearch(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        library = root / LIBRARY
        if os.environ.get("RALPH_PURE") or not _compiles(root / SOURCE, library):
            if version == "editable":  # else an older one would be used
                library.unlink(missing_ok=True)
            return
        build_data["artifacts"].append(f"/{LIBRARY}")  # git ignores it
        build_data["pure_python"] = False
        # It knows nothing of Python, so one serves all versions.
        build_data["tag"] = f"py3-none-{next(platform_tags())}"


def _compiles(source: Path, library: Path) -> bool:
    """Only Linux loads it: see ``sign_search.py``."""
    if sys.platform != "linux":
        return False
    compiler = shlex.split(os.environ.get("CC", "cc"))
    new = library.with_suffix(".new")
    try:
        ran = subprocess.run([*compiler, *FLAGS, "-o", new, source], capture_output=True, check=False)
        if ran.returncode == 0:
            new.replace(library)  # whoever has loaded the old one keeps it
        return ran.returncode == 0
    except OSError:
        return False
    finally:
        new.unlink(missing_ok=True)
