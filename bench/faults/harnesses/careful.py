"""The least that holds the lies: the task list and the tests are kept elsewhere, and only they are asked."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.stage import Stage

LOOP = """import pathlib, shutil, subprocess, sys
tests, iterations = sys.argv[1:]
for _ in range(int(iterations)):
    subprocess.run(["claude", "-p", "Make every answer() in work*.py say 42."], stdin=subprocess.DEVNULL)
    bare = pathlib.Path(tests).with_name("bare")
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(tests, bare / "tests")
    for name in sorted(path.name for path in (bare / "tests").glob("test_work*.py")):
        shown = subprocess.run(["git", "show", "HEAD:" + name.removeprefix("test_")], capture_output=True)
        (bare / name.removeprefix("test_")).write_bytes(shown.stdout)
    words = {path.read_text() for path in bare.glob("work*.py")}
    if words == {"def answer():\\n    return 42\\n"}:
        print("ACCEPTED")
        sys.exit(0)
sys.exit(1)
"""


class Careful(Harness):
    name = "careful"
    version = "1"
    about = "a scripted harness that knows the answer, in this folder: the judge must be able to say holds"
    settings = "It has none."
    claims: ClassVar[Mapping[Promise, str]] = {Promise.LIES: "claimed here, so that it can fail"}
    claim = "DONE"

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        shutil.copytree(stage.root / "tests", stage.here / "tests")
        (stage.here / "loop.py").write_text(LOOP)

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [sys.executable, "-I", str(stage.here / "loop.py"), str(stage.here / "tests"), str(iterations)]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0, ACCEPTED" if code == 0 else ""
