"""Real workers: `ralph fleet worker` as processes, each with a home of its own, a git remote, and an agent that counts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ralph.adapters.temporal.client import TemporalFleet
from ralph.adapters.temporal.connection import connect
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.views import JobView
from tests.fleet.world.server import Server

WITHIN = 90.0
MARK = "RALPHS_FLEET_TEST"
"""A variable of every process that a test's workers start."""

# Adds a line to work.txt, or to a file that is named like its task, in each session, waits while it is held, and claims to be done when there are enough lines.
AGENT = """#!{python}
import json, os, pathlib, sys, time
folder = pathlib.Path({folder!r})
if (folder / "apart").exists() and os.environ.pop("RALPH_RUN_ID", ""):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ)
sys.stdin.read()
work = pathlib.Path(os.environ.get("RALPH_TASK_ID", "work") + ".txt")
lines = [*(work.read_text().splitlines() if work.exists() else ()), "x"]
with (folder / "launches").open("a") as log:
    log.write(json.dumps({{"cwd": os.getcwd(), "number": len(lines), "pid": os.getpid()}}) + "\\n")
def say(**record): print(json.dumps(record), flush=True)
limit = folder / "limit"
if limit.exists():
    info = {{"status": "rejected", "resetsAt": float(limit.read_text()), "rateLimitType": "five_hour"}}
    limit.unlink()
    say(type="rate_limit_event", rate_limit_info=info)
    say(type="result", subtype="success", is_error=True, result="You have reached your usage limit", total_cost_usd=0)
    sys.exit(1)
say(type="system", subtype="init", session_id=str(os.getpid()), model="counting")
machine = pathlib.Path.cwd().relative_to(folder).parts[0] if pathlib.Path.cwd().is_relative_to(folder) else ""
while any((folder / f"hold-{{len(lines)}}{{where}}").exists() for where in ("", "-" + machine)): time.sleep(0.02)
time.sleep({seconds})
work.write_text("\\n".join(lines) + "\\n")
words = "<response>DONE</response> <promise>DONE</promise>" if len(lines) >= {of} else f"line {{len(lines)}}"
say(type="assistant", message={{"role": "assistant", "content": [{{"type": "text", "text": words}}]}})
say(type="result", subtype="success", is_error=False, result=words, total_cost_usd=0.01, num_turns=1,
    usage={{"input_tokens": 10, "output_tokens": 1}})
"""


