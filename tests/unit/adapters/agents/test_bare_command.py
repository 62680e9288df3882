"""What is a fault of a command that is run as it was given."""

from __future__ import annotations

import errno
import os

import pytest

from ralph.adapters.agents.bare_command import BareCommandAdapter
from ralph.domain.loop.session_report import Ending, Fatal, Fault, Transient
from ralph.engine.ports import Exit


def fault(error: str) -> Fault | None:
    exit_ = Exit(ending=Ending.NOT_STARTED, code=None, seconds=0.0, error=error)
    return BareCommandAdapter(["./agent"]).classify(exit_, (), stderr=error, is_empty=True)


@pytest.mark.parametrize("code", [errno.ETXTBSY, errno.EAGAIN, errno.EMFILE])
def test_a_start_that_failed_for_a_passing_reason_is_tried_again(code: int) -> None:
    assert isinstance(fault(f"cannot run ./agent: {os.strerror(code)}"), Transient)


@pytest.mark.parametrize(
    "error", ["cannot run ./agent: no such file", "cannot run ./agent: permission denied", ""]
)
def test_a_program_that_is_not_there_or_may_not_be_run_ends_the_run(error: str) -> None:
    assert isinstance(fault(error), Fatal)
