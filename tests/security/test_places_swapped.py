"""Agents that share a git folder: one that swaps something there while another's sandbox is set up opens nothing to it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from ralph.domain.loop.session_report import Ending

from .conftest import Sandboxed
from .test_sandbox_probe import install

SWAP = """\
case "$*" in *"the second"*) mv "{place}" "{place}.aside" && ln -s "{target}" "{place}" ;; esac
{bwrap} "$@"
code=$?
case "$*" in *"the second"*) rm -f "{place}"; mv "{place}.aside" "{place}" ;; esac
exit $code
"""


# What is left of a swap that is undone again once bubblewrap has mounted the place: where the link led.
ASTRAY = """\
import os, sys
arguments = sys.argv[1:]
if "the second" in arguments[-1]:
    at = arguments.index({place!r})
    arguments[at] = arguments[at + 1] = {target!r}
os.execv({bwrap!r}, ["bwrap", *arguments])
"""


def swap(sandboxed: Sandboxed, tmp_path: Path, place: Path, target: str | Path) -> None:
    """While the second process gets its sandbox, ``place`` is a link."""
    body = SWAP.format(place=place, target=target, bwrap=shutil.which("bwrap"))
    install(tmp_path / "programs", body)
    sandboxed.environ["PATH"] = f"{tmp_path / 'programs'}:{sandboxed.environ['PATH']}"


def make_submodule(repository: Path) -> Path:
    """What looks like the folder of one, with places that are read-only in a sandbox."""
    folder = repository / ".git" / "modules" / "e"
    for name in ("objects", "hooks", "branches"):
        (folder / name).mkdir(parents=True)
    (folder / "config").touch()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.mark.parametrize("name", ["hooks", "config", "branches", "."])
@pytest.mark.parametrize("is_relative", [True, False], ids=["relative", "absolute"])
def test_nothing_that_was_swapped_in_is_seen(
    sandboxed: Sandboxed, tmp_path: Path, name: str, is_relative: bool
) -> None:
    place = Path(os.path.normpath(make_submodule(sandboxed.workspace) / name))
    target = sandboxed.home / ".ssh" / "id_ed25519" if name == "config" else sandboxed.home
    swap(sandboxed, tmp_path, place, os.path.relpath(target, place.parent) if is_relative else target)
    look = f'cat "{place}" "{place}"/*/* "{place}"/.ssh/* "{sandboxed.home}"/.ssh/*'
    exit_, output = sandboxed.run("sh", "-c", f"{look}; echo the first")
    assert exit_.ending is Ending.EXITED
    assert "s3cret-value" not in output
    exit_, output = sandboxed.run("sh", "-c", f"{look}; echo the second")
    assert exit_.code == 1, output
    assert output.startswith("bwrap: "), output
    assert "s3cret-value" not in output


@pytest.mark.parametrize("name", ["hooks", "branches", "config"])
def test_nor_if_it_is_swapped_back_at_once(sandboxed: Sandboxed, tmp_path: Path, name: str) -> None:
    place = make_submodule(sandboxed.workspace) / name
    home = str(sandboxed.home)
    body = ASTRAY.format(place=str(place), target=home, bwrap=shutil.which("bwrap"))
    install(tmp_path / "programs", body, interpreter=sys.executable)
    sandboxed.environ["PATH"] = f"{tmp_path / 'programs'}:{sandboxed.environ['PATH']}"
    exit_, output = sandboxed.run("sh", "-c", f'cat "{home}"/.ssh/*; echo the second')
    assert exit_.code == 1, output
    assert output.startswith("bwrap: "), output
    assert "s3cret-value" not in output
