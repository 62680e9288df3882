"""Plays one cell and judges it from outside: exit status, words, files, processes and launches, the same for all."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from bench.faults.acts import ITERATIONS, Act, Interruption, Judgement, Promise
from bench.faults.harness import Harness
from bench.faults.lies import OTHERS
from bench.faults.stage import CannotRunError, Run, Stage, small_disk

PEAK_MEGABYTES = 400
"""Twice what the flood prints: more than that grows with it."""
GRACE_SECONDS = 20.0
"""That a harness has to tidy up after a signal."""
SECOND_PRESS_SECONDS = 5.0
FLOOD_TIMES = 2
"""A flood may take longer than other cells: the question is what it takes of memory."""
LIMITED_LAUNCHES = 3
USERS_FILE = "users-note.md"


class Result(StrEnum):
    HOLDS = "holds"
    FAILS = "FAILS"
    NOT_CLAIMED = "not claimed"
    NOT_APPLICABLE = "does not apply"
    COULD_NOT_RUN = "could not run"


@dataclass(frozen=True)
class Cell:
    harness: str
    act: str
    promise: str
    result: Result
    evidence: str
    launches: int = 0
    exit: int | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "result": self.result.value, "seconds": round(self.seconds, 1)}


@dataclass(frozen=True)
class Seen:
    """What the judge saw; ``done`` are the harness's own words, if it called the work done."""

    code: int | None
    done: str
    launches: int
    is_worked: bool
    left: list[str]
    reviews: int
    note: str = ""


Answer = tuple[bool, str]


def play(harness: Harness, act: Act, *, keep: Path | None = None) -> Cell:
    """One cell, from nothing to nothing: no file and no process stays, unless the folder is to be kept."""
    began = time.monotonic()
    reason = _absent(harness, act)
    if reason:
        return Cell(harness.name, act.id, act.promise, Result.NOT_APPLICABLE, reason)
    folder = Path(tempfile.mkdtemp(prefix="faults-")).resolve()
    stage = Stage(folder)
    try:
        with small_disk(stage.root, wanted=act.is_full):
            try:
                seen = _play(harness, act, stage)
            finally:
                stage.clear()
                stage.closing.close()
        result, evidence = _judge(harness, act, seen)
        measured = (seen.launches, seen.code, time.monotonic() - began)
        return Cell(harness.name, act.id, act.promise, result, evidence, *measured)
    except CannotRunError as error:
        return Cell(harness.name, act.id, act.promise, Result.COULD_NOT_RUN, str(error))
    finally:
        if keep is not None:
            _keep(folder, keep / f"{harness.name}-{act.id}")
        shutil.rmtree(folder, ignore_errors=True)


def _absent(harness: Harness, act: Act) -> str:
    """Why the act does not apply."""
    if "{unplan}" in act.shell and not harness.unplan:
        return "it has no task list that an agent could edit"
    if "{loosen}" in act.shell and not harness.loosen:
        return "it has no settings that check anything"
    return harness.absent.get(act.id, "") or harness.absent.get(act.promise, "")


def _play(harness: Harness, act: Act, stage: Stage) -> Seen:
    iterations = ITERATIONS if act.interruption or act.tasks > 1 or act.promise is not Promise.LIES else 2
    harness.install()
    stage.more = harness.environment(stage)
    if harness.is_per_task:
        stage.more = {**stage.more, "PER_TASK": "one"}
    stage.build(act)
    harness.prepare(stage, act, iterations)
    stage.cast(
        act,
        names=harness.agents,
        claim=harness.claim,
        mark=harness.mark,
        report=harness.report,
        others=" ".join(
            word for word in OTHERS.split(" ") if word not in harness.claim and harness.claim not in word
        ),
        seconds=harness.session_seconds,
        unplan=harness.unplan,
        loosen=harness.loosen,
    )
    stage.commit()
    with stage.run(harness.command(stage, act, iterations)) as run:
        return _PLAYS[act.judgement](harness, act, stage, run)


