"""What a session finds on its stdin is a copy: nothing that it does there reaches the record."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project

from .conftest import Sandboxed

FORGERIES = (
    "echo forged > /proc/self/fd/0",
    "echo forged >> /dev/stdin",
    "echo forged 1<> /proc/$$/fd/0",
    "truncate -s 0 /proc/self/fd/0",
    "chmod 777 /proc/self/fd/0; echo forged > /proc/self/fd/0",
    f"""{sys.executable} -c 'import os; os.write(0, b"forged"); os.truncate(0, 0)'""",
    f"""{sys.executable} -c 'import os; os.ftruncate(os.open("/dev/stdin", os.O_RDWR), 0)'""",
    f"""{sys.executable} -c 'import fcntl; fcntl.fcntl(0, 1033, 0)'; echo forged > /proc/self/fd/0""",
    "ln -f /proc/self/fd/0 named; ln -L /proc/self/fd/0 named; echo forged > named",
    'p=$(readlink /proc/self/fd/0); echo forged > "$p"',
)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_process_can_write_to_the_file_that_is_its_input(sandboxed: Sandboxed, forgery: str) -> None:
    prompt = sandboxed.workspace / ".ralph" / "prompt.txt"
    prompt.write_text("as recorded\n")
    _, output = sandboxed.run("sh", "-c", f"{forgery}\ncat", stdin=prompt)
    assert prompt.read_text() == "as recorded\n"
    assert output.endswith("as recorded\n"), "what was not read yet is still to be read"


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
def test_a_session_reads_all_of_its_input_twice_if_it_likes(sandboxed: Sandboxed, size: int) -> None:
    prompt = sandboxed.workspace / ".ralph" / "prompt.txt"
    prompt.write_bytes(b"x" * size)
    _, output = sandboxed.run("sh", "-c", "wc -c; wc -c </dev/stdin", stdin=prompt)
    assert output.split() == [str(size), str(size)]


@pytest.mark.parametrize("options", [(), ("--sandbox",)], ids=["bare", "sandboxed"])
def test_a_forged_prompt_is_not_what_ralph_shows(
    project: Project, bwrap_trouble: str, options: tuple[str, ...]
) -> None:
    if options and bwrap_trouble:
        pytest.skip(bwrap_trouble)
    program = project.root / "agent.sh"
    program.write_text(
        "#!/bin/sh\n" + "\n".join(f"( {forgery} )" for forgery in FORGERIES) + "\necho ended\n"
    )
    program.chmod(0o755)
    project.settings(agent={"command": shlex.quote(str(program)), "adapter": "plain"})
    project.ralph("run", "-p", "The words of the user.", "--max-iterations", "1", *options)
    recorded = [path.read_text() for path in Path(project.root, ".ralph").rglob("prompt_*.txt")]
    assert recorded
    assert all("The words of the user." in text and "forged" not in text for text in recorded)
