"""Runs commands that must pass: guardrails, verification, plan proofs and merges all come here."""

from __future__ import annotations

import codecs
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.files import real_path
from ralph.adapters.shell import shell_argv
from ralph.domain.loop.events import ProcessesEnded
from ralph.domain.loop.session_report import Ending
from ralph.domain.proof.required_command import (
    CommandVerdict,
    RequiredCommand,
    is_outside,
    judge_end,
    shell_code,
)
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import Command, Control, ProcessRunner, Publish, Timeouts
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.domain.proof.failures.search import Failed

SEARCHED = 20_000_000
"""Characters of output in which texts are looked for."""
CLOSING = 2_000_000
"""Characters at its end in which a test runner says what it ran."""
END_BYTES = 4_096
LAST_LINES = 5
LINE_CHARS = 300


class ShellCommands:
    """Commands in the workspace ``root``. One that cannot be run is a verdict too, never an exception."""

    def __init__(self, runner: ProcessRunner, root: Path) -> None:
        self._runner = runner
        self._root = root

    async def run(
        self, required: RequiredCommand, *, log: Path, control: Control, publish: Publish, rerun: bool = False
    ) -> CommandVerdict:
        verdict = await self._once(required, log, control, publish)
        again = rerun if required.rerun is None else required.rerun
        if verdict.passed or verdict.errored or not again or control.stopping:
            return verdict
        second = await self._once(required, log, control, publish)
        return replace(second, failed_before=verdict.reason) if second.passed else second

    async def _once(
        self, required: RequiredCommand, log: Path, control: Control, publish: Publish
    ) -> CommandVerdict:
        if not required.command.strip():
            return _errored("No command specified for external verification")
        folder = _working_dir(self._root, required.working_dir)
        if folder is None:
            return _errored(f"working_dir {required.working_dir!r} is not a folder inside the workspace")
        output = _Output(required)
        exit_ = await self._runner.run(
            Command(shell_argv(required.command), folder, merge_stderr=True),
            timeouts=Timeouts(required.timeout, required.idle_timeout),
            on_output=output.take,
            log=log,
            stop=control.stop_now(),
        )
        if exit_.left_behind:
            publish(ProcessesEnded(exit_.left_behind))
        reason, remark = judge_end(
            required, exit_.ending, exit_.code, output=output.searched(), error=exit_.error
        )
        failed = output.failed() if reason else None
        return CommandVerdict(
            passed=not reason,
            reason=reason,
            remark=remark,
            errored=exit_.ending in (Ending.NOT_STARTED, Ending.STOPPED),
            exit_code=shell_code(exit_.ending, exit_.code),
            seconds=exit_.seconds,
            excerpt=output.excerpt(failed),
            is_cut=output.is_cut,
            last_lines=output.last_lines(failed),
            output_sha256=output.sha256(),
        )


def _errored(reason: str) -> CommandVerdict:
    return CommandVerdict(passed=False, reason=reason, remark=reason, errored=True)


def _working_dir(root: Path, relative: str) -> Path | None:
    """Inside the workspace, links followed; None if it is not."""
    if relative == ".":
        return root
    if is_outside(relative):
        return None
    folder = real_path(root / relative)
    return folder if folder.is_dir() and folder.is_relative_to(real_path(root)) else None


class _Output:
    """What is kept of the output while it streams by, in bounded memory."""

    def __init__(self, required: RequiredCommand) -> None:
        self._excerpt = Excerpt(required.most_chars, required.keep)
        self._most = required.most_chars
        self._keep = required.keep
        whole = required.searches_output
        self._searched = Excerpt(SEARCHED, Keep.BOTH) if whole else Excerpt(CLOSING, Keep.TAIL)
        self._end = b""
        self._hash = sha256()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def take(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._end = (self._end + chunk)[-END_BYTES:]
        text = self._decoder.decode(chunk)
        self._searched.add(text)
        if not self._excerpt.is_full:
            self._add(text)

    def _add(self, text: str) -> None:
        # Line ends wait until something follows: the last ones say nothing and must not count.
        text = self._held + text
        kept = text.rstrip("\n")
        self._held = text[len(kept) :]
        self._excerpt.add(kept)

    def searched(self) -> str:
        return self._searched.text()

    @property
    def is_cut(self) -> bool:
        return self._excerpt.truncated

    def failed(self) -> Failed | None:
        """What failed, if a known test runner says so."""
        from ralph.domain.proof.failures.search import find_failures  # few commands fail

        return find_failures(self.searched())

    def excerpt(self, failed: Failed | None) -> str:
        """For the agent: an output that fits as it is; of a longer one, first what failed."""
        if failed is None or not self.is_cut or self._keep is not Keep.BOTH:
            return self._excerpt.text()
        return failed.excerpt(self._most)

    def sha256(self) -> str:
        """Of the log file, as it was written."""
        return self._hash.hexdigest()

    def last_lines(self, failed: Failed | None) -> tuple[str, ...]:
        """For a screen: what failed, else the end of the output."""
        if failed is not None:
            return tuple(line[:LINE_CHARS] for line in failed.headlines(LAST_LINES))
        lines = self._end.decode(errors="replace").strip().splitlines()
        return tuple(line.rstrip()[:LINE_CHARS] for line in lines[-LAST_LINES:])
