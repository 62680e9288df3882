"""Verification by a command: its exit code, and what its output does and does not say (seed 002)."""

from __future__ import annotations

import codecs
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ralph.domain.loop.events import ProcessesEnded
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import Ending
from ralph.domain.proof.tests_ran import failures_in, nothing_was_tested
from ralph.domain.proof.verification_config import is_outside
from ralph.domain.tasks.completion import CompletionCriteria, VerificationMethod
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.domain.text.slug import slug
from ralph.engine.ports import Command, Exit, ProcessRunner, Timeouts
from ralph.engine.tasks.verifying import MethodVerdict, Verifying

TIMEOUT = 300.0
EXCERPT = 5_000
SEARCHED = 20_000_000
"""Characters of output in which texts are looked for."""


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """How a command came out. ``errored``: it could not be carried out, which never counts as passed."""

    passed: bool
    reason: str
    excerpt: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    output_sha256: str = ""
    errored: bool = False
    left_behind: tuple[str, ...] = ()


def commands_in(criteria: CompletionCriteria) -> list[dict[str, Any]]:
    """The configs of all commands that a role is verified by, its stages' included."""
    return list(_commands(str(criteria.verification_method), criteria.verification_config))


def _commands(method: str, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if method == VerificationMethod.EXTERNAL and config.get("command"):
        yield dict(config)
    elif method == VerificationMethod.MULTI_STAGE:
        for stage in config.get("stages") or ():
            if stage.get("required", True):
                yield from _commands(str(stage.get("method", "")), stage.get("config") or {})


async def run_command(
    config: Mapping[str, Any],
    *,
    runner: ProcessRunner,
    shell: Callable[[str], tuple[str, ...]],
    root: Path,
    log: Path | None,
    stop: Awaitable[object] | None,
    excerpt_chars: int = EXCERPT,
) -> CommandVerdict:
    """Run it and judge it. What cannot be carried out is a verdict too, never an exception."""
    command = str(config.get("command") or "")
    if not command.strip():
        return CommandVerdict(False, "No command specified for external verification", errored=True)
    folder = str(config.get("working_dir") or ".")
    where = _working_dir(root, folder)
    if where is None:
        reason = f"working_dir {folder!r} leads out of the workspace, or is no folder"
        return CommandVerdict(False, reason, errored=True)
    output = _Output(excerpt_chars)
    timeout = float(config.get("timeout") or TIMEOUT)
    exit_ = await runner.run(
        Command(shell(command), where, merge_stderr=True),
        timeouts=Timeouts(total=timeout),
        on_output=output.take,
        log=log,
        stop=stop,
    )
    passed, reason = _judged(config, exit_, output.text(), timeout)
    return CommandVerdict(
        passed,
        reason,
        excerpt=output.excerpt(),
        exit_code=exit_.code,
        seconds=exit_.seconds,
        output_sha256=output.sha256(),
        errored=exit_.ending is Ending.NOT_STARTED,
        left_behind=exit_.left_behind,
    )


def _judged(config: Mapping[str, Any], exit_: Exit, output: str, timeout: float) -> tuple[bool, str]:
    match exit_.ending:
        case Ending.NOT_STARTED:
            return False, f"Command failed: {exit_.error}"
        case Ending.TIMED_OUT:
            return False, f"Command timed out after {timeout:g}s"
        case Ending.STOPPED:
            return False, "Command was stopped"
        case _:
            pass
    expected = int(config.get("success_exit_code", 0))
    if exit_.code != expected:
        return False, f"Command exited with {exit_.code}, expected {expected}"
    wanted, forbidden = config.get("output_contains"), config.get("output_not_contains")
    if wanted and str(wanted) not in output:
        return False, f"Output doesn't contain: {wanted}"
    if forbidden and str(forbidden) in output:
        return False, f"Output contains forbidden: {forbidden}"
    if config.get("allow_empty", config.get("allowEmpty", False)) is not True:
        if expected == 0 and (failures := failures_in(output)):
            return False, f"{failures}, although the command succeeded; `allowEmpty: true` accepts that"
        if nothing := nothing_was_tested(str(config["command"]), output):
            return False, f"{nothing}; `allowEmpty: true` accepts that"
    return True, "External verification passed"


def _working_dir(root: Path, relative: str) -> Path | None:
    """Inside the workspace, links followed; None if it is not."""
    if is_outside(relative):
        return None
    folder = (root / relative).resolve()
    return folder if folder.is_dir() and folder.is_relative_to(root.resolve()) else None


class External:
    """The method ``external``. A tree that did not change within an iteration is not asked twice."""

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        tools = verifying.tools
        fingerprint = await tools.fingerprint()
        key = (
            verifying.judging.iteration,
            fingerprint,
            json.dumps(verifying.config, sort_keys=True, default=str),
        )
        if fingerprint and (known := tools.known.get(key)) is not None:
            return replace(known, reason=f"{known.reason} (nothing has changed since)", seconds=0.0)
        verdict = await self._run(verifying)
        if fingerprint and await tools.fingerprint() == fingerprint:
            tools.known[key] = verdict
        return verdict

    async def _run(self, verifying: Verifying) -> MethodVerdict:
        tools, judging = verifying.tools, verifying.judging
        name = "-".join(filter(None, ("verify", verifying.role, verifying.name)))
        log = tools.journal.check_log(judging.iteration, slug(name))

        async def once() -> CommandVerdict:
            ran = await run_command(
                verifying.config,
                runner=tools.runner,
                shell=tools.shell,
                root=tools.root,
                log=log,
                stop=judging.control.stop_now(),
                excerpt_chars=tools.truncate_chars,
            )
            if ran.left_behind:
                judging.publish(ProcessesEnded(ran.left_behind))
            return ran

        command = str(verifying.config.get("command") or "")
        ran, concern = await once(), ""
        rerun = verifying.config.get("rerun", tools.rerun_failing)
        if not ran.passed and not ran.errored and rerun and not judging.control.stopping:
            first, ran = ran, await once()
            if ran.passed:
                concern = f"flaky: `{command}` failed ({first.reason}) and passed when it was run again"
        shown = str(tools.state_folder / log.name)
        told = f"Verification failed: `{command}`: {ran.reason}\nFull output: {shown}\n{ran.excerpt}"
        return MethodVerdict(
            Verdict.PASSED if ran.passed else Verdict.ERRORED if ran.errored else Verdict.FAILED,
            concern or ran.reason,
            told=told,
            command=command,
            exit_code=ran.exit_code,
            seconds=ran.seconds,
            log_file=shown,
            output_sha256=ran.output_sha256,
            concern=concern,
            last_lines=tuple(ran.excerpt.splitlines()[-5:]),
        )


class _Output:
    """What is kept while the output streams by, in bounded memory."""

    def __init__(self, excerpt_chars: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._hash = sha256()
        self._searched = Excerpt(SEARCHED, Keep.BOTH)
        self._excerpt = Excerpt(excerpt_chars, Keep.TAIL)

    def take(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        text = self._decoder.decode(chunk)
        self._searched.add(text)
        self._excerpt.add(text)

    def text(self) -> str:
        return self._searched.text()

    def excerpt(self) -> str:
        return self._excerpt.text().strip("\n")

    def sha256(self) -> str:
        return self._hash.hexdigest()
