"""How each check stands on one commit, from all of its runs there and from how it does on the base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from ralph.domain.delivery.facts import CheckRun, CheckState, Facts
from ralph.values import dataclass


class Standing(StrEnum):
    PASSED = "passed"
    PENDING = "pending"  #: queued, running, or not there yet
    FAILED = "failed"
    FLAKY = "flaky"  #: passed and failed on the same commit, and nobody has run it once more
    TRANSIENT = "cancelled"  #: cancelled, timed out or never started: not a word about the work
    STUBBORN = "cancelled again"
    HELD = "held"  #: a person must let it run
    ON_BASE = "fails on the base too"
    IGNORED = "not required"  #: failed or still running, but it decides nothing


_WORST_FIRST = (
    CheckState.RUNNING, CheckState.QUEUED, CheckState.FAILED, CheckState.TIMED_OUT, CheckState.BROKEN,
    CheckState.CANCELLED, CheckState.HELD, CheckState.PASSED,
)  # fmt: skip
"""How checks of one name stand together: what is open first, then the worst."""
_TRANSIENT = frozenset({CheckState.CANCELLED, CheckState.TIMED_OUT, CheckState.BROKEN})


@dataclass(frozen=True, slots=True)
class CheckStanding:
    """``run``: the newest on this commit, of several sources the worst; None: it has none. ``is_flaky``: it has passed and failed on this commit."""

    name: str
    standing: Standing
    run: CheckRun | None = None
    is_flaky: bool = False
    is_required: bool = True


def checks_of(facts: Facts) -> list[CheckStanding]:
    """Every check that counts or was seen, by name. Runs of other commits never count."""
    head = facts.pull.head
    runs = _by_name(run for run in facts.checks if run.commit == head)
    failing_on_base = {
        name
        for name, of_base in _by_name(facts.base_checks).items()
        if any(run.state is CheckState.FAILED for run in _newest(of_base))
    }
    required = _required(facts, runs)
    return [
        _stand(
            name,
            runs.get(name, ()),
            is_required=required is None or name in required,
            was_rerun=name in facts.tried.reruns,
            fails_on_base=name in failing_on_base,
        )
        for name in sorted({*runs, *(required or ())})
    ]


def begun_again(asked: Iterable[CheckRun], runs: Sequence[CheckRun]) -> tuple[str, ...]:
    """The checks of which there is a newer run than the one that was to be run again."""
    return tuple(old.name for old in asked if any(_is_after(run, old) for run in runs))


def _is_after(run: CheckRun, old: CheckRun) -> bool:
    """A service may also begin the very same run once more."""
    if (run.name, run.commit) != (old.name, old.commit):
        return False
    return not run.state.is_over or run.at > old.at or _number(run.id) > _number(old.id)


def _required(facts: Facts, runs: Iterable[str]) -> frozenset[str] | None:
    """None: whatever was seen. What the forge demands, else whatever runs on the base and here, or ran here before."""
    if facts.policy.checks:
        return frozenset(facts.policy.checks)
    if not facts.policy.has_ci:
        return None
    if facts.required.checks is not None:
        return frozenset(facts.required.checks)
    return frozenset(run.name for run in facts.base_checks).union(runs, facts.tried.seen)


def _by_name(runs: Iterable[CheckRun]) -> dict[str, list[CheckRun]]:
    """The newest last."""
    found: dict[str, list[CheckRun]] = {}
    for run in runs:
        found.setdefault(run.name, []).append(run)
    for several in found.values():
        if len(several) > 1:
            several.sort(key=lambda run: (run.at, _number(run.id)))
    return found


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _stand(
    name: str, runs: Sequence[CheckRun], *, is_required: bool, was_rerun: bool, fails_on_base: bool
) -> CheckStanding:
    if not runs:
        return CheckStanding(name, Standing.PENDING)
    states = {run.state for run in runs}
    is_flaky = CheckState.PASSED in states and CheckState.FAILED in states
    worst = min(_newest(runs), key=lambda run: _WORST_FIRST.index(run.state)) if len(runs) > 1 else runs[0]
    standing = _standing(worst.state, is_flaky=is_flaky, was_rerun=was_rerun, fails_on_base=fails_on_base)
    if not is_required and standing is not Standing.PASSED:
        standing = Standing.IGNORED
    return CheckStanding(name, standing, worst, is_flaky, is_required)


def _newest(runs: Sequence[CheckRun]) -> Iterable[CheckRun]:
    """Of each source, for a later run takes the place of an earlier one only there; and whatever is under way."""
    newest = {run.source: run for run in runs}
    return (run for run in runs if not run.state.is_over or run is newest[run.source])


def _standing(state: CheckState, *, is_flaky: bool, was_rerun: bool, fails_on_base: bool) -> Standing:
    if not state.is_over:
        return Standing.PENDING
    if state is CheckState.HELD:
        return Standing.HELD
    if state in _TRANSIENT:
        return Standing.STUBBORN if was_rerun else Standing.TRANSIENT
    if is_flaky and not was_rerun:
        return Standing.FLAKY
    if state is CheckState.PASSED:
        return Standing.PASSED
    return Standing.ON_BASE if fails_on_base else Standing.FAILED
