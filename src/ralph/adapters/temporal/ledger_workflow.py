"""What all jobs share, as a workflow that never ends; one per namespace, if somebody has set a limit."""

from __future__ import annotations

from temporalio import workflow

from ralph.adapters.temporal.job_workflow import is_history_long

with workflow.unsafe.imports_passed_through():
    from ralph.adapters.temporal import names
    from ralph.domain.fleet import ledger_rules
    from ralph.domain.fleet.ledger_rules import EnterReply, EnterRequest, LeaveRequest, LedgerState
    from ralph.domain.fleet.views import FleetLimits


@workflow.defn(name=names.LEDGER)
class RalphLedger:
    @workflow.init
    def __init__(self, state: LedgerState) -> None:
        self._state = state

    @workflow.run
    async def run(self, state: LedgerState) -> None:
        await workflow.wait_condition(lambda: is_history_long() and workflow.all_handlers_finished())
        workflow.continue_as_new(self._state, memo=workflow.memo())

    @workflow.update(name=names.ENTER)
    def enter(self, request: EnterRequest) -> EnterReply:
        self._state, reply = ledger_rules.enter(self._state, request, workflow.time())
        if not reply.refusal:
            self._show()
        return reply

    @workflow.update(name=names.LEAVE)
    def leave(self, request: LeaveRequest) -> None:
        self._state = ledger_rules.leave(self._state, request, workflow.time())
        self._show()

    @workflow.update(name=names.SET_LIMITS)
    def set_limits(self, limits: FleetLimits) -> FleetLimits:
        self._state = ledger_rules.set_limits(self._state, limits)
        return self._show()

    @workflow.query(name=names.SHOW_LIMITS)
    def show_limits(self) -> FleetLimits:
        return ledger_rules.show_limits(self._state, workflow.time())

    def _show(self) -> FleetLimits:
        """Also for those who look while no worker runs."""
        limits = ledger_rules.show_limits(self._state, workflow.time())
        workflow.upsert_memo({names.LIMITS: limits})
        return limits
