"""Do one shift of a run for a fleet's worker, which says how far it goes and hears how it ended."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from ralph.adapters.processes.descendants import RUN_VARIABLE, SPAWN_VARIABLE
from ralph.adapters.storage.run_standing import Standing, standing_of
from ralph.adapters.storage.shift_files import read_terms, write_end
from ralph.domain.agent.events import Usage
from ralph.domain.fleet.payer import agent_of
from ralph.domain.fleet.shift import ShiftEnd, Steer
from ralph.domain.fleet.shift_variable import SHIFT
from ralph.domain.fleet.terms import ShiftTerms
from ralph.domain.loop.decision import JUDGED
from ralph.domain.loop.handover import Handover
from ralph.domain.loop.interlude import Interlude
from ralph.domain.loop.session_report import Spend
from ralph.engine.loop import RunResult
from ralph.engine.shift import ShiftOver as ShiftOver
from ralph.engine.short_shift import ShortShift
from ralph.errors import RalphError
from ralph.values import replace
from ralph.wiring.allowance import within_allowance
from ralph.wiring.launch import Launch


class OpenShift:
    """One shift: prepares the launch for it, and writes how it ended."""

    def __init__(self, folder: Path, terms: ShiftTerms) -> None:
        self._folder = folder
        self._terms = terms
        self._notes = _Notes(terms.notes)
        self._launch: Launch | None = None
        self._shift: ShortShift | None = None
        self._run_id = ""
        self._result: RunResult | None = None

    @property
    def continues(self) -> bool:
        """Its run was handed over, and whoever had it before has said what there is to say."""
        return self._terms.continues

    def prepare(self, launch: Launch) -> Launch:
        """The launch for this shift, within what this machine's owner allows. Raises UsageError if it reaches farther."""
        terms = self._terms
        launch = within_allowance(launch, terms.sandbox, repository=terms.repository)
        tokens = Usage(input_tokens=terms.lost_tokens)
        lost = Spend.of_session(terms.lost_cost or None, tokens)
        self._shift = ShortShift(
            sessions=terms.sessions, longest_wait=terms.longest_wait, may_merge=terms.may_merge
        )
        self._launch = replace(
            launch,
            shift=self._shift,
            interlude=Interlude(terms.waited, lost, by_user=not terms.continues),
            notes_given=self._notes,
        )
        return self._launch

    def begin(self, run_id: str) -> None:
        """It is on record from now on."""
        self._run_id = run_id

    def take_result(self, result: RunResult) -> None:
        self._result = result

    # --- how it ended ---

    def hand_over(self, handover: Handover) -> None:
        self._end(
            ShiftEnd(
                want=handover.want,
                seconds=handover.seconds,
                reason=handover.reason,
            )
        )

    def close(self, exit_code: int) -> None:
        """The command has ended; so has its run, if it began one."""
        result = self._result
        if result is None:
            self._end(ShiftEnd(reason="the command ended without a run", exit_code=exit_code))
            return
        self._end(
            ShiftEnd(outcome=result.outcome, reason=result.reason, hint=result.hint, exit_code=exit_code)
        )

    def fail(self, error: RalphError) -> None:
        """It ended the run, if that is on record; else nothing counts."""
        self._end(ShiftEnd(reason=error.message, hint=error.hint, exit_code=error.exit_code), failed=True)

    def _end(self, end: ShiftEnd, *, failed: bool = False) -> None:
        standing = self._standing()
        if standing is not None and self._launch is not None and (standing.outcome or not failed):
            state = standing.state
            end = replace(
                end,
                run_id=self._run_id,
                outcome=end.outcome or ("" if end.want else standing.outcome),
                iteration=state.iteration,
                maximum=self._launch.maximum,
                cost=state.spend.cost_usd,
                tokens=state.spend.usage.total,
                run_seconds=state.seconds,
                decision=standing.decision,
                agent=agent_of(self._launch.settings.agent.command),
                merged=self._shift.merged if self._shift is not None else "",
                heard=self._notes.given if standing.decision in JUDGED else 0,
            )
        write_end(self._folder, end)

    def _standing(self) -> Standing | None:
        if self._launch is None or not self._run_id:
            return None
        return standing_of(self._launch.state_folder, self._run_id)


class _Notes:
    """What the user said, for the first prompt of this shift. It counts as heard once that session was judged: until then,
    the next shift is told again, as each attempt of an iteration is."""

    def __init__(self, notes: Sequence[Steer]) -> None:
        self._notes = sorted(notes, key=lambda note: note.number)
        self.given = 0

    def steering(self, *, at: float, iteration: int) -> Sequence[str]:
        told = [note for note in self._notes if note.number > self.given]
        self.given = max((note.number for note in told), default=self.given)
        return [note.text for note in told]


def take_shift(environ: MutableMapping[str, str] = os.environ) -> OpenShift:
    """What this process was told. Nobody that it starts is to do the same. Raises StoreError if it cannot be read."""
    folder = Path(environ.pop(SHIFT))
    for mark in (RUN_VARIABLE, SPAWN_VARIABLE):  # the worker's, which is no run, and no parent of this one
        environ.pop(mark, None)
    return OpenShift(folder, read_terms(folder))
