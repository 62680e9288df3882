"""Where one cell plays: a real repository, a hostile agent first on PATH, and the evidence outside of both."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.loops import FILES, TESTS

from bench.faults.acts import Act, task_file

AGENT = Path(__file__).with_name("agent.py")
MARK = "FAULTS_STAGE"
NOWHERE = "http://127.0.0.1:9"
DISK_MEGABYTES = 64
TAIL_BYTES = 400_000


class CannotRunError(Exception):
    """Why a harness, or one cell of it, cannot be run here."""


@dataclass
class Stage:
    """``root`` is the project, ``here`` the evidence."""

    folder: Path
    programs: Sequence[Path] = ()
    """Of the harness; they come after the agent on PATH."""
    more: Mapping[str, str] = field(default_factory=dict)
    closing: ExitStack = field(default_factory=ExitStack)
    """What a harness needs beside it, such as a model; it is closed with the stage."""

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def here(self) -> Path:
        return self.folder / "evidence"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    # --- before ---

    def tasks(self, act: Act) -> list[str]:
        """The files to be fixed, in order."""
        return [task_file(number) for number in range(1, act.tasks + 1)]

    def build(self, act: Act) -> None:
        """The project, with as many tasks as the act needs, committed by nobody yet."""
        for folder in (self.here, self.home, self.bin, self.root):
            folder.mkdir(parents=True, exist_ok=True)
        files = dict(FILES)
        del files["PROMPT.md"]
        for number in range(2, act.tasks + 1):
            files[task_file(number)] = FILES["work.py"]
            module = task_file(number).removesuffix(".py")
            files[f"tests/test_{module}.py"] = TESTS.replace("from work ", f"from {module} ")
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.root / "check.sh").chmod(0o755)
        self.git("init", "-q", "-b", "main")

    def cast(
        self,
        act: Act,
        *,
        names: Sequence[str],
        claim: str,
        mark: str,
        report: str,
        others: str,
        seconds: float,
        **scripts: str,
    ) -> None:
        """Put the agent on PATH under each of ``names``, and its act where it finds it."""

        def fill(text: str) -> str:
            for name, value in {"claim": claim, "others": others, **scripts}.items():
                text = text.replace(f"{{{name}}}", value)
            return text

        voices = {"usual": act.says, **act.voices}
        marks = f'\n[ -e "$voice" ] || {{ {mark or ":"}; }}' if act.marks else ""
        commit = "git add -A && git commit -qm 'Do the work' --no-verify" if act.commits else ""
        played = {
            "shell": fill(act.shell) + marks,
            "commit": f"{commit}\n{report if act.marks else ''}",
            "after": act.after,
            "floods": act.floods,
            "seconds": seconds,
            "voices": {name: [(way, fill(text)) for way, text in words] for name, words in voices.items()},
        }
        (self.here / "act.json").write_text(json.dumps(played, indent=1))
        for name in names:
            program = self.bin / name
            line = shlex.join([sys.executable, "-I", str(AGENT), str(self.here), name])
            program.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
            program.chmod(0o755)

    def commit(self, words: str = "start") -> None:
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", words)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    # --- the run ---

    def environment(self) -> dict[str, str]:
        """No accounts, no network but loopback, a home of its own, and a mark by which its processes are found."""
        kept = ("LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL")
        path = [self.bin, *self.programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)]
        person = {"NAME": "user", "EMAIL": "user@example.org"}
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PATH": os.pathsep.join(map(str, path)),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "TERM": "xterm",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_API_KEY": "none",
            "http_proxy": NOWHERE,
            "https_proxy": NOWHERE,
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "no_proxy": "127.0.0.1,localhost",
            "NO_PROXY": "127.0.0.1,localhost",
            **{
                f"GIT_{role}_{key}": value
                for role in ("AUTHOR", "COMMITTER")
                for key, value in person.items()
            },
            "GIT_CONFIG_GLOBAL": os.devnull,
            MARK: str(self.folder),
            **self.more,
        }

    @contextmanager
    def run(self, command: Sequence[str]) -> Iterator[Run]:
        """In a process group of its own, as a shell would start it; whatever is left afterwards is ended."""
        with (self.here / "output").open("ab") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield Run(self, process)
        finally:
            self.clear()
            process.wait(timeout=60)

    # --- after ---

    def output(self) -> str:
        """Its end: that is where a harness says how things went."""
        file = self.here / "output"
        if not file.exists():
            return ""
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors="replace")

    def launches(self) -> int:
        file = self.here / "launches.jsonl"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def is_worked(self, act: Act) -> bool:
        """Whether the work is there, in the project and not beside it."""
        wanted = FILES["work.py"].replace("41", "42")
        paths = [self.root / name for name in self.tasks(act)]
        return all(path.is_file() and not path.is_symlink() and path.read_text() == wanted for path in paths)

    def left(self) -> list[str]:
        """Processes of this stage that are alive: those with the mark, in its folder, or that the agent wrote down."""
        return [words for _, words in self.processes()]

    def processes(self) -> list[tuple[int, str]]:
        noted = {file.read_text().strip() for file in self.here.glob("pid-*")}
        mark = f"{MARK}={self.folder}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError, IndexError):
                if (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX":
                    continue
                command = _shorten((entry / "cmdline").read_bytes())
                is_noted = entry.name in noted and "sleep" in command
                # A process that gives itself a title may cover its environment with it.
                is_inside = (entry / "cwd").readlink().is_relative_to(self.folder)
                if is_noted or is_inside or mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry.name), command))
        return found

    def clear(self) -> None:
        """By number, until nothing comes back; first all are stopped, so that none sees another end."""
        deadline = time.monotonic() + 20
        while (found := self.processes()) and time.monotonic() < deadline:
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid, _ in found:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
            time.sleep(0.1)


@dataclass
class Run:
    stage: Stage
    process: subprocess.Popen[bytes]
    peak: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Per process that is not the agent's: the most memory it ever had, in KiB, and what it is."""

    def wait(
        self, seconds: float, until: Callable[[], bool] = lambda: False, *, measured: bool = False
    ) -> int | None:
        """Its exit status, or None if it still runs then, or once ``until`` is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            if measured:
                self.measure()
            code = self.process.poll()
            if code is not None:
                return code
            time.sleep(0.5 if measured else 0.05)  # looking at every process costs something
        return self.process.poll()

    def measure(self) -> None:
        for pid, words in self.stage.processes():
            if not _is_harness(words):
                continue
            with suppress(OSError, StopIteration):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
                self.peak[pid] = max(self.peak.get(pid, (0, "")), (peak, words))

    def interrupt(self, number: int, *, is_group: bool = False) -> None:
        with suppress(ProcessLookupError):
            if is_group:
                os.killpg(self.process.pid, number)
            else:
                os.kill(self.process.pid, number)


def _is_harness(words: str) -> bool:
    """Not the agent, nor what it runs."""
    return not any(each in words for each in (AGENT.name, "head -c", "tr \\0", "yes bbb"))


def _shorten(command: bytes) -> str:
    """A command line without the folders that its programs are in."""
    words = command.replace(b"\0", b" ").decode(errors="replace").split()
    return " ".join(Path(word).name if word.startswith("/") else word for word in words)[:80]


@contextmanager
def small_disk(folder: Path, *, wanted: bool) -> Iterator[None]:
    """A disk of its own that an agent can fill."""
    folder.mkdir(parents=True, exist_ok=True)
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if not wanted:
        yield
        return
    if mount is None or umount is None:
        raise CannotRunError("a small disk needs mount")
    size = f"size={DISK_MEGABYTES}m"
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False, timeout=30
    )
    if made.returncode != 0:
        raise CannotRunError("a small disk needs root")
    try:
        yield
    finally:
        subprocess.run([umount, "-l", folder], capture_output=True, check=False, timeout=30)
