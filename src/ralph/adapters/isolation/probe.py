"""One process inside, when a sandbox opens, that tries what must not be possible.

So the head of a run promises what was seen on this machine, and a program that only calls itself bubblewrap, or was told
something else on the way, is noticed before an agent runs in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters.isolation.sandbox import Sandbox
from ralph.domain.sandbox.examination import Expected, Seen, broken_promises
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import AgentUnavailable
from ralph.patterns import pattern

_CANARY = "for ralph's examination of its sandbox\n"
_MOST_SAID = 4
_PATIENCE = Timeouts(total=60.0)
_OF_THE_SHELL = {"_", "OLDPWD", "SHLVL"}
_LIMIT = pattern(r"^Max ([a-z ]+?) +\d+ +(\d+)", re.MULTILINE)
_NAMESPACE = pattern(r"(\w+):\[(\d+)\]")


async def examine(sandbox: Sandbox, runner: ProcessRunner) -> None:
    """Raises AgentUnavailable if it does not hold what it promises. ``runner`` is the one without a sandbox."""
    expected = sandbox.expected
    if expected is None:
        return
    sum_ = (secrets.randbelow(10**9), secrets.randbelow(10**9))
    said, complaint = bytearray(), bytearray()
    with _canaries(expected.hidden) as canaries:
        script = _script(expected, sum_, canaries)
        command = sandbox.wrap(Command(("/bin/sh", "-c", script), Path(expected.workspace)), expected.environ)
        exit_ = await runner.run(
            command, timeouts=_PATIENCE, on_output=said.extend, on_stderr=complaint.extend
        )
        changed = {folder for folder, path in canaries.items() if _content(path) != _CANARY}
    await sandbox.settle(runner, exit_)
    heard = complaint.decode(errors="replace")
    if failure := sandbox.failure(exit_, heard):
        raise AgentUnavailable(failure, hint="`ralph doctor` says more; --no-sandbox does without")
    seen = _seen(said.decode(errors="replace"), str(sum(sum_)), changed)
    if broken := list(broken_promises(expected, seen)):
        more = [f"{len(broken) - _MOST_SAID} more"] if len(broken) > _MOST_SAID else []
        said_last = [] if seen.did_answer else heard.strip().splitlines()[-1:]
        why = "; ".join((*broken[:_MOST_SAID], *more, *said_last))
        message = f"the sandbox {sandbox.kind} was examined, and does not hold what it promises: {why}"
        raise AgentUnavailable(
            message, hint="check that the right program is first on PATH, or use --no-sandbox"
        )


@contextlib.contextmanager
def _canaries(folders: tuple[str, ...]) -> Iterator[dict[str, Path]]:
    """A file in each of the folders, as far as we may write there."""
    made: dict[str, Path] = {}
    try:
        for folder in folders:
            with contextlib.suppress(OSError):
                descriptor, name = tempfile.mkstemp(prefix=".ralph-", dir=folder)
                made[folder] = Path(name)
                with os.fdopen(descriptor, "w") as file:
                    file.write(_CANARY)
        yield made
    finally:
        for path in made.values():
            with contextlib.suppress(OSError):
                path.unlink()


def _content(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _script(expected: Expected, sum_: tuple[int, int], canaries: dict[str, Path]) -> str:
    """For any shell; everything that it says is a line that begins with what it is about."""
    lines = [f'echo "answer $(({sum_[0]} + {sum_[1]}))"']  # not to be known from the command alone
    for folder, path in canaries.items():
        file, name = shlex.quote(str(path)), shlex.quote(folder)
        lines.append(f"read -r line <{file} && echo read {name}")
        lines.append(f"echo changed >{file}")
    for place in (".", *expected.readonly):
        lines.append(f"test -w {shlex.quote(place)} && echo writable {shlex.quote(place)}")
    lines.append('while read -r name value; do echo "status $name $value"; done </proc/self/status')
    lines.append('while read -r line; do echo "limit $line"; done </proc/self/limits')
    lines.append("ls -l /proc/self/ns")
    lines.append("echo environment")
    lines.append("exec env -0")
    return f"{{ {chr(10).join(lines)}\n}} 2>/dev/null"


def _seen(said: str, answer: str, changed: set[str]) -> Seen:
    lines, _, environment = said.partition("\nenvironment\n")
    found: dict[str, set[str]] = {}
    for line in lines.splitlines():
        kind, _, what = line.partition(" ")
        found.setdefault(kind, set()).add(what)
    status = dict(what.split(":", 1) for what in found.get("status", ()) if ":" in what)
    names = {entry.partition("=")[0] for entry in environment.split("\0") if "=" in entry}
    return Seen(
        did_answer=answer in found.get("answer", ()) and "RALPH_SANDBOX" in names,
        read=frozenset(found.get("read", ())),
        changed=frozenset(changed),
        writable=frozenset(found.get("writable", ())),
        namespaces=frozenset(name for name, number in _NAMESPACE.findall(lines) if number != _own(name)),
        variables=frozenset(names - _OF_THE_SHELL),
        status={name: _number(value) for name, value in status.items()},
        limits={name: int(most) for name, most in _LIMIT.findall("\n".join(found.get("limit", ())))},
    )


def _own(namespace: str) -> str:
    with contextlib.suppress(OSError):
        return _NAMESPACE.sub(r"\2", str(Path("/proc/self/ns", namespace).readlink()))
    return ""


def _number(text: str) -> int | None:
    try:
        return int(text.strip(), 16)
    except ValueError:
        return None
