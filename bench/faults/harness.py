"""What the benchmark must know about a harness. One file each in ``harnesses/``; a new one is a class and a row there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.stage import CannotRunError, Stage

INSTALL_SECONDS = 900


def cache_folder() -> Path:
    """In a folder of this environment, and not among its own packages."""
    given = os.environ.get("FAULTS_CACHE")
    return Path(given) if given else Path(sys.prefix) / "peers"


class Harness:
    """``claims``: for each promise that it makes, where it says so. What it does not claim can hold, but never fails."""

    name: ClassVar[str]
    version: str
    about: ClassVar[str]
    """Where it comes from, and under which licence."""
    settings: ClassVar[str]
    """Which settings were chosen, and why these are its best."""
    claims: ClassVar[Mapping[Promise, str]]
    unclaimed: ClassVar[Sequence[str]] = ()
    """Acts that its claim of the promise does not go as far as."""
    absent: ClassVar[Mapping[str, str]] = {}
    """Acts (or promises) that do not apply, each with the reason."""
    claim: ClassVar[str] = "<promise>COMPLETE</promise>"
    """The words that its agent is told to end with."""
    mark: ClassVar[str] = ""
    """Shell that writes "done" wherever it looks for that."""
    report: ClassVar[str] = ""
    """Shell with which its agent reports a task, after it has committed."""
    unplan: ClassVar[str] = ""
    """Shell that edits its task list until nothing is left to do."""
    loosen: ClassVar[str] = ""
    """Shell that edits its settings until nothing is checked."""
    reviews: ClassVar[int] = 0
    """Sessions that it adds by design to those that do the work."""
    agents: ClassVar[Sequence[str]] = ("claude",)
    is_per_task: ClassVar[bool] = False
    """It hands out tasks one by one, so each session claims its own."""
    seconds: ClassVar[float] = 90.0
    """After which a cell is over: a loop that still works then has not called anything done."""
    session_seconds: ClassVar[float] = 0.0
    """That a session takes at least, for a harness that takes shorter ones for failures."""
    hang_seconds: ClassVar[float] = 45.0
    """In which it can end a session that hangs, by its own settings."""
    parallel: ClassVar[int] = 8
    """Cells at a time at most, for one that minds its own kind."""
    only: ClassVar[Sequence[str]] = ()
    """Lies to run if all would take too long; the table says so."""

    programs: Path
    """Where ``install`` found or put them."""

    def install(self) -> None:
        """Into the cache, unless it is there. Raises CannotRunError."""

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        """Write the task list and the settings into the project, as its documentation says."""
        raise NotImplementedError

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        raise NotImplementedError

    def again(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        """What its documentation says to type after a kill."""
        return self.command(stage, act, iterations)

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        """The words or the exit status with which it calls all of the work done; empty if it does not."""
        raise NotImplementedError

    def environment(self, stage: Stage) -> Mapping[str, str]:
        return {}


def install_npm(name: str, version: str, *more: str) -> Path:
    """The folder of its programs."""
    folder = cache_folder() / f"{name}-{version}"
    if not folder.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise CannotRunError("npm is not installed")
        _install(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix"],
            folder,
            [f"{name}@{version}", *more],
        )
    return folder / "node_modules" / ".bin"


def install_pip(name: str, version: str) -> Path:
    """The folder of its programs, in an environment of its own; some need Python 3.12."""
    folder = cache_folder() / f"{name}-{version}"
    if not folder.exists():
        python = _python()
        subprocess.run([python, "-m", "venv", folder], check=True, timeout=INSTALL_SECONDS)
        _install([str(folder / "bin" / "pip"), "install", "--quiet"], folder, [f"{name}=={version}"])
    return folder / "bin"


def _python() -> str:
    found = [shutil.which(name) for name in ("python3.13", "python3.12")]
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.1[23].*/bin/python3"))
    for python in [*map(str, pyenv), *filter(None, found)]:
        ran = subprocess.run(
            [python, "-c", "import ensurepip, venv"], capture_output=True, check=False, timeout=60
        )
        if ran.returncode == 0:
            return python
    raise CannotRunError("no Python 3.12 or newer is installed")


def _install(command: Sequence[str], folder: Path, packages: Sequence[str]) -> None:
    into = [str(folder)] if command[-1] == "--prefix" else []
    environment = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    ran = subprocess.run(
        [*command, *into, *packages],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
    )
    if ran.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)  # a part of it would pass for the whole next time
        raise CannotRunError(
            f"could not install {packages[0]}: {(ran.stderr.strip() or ran.stdout.strip())[-200:]}"
        )


def checkout(variable: str, program: str, address: str) -> Path:
    """A copy of a repository that the user has; nothing of it is ever part of ours."""
    given = os.environ.get(variable)
    if not given:
        raise CannotRunError(f"set {variable} to a checkout of {address}")
    folder = Path(given).resolve()
    if not (folder / program).is_file():
        raise CannotRunError(f"{variable} is {folder}, which has no {program}")
    return folder


def commit_of(folder: Path) -> str:
    """Its version, for a repository that has no releases."""
    ran = subprocess.run(
        ["git", "-C", folder, "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.stdout.strip() or "unknown"
