"""Real receivers on loopback: Phoenix in an environment of its own, and Prometheus from the system."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

DEADLINE = 400.0
"""Phoenix takes some ten seconds to start, and minutes on a machine that has much else to do."""


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.1)
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def answer(address: str, **parameters: str) -> httpx.Response | None:
    """None: nobody answers, or not yet."""
    try:
        return httpx.get(address, params=parameters, timeout=30, trust_env=False)
    except httpx.HTTPError:
        return None


@contextmanager
def program(command: Sequence[str], *, log: Path, ready: str, **environment: str) -> Iterator[None]:
    """Runs until the block ends; the block begins when ``ready`` answers."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **environment}
        )
        try:
            wait_for(
                lambda: process.poll() is not None or ((found := answer(ready)) and found.is_success), ready
            )
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one."""
    installed = os.environ.get("RALPH_PHOENIX")
    if not installed:
        pytest.skip("make test-telemetry installs it")
    folder, port = tmp_path_factory.mktemp("phoenix"), free_port()
    with program(
        [installed, "serve"],
        log=folder / "log",
        ready=f"http://127.0.0.1:{port}/healthz",
        PHOENIX_HOST="127.0.0.1",
        PHOENIX_PORT=str(port),
        PHOENIX_GRPC_PORT=str(free_port()),
        PHOENIX_WORKING_DIR=str(folder),
        PHOENIX_TELEMETRY_ENABLED="false",
        HOME=str(folder),
    ):
        yield f"http://127.0.0.1:{port}"
