"""How limits are put on a sandbox, by what a machine offers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ralph.adapters.isolation.limits import control_group, per_process, systemd_scope
from ralph.domain.sandbox.policy import Limits

BOTH = Limits(memory=2**30, pids=50)


def test_per_process_limits_are_set_inside() -> None:
    limiter = per_process(BOTH, is_root=False)
    assert limiter.inside == BOTH
    assert limiter.promise == "1 GiB of memory for each process, 50 processes"
    assert limiter.wrap(("true",)) == ("true",)


def test_root_is_told_that_its_processes_are_not_counted() -> None:
    limiter = per_process(BOTH, is_root=True)
    assert limiter.inside == Limits(memory=2**30)
    assert limiter.promise.endswith("processes not limited (root, and no control group)")


def test_without_limits_nothing_is_promised() -> None:
    assert per_process(Limits(), is_root=True).promise == ""


def test_a_scope_limits_the_sum() -> None:
    limiter = systemd_scope(BOTH, ("systemd-run", "--user", "--scope"))
    assert limiter.wrap(("a", "--b")) == ("systemd-run", "--user", "--scope", "--", "a", "--b")
    assert limiter.inside == Limits()
    assert limiter.promise == "1 GiB of memory and 50 processes in all (systemd scope)"


def test_a_group_is_joined_before_anything_else_runs(tmp_path: Path) -> None:
    """The folder stands in for the kernel's: what matters is who is written into it, and that arguments survive."""
    folder = tmp_path / "a group"
    folder.mkdir()
    limiter = control_group(folder, "")
    argv = limiter.wrap(("sh", "-c", 'echo $$ "$@"', "sh", "a b", "$x"))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    pid, rest = done.stdout.split(" ", 1)
    assert (folder / "cgroup.procs").read_text() == f"{pid}\n"
    assert rest == "a b $x\n"


def test_a_group_that_is_gone_needs_no_removal(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    limiter = control_group(folder, "")
    limiter.close()
    assert not folder.exists()
    limiter.close()
