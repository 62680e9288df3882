"""One run of a contender: a new project, the agent first on PATH, and what ``player.py`` says that it took."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG

from bench.child import LONGEST, CannotMeasure
from bench.faults.acts import Act, Judgement, Promise
from bench.faults.stage import Stage
from bench.peers.contenders import Contender
from bench.project import SECRETS

PLAYER = Path(__file__).with_name("player.py")
SOURCE = Path(__file__).with_name("agent.c")
ACT = Act(
    id="speed",
    promise=Promise.CONTROL,
    does="prints what it is given and ends",
    judgement=Judgement.COUNTS,
    check="true",
)
RAISED = re.compile(r"[\w.]*(Error|Exception): ")
LARGE = 1024 * 1024
CRASHED = 128
"""Exit statuses from here on are signals."""


def build_agent(folder: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        message = (
            "the agent of the comparison is in C: install a C compiler (`cc`, as gcc and clang bring it)"
        )
        raise CannotMeasure(message)
    program = folder / "claude"
    ran = subprocess.run(
        [compiler, "-O2", "-o", program, SOURCE], capture_output=True, text=True, check=False, timeout=LONGEST
    )
    if ran.returncode:
        message = f"cc could not compile {SOURCE.name}: {ran.stderr.strip()[-500:]}"
        raise CannotMeasure(message)
    return program


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Seconds, and bytes of memory; ``began`` and ``printed`` have one entry for each session of the agent."""

    wall: float
    cpu: float
    code: int | None
    left: tuple[str, ...]
    tree: int
    largest: int
    began: tuple[float, ...]
    printed: tuple[int, ...]
    output: str

    @property
    def to_exec(self) -> float:
        return self.began[0]

    @property
    def since_exec(self) -> float:
        return self.wall - self.began[0]


def run_measured(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    agent: Path,
    output: Path,
    is_sampled: bool,
) -> Played:
    """``agent`` is the program that does not count as the harness's memory. ``is_sampled``: memory is measured, and
    what it prints is kept, neither of which is done while its time is measured."""
    job = {
        "argv": list(map(str, argv)),
        "cwd": str(cwd),
        "environment": dict(environment),
        "agent": str(agent),
        "output": str(output),
        "isSampled": is_sampled,
        "seconds": LONGEST,
    }
    ran = subprocess.run(
        [sys.executable, "-I", "-S", PLAYER],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * LONGEST,
    )
    if ran.returncode:
        message = f"{argv[0]}: {ran.stderr.strip()[-500:]}"
        raise CannotMeasure(message)
    told = json.loads(ran.stdout)
    notes = agent.with_name("launches")
    lines = notes.read_text().split() if notes.exists() else []
    noted = [(word, int(number)) for word, number in zip(lines[::2], lines[1::2], strict=True)]
    return Played(
        wall=(told["ended"] - told["began"]) / 1e9,
        cpu=told["cpu"],
        code=told["code"],
        left=tuple(told["left"]),
        tree=told["tree"],
        largest=told["largest"],
        began=tuple((number - told["began"]) / 1e9 for word, number in noted if word == "began"),
        printed=tuple(number for word, number in noted if word == "printed"),
        output=output.read_text(errors="replace")[-100_000:],
    )


def _empty_large_files(folder: Path) -> None:
    """Else gigabytes pile up. No file is deleted before the end: for minutes after that some file systems take ten times as
    long to make one, and whoever makes more of them would pay for our clean-up."""
    for parent, _, names in os.walk(folder):
        for file in (Path(parent) / name for name in names):
            about = file.lstat()
            if S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_size > LARGE:
                os.truncate(file, 0)


class Place:
    """Where one contender runs: a home that stays, as a user's does, and a new project for each run."""

    def __init__(self, contender: Contender, folder: Path, agent: Path) -> None:
        self.contender = contender
        self.folder = folder
        self.agent = agent
        self.number = 0
        self.home = folder / "home"
        self.home.mkdir(parents=True)

    def play(self, iterations: int = 1, *, stream: Path | None = None, is_sampled: bool = False) -> Played:
        """Raises CannotMeasure if it did not do what was asked of it."""
        stage = self._set(iterations, stream)
        played = self._run(stage, iterations, is_sampled=is_sampled)
        reason = problem(played, iterations, stream.stat().st_size if stream else None)
        if reason:
            raise CannotMeasure(reason)
        if stream:
            _empty_large_files(stage.folder)
        return played

    def play_lingering(self, stream: Path) -> tuple[Played, Stage]:
        """Once, with an agent that leaves a process behind; what the run wrote stays to be looked at."""
        stage = self._set(1, stream)
        (stage.bin / "linger").touch()
        return self._run(stage, 1, is_sampled=True), stage

    def _set(self, iterations: int, stream: Path | None) -> Stage:
        self.number += 1
        harness = self.contender.harness
        stage = Stage(self.folder / str(self.number))
        stage.folder.mkdir()
        stage.home.symlink_to(self.home)
        # An empty value is none: programs start from compiled modules, as they do for users.
        stage.more = {**harness.environment(stage), **SECRETS, "PYTHONDONTWRITEBYTECODE": ""}
        stage.build(ACT)
        harness.prepare(stage, replace(ACT, tasks=iterations) if harness.is_per_task else ACT, iterations)
        self.contender.tune(stage)
        stage.commit()
        os.link(self.agent, stage.bin / "claude")
        if stream:
            (stage.bin / "stream").symlink_to(stream)
        return stage

    def _run(self, stage: Stage, iterations: int, *, is_sampled: bool) -> Played:
        return run_measured(
            self.contender.harness.command(stage, ACT, iterations),
            cwd=stage.root,
            environment=stage.environment(),
            agent=stage.bin / "claude",
            output=stage.here / "output",
            is_sampled=is_sampled,
        )


def problem(played: Played, iterations: int, size: int | None) -> str:
    """Why this is no measurement; empty if it is one."""
    if played.code is None:
        return f"not done after {LONGEST:.0f} s"
    if played.code < 0 or played.code >= CRASHED:
        return f"crashed: exit {played.code}"
    if not played.began:
        return f"never started the agent: {complaint(played.output)}"
    if size is not None and size not in played.printed:
        return f"crashed: {complaint(played.output)}"
    if len(played.began) != iterations:
        return f"started the agent {len(played.began)} times instead of {iterations}"
    return ""


def complaint(output: str) -> str:
    """The last line that begins with an exception's name, else that speaks of an error, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    raised = [line for line in lines if RAISED.match(line)]
    errors = [line for line in lines if "error" in line.lower()]
    last = (raised or errors or lines or ["without a word"])[-1]
    # Without the module of the exception, and without any path of this machine.
    return re.sub(r"^(\w+\.)+|(/[^\s/]+)+/", "", last).replace("|", "\\|").rstrip(".")[:160]
