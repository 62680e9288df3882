"""The forge's server, at a pinned version, beside the agents: ``python -m tests.delivery.world.install``.

gh and act need no installation here: they are wheels among the project's dev dependencies.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.live.install import NODE, Package, cache_folder, programs
from tests.live.install import install_package as install_package

EMULATE: Final = Package("emulate", "0.12.2")  # by number: the tag "latest" is another, older package


def is_installed(cache: Path) -> bool:
    return programs(cache, NODE).is_dir() and programs(cache, EMULATE).is_dir()


def install(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    install_package(cache, NODE)  # emulate wants Node 22, which few systems have
    install_package(cache, EMULATE)


if __name__ == "__main__":
    install(cache_folder(os.environ))
