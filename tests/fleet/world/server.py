"""A Temporal server of one's own, on a free port, with its database in a file: it can be killed and started again."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

PROGRAM = Path(sys.executable).parent / "temporal"
START = 60.0
"""Seconds until it must answer; 8 on two quiet cores."""


@dataclass(kw_only=True)
class Server:
    """``namespace``: where this test's jobs are; ``environment``: what points a program at it."""

    folder: Path
    port: int
    namespace: str = "default"
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def database(self) -> Path:
        return self.folder / "temporal.db"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def environment(self) -> dict[str, str]:
        return {"TEMPORAL_ADDRESS": self.address, "TEMPORAL_NAMESPACE": self.namespace}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def with_namespace(self) -> Server:
        """A namespace that nobody else has: tests share a server, and see nothing of each other."""
        name = f"t-{uuid.uuid4().hex[:12]}"
        asyncio.run(_register(self.address, name))
        return Server(folder=self.folder, port=self.port, namespace=name)

    def start(self) -> None:
        self.launch()
        self.await_answer()

    def launch(self) -> None:
        """Without waiting until it answers."""
        command = [str(PROGRAM), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", str(self.port), "--db-filename", str(self.database), "--log-level", "warn"]
        # A queue has four parts by default, and the order of priorities is kept within each of them.
        for setting in ("matching.numTaskqueueReadPartitions=1", "matching.numTaskqueueWritePartitions=1"):
            command += ["--dynamic-config-value", setting]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def await_answer(self) -> None:
        asyncio.run(self._answer())

    async def _answer(self) -> None:
        deadline = time.monotonic() + START
        while True:
            try:
                client = await Client.connect(self.address)
                await client.workflow_service.describe_namespace(
                    DescribeNamespaceRequest(namespace=self.namespace)
                )
            except (RuntimeError, RPCError) as problem:
                if self._process is not None and self._process.poll() is not None:
                    raise AssertionError(f"the server ended: {self.log.read_text()[-2000:]}") from problem
                if time.monotonic() > deadline:
                    raise AssertionError(f"no answer: {self.log.read_text()[-2000:]}") from problem
                await asyncio.sleep(0.1)
            else:
                return

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(30)
        self._process = None


async def _register(address: str, name: str) -> None:
    client = await Client.connect(address)
    request = RegisterNamespaceRequest(namespace=name)
    request.workflow_execution_retention_period.FromSeconds(24 * 3600)
    await client.workflow_service.register_namespace(request)
    # Its history service learns of a namespace a moment later than its front.
    deadline = time.monotonic() + START
    while True:
        try:
            await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=name))
        except RPCError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)
        else:
            return


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def open_server(folder: Path) -> Iterator[Server]:
    """One that a test may kill."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder=folder, port=free_port())
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def share_server(folder: Path) -> Iterator[Server]:
    """One for all who ask with the same folder, processes of xdist too; it ends when the last of them is gone, however.

    Each user holds a shared lock on a file; a keeper waits for that file alone, and ends the server then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "users").open("w") as users:
        with (folder / "starting").open("w") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
            server = _running(folder) or _begin(folder)
        yield server


def _running(folder: Path) -> Server | None:
    try:
        told = json.loads((folder / "keeper.json").read_text())
        os.kill(told["keeper"], 0)
    except (OSError, ValueError):
        return None
    server = Server(folder=Path(told["folder"]), port=told["port"])
    server.await_answer()
    return server


def _begin(folder: Path) -> Server:
    server = Server(folder=folder / uuid.uuid4().hex[:8], port=free_port())
    server.folder.mkdir()
    # A shell starts it, and is gone at once: the keeper is nobody's child, and outlives whoever asked first.
    keep = [
        sys.executable,
        "-m",
        "tests.fleet.world.keeper",
        str(folder),
        str(server.folder),
        str(server.port),
    ]
    keeper = subprocess.run(
        ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *keep],
        cwd=Path(__file__).parents[3],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=START,
    )
    server.await_answer()
    told = {"keeper": int(keeper.stdout), "folder": str(server.folder), "port": server.port}
    (folder / "keeper.json").write_text(json.dumps(told))
    return server
