"""How limits are put on a sandbox, by what a machine offers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.adapters.isolation.limits import Limiter, control_groups, per_process, systemd_scope, usual_limits
from ralph.domain.sandbox.policy import Limits

BOTH = Limits(memory=2**30, pids=50)
USUAL = Limits(3 * 2**32, 4096, 2**34)
NONE = Limits(0, 0, 0)


def test_per_process_limits_are_set_inside() -> None:
    limiter = per_process(BOTH, USUAL, is_root=False)
    assert limiter.inside == Limits(2**30, 50, 2**34)
    assert limiter.promise == (
        "1 GiB of memory for each process, not counting what they share, 50 processes, files of 16 GiB at most"
    )
    assert limiter.room == 2**30
    assert limiter.wrap(("true",)) == ("true",)


def test_what_is_usual_limits_no_single_process_in_its_memory() -> None:
    """Sanitizers and virtual machines reserve far more than they use."""
    limiter = per_process(Limits(), USUAL, is_root=False)
    assert limiter.inside == Limits(None, 4096, 2**34)
    assert limiter.promise.startswith("memory not limited (no control group), but ")
    assert limiter.room == 2**34


def test_an_old_kernel_would_count_what_runs_outside_too() -> None:
    limiter = per_process(Limits(), USUAL, is_root=False, counts_apart=False)
    assert limiter.inside.pids is None
    assert "processes not limited (no control group)" in limiter.promise
    assert per_process(BOTH, USUAL, is_root=False, counts_apart=False).inside.pids == 50


def test_root_is_told_that_its_processes_are_not_counted() -> None:
    limiter = per_process(BOTH, USUAL, is_root=True)
    assert limiter.inside == Limits(2**30, None, 2**34)
    assert "processes not limited (root, and no control group)" in limiter.promise


def test_without_limits_nothing_is_promised() -> None:
    assert per_process(NONE, USUAL, is_root=True) == Limiter("")
    assert per_process(NONE, USUAL, is_root=False) == Limiter("")


def test_folders_in_memory_share_the_room() -> None:
    home, room = Path("/home/dev"), 2**30
    limiter = Limiter("", room=room)
    folders = (home, *map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run", "/root", "/home", "/mnt")))
    sizes = [int(limiter.room_in(folder, home)[1]) for folder in folders]
    assert sizes[:4] == [room // 4, room // 4, room // 8, room // 8]
    assert sum(sizes) <= room
    assert Limiter("").room_in(home, home) == ()


def test_usual_limits_are_those_of_this_machine(tmp_path: Path) -> None:
    usual = usual_limits(tmp_path)
    assert usual.pids is not None
    assert usual.pids >= 4096
    assert usual.memory is not None
    assert usual.memory > 2**28
    assert usual.file_size is not None
    assert usual_limits(tmp_path / "missing").file_size is None


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (Limits(), USUAL),
        (NONE, Limits()),
        (BOTH, Limits(2**30, 50, 2**34)),
        (Limits(0, None, 7), Limits(None, 4096, 7)),
    ],
)
def test_null_is_what_is_usual_and_0_is_no_limit(asked: Limits, meant: Limits) -> None:
    assert asked.or_usual(USUAL) == meant


def test_a_scope_limits_the_sum() -> None:
    limiter = systemd_scope(BOTH, ("systemd-run", "--user", "--scope"))
    assert limiter.wrap(("a", "--b")) == ("systemd-run", "--user", "--scope", "--", "a", "--b")
    assert limiter.inside == Limits()
    assert limiter.promise == "1 GiB of memory and 50 processes in all (systemd scope)"


def test_a_group_is_joined_before_anything_else_runs(tmp_path: Path) -> None:
    """The folder stands in for the kernel's: what matters is who is written into it, and that arguments survive."""
    folders = (tmp_path / "a group", tmp_path / "another")
    for folder in folders:
        folder.mkdir()
    limiter = control_groups(folders, Limiter(""))
    argv = limiter.wrap(("sh", "-c", 'echo $$ "$@"', "sh", "a b", "$x"))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    pid, rest = done.stdout.split(" ", 1)
    for folder in folders:
        assert (folder / "cgroup.procs").read_text() == f"{pid}\n"
    assert rest == "a b $x\n"


def test_a_group_that_is_gone_needs_no_removal(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    limiter = control_groups((folder,), Limiter(""))
    limiter.close()
    assert not folder.exists()
    limiter.close()
