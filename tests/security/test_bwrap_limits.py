"""A sandbox has limits without being asked, and those that are asked for hold, whichever kind of memory is used."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from ralph.adapters.isolation.bwrap import BwrapSandbox
from ralph.adapters.isolation.runner import keep_open
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import Limits, SandboxPolicy
from tests.acceptance.conftest import Project

from .conftest import OFF, Sandboxed


def promise(sandboxed: Sandboxed, policy: SandboxPolicy) -> str:
    async def run() -> str:
        async with keep_open(BwrapSandbox(sandboxed.site(), policy), sandboxed.runner()) as sandbox:
            return sandbox.guarantees.limits

    return asyncio.run(run())


def limited(**limits: int) -> SandboxPolicy:
    return SandboxPolicy(network=Network.OFF, limits=Limits(**limits))


SMALL = limited(memory=256 * 2**20, pids=100)
FILL = """
import sys
try:
    with open(sys.argv[1], "wb") as file:
        for _ in range(600):
            file.write(bytes(2**20))
            file.flush()
    print("got it " + "all")
except OSError as error:
    print("refused", error.strerror)
"""


@pytest.mark.parametrize("place", ["/tmp/x", "/dev/shm/x", "~/x", "/var/tmp/x", "/run/x", "/dev/x"])
def test_folders_in_memory_do_not_go_round_the_limit(sandboxed: Sandboxed, place: str) -> None:
    place = place.replace("~", str(sandboxed.home))
    _, output = sandboxed.run(sys.executable, "-c", FILL, place, policy=SMALL)
    assert "got it all" not in output


def test_shared_memory_counts_where_a_control_group_does(sandboxed: Sandboxed) -> None:
    said = promise(sandboxed, SMALL)
    script = """
import mmap
block = mmap.mmap(-1, 600 * 2**20)
for at in range(0, len(block), 4096):
    block[at] = 1
print("got it " + "all")
"""
    _, output = sandboxed.run(sys.executable, "-c", script, policy=SMALL)
    if "256 MiB of memory and 100 processes in all" in said:
        assert "got it all" not in output
    else:
        assert "not counting what they share" in said


def test_one_file_cannot_fill_the_disk(sandboxed: Sandboxed) -> None:
    exit_, output = sandboxed.run(
        "sh", "-c", "head -c 3000000 /dev/zero > big; echo ended", policy=limited(file_size=2**20)
    )
    assert (sandboxed.workspace / "big").stat().st_size <= 2**20
    assert "ended" in output
    assert exit_.code == 0


def test_without_being_asked_there_are_limits(sandboxed: Sandboxed) -> None:
    lines = sandboxed.shell(
        "cat /proc/self/limits /proc/self/oom_score_adj; df -k /tmp /dev/shm ~"
    ).splitlines()
    found = {line[:25].strip(): line[25:].split() for line in lines if line.startswith("Max ")}
    assert found["Max file size"][1] != "unlimited"
    assert found["Max core file size"][1] == "0"
    said = promise(sandboxed, OFF)
    if os.geteuid() != 0:
        assert int(found["Max processes"][1]) >= 4096 or "processes not limited" in said
    assert "1000" in lines, "the first to end when memory runs out"
    assert "files of" in said
    assert "processes" in said
    assert "memory" in said


def test_0_is_no_limit(sandboxed: Sandboxed) -> None:
    without = limited(memory=0, pids=0, file_size=0)
    assert promise(sandboxed, without) == ""
    lines = sandboxed.shell("cat /proc/self/limits", policy=without).splitlines()
    assert "unlimited" in next(line for line in lines if line.startswith("Max file size"))


def test_ordinary_programs_that_reserve_much_still_start(sandboxed: Sandboxed) -> None:
    """As sanitizers, Go and Java do: a terabyte of addresses, of which hardly any is used."""
    script = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
private_anonymous_noreserve, read_and_write = 0x4022, 3
place = libc.mmap(None, ctypes.c_size_t(2**40), read_and_write, private_anonymous_noreserve, -1, 0)
print(place != ctypes.c_void_p(-1).value)
"""
    assert sandboxed.python(script) == "True\n"


def test_the_head_of_a_run_says_which(project: Project, bwrap_trouble: str) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    project.settings(agent={"command": "true", "adapter": "plain"}, sandbox={"fileSize": "5g", "pids": 300})
    ran = project.ralph("run", "-p", "x", "--sandbox=bwrap", "--max-iterations", "1")
    head = ran.stdout + ran.stderr
    assert "limits: not confined" not in head
    assert "files of 5 GiB at most" in head
