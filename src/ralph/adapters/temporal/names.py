"""What submitters, workflows and workers call things on the server. What stands here is what they must agree on."""

from __future__ import annotations

import hashlib

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.queues import FLEET
from ralph.patterns import pattern

WORKFLOW_QUEUE = f"{FLEET}-jobs"
"""Of all workflows, and of the small activities that ask the server."""

# --- types of workflows, with what they are started with ---------------------------------------------------

JOB = "RalphJob"  #: (JobSpec, JobProgress) -> JobProgress; a fresh job: ``JobProgress()``, a retry: ``steps.again(progress)``
MERGE_QUEUE = "RalphMergeQueue"  #: (MergeLine)
LEDGER = "RalphLedger"  #: (LedgerState); nobody has set a limit yet: ``LedgerState()``

# --- activities --------------------------------------------------------------------------------------------

SHIFT = "shift"  #: ShiftOrder -> ShiftEnd; its heartbeats carry a Beat
ASK_FOR_TURN = "ask_for_turn"  #: (id of the merge queue, job) -> None
LOOK_AT_JOBS = "look_at_jobs"  #: (jobs) -> JobStanding of each, in this order

# --- memo of a job, which is all that a list of jobs needs -------------------------------------------------

SPEC = "spec"  #: JobSpec, from the start
PROGRESS = "progress"  #: JobProgress; ``stop_now`` in it is how a worker learns the second step of a stop
LIMITS = "limits"  #: FleetLimits, of the ledger

# --- signals of a job; its cancellation is the first step of a stop ----------------------------------------

STEER = "steer"  #: (text)
PAUSE = "pause"
UNPAUSE = "unpause"
STOP_NOW = "stop_now"  #: to be sent before the cancellation, if it is wanted at once
NEEDED_ENDED = "needed_ended"  #: (job, whether it was merged)
MERGE_TURN = "merge_turn"  #: from the merge queue
BEGUN = "begun"  #: (worker), from a worker that was not expected to be the one

# --- signals of a merge queue ------------------------------------------------------------------------------

ASK = "ask"  #: (job)
LEFT = "left"  #: (job)

# --- updates and the query of the ledger -------------------------------------------------------------------

ENTER = "enter"  #: EnterRequest -> EnterReply
LEAVE = "leave"  #: LeaveRequest -> None
SET_LIMITS = (
    "set_limits"  #: FleetLimits -> FleetLimits; ``spent`` and ``in_use`` of the argument are not looked at
)
SHOW_LIMITS = "show_limits"  #: query, -> FleetLimits

# --- ids of workflows --------------------------------------------------------------------------------------

LEDGER_ID = f"{FLEET}-ledger"
_JOB_PREFIX = f"{FLEET}-job-"
_MERGE_PREFIX = f"{FLEET}-merge-"

# A schedule adds the time to the id of the workflow that it starts; git refuses the colons of it in a branch.
_FIRED = pattern(r"-(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$")
_FIRED_PLAIN = pattern(r"-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$")


def workflow_id(job: str) -> str:
    """Of a job; ``job_of`` is the way back."""
    return _JOB_PREFIX + _FIRED_PLAIN.sub(r"-\1-\2-\3T\4:\5:\6Z", job)


def job_of(workflow_id: str) -> str:
    """A spec without an id (a schedule's) is of the job that its workflow's id names."""
    return _FIRED.sub(r"-\1\2\3T\4\5\6Z", workflow_id.removeprefix(_JOB_PREFIX))


def fired_name(schedule: str) -> str:
    """As long as the names of the jobs that it starts are."""
    return job_of(f"{schedule}-2000-01-01T00:00:00Z")


def merge_queue_id(job: JobSpec) -> str:
    """One per repository and base; a hash, because an address may be long or have a name in it."""
    name = hashlib.sha256(f"{job.repository}\n{job.base}".encode()).hexdigest()[:16]
    return _MERGE_PREFIX + name