def wait_until(look: Callable[[], object], what: str, *, within: float = WITHIN) -> None:
    deadline = time.monotonic() + within
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@dataclass
class Machine:
    """One worker. ``log``: what it printed, as JSON lines; ``talk``: what it said."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    talk: Path

    def news(self, kind: str) -> list[dict[str, object]]:
        found = [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]
        return [each for each in found if each["kind"] == kind]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def leave(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WITHIN)


@dataclass
class Machines:
    folder: Path
    server: Server
    iterations: int = 3
    seconds: float = 0.0  # of a session
    variables: dict[str, str] = field(default_factory=dict)  # of workers, and of whoever asks
    all: list[Machine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.agent = self.folder / "claude"
        self.agent.write_text(
            AGENT.format(
                python=sys.executable, folder=str(self.folder), of=self.iterations, seconds=self.seconds
            )
        )
        self.agent.chmod(0o755)
        self.remote = self.folder / "remote.git"
        seed = self.folder / "seed"
        script = f"""
            git init -q --bare -b main {self.remote}
            git init -q -b main {seed} && cd {seed}
            echo 'Add lines. When there are enough, output <response>DONE</response>.' > PROMPT.md
            mkdir .ralph && echo '{{"profiles": {{"verified": {{"stages": ["coder"]}}}}}}' > .ralph/settings.json
            git add . && git -c user.name=t -c user.email=t@localhost commit -qm first
            git push -q {self.remote} main
        """
        subprocess.run(["sh", "-ec", script], check=True, timeout=WITHIN)

    @property
    def environment(self) -> dict[str, str]:
        return {**self.server.environment, **self.variables}

    @property
    def running(self) -> list[Machine]:
        return [machine for machine in self.all if machine.process.poll() is None]

    @property
    def launches(self) -> list[dict[str, object]]:
        with suppress(FileNotFoundError):
            return [json.loads(line) for line in (self.folder / "launches").read_text().splitlines()]
        return []

    @property
    def worked_on(self) -> list[str]:
        """The job of each session, in order."""
        return [str(each["cwd"]).partition("/clones/jobs/")[2].partition("/")[0] for each in self.launches]

    def hold(self, number: int, machine: str = "") -> Path:
        """The session that adds this line, on this machine or any, waits until the file is gone."""
        file = self.folder / f"hold-{number}{machine and '-'}{machine}"
        file.touch()
        return file

    def part(self) -> None:
        """Agents do not carry their run's mark: a ralph of another worker does not see them, as on another machine."""
        (self.folder / "apart").touch()

    def start(self, name: str, *options: str, **variables: str) -> Machine:
        """Also again, with what the one before has left."""
        home = self.folder / name
        (home / "user").mkdir(parents=True, exist_ok=True)
        (home / "user" / ".gitconfig").write_text("[user]\n\tname = t\n\temail = t@localhost\n")
        environment = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("RALPH_", "XDG_", "GIT_"))
            },
            **self.environment,
            "HOME": str(home / "user"),
            MARK: self.mark,
            **variables,
        }
        log, talk = home / f"log-{len(self.all)}", home / f"talk-{len(self.all)}"
        words = ["--name", name, "--home", str(home / "clones"), "--sandbox", "none", "--json", *options]
        with log.open("wb") as out, talk.open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "ralph", "fleet", "worker", *words],
                cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip
        machine = Machine(name, process, log, talk)
        self.all.append(machine)
        wait_until(lambda: machine.news("worker_ready") or process.poll() is not None, f"{name} is ready")
        assert process.poll() is None, talk.read_text()
        return machine

    def job(self, job_id: str, **more: object) -> JobSpec:
        words = ("run", "-f", "PROMPT.md", "--agent", str(self.agent), "-m", "9")
        given = {"base": "main", "command": words, "heartbeat": 3.0, "agent": "claude", **more}
        return JobSpec(id=job_id, repository=str(self.remote), **given)  # type: ignore[arg-type]

    def task(self, job_id: str, task: str, **more: object) -> JobSpec:
        check = {"command": f"test $(wc -l < {task}.txt) -ge {self.iterations}"}
        coder = {"promise": "DONE", "verification_method": "external", "verification_config": check}
        done = {"outcome": "there are enough lines", "acceptance_criteria": ["they are x"], "coder": coder}
        entry = {"id": task, "title": "Add lines", "spec_id": "s", "completion": done}
        return self.job(job_id, task=json.dumps(entry), command=("--agent", str(self.agent)), **more)

    def submit(self, *jobs: JobSpec) -> None:
        async def submit() -> None:
            fleet = TemporalFleet(await connect(self.environment))
            for job in jobs:
                await fleet.submit(job)

        asyncio.run(submit())

    def jobs(self) -> dict[str, JobView]:
        async def look() -> Iterable[JobView]:
            return await TemporalFleet(await connect(self.environment)).jobs(limit=1000)

        return {job.spec.id: job for job in asyncio.run(look())}

    def stop(self, job_id: str, *, now: bool) -> None:
        async def stop() -> None:
            await TemporalFleet(await connect(self.environment)).stop(job_id, now=now)

        asyncio.run(stop())

    def look(self, job_id: str) -> JobView:
        async def look() -> JobView:
            return await TemporalFleet(await connect(self.environment)).job(job_id)

        return asyncio.run(look())

    def await_end(self, job_id: str) -> JobView:
        wait_until(lambda: not self.look(job_id).is_open, f"{job_id} has ended")
        return self.look(job_id)

    def reach(self, job_id: str, phase: Phase) -> JobProgress:
        wait_until(lambda: self.look(job_id).progress.phase is phase, f"{job_id} is {phase}")
        return self.look(job_id).progress

    def file(self, branch: str, name: str) -> str:
        show = ["git", "-C", str(self.remote), "show", f"{branch}:{name}"]
        return subprocess.run(show, check=True, capture_output=True, text=True, timeout=WITHIN).stdout

    def processes(self) -> list[int]:
        """All that the workers have started and that still run, and the workers."""
        mark, found = f"{MARK}={self.mark}".encode(), []
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def close(self) -> None:
        for machine in self.all:
            if machine.process.poll() is None:
                machine.kill()