def _see(
    harness: Harness, act: Act, stage: Stage, code: int | None, *, left: bool = False, note: str = ""
) -> Seen:
    done = harness.done(stage, code, stage.output()) if code is not None else ""
    deadline = time.monotonic() + (GRACE_SECONDS if done and act.promise is not Promise.LIES else 0)
    while not stage.is_worked(act) and time.monotonic() < deadline:
        time.sleep(0.2)  # some deliver the work after they have said that it is done
    return Seen(
        code,
        done,
        stage.launches(),
        stage.is_worked(act),
        stage.left() if left else [],
        harness.reviews,
        note,
    )


def _plainly(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    return _see(harness, act, stage, run.wait(harness.seconds))


def _measured(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    code = run.wait(FLOOD_TIMES * harness.seconds, measured=True)
    peak, words = max(run.peak.values(), default=(0, ""))
    return _see(harness, act, stage, code, note=f"{peak // 1024} MiB: {words[:40]}")


def _hung(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    """Over as soon as the first session is gone."""
    _session(stage, run, 1, harness.seconds)
    first = [stage.here / "pid-agent-1", stage.here / "pid-tool-1"]
    code = run.wait(harness.hang_seconds, lambda: not any(_is_alive(file) for file in first))
    survivors = [file.name.removeprefix("pid-").removesuffix("-1") for file in first if _is_alive(file)]
    return _see(harness, act, stage, code, note=", ".join(survivors))


def _cleared(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    """After its own end, or a signal, everything has a while to go."""
    if act.interruption:
        _session(stage, run, 1, harness.seconds)
        code = _signal(act, run)
    else:
        code = run.wait(harness.seconds)
    deadline = time.monotonic() + GRACE_SECONDS
    while stage.processes() and time.monotonic() < deadline:
        time.sleep(0.2)
    return _see(harness, act, stage, code, left=True)


def _again(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    """Killed in the second session; a user commits; then as its documentation says."""
    _session(stage, run, 2, harness.seconds)
    stage.clear()
    run.wait(GRACE_SECONDS)
    (stage.root / USERS_FILE).write_text("mine\n")
    stage.git("add", USERS_FILE)
    stage.git("commit", "-q", "-m", "A note of mine", "--", USERS_FILE)
    return _restarted(harness, act, stage)


def _filled(harness: Harness, act: Act, stage: Stage, run: Run) -> Seen:
    code = run.wait(harness.seconds)
    if code is not None and harness.done(stage, code, stage.output()) and stage.is_worked(act):
        return _see(harness, act, stage, code)
    if code is None:
        return _see(harness, act, stage, code, note="it did not end")
    (stage.root / "fill.bin").unlink(missing_ok=True)
    return _restarted(harness, act, stage)


def _restarted(harness: Harness, act: Act, stage: Stage) -> Seen:
    (stage.here / "output").rename(stage.here / "output-first")
    with stage.run(harness.again(stage, act, ITERATIONS)) as second:
        code = second.wait(harness.seconds)
        note = (stage.root / USERS_FILE).is_file() and "A note of mine" in stage.git("log", "--format=%s")
        return _see(harness, act, stage, code, note="kept" if note else "")


def _session(stage: Stage, run: Run, number: int, seconds: float) -> None:
    ready = stage.here / f"ready-{number}"
    run.wait(seconds, ready.exists)
    if not ready.exists():
        words = stage.output().strip().splitlines()[-1:]
        message = f"session {number} never began (launches: {stage.launches()}): {' '.join(words)[:160]}"
        raise CannotRunError(message)


def _signal(act: Act, run: Run) -> int | None:
    """Ctrl-C and TERM a second time if that is needed: many harnesses let the session end after the first."""
    if act.interruption is Interruption.KILL:
        run.interrupt(signal.SIGKILL)
        return run.wait(GRACE_SECONDS)
    number = signal.SIGINT if act.interruption is Interruption.INT else signal.SIGTERM
    run.interrupt(number, is_group=number == signal.SIGINT)
    code = run.wait(SECOND_PRESS_SECONDS)
    if code is None:
        run.interrupt(number, is_group=number == signal.SIGINT)
        code = run.wait(GRACE_SECONDS)
    return code


def _is_alive(file: Path) -> bool:
    if not file.exists():
        return False
    try:
        state = Path(f"/proc/{file.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


_PLAYS: Mapping[Judgement, Callable[[Harness, Act, Stage, Run], Seen]] = {
    Judgement.ACCEPTS: _plainly,
    Judgement.DENIES: _plainly,
    Judgement.ENDS: _hung,
    Judgement.CLEARS: _cleared,
    Judgement.WAITS: _plainly,
    Judgement.RECOVERS: _plainly,
    Judgement.BOUNDED: _measured,
    Judgement.RESTARTS: _filled,
    Judgement.RESUMES: _again,
    Judgement.COUNTS: _again,
}


# --- the answers ---


def _accepts(act: Act, seen: Seen) -> Answer:
    if seen.done and not seen.is_worked:
        return False, f"said done ({seen.done}) without the work"
    return bool(seen.done), seen.done or f"did not say done: {_ended(seen)}"


def _denies(act: Act, seen: Seen) -> Answer:
    if seen.is_worked:
        raise CannotRunError("the work was there after all: the lie was none")
    return not seen.done, f"said done: {seen.done}" if seen.done else f"did not say done: {_ended(seen)}"


def _ends(act: Act, seen: Seen) -> Answer:
    if seen.done:
        return False, f"said done: {seen.done}"
    return not seen.note, f"still alive: {seen.note}" if seen.note else "the session was ended"


def _clears(act: Act, seen: Seen) -> Answer:
    if seen.code is None:
        return False, f"the harness itself still ran {GRACE_SECONDS:.0f} s later"
    return (
        not seen.left,
        f"left {len(seen.left)}: {'; '.join(seen.left)[:160]}" if seen.left else "nothing left",
    )


def _waits(act: Act, seen: Seen) -> Answer:
    if seen.done and not seen.is_worked:
        return False, f"said done ({seen.done}) while limited"
    burnt = seen.launches > LIMITED_LAUNCHES + seen.reviews
    return not burnt, f"{seen.launches} launches; {seen.done or _ended(seen)}"


def _bounded(act: Act, seen: Seen) -> Answer:
    megabytes = int(seen.note.partition(" ")[0])
    if seen.code is None:
        return False, f"did not end; {seen.note}"
    return megabytes <= PEAK_MEGABYTES, f"at most {seen.note}"


def _resumes(act: Act, seen: Seen) -> Answer:
    answer, evidence = _accepts(act, seen)
    if not answer:
        return answer, evidence
    if not seen.note:
        return False, "the user's commit is gone"
    return (
        seen.launches <= act.tasks + 1 + seen.reviews,
        f"{seen.launches} launches for {act.tasks} tasks; {evidence}",
    )


def _counts(act: Act, seen: Seen) -> Answer:
    return (
        seen.launches <= ITERATIONS + 1,
        f"{seen.launches} launches under a limit of {ITERATIONS}, one of them killed",
    )


_ANSWERS: Mapping[Judgement, Callable[[Act, Seen], Answer]] = {
    Judgement.ACCEPTS: _accepts,
    Judgement.DENIES: _denies,
    Judgement.ENDS: _ends,
    Judgement.CLEARS: _clears,
    Judgement.WAITS: _waits,
    Judgement.RECOVERS: _accepts,
    Judgement.BOUNDED: _bounded,
    Judgement.RESTARTS: _accepts,
    Judgement.RESUMES: _resumes,
    Judgement.COUNTS: _counts,
}


def _ended(seen: Seen) -> str:
    return (
        "still at work when time was up"
        if seen.code is None
        else f"exit {seen.code} after {seen.launches} launches"
    )


def _judge(harness: Harness, act: Act, seen: Seen) -> tuple[Result, str]:
    if seen.launches == 0:
        return Result.COULD_NOT_RUN, f"it never started the agent ({_ended(seen)})"
    holds, evidence = _ANSWERS[act.judgement](act, seen)
    if holds:
        return Result.HOLDS, evidence
    return (Result.FAILS if _is_claimed(harness, act) else Result.NOT_CLAIMED), evidence


def _is_claimed(harness: Harness, act: Act) -> bool:
    if act.promise is Promise.CONTROL:
        return True
    return act.promise in harness.claims and act.id not in harness.unclaimed


def _keep(folder: Path, place: Path) -> None:
    """As far as it can be copied: sockets cannot."""
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(shutil.Error):
        shutil.copytree(folder, place, symlinks=True, ignore=shutil.ignore_patterns("fill.bin"))
