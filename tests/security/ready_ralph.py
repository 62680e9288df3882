"""A ralph that has imported everything and waits: each case runs in a fork of it, a process of its own without the start-up.

As a program it reads cases from stdin, one JSON line each, and answers with a line for each command and one for the end.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST = 150
"""Seconds for one case; whoever waits for ever is ended by a signal, and the case has failed."""

MOST_SECONDS = 1.0
"""Of computing for one statement of SQLite, instead of twenty: a statement that never ends is waited for this long."""


@dataclass(frozen=True)
class Answer:
    command: Sequence[str]
    code: object
    cpu_seconds: float
    out: bytes
    err: bytes


class ReadyRalph:
    """The other side: starts the program below, and asks it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip

    def run(
        self, commands: Sequence[Sequence[str]], *, cwd: Path, environ: Mapping[str, str]
    ) -> list[Answer]:
        """What each command ended with, one after the other in one process. That process must come to an end."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        case = {"commands": commands, "cwd": str(cwd), "environ": dict(environ), "folder": str(self._folder)}
        print(json.dumps(case), file=self._server.stdin, flush=True)
        answers: list[Answer] = []
        for command in commands:
            code, seconds = json.loads(self._server.stdout.readline())
            number = len(answers)
            assert seconds is not None, (f"ended with {code}", command, self._printed(f"err{number}"))
            answers.append(
                Answer(command, code, seconds, self._printed(f"out{number}"), self._printed(f"err{number}"))
            )
        assert json.loads(self._server.stdout.readline()) == [0, None]
        return answers

    def _printed(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


def serve() -> None:
    import_everything()
    gc.freeze()  # or each fork would copy what its garbage collector looks at
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run_case(**json.loads(line))
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), None]), flush=True)


def import_everything() -> None:
    """Whatever some command imports when it is called; the terminal UI and the page apart."""
    import importlib
    import pkgutil

    import ralph

    apart = ("tui", "web", "testing", "__main__", "build")
    for module in pkgutil.walk_packages(ralph.__path__, "ralph.", onerror=lambda _: None):
        if not set(module.name.split(".")) & set(apart):
            importlib.import_module(module.name)


def run_case(commands: Sequence[Sequence[str]], cwd: str, environ: Mapping[str, str], folder: str) -> None:
    from ralph.adapters.storage import connection
    from ralph.interfaces.cli.main import main

    connection.MOST_SECONDS = MOST_SECONDS
    signal.alarm(LONGEST)
    answers = os.fdopen(os.dup(1), "w")
    redirect(0, os.devnull, os.O_RDONLY)
    redirect(2, f"{folder}/err0")
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    for number, command in enumerate(commands):
        redirect(1, f"{folder}/out{number}")
        redirect(2, f"{folder}/err{number}")
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
        own = sys.stdout, sys.stderr
        began = time.process_time()
        try:
            code: object = main(command)
        except SystemExit as left:
            code = left.code
        for stream in (sys.stdout, sys.stderr, *own):
            stream.flush()
        print(json.dumps([code, time.process_time() - began]), file=answers, flush=True)


def redirect(descriptor: int, path: str, flags: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC) -> None:
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, descriptor)
    os.close(opened)


if __name__ == "__main__":
    serve()
