"""Examine an agent: is its program installed, in a version that works, logged in, and does it know our flags?"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters.agents.registry import facts_of
from ralph.agent_names import PLAIN
from ralph.domain.agent.facts import AgentFacts, Examination
from ralph.domain.loop.session_report import Ending
from ralph.domain.text.versions import version_in
from ralph.domain.views.health import (
    Area,
    Finding,
    Health,
    advice_on_drift,
    is_newer_than_tested,
    judge_version,
    worst,
)
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.values import dataclass, field

PROBE_SECONDS = 10.0
"""The longest that a question to a program may take."""

_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A program's answer. ``code`` is None if it did not start; ``is_late``: it took too long and was ended."""

    code: int | None
    output: str
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Interviewer:
    """Asks programs questions."""

    runner: ProcessRunner
    cwd: Path
    environ: Mapping[str, str]
    seats: asyncio.Semaphore  # bounds the questions asked at once
    own: Mapping[str, str] = field(default_factory=dict)  # variables for this agent only

    async def ask(self, *argv: str) -> Answer:
        chunks: list[bytes] = []
        taken = 0

        def take(chunk: bytes) -> None:
            nonlocal taken
            if taken < _MOST_BYTES:
                chunks.append(chunk)
                taken += len(chunk)

        async with self.seats:
            exit_ = await self.runner.run(
                Command(argv, self.cwd, self.own),
                timeouts=Timeouts(total=PROBE_SECONDS),
                on_output=take,
                on_stderr=take,
            )
        output = b"".join(chunks).decode(errors="replace")
        is_late = exit_.ending is Ending.TIMED_OUT
        return Answer(exit_.code if exit_.ending is not Ending.NOT_STARTED else None, output, is_late)

    def variable(self, name: str) -> str:
        return self.own.get(name) or self.environ.get(name, "")


async def examine_agent(
    agent: str, command: str, asking: Interviewer, *, needed: bool, setting: str = "agent"
) -> Finding:
    """``command``: the agent's program, by name or path; ``setting``: where the settings define it."""
    facts = facts_of(agent, command)
    program = find_program(command, asking.cwd, asking.variable("PATH") or os.defpath)
    if program is None:
        why, advice = _why_missing(command, asking, setting)
        return Finding(
            Area.AGENTS,
            agent,
            Health.BAD if needed else Health.ABSENT,
            why,
            (advice or _how_to_install(facts, setting),) if needed else (),
            needed=needed,
            details={"installed": False},
        )
    if facts.examination is None:
        return Finding(Area.AGENTS, agent, Health.GOOD, program, needed=needed, details={"path": program})
    return await _examine_program(facts, facts.examination, program, asking, needed=needed)


async def _examine_program(
    facts: AgentFacts, examination: Examination, program: str, asking: Interviewer, *, needed: bool
) -> Finding:
    version_answer, help_answer, logged_in = await asyncio.gather(
        asking.ask(program, "--version"),
        asking.ask(program, *examination.help),
        _is_logged_in(program, examination, asking),
    )
    healths, words, advice = [Health.GOOD], list[str](), list[str]()
    update = f"update it: {facts.install}"

    def note(health: Health, text: str, *hints: str) -> None:
        healths.append(health)
        words.append(text)
        advice.extend(hints)

    version = version_in(version_answer.output) if version_answer.code == 0 else ""
    if version_answer.is_late:
        hint = f"run `{facts.name} --version` yourself to see what takes so long"
        note(Health.DOUBTFUL, f"no answer within {PROBE_SECONDS:.0f} s", hint)
    elif version_answer.code != 0:
        said = version_answer.output.strip().splitlines() or [f"exit status {version_answer.code}"]
        note(Health.BAD, f"does not start: {said[-1]}", f"install it again: {facts.install}")
    elif examination.known_good is not None:
        health, judged = judge_version(version, examination.known_good)
        note(health, judged, *(() if health is Health.GOOD else (update,)))
    else:
        note(Health.DOUBTFUL, f"{version or 'version not known'}, never tested with the real service")

    missing = _missing_flags(examination, help_answer)
    if missing:
        is_newer = bool(version) and is_newer_than_tested(version, examination.known_good)
        note(
            Health.BAD, f"does not know {', '.join(missing)}", advice_on_drift(facts) if is_newer else update
        )
    if logged_in is None:
        note(Health.DOUBTFUL, "no sign of a login", f"if it is not logged in: {facts.login}")
    elif logged_in:
        note(Health.GOOD, "logged in")
    else:
        note(Health.BAD, "not logged in", facts.login_hint)
    known_good = examination.known_good
    return Finding(
        Area.AGENTS,
        facts.name,
        worst(*healths),
        ", ".join(words),
        tuple(dict.fromkeys(advice)),
        needed=needed,
        details={
            "installed": True,
            "path": program,
            "version": version,
            "knownGood": known_good.since if known_good else "",
            "tested": known_good.tested if known_good else "",
            "loggedIn": logged_in,
            "missingFlags": list(missing),
        },
    )


def _missing_flags(examination: Examination, answer: Answer) -> tuple[str, ...]:
    """Believe a help text about missing flags only if it names some of the others."""
    missing = tuple(flag for flag in examination.flags if flag not in answer.output)
    return missing if answer.code == 0 and len(missing) < len(examination.flags) else ()


async def _is_logged_in(program: str, examination: Examination, asking: Interviewer) -> bool | None:
    if any(asking.variable(variable) for variable in examination.variables):
        return True
    if examination.is_logged_in is not None:
        answer = await asking.ask(program, *examination.login)
        if answer.code is None or answer.code < 0 or answer.is_late:
            return None
        answered = examination.is_logged_in(answer.code, answer.output)
        return None if answered is False and _has_own_provider(examination, asking) else answered
    home = _home(asking)
    return True if any((home / file).is_file() for file in examination.files) else None


def _has_own_provider(examination: Examination, asking: Interviewer) -> bool:
    """A model from another provider needs no login with the agent's vendor."""
    own = examination.own_provider
    if own is None:
        return False
    folder = Path(asking.variable(own.variable) or _home(asking) / own.folder)
    try:
        return own.setting in (folder / own.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _home(asking: Interviewer) -> Path:
    return Path(asking.variable("HOME") or "/nonexistent")


def _how_to_install(facts: AgentFacts, setting: str) -> str:
    if facts.name == PLAIN:
        return f"install it, or set {setting}.command to its path"
    return f"to install it: {facts.install}"


# --- programs ---


def find_program(command: str, cwd: Path, path: str) -> str | None:
    if os.sep not in command:
        return shutil.which(command, path=path)
    file = cwd / command
    return str(file) if file.is_file() and os.access(file, os.X_OK) else None


def _why_missing(command: str, asking: Interviewer, setting: str) -> tuple[str, str]:
    """Why a command cannot be started, and what to do about it (empty: install it)."""
    file = asking.cwd / command
    if os.sep in command and file.is_dir():
        return f"{command} is a directory", f"set {setting}.command to the program in it"
    if os.sep in command and file.is_file():
        return f"{command} is not executable", f"chmod +x {shlex.quote(command)}"
    if " " in command:
        hint = f"{setting}.command is the program alone; put its arguments in {setting}.flags"
        return f"{command} is not installed", hint
    return "not installed" if os.sep not in command else f"{command} does not exist", ""
