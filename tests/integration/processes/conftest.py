from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from ralph.adapters.processes.descendants import Exempt
from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.process_table import read_process
from ralph.adapters.processes.redaction import Redactor
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher, start_watcher
from ralph.adapters.processes.watcher_program import compiled_watcher, python_watcher
from ralph.engine.ports import Command, Exit

CHILDREN = Path(__file__).parents[2] / "data" / "processes"

# Asked for before a test begins: there every setting of ralph is taken out of the environment.
PURE = os.environ.get("RALPH_PURE", "0") not in ("", "0")


class MakeRunner(Protocol):
    def __call__(
        self,
        *,
        environment: dict[str, str] | None = None,
        redactor: Redactor | None = None,
        exempt: Exempt | None = None,
        linger: float = 1.0,
        ladder: Ladder = ...,
    ) -> PosixProcessRunner: ...


RUN_ID = "run-of-a-test"


BeginWatcher = Callable[[str], Watcher]


@pytest.fixture(params=["compiled", "in Python"])
def begin_watcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> BeginWatcher:
    """Whatever a watcher must do, both programs do, also for small ralphs that a test starts (``chosen_watcher.py``)."""
    monkeypatch.setenv("CHOSEN_WATCHER", request.param)
    program = python_watcher() if request.param == "in Python" else compiled_watcher()
    if PURE:
        assert compiled_watcher() is None, "RALPH_PURE=1 asks for none, but there is one: install ralph again"
    if program is None:
        assert PURE or sys.platform != "linux" or shutil.which("cc") is None, (
            "it could not be compiled, or RALPH_PURE=1 has removed it: install ralph again"
        )
        pytest.skip("it was not built here: there was no C compiler, or RALPH_PURE=1, or this is not Linux")
    return lambda run_id: start_watcher(run_id, [program])


@pytest.fixture(params=["kept", "direct"])
def watcher_of_runner(request: pytest.FixtureRequest) -> Iterator[Watcher | None]:
    """Everything must hold for processes with a keeper and for those that ralph starts itself."""
    if request.param == "direct" or sys.platform != "linux":
        yield None
        return
    with start_watcher(RUN_ID) as watcher:
        yield watcher


@pytest.fixture
def make_runner(watcher_of_runner: Watcher | None) -> MakeRunner:
    def make(
        *,
        environment: dict[str, str] | None = None,
        redactor: Redactor | None = None,
        exempt: Exempt | None = None,
        linger: float = 1.0,
        ladder: Ladder = Ladder(interrupt=0.2, terminate=0.2),  # noqa: B008
    ) -> PosixProcessRunner:
        return PosixProcessRunner(
            run_id=RUN_ID,
            base_environment=os.environ if environment is None else environment,
            redactor=redactor,
            ladder=ladder,
            exempt=exempt,
            linger=linger,
            watcher=watcher_of_runner,
        )

    return make


@pytest.fixture
def runner(make_runner: MakeRunner) -> PosixProcessRunner:
    return make_runner()


@pytest.fixture
def child(tmp_path: Path) -> Callable[..., Command]:
    """A hostile child of tests/data/processes as a command."""

    def command(name: str, *arguments: object, **options: object) -> Command:
        # -I -S: these children need nothing, and start twice as fast.
        argv = (sys.executable, "-I", "-S", str(CHILDREN / f"{name}.py"), *map(str, arguments))
        return Command(argv=argv, cwd=tmp_path, **options)  # type: ignore[arg-type]

    return command


def is_alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and not process.is_zombie


def wait_until(condition: Callable[[], bool], *, within: float = 60.0) -> None:
    give_up = time.monotonic() + within
    while not condition():
        assert time.monotonic() < give_up, f"not true within {within} s"
        time.sleep(0.005)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    return wait_until


@pytest.fixture
def alive() -> Callable[[int], bool]:
    return is_alive


@pytest.fixture
def each_ends_its_own(child: Callable[..., Command], tmp_path: Path) -> Callable[..., None]:
    """Two programs leave a daemon each; the one that ends while the other is at work takes only its own along."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def check(runner: PosixProcessRunner, *how: str) -> None:
        async def scenario() -> tuple[Exit, Exit, bool]:
            ready = asyncio.Event()
            first = asyncio.ensure_future(
                runner.run(
                    child("leaves_a_daemon", tmp_path / "first", *how, "stay", fifo),
                    on_lines=lambda lines: ready.set(),
                )
            )
            await ready.wait()
            second = await runner.run(child("leaves_a_daemon", tmp_path / "second", *how))
            survived = is_alive(int((tmp_path / "first").read_text()))
            with fifo.open("wb") as file:
                file.write(b"x")
            return await first, second, survived

        first, second, survived = asyncio.run(asyncio.wait_for(scenario(), 30))
        assert survived
        assert second.left_behind == (f"sleep 1000 (pid {(tmp_path / 'second').read_text()})",)
        assert first.left_behind == (f"sleep 1000 (pid {(tmp_path / 'first').read_text()})",)
        assert (first.code, second.code) == (0, 0)

    return check
