"""A ralph that is killed as by kill -9, at a moment that the test has arranged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.acceptance.running import wait_for

from .shipping import ShipProject
from .world.forge import Forge

SECONDS: Final = 60
HELD: Final = 'touch {there}; n=0; while [ ! -e {go} ] && [ "$n" -lt 600 ]; do sleep 0.1; n=$((n + 1)); done'
"""For a shell: says that it is there, and stays until the test lets it go, a minute at most."""


def without_gh(project: ShipProject) -> ShipProject:
    """Plain HTTPS instead, which takes a third of the time."""
    for name in project.forge.environment():
        project.environment.pop(name, None)
    path = os.pathsep.join([str(project.programs / "bin"), "/usr/local/bin", "/usr/bin", "/bin"])
    project.environment.update({**project.forge.environment_https(), "PATH": path})
    return project


class Gate:
    """A place in a shell script where whoever comes stops."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.there, self.go = folder / "there", folder / "go"

    @property
    def script(self) -> str:
        return HELD.format(there=self.there, go=self.go)

    def wait(self) -> None:
        wait_for(self.there.exists, f"nobody came to {self.there}", SECONDS)

    def open(self) -> None:
        self.go.touch()


@contextmanager
def shipping(project: ShipProject, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A ralph beside the test; it does not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ralph", *(arguments or ("ship",))],
        cwd=project.root,
        env=project.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def kill_at_gate(project: ShipProject, gate: Gate, *arguments: str) -> None:
    with shipping(project, *arguments) as process:
        gate.wait()
        process.kill()
        process.wait(SECONDS)
    gate.open()


def kill_at_request(
    project: ShipProject, pattern: str, *arguments: str, done: Callable[[], bool] | None = None
) -> None:
    """Killed while a request waits at the forge's door. ``done``: the forge does it after all, and is waited for until this
    holds; without it, the forge never gets to it."""
    forge: Forge = project.forge
    with shipping(project, *arguments) as process, forge.hold(pattern) as held:
        assert held.arrived.wait(SECONDS), f"it never asked for {pattern}"
        process.kill()
        process.wait(SECONDS)
        if done is None:
            forge.misbehave(pattern, status=502, times=1)
    if done is None:
        wait_for(lambda: not forge.is_misbehaving, "the request was let in", SECONDS)
    else:
        wait_for(done, f"{pattern} was not done", SECONDS)
