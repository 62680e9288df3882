"""What is known after a session: the agent's word and ralph's proof, kept apart."""

from __future__ import annotations

import re
from enum import StrEnum

from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_change import SessionChange
from ralph.domain.loop.session_report import AgentReport, Hindrance, Spend, most_lasting
from ralph.patterns import pattern
from ralph.values import dataclass

COMMAND_CHARS = 60
"""Shown of the command of a check that has no name of its own."""

_PASSING = pattern(
    r"(?P<path>/[^\s'\"]+)"  # handled by itself: only temporary ones differ each time
    r"|\b\d+(?:[.,]\d+)?\s?(?:ns|us|µs|ms|s|sec|secs|seconds?|m|min|minutes?)\b"  # 0.12s, 3 ms
    r"|\b\d+:\d\d(?::\d\d)?(?:[.,]\d+)?\b"  # 12:34:56
    r"|\b\d{4}-\d\d-\d\d\b"
    r"|\b0x[0-9a-fA-F]+\b"
    r"|\bpid \d+\b|\[\d+\]"
)
_OWN_FILE = pattern(r"\b(?:guardrail|agent|prompt)_\d{3,}")
"""Our own files contain the iteration's number in their names."""


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"  #: the check itself could not run; never counts as passed
    SKIPPED = "skipped"  #: did not apply; counts as passed only if not required


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found."""

    name: str
    verdict: Verdict
    required: bool = True
    feedback: Feedback | None = None
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    log_file: str = ""
    output_sha256: str = ""
    reason: str = ""
    last_lines: tuple[str, ...] = ()  # what failed, or the end of its output, for the screen
    spend: Spend = Spend()  # of the check's own agent calls
    concern: str = ""  # what the user should know even if it passed
    contains: int = 0  # checks that passed as parts of it, each with a result of its own
    hindrance: Hindrance | None = None  # it errored because whoever should judge could not
    sent_back: str = ""  # what a review, itself in order, found wrong with the work of another session

    @property
    def words(self) -> str:
        """What people call it: "external" alone would not say what it ran."""
        shown, *more = self.command.strip().splitlines() or [""]
        if self.name != "external" or not shown:
            return self.name
        is_long = more or len(shown) > COMMAND_CHARS
        return f"{self.name} `{shown[:COMMAND_CHARS]}{' …' if is_long else ''}`"

    @property
    def holds(self) -> bool:
        return self.verdict is Verdict.PASSED or not self.required

    @property
    def denies(self) -> bool:
        """A skipped one says nothing."""
        return not self.holds and self.verdict is not Verdict.SKIPPED


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a decision depends on."""

    report: AgentReport
    signals: tuple[Signal, ...] = ()
    results: tuple[CheckResult, ...] = ()
    remarks: tuple[Feedback, ...] = ()  # for the next prompt, besides what the checks say
    fingerprint: str = ""  # of the workspace after the session; empty: unknown
    commit: str = ""  # the one that was checked
    change: SessionChange | None = None  # what the session made of the workspace; None: unknown

    @property
    def proven(self) -> bool:
        """Every required check passed. Without checks nothing contradicts the claim."""
        return all(result.holds for result in self.results)

    @property
    def has_proof(self) -> bool:
        """Something was really checked."""
        return any(result.required and result.verdict is Verdict.PASSED for result in self.results)

    def claim(self, claim: Claim) -> Signal | None:
        return next((signal for signal in self.signals if signal.claim is claim), None)

    @property
    def claimed(self) -> bool:
        return self.claim(Claim.DONE) is not None

    @property
    def is_unclaimed(self) -> bool:
        """Everything passes, and the agent, which ended in good order, did not say that it is done."""
        return self.proven and self.has_proof and not self.claimed and self.report.is_orderly

    @property
    def hindrance(self) -> Hindrance | None:
        """Why the work could not be judged: that of the session, else that of a check, unless another check denies
        the work anyway."""
        if (own := self.report.hindrance) is not None:
            return own
        return most_lasting([one.hindrance for one in self.failed])

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """What the checks say to the agent, in order, then everything else."""
        denied = [
            result.feedback
            for result in self.results
            if result.feedback is not None and result.verdict is not Verdict.PASSED
        ]
        return (*denied, *self.remarks)

    @property
    def failures(self) -> tuple[str, ...]:
        """How the failing checks failed: a digest each, of all known output, because many tools always end with the
        same lines; but without what differs each time: durations, times, addresses in memory.

        Other figures count: two failed tests instead of five are progress.
        """
        return tuple(map(_digest, self.failed))

    @property
    def failing(self) -> tuple[str, ...]:
        """The checks that failed; a skipped one says nothing."""
        return tuple(result.words for result in self.failed)

    @property
    def failed(self) -> list[CheckResult]:
        """Those that deny the work."""
        return [each for each in self.results if each.denies]


def _digest(result: CheckResult) -> str:
    message = result.feedback.text if result.feedback is not None else ""
    lasting = map(without_passing, (result.reason, message, *result.last_lines))
    said = "\n".join((result.name, str(result.exit_code), *lasting))
    from hashlib import sha256  # loads OpenSSL, which few runs need before a check fails

    return sha256(said.encode(errors="replace")).hexdigest()[:16]


def without_passing(text: str) -> str:
    """Without what differs each time: durations, times, addresses in memory."""
    return _PASSING.sub(_lasting, text)


def _lasting(found: re.Match[str]) -> str:
    path = found["path"] or ""
    if "/tmp/" in path or "/T/" in path:  # noqa: S108 (a word in a message)
        return ""
    return _OWN_FILE.sub("", path)
