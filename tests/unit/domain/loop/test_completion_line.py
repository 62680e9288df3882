from __future__ import annotations

import pytest

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.loop.completion import Completion
from ralph.domain.loop.decision import Continue
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.stalls import standstill_remark
from ralph.domain.loop.state import LoopState

RESPONSE = Completion("response", "DONE")
PROMISE = Completion("promise", " SHIPPED ", first_only=True)
SILENT = Completion("response", "DONE", is_hinted=False)
FRESH = LoopState()
LINE = "When everything is done and checked, output <response>DONE</response>."


def told(completion: Completion, prompt: str, state: LoopState = FRESH) -> str:
    return "\n".join(item.text for item in completion.advice(state, Assignment("prompt", prompt)))


@pytest.mark.parametrize(
    ("completion", "prompt", "line", "doubt"),
    [
        (RESPONSE, "Fix it", LINE, ""),
        (RESPONSE, "Fix it, then say <Response> done </Response>.", "", ""),
        (RESPONSE, "Fix it, then say DONE.", LINE, ""),
        (RESPONSE, "Say <promise>DONE</promise>", LINE, ""),
        (
            RESPONSE,
            "Say <response>OK</response>",
            LINE,
            "names <response>OK</response>, but this run waits for",
        ),
        (SILENT, "Fix it", "", "does not name the completion tag; tell the agent to output <response>DONE<"),
        (SILENT, "Say <response>OK</response>", "", "names <response>OK</response>, but this run waits for"),
        (PROMISE, "Fix it", "When everything is done and checked, output <promise>SHIPPED</promise>.", ""),
    ],
)
def test_a_prompt_that_does_not_name_the_claim_gets_a_line_that_does(
    completion: Completion, prompt: str, line: str, doubt: str
) -> None:
    assert told(completion, prompt) == line
    assert doubt in completion.doubt(prompt)
    assert bool(doubt) == bool(completion.doubt(prompt))


def test_the_line_is_repeated_unless_later_prompts_name_the_claim_themselves() -> None:
    later = LoopState(iteration=1)
    assert told(RESPONSE, "Fix it", later) == LINE
    assert told(PROMISE, "Fix it", later) == ""


@pytest.mark.parametrize("completion", [RESPONSE, SILENT])
def test_work_that_passes_without_a_claim_is_told_just_that(completion: Completion) -> None:
    assert told(completion, "Fix it", LoopState(iteration=1, green=1)) == (
        "The previous session did not say that the work is done, and all checks pass. If nothing is left, output"
        " <response>DONE</response>; otherwise continue."
    )


PASSED = CheckResult("test", Verdict.PASSED)
FAILED = CheckResult("test", Verdict.FAILED)


@pytest.mark.parametrize(
    ("evidence", "green"),
    [
        (Evidence(AgentReport(), results=(PASSED,)), 2),
        (Evidence(AgentReport(), results=(PASSED, FAILED)), 0),
        (Evidence(AgentReport()), 0),
        (Evidence(AgentReport(is_orderly=False, exit_code=3), results=(PASSED,)), 0),
        (Evidence(AgentReport(), (Signal(Claim.DONE, "tag response"),), (PASSED,)), 0),
    ],
)
def test_green_is_what_passes_unclaimed(evidence: Evidence, green: int) -> None:
    assert LoopState(green=1).after(evidence, Continue("on")).green == green


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (LoopState(unchanged=2), None),
        (LoopState(unchanged=3), "The last 3 sessions changed nothing. If the work is done, say so"),
        (LoopState(unchanged=3, failing=("test",)), "made no progress"),
        (
            LoopState(repeated=4, failing=("test",)),
            "Try something else. After 1 more like these the run is ended.",
        ),
        (
            LoopState(unchanged=1, green=2),
            "The last session changed nothing, and no check fails. If the work",
        ),
    ],
)
def test_only_what_fails_is_told_to_try_something_else(state: LoopState, said: str | None) -> None:
    remark = standstill_remark(state, Budget(stuck_after=5))
    assert (remark is None) == (said is None)
    if remark is not None and said is not None:
        assert said in remark.text
        assert ("Try something else" in remark.text) == bool(state.failing)
