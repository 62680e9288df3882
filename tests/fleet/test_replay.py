"""Histories that were recorded once are continued by the workflows of today: nothing in them depends on chance or clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from ralph.adapters.temporal import names
from ralph.adapters.temporal.worker import WORKFLOWS
from ralph.domain.fleet.job import JobSpec

pytestmark = pytest.mark.timeout(60)
FOLDER = Path(__file__).parents[1] / "data" / "fleet"
SPEC = JobSpec(id="first", repository="https://example.com/r.git", base="main")
IDS = {"merge_queue": names.merge_queue_id(SPEC), "ledger": names.LEDGER_ID}


def replay(name: str, text: str) -> None:
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=UnsandboxedWorkflowRunner())
    workflow_id = IDS.get(name) or names.workflow_id(name)
    asyncio.run(replayer.replay_workflow(WorkflowHistory.from_json(workflow_id, text)))


@pytest.mark.parametrize("name", ["first", "busy", "stopped", "merge_queue", "ledger"])
def test_a_recorded_history_is_continued(name: str) -> None:
    replay(name, (FOLDER / f"{name}.json").read_text())


def test_another_order_of_steps_is_noticed() -> None:
    text = (FOLDER / "first.json").read_text()
    with pytest.raises(NondeterminismError):
        replay("first", text.replace(f'"name": "{names.SHIFT}"', '"name": "another"'))
