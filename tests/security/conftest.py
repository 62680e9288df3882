"""A project, a home with secrets in it, and a way to run something in a real sandbox.

Only ``make test-security`` runs these.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph.adapters.isolation.bwrap import BwrapSandbox, trouble
from ralph.adapters.isolation.runner import IsolatedRunner, keep_open
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.config.schema import Settings
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.engine.ports import Command, Exit
from ralph.wiring.agents import needs_of
from tests.acceptance.conftest import project

from .ready_ralph import ReadyRalph
from .stand_ins import StandIns

__all__ = ["project"]

OFF = SandboxPolicy(network=Network.OFF)
PATIENCE = 30.0


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They run only if they are asked for by name."""
    asked = any("security" in argument for argument in config.args)
    return None if asked or not collection_path.name.startswith("test_") else True


@dataclass
class Sandboxed:
    """Runs things as an agent in ``workspace`` would."""

    workspace: Path
    home: Path
    environ: dict[str, str]
    programs: tuple[str, ...] = ("sh",)
    reports: list[str] = field(default_factory=list)

    def site(self, *, writable: tuple[Path, ...] = (), network_log: Path | None = None) -> Site:
        return Site(
            workspace=self.workspace,
            state_folder=self.workspace / ".ralph",
            programs=self.programs,
            run_id=f"test-{os.getpid()}-{id(self):x}",
            environ=self.environ,
            needs=needs_of(Settings(), self.programs),
            writable=writable,
            network_log=network_log,
            own=OwnPrograms(self.environ, (self.workspace,)),
            report=self.reports.append,
        )

    def runner(self) -> PosixProcessRunner:
        # A busy machine may take its time to deliver a signal.
        ladder = Ladder(interrupt=PATIENCE, terminate=PATIENCE)
        return PosixProcessRunner(run_id="run-of-a-test", base_environment=self.environ, ladder=ladder)

    def run(
        self,
        *argv: str,
        policy: SandboxPolicy = OFF,
        site: Site | None = None,
        cwd: Path | None = None,
        stdin: Path | None = None,
        environment: dict[str, str] | None = None,
        stop_after: bytes | None = None,
    ) -> tuple[Exit, str]:
        """``stop_after``: end it, as a user would, once it has printed this."""

        async def run() -> tuple[Exit, str]:
            output = bytearray()
            inner = self.runner()
            stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def take(chunk: bytes) -> None:
                output.extend(chunk)
                if stop_after is not None and stop_after in output and not stop.done():
                    stop.set_result(None)

            async with keep_open(BwrapSandbox(site or self.site(), policy), inner) as sandbox:
                command = Command(
                    argv, cwd or self.workspace, environment=environment or {}, stdin=stdin, merge_stderr=True
                )
                exit_ = await IsolatedRunner(inner, sandbox).run(command, on_output=take, stop=stop)
            return exit_, output.decode(errors="replace")

        return asyncio.run(run())

    def shell(
        self, script: str, *arguments: str, policy: SandboxPolicy = OFF, site: Site | None = None
    ) -> str:
        """What a script prints; it must come to its end."""
        exit_, output = self.run("sh", "-c", script, "sh", *arguments, policy=policy, site=site)
        assert exit_.code is not None, exit_
        return output

    def python(
        self, script: str, *arguments: str, policy: SandboxPolicy = OFF, site: Site | None = None
    ) -> str:
        exit_, output = self.run(sys.executable, "-c", script, *arguments, policy=policy, site=site)
        assert exit_.code == 0, output
        return output


@pytest.fixture(scope="session")
def ready_ralph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadyRalph]:
    ready = ReadyRalph(tmp_path_factory.mktemp("printed"))
    yield ready
    ready.close()


@pytest.fixture(scope="session")
def bwrap_trouble() -> str:
    site = Site(Path("/"), Path("/"), ("sh",), "probe", dict(os.environ))
    runner = PosixProcessRunner(run_id="probe", base_environment=os.environ)
    return asyncio.run(trouble(site, runner))


@pytest.fixture
def sandboxed(tmp_path: Path, own_home: Path, bwrap_trouble: str) -> Sandboxed:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    workspace = tmp_path / "my project"
    (workspace / ".ralph").mkdir(parents=True)
    (workspace / ".ralph" / "ralph.db").write_text("the record")
    (workspace / ".ralph" / "settings.json").write_text("{}")
    (workspace / ".ralph" / "settings.local.json").write_text(
        '{"agent": {"environment": {"K": "s3cret-value"}}}'
    )
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "first")
    for folder, name in ((".ssh", "id_ed25519"), (".aws", "credentials")):
        (own_home / folder).mkdir()
        (own_home / folder / name).write_text("s3cret-value")
    return Sandboxed(workspace, own_home, {**os.environ, "SOME_TOKEN": "s3cret-value"})


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process outside that a sandboxed one might want to harm."""
    process = subprocess.Popen(["sleep", "600"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def stand_ins(tmp_path: Path, own_home: Path) -> StandIns:
    for name in ("bin", "lib"):
        (tmp_path / name).mkdir()
    workspace = tmp_path / "my project"
    (workspace / ".ralph").mkdir(parents=True)
    # Nothing but the stand-ins and a shell can be found.
    for name in ("sh", "env", "true", "echo", "cat"):
        found = next(Path(folder, name) for folder in ("/bin", "/usr/bin") if Path(folder, name).exists())
        (tmp_path / "bin" / name).symlink_to(found)
    environ = {**os.environ, "PATH": str(tmp_path / "bin"), "RECORDER_FOLDER": str(tmp_path)}
    return StandIns(tmp_path, workspace, environ)
