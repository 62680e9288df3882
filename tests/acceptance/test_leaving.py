"""ralph leaves without taking its interpreter down, and yet nothing that has an end to see is cut off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Project

AT_EXIT = "import atexit\natexit.register(lambda: print('at exit'))\n"
THREAD = """
import threading
def late():
    threading.main_thread().join()
    print('the thread has ended', flush=True)
threading.Thread(target=late).start()
"""
PROFILE = """
import sys
def finish():
    sys.setprofile(None)
    print('profiled', flush=True)
import ralph.__main__
start = ralph.__main__.main
def main():
    try:
        start()
    finally:
        finish()
ralph.__main__.main = main
sys.setprofile(lambda *_: None)
"""


@pytest.mark.parametrize(
    ("before", "said"), [(AT_EXIT, "at exit"), (THREAD, "the thread has ended"), (PROFILE, "profiled")]
)
@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("no-such-command", 2)])
def test_what_has_an_end_to_see_sees_it(
    project: Project, before: str, said: str, argument: str, code: int
) -> None:
    ran = leave(project, f"{before}\nfrom ralph.__main__ import main\nmain()\n", argument)
    assert ran.returncode == code, ran.stderr
    assert ran.stdout.endswith(f"{said}\n")


def test_what_was_printed_is_there_in_full(project: Project) -> None:
    written = Path(__file__).read_text()
    ran = leave(
        project, f"from ralph.__main__ import main\nprint({written!r}, end='')\nmain()\n", "no-such-command"
    )
    assert (ran.returncode, ran.stdout) == (2, written)


def leave(project: Project, code: str, argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, argument],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
